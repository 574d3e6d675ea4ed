"""The first sentence of a bench's page: what it found, in words.

Public: `bench_verdict`.

A bench measures and judges nothing, unless it shows that its own numbers can't be trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch

from ragevalkit.bench.budget.result import BudgetResult
from ragevalkit.bench.calibrate import Calibration, LoadReading
from ragevalkit.bench.guided.result import GuidedResult
from ragevalkit.bench.session import Floor
from ragevalkit.bench.stream_result import Gain, StreamArm, StreamResult
from ragevalkit.bench.sweep_result import SweepResult
from ragevalkit.report.bench_stream import times
from ragevalkit.report.bench_sweep import estimate, per_second
from ragevalkit.report.html.parts import Verdict
from ragevalkit.report.numbers import counted, milliseconds

_NOTHING = "Nothing is measured yet."


@singledispatch
def bench_verdict(result: object) -> Verdict:
    """What a bench found: of a `GuidedResult`, `BudgetResult`, `StreamResult`, `SweepResult` or
    `Calibration`."""
    raise TypeError(f"{type(result).__name__} is no bench's result")


@bench_verdict.register
def _guided(result: GuidedResult) -> Verdict:
    stopped = _stopped(result.stopped)
    return _described(result.says, _not_engaged(result), stopped, _limited(result.floor))


def _not_engaged(result: GuidedResult) -> Iterator[str]:
    arms = [
        f"{arm} ({of.sends})"
        for arm, of in result.arms.items()
        if of.status == "not_supported" or of.engaged == "no"
    ]
    if arms:
        yield f"Not engaged, so that nothing is said of its cost: {'; '.join(arms)}."


def _stopped(why: str | None) -> Iterator[str]:
    if why is not None:
        yield f"Stopped before its end: {why.rstrip('.')}. The same command continues it."


@bench_verdict.register
def _budget(result: BudgetResult) -> Verdict:
    if not any(rung.runs for rung in result.budgets):
        return Verdict(_NOTHING, "none")
    lost = f"{result.lost} of {result.planned} runs are missing." if result.lost else ""
    said, notes = [_sentence(result.sentence)], map(_sentence, result.notes)
    return _described(said, notes, [lost], _limited(result.floor))


@bench_verdict.register
def _stream(result: StreamResult) -> Verdict:
    rates = (_rate(name, arm) for name, arm in result.arms.items())
    limited = (line for name, arm in result.arms.items() for line in _limited(arm.floor, name))
    return _described(map(_gained, result.gains), rates, limited, map(_sentence, result.notes))


def _gained(gain: Gain) -> str:
    of = gain.all
    if of.decode.value is None:
        return (
            f"Whether {gain.arm} decodes faster than {gain.base} can't be told: no pair has both"
            " rates."
        )
    factor = estimate(of.decode, times)
    if of.decode_verdict == "inconclusive":
        return (
            f"Undecided: {gain.arm} decodes {factor} times as fast as {gain.base}, over "
            f"{counted(of.pairs, 'pair')}."
        )
    return f"{gain.arm} is {of.decode_verdict} than {gain.base}: it decodes {factor} times as fast."


def _rate(name: str, arm: StreamArm) -> str:
    timed = [level for level in arm.levels if level.decode_rate.value is not None]
    if not timed:
        return f"{name} has no decode rate: no reply came token by token."
    longest = timed[-1]
    return (
        f"{name} decodes at {estimate(longest.decode_rate, per_second)}, in replies of "
        f"{longest.output_tokens:,} tokens."
    )


@bench_verdict.register
def _sweep(result: SweepResult) -> Verdict:
    return _described(_knee(result), _prefill(result), _missing(result))


def _knee(result: SweepResult) -> Iterator[str]:
    knee = result.knee
    if knee is None:
        return
    most = result.concurrency[-1].streams
    if knee.streams is None:
        yield f"Up to {counted(most, 'stream')} at once, more of them still bring more tokens."
    else:
        at_once = counted(knee.streams, "stream")
        yield f"Beyond {at_once} at once, more of them bring few more tokens."
    if knee.wait_streams is not None:
        yield (
            f"From {counted(knee.wait_streams, 'stream')} on, the first token takes more than "
            f"{knee.wait_factor:g} times as long as at first."
        )


def _prefill(result: SweepResult) -> Iterator[str]:
    prefill, lengths = result.prefill, result.lengths
    if prefill is not None and prefill.rate.high is not None:
        yield f"Prompts are read at {estimate(prefill.rate, per_second)}, in tokens."
    if lengths:
        longest = lengths[-1]
        tokens = longest.measured_tokens or longest.prompt_tokens
        yield (
            f"After a prompt of {tokens:,.0f} tokens the first token comes in "
            f"{estimate(longest.wait_ms, milliseconds)}."
        )


def _missing(result: SweepResult) -> Iterator[str]:
    done, planned = result.cells.done, result.cells.planned
    if done < planned:
        yield f"{done} of {planned} cells are finished; the same command continues it."
    if result.failed is not None:
        yield _sentence(f"the endpoint failed: {result.failed}")
    yield from _limited(result.floor)


@bench_verdict.register
def _calibrate(result: Calibration) -> Verdict:
    lines = list(map(_floor, result.loads))
    limited = [load for load in result.loads if load.instrument.client_limited]
    if limited:
        why = limited[0].instrument.client_limited
        line = f"This client doesn't keep up with {counted(limited[0].streams, 'stream')}: {why}."
        return Verdict(line, "bad", lines)
    if all(load.floor_ms is None for load in result.loads):
        return Verdict(lines[-1], "open", lines[:-1])
    return Verdict(lines[-1], "none", lines[:-1])


def _floor(load: LoadReading) -> str:
    at_once = counted(load.streams, "stream")
    if load.floor_ms is None:
        return f"No floor is known at {at_once}: p99 needs 299 tokens, so take more seconds."
    return f"At {at_once}, differences below {milliseconds(load.floor_ms)} are this client's own."


def _limited(floor: Floor | None, endpoint: str = "") -> Iterator[str]:
    """Why the times say more of this client than of the server, if so."""
    if floor is not None and floor.instrument.client_limited:
        where = f" at {endpoint}" if endpoint else ""
        yield f"Client-limited{where}, so don't trust the times: {floor.instrument.client_limited}."


def _described(*lines: Iterable[str]) -> Verdict:
    """The first line there is, with the others as its reasons."""
    said = [line for some in lines for line in some if line]
    return Verdict(said[0], "none", said[1:]) if said else Verdict(_NOTHING, "none")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."

"""Where the time of a run's turns went, and what a correct answer costs in seconds, tokens, joules.

Public: `Costs`, `MedianTurn`, `Energy`, `Each`, `costs_of`, `MIDDLE`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ragevalkit.endpoint.power.energy import Window, idle_watts, merged, taken
from ragevalkit.endpoint.power.log import PowerLog
from ragevalkit.errors import InputError
from ragevalkit.scoring.correct import is_correct
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.score import Score
from ragevalkit.stats import cluster_bootstrap_ratio
from ragevalkit.turn.composition import PARTS, split_wait
from ragevalkit.turn.record import Channel, Ended, Round, RoundState, Turn

MIDDLE = 0.2
"""Share of the turns around the median wall time whose mean is the median turn."""
SHORTEST_S = 1.0
"""Below it, energy is remarked upon: cards average their power over some tenths of a second."""
LEAST_COVERED = 0.95
"""Share of the turns' time that samples of power must cover."""

CHANNELS = ("reasoning", "tool_arguments", "answer")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Each(_Model):
    """A total over all scored turns, a correct one, with the 95 % interval; null where none is
    correct, or where not all turns tell."""

    total: float | None
    value: float | None
    low: float | None
    high: float | None


class MedianTurn(_Model):
    """Means over the middle fifth of the scored turns by wall time."""

    turns: int
    wall_s: float
    """Mean of their wall times: near the median, not exactly it."""
    rounds: float
    parts_ms: dict[str, float]
    """They add up to the wall time. `queue` and `prefill` are the server's own figures, over the
    rounds that have them; `wait` is the rest of the waiting."""
    tokens: dict[str, float | None]
    """Of each channel; null where not all turns tell."""


class Energy(_Model):
    """Of the stretches of wall-clock time in which turns were asked, all turns on record."""

    scope: str
    """What the power covers."""
    source: Literal["counter", "power"]
    """The card's own counter of energy, or watts times seconds."""
    devices: list[str]
    seconds: float
    """Time in which at least one turn was under way."""
    covered: float
    """Share of it that samples cover."""
    joules: float
    mean_watts: float
    idle_watts: float | None
    """Median outside of the turns, or as given; null where the log tells nothing of it."""
    idle_source: Literal["log", "given"] | None
    joules_above_idle: float | None
    """`joules` less `idle_watts` for all of `seconds`."""
    per_answer_token: float | None
    """Joules, over the tokens of the answer channel."""
    per_answer_token_above_idle: float | None
    per_output_token: float | None
    per_correct: float | None
    per_correct_above_idle: float | None


class Costs(_Model):
    """What `show RUN --costs --json` prints."""

    run: str
    scored: int
    infra_errors: int
    """Turns lost to infrastructure errors: in no figure but the energy."""
    correct: int
    seconds_per_correct: Each
    """Wall time of all scored turns, right and wrong, over the correct ones."""
    output_tokens_per_correct: Each
    prompt_tokens_per_correct: Each
    tokens_estimated: int
    """Turns of which some channel's tokens are estimated."""
    median_turn: MedianTurn | None
    """Null without a scored turn."""
    energy: Energy | None
    notes: list[str]


@dataclass(frozen=True)
class _Cost:
    """What is taken of one scored turn."""

    turn: str
    """The question's hash."""
    correct: bool
    wall_ms: float
    timed_out: bool
    rounds: int
    parts_ms: dict[str, float]
    tokens: dict[str, int | None]
    estimated: bool
    output: int | None
    prompt: int | None


def costs_of(
    run: str,
    turns: Iterable[tuple[Turn, Score]],
    power: PowerLog | None = None,
    idle: float | None = None,
    scope: str | None = None,
) -> Costs:
    """The costs of a run.

    Args:
        power: a log that covers the run.
        idle: watts of the idle machine; None: read from the log, outside of the turns.
        scope: what the power covers; None: as the log's columns are named.

    Raises:
        InputError: the log doesn't cover the turns.
    """
    costs: list[_Cost] = []
    windows: list[Window] = []
    lost = 0
    for turn, score in turns:
        windows.append(_window(turn))
        if score.outcome is Outcome.INFRA_ERROR:
            lost += 1
        else:
            costs.append(_cost(turn, score))
    correct = sum(cost.correct for cost in costs)
    energy = _energy(merged(windows), power, idle, scope, costs) if power and windows else None
    return Costs(
        run=run,
        scored=len(costs),
        infra_errors=lost,
        correct=correct,
        seconds_per_correct=_each(costs, [cost.wall_ms / 1000 for cost in costs]),
        output_tokens_per_correct=_each(costs, [cost.output for cost in costs]),
        prompt_tokens_per_correct=_each(costs, [cost.prompt for cost in costs]),
        tokens_estimated=sum(cost.estimated for cost in costs),
        median_turn=_median_turn(costs),
        energy=energy,
        notes=list(_notes(costs, energy)),
    )


def _cost(turn: Turn, score: Score) -> _Cost:
    channels: dict[str, list[Channel]] = defaultdict(list)
    for round_ in turn.rounds:
        per_round = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
        for name, channel in zip(CHANNELS, per_round, strict=True):
            if channel is not None:
                channels[name].append(channel)
    return _Cost(
        turn=score.question_hash,
        correct=is_correct(score),
        wall_ms=turn.wall_ms,
        timed_out=turn.ended is Ended.TURN_TIMEOUT,
        rounds=len(turn.rounds),
        parts_ms=_parts(turn),
        tokens={name: _sum(c.tokens for c in channels[name]) for name in CHANNELS},
        estimated=any(c.estimated for name in CHANNELS for c in channels[name]),
        output=_sum(map(_output_tokens, turn.rounds)),
        prompt=_sum(map(_prompt_tokens, turn.rounds)),
    )


def _output_tokens(round_: Round) -> int | None:
    """By usage, else of its channels: a round that was cut off has no usage."""
    if round_.completion_tokens is not None:
        return round_.completion_tokens
    channels = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    return _sum(channel.tokens for channel in channels if channel)


def _prompt_tokens(round_: Round) -> int | None:
    """A request that failed without a count is taken as not having been read."""
    failed = round_.state is not RoundState.DONE
    return 0 if failed and round_.prompt_tokens is None else round_.prompt_tokens


def _parts(turn: Turn) -> dict[str, float]:
    """The turn's composition, with `queue` and `prefill` taken out of `wait` as far as the server
    tells them; they add up to the same."""
    split = split_wait(turn.rounds) or {}
    told = {name: split.get(name, 0.0) for name in ("queue", "prefill")}
    whole = turn.composition_ms
    rest = {name: whole[name] for name in PARTS if name != "wait"}
    return {**told, "wait": whole["wait"] - sum(told.values()), **rest}


def _median_turn(costs: Sequence[_Cost]) -> MedianTurn | None:
    """Turns that their time limit cut off count as the longest."""
    if not costs:
        return None
    ordered = sorted(costs, key=lambda cost: (cost.timed_out, cost.wall_ms))
    size = max(1, math.ceil(MIDDLE * len(ordered)))
    size += (len(ordered) - size) % 2  # as many below as above
    begin = (len(ordered) - size) // 2
    middle = ordered[begin : begin + size]
    return MedianTurn(
        turns=size,
        wall_s=round(fmean(cost.wall_ms for cost in middle) / 1000, 3),
        rounds=round(fmean(cost.rounds for cost in middle), 2),
        parts_ms={
            part: round(fmean(cost.parts_ms[part] for cost in middle), 3)
            for part in middle[0].parts_ms
        },
        tokens={name: _mean([cost.tokens[name] for cost in middle]) for name in CHANNELS},
    )


def _each(costs: Sequence[_Cost], spent: Sequence[float | None]) -> Each:
    """Ratio of the sums, with an interval that resamples questions."""
    known = [value for value in spent if value is not None]
    correct = sum(cost.correct for cost in costs)
    if len(known) < len(spent) or not known:
        return Each(total=None, value=None, low=None, high=None)
    total = sum(known)
    if not correct:
        return Each(total=round(total, 3), value=None, low=None, high=None)
    by_question: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for cost, value in zip(costs, known, strict=True):
        by_question[cost.turn].append((float(cost.correct), value))
    right = [sum(c for c, _ in pairs) for pairs in by_question.values()]
    took = [sum(v for _, v in pairs) for pairs in by_question.values()]
    interval = cluster_bootstrap_ratio(right, took)
    return Each(
        total=round(total, 3),
        value=round(total / correct, 3),
        low=round(interval.low, 3) if interval else None,
        high=round(interval.high, 3) if interval else None,
    )


def _energy(
    windows: Sequence[Window],
    log: PowerLog,
    idle: float | None,
    scope: str | None,
    costs: Sequence[_Cost],
) -> Energy:
    seconds = sum(window.end - window.begin for window in windows)
    by_device = [taken(samples, windows) for samples in log.devices.values()]
    covered = min(of.covered_s for of in by_device) / seconds if seconds else 0.0
    if covered < LEAST_COVERED:
        raise InputError(_uncovered(windows, log, covered))
    joules = sum(of.joules for of in by_device)
    watts = idle if idle is not None else idle_watts(log.devices, windows)
    above = None if watts is None else joules - watts * seconds
    answer = _sum(cost.tokens["answer"] for cost in costs)
    output = _sum(cost.output for cost in costs)
    correct = sum(cost.correct for cost in costs)
    return Energy(
        scope=scope or log.scope or "as logged; the log doesn't say what it covers",
        source="counter" if all(of.by_counter for of in by_device) else "power",
        devices=[name or "the log's only one" for name in log.devices],
        seconds=round(seconds, 3),
        covered=round(covered, 4),
        joules=round(joules, 3),
        mean_watts=round(joules / seconds, 3),
        idle_watts=None if watts is None else round(watts, 3),
        idle_source=None if watts is None else "given" if idle is not None else "log",
        joules_above_idle=None if above is None else round(above, 3),
        per_answer_token=_over(joules, answer),
        per_answer_token_above_idle=_over(above, answer),
        per_output_token=_over(joules, output),
        per_correct=_over(joules, correct),
        per_correct_above_idle=_over(above, correct),
    )


def _uncovered(windows: Sequence[Window], log: PowerLog, covered: float) -> str:
    begin, end = windows[0].begin, windows[-1].end
    message = (
        f"the power log covers {covered:.0%} of the turns' time; it runs from {_utc(log.begin)} to "
        f"{_utc(log.end)}, the run from {_utc(begin)} to {_utc(end)} (UTC)"
    )
    # zones differ by whole quarters of an hour
    for quarters in sorted(range(-56, 57), key=abs):
        shift = 900 * quarters
        if quarters and log.begin + shift <= begin and end <= log.end + shift:
            message += f"; it would fit {shift / 3600:+g} h later: is --power-zone right?"
            break
    return message + f" Its times without a zone were taken in {log.zone}"


def _notes(costs: Sequence[_Cost], energy: Energy | None) -> Iterator[str]:
    if estimated := sum(cost.estimated for cost in costs):
        yield f"the tokens of {estimated} turns are estimated in part"
    if energy is None:
        return
    if energy.idle_watts is not None and energy.mean_watts <= energy.idle_watts:
        yield (
            "power was no higher while turns were asked than outside: do the clocks agree, and is "
            "it the right device?"
        )
    if energy.seconds < SHORTEST_S:
        yield f"turns took {energy.seconds:.2g} s in all, too short for power to be read well"
    if len(energy.devices) > 1:
        yield f"{len(energy.devices)} devices are added up; --power-device takes one"


def _window(turn: Turn) -> Window:
    begin = datetime.fromisoformat(turn.started_at).timestamp()
    return Window(begin, begin + turn.wall_ms / 1000)


def _utc(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds")[:-6]


def _sum(counts: Iterable[int | None]) -> int | None:
    """None where one isn't known."""
    known = list(counts)
    return None if None in known else sum(filter(None, known))


def _mean(counts: Sequence[int | None]) -> float | None:
    total = _sum(counts)
    return None if total is None else round(total / len(counts), 2)


def _over(joules: float | None, count: int | None) -> float | None:
    return None if joules is None or not count else round(joules / count, 4)

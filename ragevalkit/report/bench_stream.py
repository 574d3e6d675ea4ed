"""Tables of `bench stream`.

Public: `stream_tables`, `times`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragevalkit.report.bench_sweep import estimate, floor_notes, per_second
from ragevalkit.report.numbers import MISSING, count, counted, milliseconds, percent
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.bench.stream_result import Gain, LengthGain, StreamArm, StreamResult


def stream_tables(result: StreamResult) -> list[Table]:
    """Rates, gaps and, where there are several endpoints, gains."""
    tables = [_rates(result), _gaps(result)]
    tables += [_gain(gain) for gain in result.gains]
    tables[-1].notes.extend(f"{n[:1].upper()}{n[1:].rstrip('.')}." for n in result.notes)
    return tables


def _rates(result: StreamResult) -> Table:
    rows = [
        [
            arm,
            f"{level.output_tokens:,}",
            f"{level.requests - level.failed}/{level.requests}",
            estimate(level.decode_rate, per_second),
            estimate(level.whole_rate, per_second),
            estimate(level.wait_ms, milliseconds),
        ]
        for arm, of in result.arms.items()
        for level in of.levels
    ]
    columns = ["endpoint", "tokens", "replies", "decode", "with the wait", "first token"]
    notes = [note for arm, of in result.arms.items() for note in _notes(result, arm, of)]
    return Table("Rate against output length", columns, rows, notes)


def _gaps(result: StreamResult) -> Table:
    rows = []
    for arm, of in result.arms.items():
        tokens = of.tokens_per_event
        for channel, gaps in of.gaps_ms.items():
            spread = map(milliseconds, (gaps.p50, gaps.p90, gaps.p99, gaps.max))
            rows.append(
                [arm, channel, *spread, f"{gaps.n:,}", count(tokens.mean if tokens else None)]
            )
    columns = ["endpoint", "channel", "p50", "p90", "p99", "max", "gaps", "tokens an event"]
    notes = [
        f"{_label(result, arm)}{note}"
        for arm, of in result.arms.items()
        for note in (*_stalls(of), *_drafting(of))
    ]
    return Table("Gaps between token events", columns, rows, notes, text_columns=2)


def _label(result: StreamResult, arm: str) -> str:
    return f"{arm}: " if len(result.arms) > 1 else ""


def _stalls(of: StreamArm) -> Iterator[str]:
    stalls = of.stalls
    rule = f"gaps above {stalls.factor:g} medians and {milliseconds(stalls.floor_ms)}"
    if not stalls.stalls:
        yield f"No stalls ({rule})."
        return
    replies = "1 reply" if stalls.replies == 1 else f"{stalls.replies:,} replies"
    yield (
        f"{counted(stalls.stalls, 'stall')} in {replies} ({rule}): {percent(stalls.time_share)} of "
        f"the decode time, the longest {milliseconds(stalls.longest_ms)}."
    )


def _drafting(of: StreamArm) -> Iterator[str]:
    if of.engine is not None and of.engine.void:
        yield f"The metrics page's figures are void: {of.engine.void}."
    drafting = of.drafting
    if drafting is None:
        return
    shares = ", ".join(percent(share) for share in drafting.by_position)
    places = f" ({shares} by place in the draft)" if shares else ""
    step = MISSING if drafting.tokens_per_step is None else f"{drafting.tokens_per_step:.2f}"
    source = "counts with each reply" if drafting.source == "requests" else "metrics page"
    yield (
        f"Drafted tokens accepted: {percent(drafting.acceptance_rate)}{places}; {step} tokens a "
        f"step, by the server's {source}."
    )


def _notes(result: StreamResult, arm: str, of: StreamArm) -> Iterator[str]:
    label = _label(result, arm)
    for note in of.notes:
        yield f"{label}{note[:1].upper()}{note[1:].rstrip('.')}."
    for note in floor_notes(of.floor):
        yield f"{label}{note}"


def _gain(gain: Gain) -> Table:
    same = "" if gain.same_text is None else f" {percent(gain.same_text)} of the texts are equal."
    return Table(
        f"{gain.arm} against {gain.base}: times as fast, by prompt",
        ["tokens", "pairs", "decode", "", "with the wait", ""],
        [_gain_row(level) for level in (*gain.levels, gain.all)],
        [f"1 is as fast as {gain.base}; 95 % intervals over the prompts.{same}"],
        text_columns=0,
    )


def _gain_row(level: LengthGain) -> list[str]:
    tokens = "all" if level.output_tokens is None else f"{level.output_tokens:,}"
    return [
        tokens,
        str(level.pairs),
        estimate(level.decode, times),
        level.decode_verdict,
        estimate(level.whole, times),
        level.whole_verdict,
    ]


def times(value: float | None) -> str:
    """How many times as fast: `1.234`."""
    return MISSING if value is None else f"{value:.3f}"

"""Tables of `bench sweep`.

Public: `sweep_tables`, `estimate`, `floor_notes`, `per_second`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ragevalkit.report.numbers import MISSING, count, counted, milliseconds
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.bench.curves import Estimate
    from ragevalkit.bench.session import Floor
    from ragevalkit.bench.sweep_result import Knee, LengthLevel, StreamsLevel, SweepResult


def sweep_tables(result: SweepResult) -> list[Table]:
    """Prompt lengths and streams, a table each where something of it was measured."""
    tables = []
    if result.lengths:
        tables.append(_lengths(result))
    if result.concurrency:
        tables.append(_concurrency(result))
    if not tables:
        tables.append(Table("Sweep", ["measured"], [["nothing"]]))
    if not result.lengths:
        tables[0].notes.extend(_skipped(result))
    tables[-1].notes.extend(_notes(result))
    return tables


def estimate(of: Estimate, written: Callable[[float | None], str]) -> str:
    """`97.2 ms (95.1 ms – 99 ms)`."""
    if of.low is None and of.high is None:
        return written(of.value)
    return f"{written(of.value)} ({written(of.low)} – {written(of.high)})"


def _lengths(result: SweepResult) -> Table:
    return Table(
        f"One request at a time, {result.output_tokens} output tokens",
        ["prompt", "requests", "first token", "prefill", "decode"],
        [_length_row(level) for level in result.lengths],
        [*_prefill(result), *_context(result), *_skipped(result)],
        text_columns=0,
    )


def _length_row(level: LengthLevel) -> list[str]:
    measured = level.measured_tokens
    return [
        count(level.prompt_tokens if measured is None else measured),
        f"{level.requests - level.failed}/{level.requests}",
        estimate(level.wait_ms, milliseconds),
        estimate(level.prefill_rate, per_second),
        estimate(level.decode_rate, per_second),
    ]


def _prefill(result: SweepResult) -> Iterator[str]:
    prefill = result.prefill
    if prefill is None:
        return
    if prefill.rate.value is None:
        yield "The first token comes no later after a longer prompt, so prefill has no rate."
        return
    squared = " + quadratic term" if prefill.quadratic else ""
    yield (
        f"First token = {estimate(prefill.base_ms, milliseconds)} + prompt / "
        f"{estimate(prefill.rate, per_second)}{squared}; the table's prefill = prompt / (first "
        "token − the former)."
    )
    if prefill.quadratic:
        yield (
            f"The wait grows faster than the prompt: the quadratic term makes "
            f"{prefill.quadratic.share_of_longest:.0%} of it at the longest."
        )


def _context(result: SweepResult) -> Iterator[str]:
    context = result.context
    if context is not None:
        base = estimate(context.base_ms, milliseconds)
        more = estimate(context.ms_per_1k_tokens, milliseconds).replace("-", "−")
        yield f"Time an output token = {base}, and {more} more for each 1,000 tokens in context."


def _skipped(result: SweepResult) -> Iterator[str]:
    for skipped in result.skipped:
        yield f"Not measured: a prompt of {skipped.prompt_tokens:,} tokens; {skipped.why}."


def _concurrency(result: SweepResult) -> Table:
    has_page = any(level.running is not None for level in result.concurrency)
    columns = ["streams", "under way", "all together", "each", "first token"]
    if has_page:
        columns[2:2] = ["running", "waiting"]
    notes = list(_knee(result.knee, result.concurrency)) if result.knee else []
    for level in result.concurrency:
        if level.client_limited:
            at_once = counted(level.streams, "stream")
            notes.append(f"Client-limited at {at_once}: {level.client_limited}.")
    return Table(
        f"Streams at once, {result.output_tokens} output tokens each, again and again",
        columns,
        [_streams_row(level, has_page) for level in result.concurrency],
        notes,
        text_columns=0,
    )


def _streams_row(level: StreamsLevel, has_page: bool) -> list[str]:
    row = [
        str(level.streams) + ("*" if level.client_limited else ""),
        count(level.concurrency),
        estimate(level.aggregate_rate, per_second),
        estimate(level.stream_rate, per_second),
        estimate(level.wait_ms, milliseconds),
    ]
    if has_page:
        row[2:2] = [count(level.running), count(level.waiting)]
    return row


def _knee(knee: Knee, levels: list[StreamsLevel]) -> Iterator[str]:
    most = levels[-1].streams
    limit = f"{knee.growth_limit:.0%} a doubling"
    if knee.streams is None:
        yield f"No knee up to {most} streams: the common rate still grows by {limit} or more."
    else:
        each = ", ".join(MISSING if n is None else str(n) for n in knee.by_repeat)
        alone = f" (repeats alone: {each})" if len(knee.by_repeat) > 1 else ""
        yield (
            f"Knee at {counted(knee.streams, 'stream')}: beyond, the common rate grows by less "
            f"than {limit}{alone}."
        )
    factor, first = f"{knee.wait_factor:g} times", counted(levels[0].streams, "stream")
    if knee.wait_streams is None:
        yield f"The first token comes within {factor} its wait at {first}, up to {most} streams."
    else:
        yield (
            f"From {counted(knee.wait_streams, 'stream')} on the first token takes more than "
            f"{factor} its wait at {first}."
        )


def _notes(result: SweepResult) -> Iterator[str]:
    for note in result.notes:
        yield f"{note[:1].upper()}{note[1:].rstrip('.')}."
    if not result.exact_lengths.fields:
        yield f"Replies can't be held to a length: {result.exact_lengths.refused}."
    elif result.exact_share is not None and result.exact_share < 1:
        yield f"{result.exact_share:.0%} of the replies have as many tokens as were asked for."
    if result.cells.done < result.cells.planned:
        yield f"{result.cells.done} of {result.cells.planned} cells are finished."
    yield from floor_notes(result.floor)


def floor_notes(floor: Floor | None) -> Iterator[str]:
    """What is the instrument's own."""
    if floor is None:
        return
    if floor.ms is not None:
        yield f"Differences below {milliseconds(floor.ms)} are under the floor."
    else:
        yield "The instrument's floor wasn't measured to p99."
    if floor.instrument.client_limited:
        yield f"Client-limited: {floor.instrument.client_limited}."


def per_second(value: float | None) -> str:
    """`41.2/s`, `5,012/s`."""
    if value is None:
        return MISSING
    return f"{value:,.0f}/s" if value >= 100 else f"{value:.3g}/s"

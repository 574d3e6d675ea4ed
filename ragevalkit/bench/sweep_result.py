"""From the finished cells of a sweep to its curves.

Public: `SweepResult`, `LengthLevel`, `StreamsLevel`, `Skipped`, `Prefill`, `Curvature`, `Context`,
`Knee`, `Done`, `figures`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import fmean, median
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from ragevalkit.bench.curves import (
    Estimate,
    fit_line,
    knee,
    mean_estimate,
    over_wait,
    total_rate,
)
from ragevalkit.bench.decoding import decoding, wait_ms
from ragevalkit.bench.lengths import Lengths, exact_share
from ragevalkit.bench.prompts import cached_tokens
from ragevalkit.bench.session import Floor
from ragevalkit.bench.sweep_cell import CellLine, failures, steady
from ragevalkit.stats import Interval
from ragevalkit.turn.record import Round, RoundState

GROWTH = 0.1
"""The aggregate rate's knee: growth by less than this a doubling of the streams."""
WAIT_FACTOR = 2.0
"""The wait's knee: a median wait of more than so many times the unloaded one."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Skipped(_Model):
    """A prompt length that wasn't measured."""

    prompt_tokens: int
    why: str


class LengthLevel(_Model):
    """One prompt length, one request at a time. Null: nothing came that tells it."""

    prompt_tokens: int
    """Wanted."""
    measured_tokens: float | None
    """Median of the server's counts; null where it counts none, and the wanted ones are taken."""
    cached_tokens: int | None
    """Most that came from the cache in a request; null where the server doesn't say."""
    requests: int
    failed: int
    wait_ms: Estimate
    """Mean of sent to first token."""
    prefill_rate: Estimate
    """Prompt tokens a second: uncached tokens over (wait - base), of all requests."""
    decode_rate: Estimate
    """Output tokens a second after the first event."""
    client_limited: str | None


class Curvature(_Model):
    """The wait's quadratic term: attention, which grows with the square of the prompt."""

    ms_per_1k_squared: Estimate
    share_of_longest: float
    """Of the fitted wait at the longest prompt."""


class Prefill(_Model):
    """wait = base + tokens / rate [+ quadratic term], fitted over all requests."""

    base_ms: Estimate
    rate: Estimate
    """Tokens a second at a short prompt, where there is a quadratic term; null where the wait
    doesn't grow with the prompt."""
    quadratic: Curvature | None
    """Null where none shows."""


class Context(_Model):
    """Time an output token = base + slope x tokens in context, fitted over all requests."""

    base_ms: Estimate
    ms_per_1k_tokens: Estimate


class StreamsLevel(_Model):
    """So many streams at once; all from the cells' steady parts, with the cells as repeats."""

    streams: int
    cells: int
    requests: int
    failed: int
    aggregate_rate: Estimate
    """Output tokens a second of all streams together."""
    stream_rate: Estimate
    """Mean over the cells of the median decode rate of a request."""
    wait_ms: Estimate
    """Mean over the cells of the median time to the first token."""
    concurrency: float | None
    """Achieved: mean number of requests under way."""
    running: float | None
    """By the engine's own count; null without a metrics page."""
    waiting: float | None
    client_limited: str | None
    """Why this level says more of the client than of the server, if so in any cell."""


class Knee(_Model):
    """From where on more streams bring little, or cost much."""

    growth_limit: float
    streams: int | None
    """Smallest level from which the aggregate rate grows by less than the limit a doubling, up to
    every larger level; null: not reached."""
    by_repeat: list[int | None]
    """The same of each repeat alone."""
    wait_factor: float
    wait_streams: int | None
    """Smallest level whose median wait exceeds the factor times that of the first level; null: not
    reached."""


class Done(_Model):
    """Cells that are finished, of those planned."""

    done: int
    planned: int


class SweepResult(_Model):
    """What `bench sweep --json` prints."""

    name: str
    bench: str = "sweep"
    endpoint: str
    model: str
    cells: Done
    output_tokens: int
    exact_lengths: Lengths
    exact_share: float | None
    """Share of the replies with as many tokens as they were asked for."""
    lengths: list[LengthLevel]
    skipped: list[Skipped]
    prefill: Prefill | None
    context: Context | None
    concurrency: list[StreamsLevel]
    knee: Knee | None
    notes: list[str]
    failed: str | None = None
    """How the endpoint failed, where that ended the sweep."""
    floor: Floor | None = None


class Finished(NamedTuple):
    """A cell with its requests."""

    line: CellLine
    rounds: Sequence[Round]


def figures(
    finished: Sequence[Finished],
    *,
    name: str,
    endpoint: str,
    model: str,
    planned: int,
    output_tokens: int,
    exact: Lengths,
    skipped: Sequence[Skipped] = (),
    notes: Sequence[str] = (),
) -> SweepResult:
    """The curves through the cells that are finished, however few."""
    lengths = sorted((c for c in finished if c.line.kind == "length"), key=_by_length)
    streams = sorted((c for c in finished if c.line.kind == "streams"), key=_by_streams)
    prefill = _prefill(lengths)
    # without a rate the wait holds no prefill that could be told
    base_ms = prefill.base_ms.value if prefill and prefill.rate.value else None
    levels = [_streams_level(n, list(of)) for n, of in groupby(streams, _by_streams)]
    rounds = [round_ for cell in finished for round_ in cell.rounds]
    return SweepResult(
        name=name,
        endpoint=endpoint,
        model=model,
        cells=Done(done=len(finished), planned=planned),
        output_tokens=output_tokens,
        exact_lengths=exact,
        exact_share=exact_share((output_tokens, r) for r in rounds),
        lengths=[_length_level(n, list(of), base_ms) for n, of in groupby(lengths, _by_length)],
        skipped=list(skipped),
        prefill=prefill,
        context=_context(lengths),
        concurrency=levels,
        knee=_knee(levels, streams),
        notes=[*notes, *_remarks(finished, rounds, levels)],
    )


def _by_length(cell: Finished) -> int:
    return cell.line.prompt_tokens


def _by_streams(cell: Finished) -> int:
    return cell.line.streams


def _done(cells: Iterable[Finished]) -> list[tuple[CellLine, Round]]:
    return [(c.line, r) for c in cells for r in c.rounds if r.state is RoundState.DONE]


def _uncached(line: CellLine, round_: Round) -> int:
    counted = round_.prompt_tokens if round_.prompt_tokens is not None else line.prompt_tokens
    return max(0, counted - (cached_tokens(round_) or 0))


def _waits(cells: Iterable[Finished]) -> list[tuple[float, float]]:
    """Uncached tokens and wait in ms of each request whose first token came."""
    pairs = [(_uncached(line, r), wait_ms(r)) for line, r in _done(cells)]
    return [(float(tokens), wait) for tokens, wait in pairs if wait is not None]


def _prefill(cells: Sequence[Finished]) -> Prefill | None:
    points = _waits(cells)
    fit = fit_line(points, may_curve=True)
    if fit is None:
        return None
    longest = max(tokens for tokens, _ in points)
    top = fit.base + fit.slope * longest + fit.curve * longest**2
    curvature = None
    if fit.curve:
        curvature = Curvature(
            ms_per_1k_squared=Estimate.of(1e6 * fit.curve, _scaled(fit.curve_interval, 1e6)),
            share_of_longest=round(fit.curve * longest**2 / top, 3),
        )
    return Prefill(
        base_ms=Estimate.of(fit.base, fit.base_interval),
        rate=_per_second(fit.slope, fit.slope_interval),
        quadratic=curvature,
    )


def _per_second(ms: float, interval: Interval | None) -> Estimate:
    """The rate of `ms` a token; an end is null where time needn't grow with tokens at all."""
    if ms <= 0:
        return Estimate(value=None)
    if interval is None:
        return Estimate.of(1000 / ms)
    ends = [1000 / end if end > 0 else float("inf") for end in reversed(interval)]
    return Estimate.of(1000 / ms, Interval(*ends))


def _context(cells: Sequence[Finished]) -> Context | None:
    points = []
    for line, round_ in _done(cells):
        reply = decoding(round_)
        if reply is None or not reply.rate:
            continue
        prompt = round_.prompt_tokens if round_.prompt_tokens is not None else line.prompt_tokens
        points.append((prompt + reply.tokens / 2, 1000 / reply.rate))
    fit = fit_line(points)
    if fit is None:
        return None
    return Context(
        base_ms=Estimate.of(fit.base, fit.base_interval),
        ms_per_1k_tokens=Estimate.of(1000 * fit.slope, _scaled(fit.slope_interval, 1000)),
    )


def _scaled(interval: Interval | None, factor: float) -> Interval | None:
    return interval and Interval(factor * interval.low, factor * interval.high)


def _length_level(tokens: int, cells: Sequence[Finished], base_ms: float | None) -> LengthLevel:
    rounds = [round_ for cell in cells for round_ in cell.rounds]
    done = [round_ for _, round_ in _done(cells)]
    counted = [r.prompt_tokens for r in done if r.prompt_tokens is not None]
    cached = [n for r in done if (n := cached_tokens(r)) is not None]
    waits = _waits(cells)
    beyond = [] if base_ms is None else [(n, (wait - base_ms) / 1000) for n, wait in waits]
    timed = [reply for r in done if (reply := decoding(r)) is not None and reply.rate]
    return LengthLevel(
        prompt_tokens=tokens,
        measured_tokens=median(counted) if counted else None,
        cached_tokens=max(cached) if cached else None,
        requests=len(rounds),
        failed=len(rounds) - len(done),
        wait_ms=mean_estimate([wait for _, wait in waits]),
        prefill_rate=total_rate([n for n, _ in beyond], [spent_s for _, spent_s in beyond]),
        decode_rate=total_rate([r.timed for r in timed], [r.span_ms / 1000 for r in timed]),
        client_limited=_limited(cells),
    )


def _streams_level(streams: int, cells: Sequence[Finished]) -> StreamsLevel:
    rounds = [round_ for cell in cells for round_ in cell.rounds]
    parts = [part for cell in cells if (part := steady(cell.rounds, streams)) is not None]
    moving = [part for part in parts if part.tokens > 0]
    seen = [cell.line for cell in cells if cell.line.running is not None]
    return StreamsLevel(
        streams=streams,
        cells=len(cells),
        requests=len(rounds),
        failed=sum(failures(rounds).values()),
        aggregate_rate=total_rate([p.tokens for p in moving], [p.seconds for p in moving]),
        stream_rate=mean_estimate([median(p.rates) for p in moving if p.rates]),
        wait_ms=mean_estimate([median(p.waits_ms) for p in moving if p.waits_ms]),
        concurrency=round(fmean(p.concurrency for p in parts), 2) if parts else None,
        running=round(fmean(line.running or 0.0 for line in seen), 2) if seen else None,
        waiting=round(fmean(line.waiting or 0.0 for line in seen), 2) if seen else None,
        client_limited=_limited(cells),
    )


def _limited(cells: Iterable[Finished]) -> str | None:
    limits = (cell.line.instrument.client_limited for cell in cells)
    return next((limit for limit in limits if limit is not None), None)


def _knee(levels: Sequence[StreamsLevel], cells: Sequence[Finished]) -> Knee | None:
    rates = [(v.streams, v.aggregate_rate.value) for v in levels if v.aggregate_rate.value]
    waits = [(v.streams, v.wait_ms.value) for v in levels if v.wait_ms.value]
    if len(rates) < 2:
        return None
    return Knee(
        growth_limit=GROWTH,
        streams=knee([(c, rate) for c, rate in rates if rate], GROWTH),
        by_repeat=_knees(cells, len(rates)),
        wait_factor=WAIT_FACTOR,
        wait_streams=over_wait([(c, wait) for c, wait in waits if wait], WAIT_FACTOR),
    )


def _knees(cells: Sequence[Finished], levels: int) -> list[int | None]:
    """The knee of each repeat that has all levels."""
    by_repeat: dict[int, list[tuple[int, float]]] = {}
    for cell in cells:
        part = steady(cell.rounds, cell.line.streams)
        if part is not None and part.tokens > 0:
            rate = part.tokens / part.seconds
            by_repeat.setdefault(cell.line.repeat, []).append((cell.line.streams, rate))
    return [knee(by_repeat[n], GROWTH) for n in sorted(by_repeat) if len(by_repeat[n]) == levels]


def _remarks(
    finished: Sequence[Finished], rounds: Sequence[Round], levels: Sequence[StreamsLevel]
) -> list[str]:
    """What a reader has to know of the numbers."""
    said = []
    done = [r for r in rounds if r.state is RoundState.DONE]
    replies = [reply for r in done if (reply := decoding(r)) is not None]
    if warm := sum(bool(cached_tokens(r)) for r in done):
        said.append(
            f"{warm} of {len(done)} prompts came from the prefix cache in part: only what wasn't "
            "cached counts as prefill"
        )
    elif done and all(cached_tokens(r) is None for r in done):
        said.append("the server doesn't say what it cached; each prompt begins with its own number")
    if whole := sum(reply.rate is None for reply in replies):
        said.append(
            f"all tokens came at once in {whole} of {len(replies)} replies: they have no decode "
            "rate, and their first token is their last"
        )
    if silent := len(done) - len(replies):
        said.append(f"{silent} of {len(done)} replies had no token, and no times")
    if sum(reply.estimated for reply in replies):
        said.append("the server counts no tokens: all rates are estimates")
    if any(cell.line.busy_before for cell in finished):
        said.append("others used the server before some cells: its metrics page showed requests")
    if retried := sum(any(a.waited_s for a in r.attempts) for r in done):
        said.append(f"{retried} requests were asked again after a failure, with a pause")
    for error, count in failures(rounds).most_common(3):
        said.append(f"{count} of {len(rounds)} requests failed: {error}")
    if any(level.aggregate_rate.value is None for level in levels):
        said.append("a level without a rate had no steady part: take more --requests")
    return said

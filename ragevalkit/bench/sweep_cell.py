"""One cell of a sweep: so many streams at once, each asking again as soon as it is answered.

Public: `Cell`, `CellLine`, `run_cell`, `drained`, `Steady`, `steady`, `failures`, `place`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from ragevalkit.bench.calibrate import RAMP_S
from ragevalkit.bench.decoding import all_gaps_ms, arrivals, decoding, wait_ms
from ragevalkit.bench.lengths import Lengths
from ragevalkit.bench.measuring import ask
from ragevalkit.bench.prompts import Prompts
from ragevalkit.bench.session import Session
from ragevalkit.endpoint.engine import scrape
from ragevalkit.endpoint.instrument import Instrument, LoopMonitor
from ragevalkit.stats import percentiles
from ragevalkit.turn.record import Round, RoundState

_LOOK_S = 0.5
"""Between two looks at the metrics page while a cell runs."""
_DRAIN_S = 15.0
_NEXT_LOOK_S = 0.2

Kind = Literal["length", "streams"]


@dataclass(frozen=True)
class Cell:
    """What is asked at one point of the sweep, once."""

    kind: Kind
    prompt_tokens: int
    """Wanted."""
    streams: int
    requests: int
    """Of all streams together."""
    output_tokens: int
    repeat: int
    """From 0."""

    @property
    def key(self) -> tuple[Kind, int, int, int]:
        return self.kind, self.prompt_tokens, self.streams, self.repeat


class CellLine(BaseModel):
    """A line of cells.jsonl: a finished cell, and what was seen beside its requests."""

    model_config = ConfigDict(extra="forbid")

    id: str
    """`place.cell` of its requests."""
    kind: Kind
    prompt_tokens: int
    streams: int
    repeat: int
    requests: int
    at: str
    """Wall clock when it ended, ISO 8601 in UTC."""
    instrument: Instrument
    running: float | None
    """Mean of the engine's own count of running requests; null without a metrics page."""
    waiting: float | None
    busy_before: bool
    """Whether the metrics page showed requests of others when it began."""

    @property
    def key(self) -> tuple[Kind, int, int, int]:
        return self.kind, self.prompt_tokens, self.streams, self.repeat


class _Look(NamedTuple):
    at_ms: float
    running: float
    waiting: float


async def drained(session: Session) -> bool:
    """Wait until the engine has nothing under way; whether it came to that. True without a page."""
    until = time.monotonic() + _DRAIN_S
    while (page := await scrape(session.client, session.model)) is not None and page.under_way():
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_NEXT_LOOK_S)
    return True


async def run_cell(
    session: Session, cell: Cell, prompts: Prompts, lengths: Lengths
) -> tuple[CellLine, list[Round]]:
    """Ask all requests of a cell; the records count from one origin."""
    idle = await drained(session)
    asked = deque(enumerate(prompts.messages(cell.prompt_tokens) for _ in range(cell.requests)))
    rounds: dict[int, Round] = {}
    origin_ns = time.perf_counter_ns()

    async def stream(number: int) -> None:
        await asyncio.sleep(number * RAMP_S)
        while asked:
            place, messages = asked.popleft()
            fields = {**prompts.fields(), **lengths.of(cell.output_tokens)}
            rounds[place] = await ask(session, messages, cell.output_tokens, fields, origin_ns)

    looks: list[_Look] = []
    looking = (
        asyncio.create_task(_look(session, origin_ns, looks)) if cell.kind == "streams" else None
    )
    async with LoopMonitor() as monitor:
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(min(cell.streams, cell.requests)):
                    group.create_task(stream(number))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            if looking is not None:
                looking.cancel()
                with suppress(asyncio.CancelledError):
                    await looking
    replies = [rounds[place] for place in sorted(rounds)]
    gaps = percentiles(gap for round_ in replies for gap in all_gaps_ms(round_))
    window = steady(replies, cell.streams)
    inside = [look for look in looks if window and window.start_ms <= look.at_ms <= window.end_ms]
    line = CellLine(
        id=secrets.token_hex(4),
        kind=cell.kind,
        prompt_tokens=cell.prompt_tokens,
        streams=cell.streams,
        repeat=cell.repeat,
        requests=cell.requests,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        instrument=monitor.reading(gaps.p50),
        running=round(fmean(look.running for look in inside), 3) if inside else None,
        waiting=round(fmean(look.waiting for look in inside), 3) if inside else None,
        busy_before=not idle,
    )
    return line, replies


async def _look(session: Session, origin_ns: int, looks: list[_Look]) -> None:
    """Take the engine's own counts now and then; ends where there is no page."""
    while (page := await scrape(session.client, session.model)) is not None:
        at_ms = (time.perf_counter_ns() - origin_ns) / 1e6
        running, waiting = page.values.get("running"), page.values.get("waiting")
        looks.append(_Look(at_ms, running or 0.0, waiting or 0.0))
        await asyncio.sleep(_LOOK_S)


@dataclass(frozen=True)
class Steady:
    """What was seen while all streams of a cell were asking."""

    start_ms: float
    """The first request's end: from then on each stream is somewhere in its cycle."""
    end_ms: float
    """The first end that no further request follows."""
    tokens: float
    """That came between."""
    concurrency: float
    """Mean of the requests under way."""
    waits_ms: list[float]
    """Of the requests sent between."""
    rates: list[float]
    """Decode rates, tokens a second, of the requests that ended between."""

    @property
    def seconds(self) -> float:
        return (self.end_ms - self.start_ms) / 1000


def steady(rounds: Sequence[Round], streams: int) -> Steady | None:
    """The steady part of a closed loop; None where it has none: a stream asks just once.

    Args:
        rounds: of one origin; those that failed count as under way.
    """
    ends = sorted(round_.clock.ended_ms for round_ in rounds)
    if len(ends) <= streams:
        return None
    start, end = ends[0], ends[len(ends) - streams]
    if end <= start:
        return None
    done = [round_ for round_ in rounds if round_.state is RoundState.DONE]
    tokens = sum(a.tokens for r in done for a in arrivals(r) if start < a.at_ms <= end)
    under_way = sum(
        max(0.0, min(end, r.clock.ended_ms) - max(start, r.clock.sent_ms)) for r in rounds
    )
    sent = [wait_ms(r) for r in done if start <= r.clock.sent_ms < end]
    ended = [decoding(r) for r in done if start < r.clock.ended_ms <= end]
    rates = [reply.rate for reply in ended if reply is not None]
    return Steady(
        start_ms=start,
        end_ms=end,
        tokens=tokens,
        concurrency=under_way / (end - start),
        waits_ms=[wait for wait in sent if wait is not None],
        rates=[rate for rate in rates if rate is not None],
    )


def failures(rounds: Sequence[Round]) -> Counter[str]:
    """What the requests that failed came to, with how many each."""
    return Counter(r.error or r.state.value for r in rounds if r.state is not RoundState.DONE)


def place(line: CellLine, request: int) -> dict[str, Any]:
    """Where a request stands in the sweep."""
    return {
        "cell": line.id,
        "kind": line.kind,
        "prompt_tokens": line.prompt_tokens,
        "streams": line.streams,
        "repeat": line.repeat,
        "request": request,
    }

"""How late this client's stamps are: streams from a server that says when it sent each token.

Public: `Load`, `calibrate`, `measure`, `ask`, `lines`, `Calibration`, `LoadReading`, `Spread`.

The client is the one that runs use, and the times are taken from the records that it makes.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict

from ragevalkit.bench.loopback import Clock, Loopback, Token, tokens_of
from ragevalkit.bench.loopback_server import Schedule
from ragevalkit.endpoint.client import ChatClient, Retries
from ragevalkit.endpoint.instrument import Instrument, LoopMonitor, frozen_heap
from ragevalkit.errors import EndpointUnusable
from ragevalkit.stats.percentiles import percentiles
from ragevalkit.turn.record import Round, RoundState

_LEAD_NS = 200_000_000
"""From the arrival of the last request to the first token, so that sending the requests is over."""
RAMP_S = 0.002
"""Between two requests: sent all at once, they would stall the loop, and only at the start."""
_ANNOUNCE_S = 10.0


@dataclass(frozen=True)
class Load:
    """Streams that run at once."""

    streams: int
    rate: float = 50.0
    """Tokens a second of each stream."""
    seconds: float = 6.0
    lockstep: bool = False
    """All streams send at the same moment, as an engine's step does; else they are staggered."""

    @property
    def gap_ns(self) -> int:
        return round(1e9 / self.rate)

    @property
    def tokens(self) -> int:
        """Tokens that count, of each stream; one more is sent. When that comes, streams end, and
        no longer do all of them run."""
        return max(2, round(self.rate * self.seconds))

    def schedules(self) -> list[Schedule]:
        """What each stream asks of the server."""
        phase_ns = 0 if self.lockstep else self.gap_ns // self.streams
        return [
            Schedule(
                answer=self.tokens + 1,
                gap_ns=self.gap_ns,
                first_ns=_LEAD_NS + number * phase_ns,
                streams=self.streams,
            )
            for number in range(self.streams)
        ]


class Spread(BaseModel):
    """Milliseconds; null where there are too few values."""

    model_config = ConfigDict(extra="forbid")

    p50: float | None
    p90: float | None
    p99: float | None
    max: float
    n: int

    @classmethod
    def of(cls, values_ms: Iterable[float]) -> Self:
        values = list(values_ms)
        of = percentiles(values)
        p50, p90, p99 = (None if p is None else round(p, 3) for p in (of.p50, of.p90, of.p99))
        return cls(p50=p50, p90=p90, p99=p99, max=round(max(values), 3), n=of.n)


class LoadReading(BaseModel):
    """What came of one load."""

    model_config = ConfigDict(extra="forbid")

    streams: int
    asked_rate: float
    """Tokens a second of each stream."""
    achieved_rate: float
    """The same as the client saw it: median over the streams."""
    lateness_ms: Spread
    """The client's stamp less the server's, of every token."""
    server_late_ms: Spread
    """The server's stamp less the time when the token was due, of every token."""
    floor_ms: float | None
    """p99 of `lateness_ms`: smaller differences are the instrument's."""
    cpu_us_per_token: float
    """CPU time of this process while all streams ran, over their tokens."""
    instrument: Instrument
    """While all streams ran."""


class Calibration(BaseModel):
    """What `bench calibrate --json` prints."""

    model_config = ConfigDict(extra="forbid")

    name: str
    rate: float
    seconds: float
    lockstep: bool
    clock_offset_ms: float
    """Between the clocks of server and client, taken out; 0 where they read the same one."""
    clock_uncertainty_ms: float
    loads: list[LoadReading]


Streams = list[list[Token]]
"""The tokens of each stream."""


async def calibrate(
    name: str, loads: Sequence[Load], says: Callable[[str], None]
) -> tuple[Calibration, list[tuple[Load, Streams]]]:
    """Measure loads one after the other, against a server started for it.

    Args:
        loads: at least one; all of the same rate, seconds and order.
        says: takes lines for the user.

    Raises:
        EndpointUnusable: the server died, or a stream failed.
    """
    readings, raw = [], []
    with Loopback() as loopback:
        clock = loopback.clock()
        for load in loads:
            at_once = "in lockstep" if load.lockstep else "staggered"
            says(f"{load.streams} x {load.rate:g} tokens/s, {at_once}, for {load.seconds:g} s")
            ticker = asyncio.create_task(_tick(load, says))
            try:
                reading, streams = await measure(loopback, load, clock)
            finally:
                ticker.cancel()
            readings.append(reading)
            raw.append((load, streams))
    calibration = Calibration(
        name=name,
        rate=loads[0].rate,
        seconds=loads[0].seconds,
        lockstep=loads[0].lockstep,
        clock_offset_ms=clock.offset_ns / 1e6,
        clock_uncertainty_ms=clock.uncertainty_ns / 1e6,
        loads=readings,
    )
    return calibration, raw


async def measure(loopback: Loopback, load: Load, clock: Clock) -> tuple[LoadReading, Streams]:
    """One load, after short streams that open the connections.

    Raises:
        EndpointUnusable: the server died, or a stream failed.
    """
    client = ChatClient(loopback.profile, concurrency=load.streams, retries=Retries(most=0))
    warm_up = Schedule(answer=2, gap_ns=load.gap_ns, streams=load.streams)
    try:
        await ask(loopback, client, [warm_up] * load.streams)
        with frozen_heap():
            streaming = _begun(loopback, client, load.schedules())
            await asyncio.sleep(RAMP_S * load.streams + _LEAD_NS / 2e9)
            async with LoopMonitor() as monitor:
                await asyncio.wait(streaming, return_when=asyncio.FIRST_COMPLETED)
            rounds = await _ended(loopback, streaming)
    finally:
        await client.close()
    streams = [tokens_of(r, origin_ns, clock)[: load.tokens] for r, origin_ns in rounds]
    tokens = [token for stream in streams for token in stream]
    instrument = monitor.reading(1000 / load.rate)
    cpu_s = (instrument.cpu_share or 0) * instrument.seconds
    lateness = Spread.of(token.lateness_ms for token in tokens)
    return (
        LoadReading(
            streams=load.streams,
            asked_rate=load.rate,
            achieved_rate=round(statistics.median(map(_rate, streams)), 3),
            lateness_ms=lateness,
            server_late_ms=Spread.of(token.server_late_ms for token in tokens),
            floor_ms=lateness.p99,
            cpu_us_per_token=round(1e6 * cpu_s / len(tokens), 1),
            instrument=instrument,
        ),
        streams,
    )


def lines(raw: Iterable[tuple[Load, Streams]]) -> Iterator[dict[str, int]]:
    """Every token as a line of tokens.jsonl."""
    for load, streams in raw:
        for stream, tokens in enumerate(streams):
            for number, token in enumerate(tokens):
                place = {"streams": load.streams, "stream": stream, "token": number}
                yield place | token._asdict()


async def ask(
    loopback: Loopback, client: ChatClient, schedules: Sequence[Schedule]
) -> list[tuple[Round, int]]:
    """The round of each stream, with the origin of its times; all of them run at once.

    Raises:
        EndpointUnusable: the server died, or a stream failed.
    """
    return await _ended(loopback, _begun(loopback, client, schedules))


_Streaming = asyncio.Task[tuple[Round, int]]


def _begun(
    loopback: Loopback, client: ChatClient, schedules: Sequence[Schedule]
) -> list[_Streaming]:
    async def one(number: int, schedule: Schedule) -> tuple[Round, int]:
        await asyncio.sleep(number * RAMP_S)
        origin_ns = time.perf_counter_ns()
        return await client.complete(loopback.body(schedule), [], origin_ns), origin_ns

    return [asyncio.create_task(one(n, schedule)) for n, schedule in enumerate(schedules)]


async def _ended(loopback: Loopback, streaming: list[_Streaming]) -> list[tuple[Round, int]]:
    try:
        rounds = await asyncio.gather(*streaming)
    except EndpointUnusable:
        loopback.check()
        raise
    for number, (round_, _) in enumerate(rounds):
        if round_.state is not RoundState.DONE:
            loopback.check()
            state = round_.state.value.replace("_", " ")
            raise EndpointUnusable(f"stream {number} ended as '{state}': {round_.error}")
    return rounds


def _rate(stream: Sequence[Token]) -> float:
    """Tokens a second, as read; 0 where all came at once."""
    span_ns = stream[-1].read_ns - stream[0].read_ns
    return 1e9 * (len(stream) - 1) / span_ns if span_ns else 0.0


async def _tick(load: Load, says: Callable[[str], None]) -> None:
    done_s = 0.0
    while True:
        await asyncio.sleep(_ANNOUNCE_S)
        done_s += _ANNOUNCE_S
        says(f"  {done_s:g} of {load.seconds:g} s")

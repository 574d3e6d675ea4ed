"""Whether this process kept up: lag of its event loop, and the CPU time it took.

Public: `LoopMonitor`, `frozen_heap`, `Instrument`, `LoopLag`, `client_limit`, `LAG_LIMIT_MS`,
`LAG_LIMIT_SHARE`, `CPU_LIMIT`.

A stamp is taken when the event loop gets to it. A loop that is late makes every server look slow,
so every run records how late it was, and says so where its timings are more its own than the
server's.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import time
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ConfigDict

from ragevalkit.stats.percentiles import SMALLEST_N

LAG_LIMIT_MS = 2.0
"""Timings are client-limited where the loop's lag at p99 is above this and above the next."""
LAG_LIMIT_SHARE = 0.1
"""The same, as a share of the median gap between tokens."""
CPU_LIMIT = 0.7
"""Timings are client-limited where this process took more of a core than this."""

_BEAT_S = 0.005
_STEPS = 50
"""Buckets of lag in each factor of e: a percentile is exact to 1 %."""


class LoopLag(BaseModel):
    """How late the loop was, in milliseconds; null where there are too few samples."""

    model_config = ConfigDict(extra="forbid")

    p50: float | None
    p99: float | None
    """Null below 299 samples, which is 1.5 s."""
    max: float | None


class Instrument(BaseModel):
    """What a `LoopMonitor` read."""

    model_config = ConfigDict(extra="forbid")

    seconds: float
    """How long it looked."""
    samples: int
    """Moments, 5 ms apart, at which the loop's lag was taken."""
    loop_lag_ms: LoopLag
    cpu_share: float | None
    """CPU time of this process, all threads, over wall time: 1 is one core."""
    client_limited: str | None
    """Why the timings say more of this client than of the server; null where they don't."""


class LoopMonitor:
    """Watches the running loop from `async with` until its end.

    Every 5 ms the loop is asked to call back, and how late it does is its lag. While it is stuck,
    the moments that pass are samples, too: a token that comes then waits as long. Event loops round
    their timers up to a whole millisecond, so up to 1 ms of lag is the timer's own.

    Costs 1 to 2 % of a core, and memory that doesn't grow.
    """

    def __init__(self) -> None:
        self._lags = _Histogram()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._began = self._ended = 0.0
        self._cpu_began = self._cpu_ended = 0.0

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._cpu_began = time.process_time()
        self._began = self._loop.time()
        self._plan(self._began)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._ended = self._loop.time()
        self._cpu_ended = time.process_time()
        self._take(self._ended)

    def reading(self, median_gap_ms: float | None = None) -> Instrument:
        """What was seen until now, or until the end of `async with`.

        Args:
            median_gap_ms: median gap between the tokens that were timed; a larger lag is allowed
                where it is large.
        """
        running = self._timer is not None
        seconds = (self._loop.time() if running else self._ended) - self._began
        cpu = (time.process_time() if running else self._cpu_ended) - self._cpu_began
        lag = LoopLag(
            p50=self._lags.percentile(50), p99=self._lags.percentile(99), max=self._lags.max
        )
        share = round(cpu / seconds, 3) if seconds > 0 else None
        return Instrument(
            seconds=round(seconds, 3),
            samples=self._lags.count,
            loop_lag_ms=lag,
            cpu_share=share,
            client_limited=client_limit(lag.p99, share, median_gap_ms),
        )

    def _plan(self, now: float) -> None:
        self._due = now + _BEAT_S
        self._timer = self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        now = self._loop.time()
        self._take(now)
        self._plan(now)

    def _take(self, now: float) -> None:
        for lag_ms in _missed(self._due, now):
            self._lags.add(lag_ms)


def client_limit(
    lag_p99_ms: float | None, cpu_share: float | None, median_gap_ms: float | None
) -> str | None:
    """Why timings are client-limited; None where they aren't, or where nothing tells.

    Args:
        cpu_share: of one core.
    """
    limit_ms = max(LAG_LIMIT_MS, LAG_LIMIT_SHARE * (median_gap_ms or 0))
    if lag_p99_ms is not None and lag_p99_ms > limit_ms:
        return f"the event loop was {lag_p99_ms:.1f} ms late at p99 (limit {limit_ms:.1f} ms)"
    if cpu_share is not None and cpu_share > CPU_LIMIT:
        return f"this process took {cpu_share:.0%} of a core (limit {CPU_LIMIT:.0%})"
    return None


@contextlib.contextmanager
def frozen_heap() -> Iterator[None]:
    """Keep what is loaded by now out of garbage collections: a full one would look through all the
    libraries, and stop the loop for tens of milliseconds."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _missed(due: float, now: float, beat: float = _BEAT_S) -> Iterator[float]:
    """Lag in milliseconds at `due` and at every beat after it that has passed by `now`, all in
    seconds of one clock; none where `due` is still to come."""
    while due <= now:
        yield 1000 * (now - due)
        due += beat


class _Histogram:
    """Values in buckets of equal ratio, so that memory is bounded whatever comes."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.count = 0
        self.max: float | None = None

    def add(self, ms: float) -> None:
        self._buckets[round(_STEPS * math.log1p(1000 * ms))] += 1
        self.count += 1
        self.max = round(max(ms, self.max or 0), 3)

    def percentile(self, percent: int) -> float | None:
        """By nearest rank; None where there are too few values (`stats.percentiles`)."""
        if self.count < SMALLEST_N[percent]:
            return None
        rank, seen = math.ceil(self.count * percent / 100), 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= rank:
                return round(min(math.expm1(bucket / _STEPS) / 1000, self.max or 0), 3)
        return None

"""The loop's lag and the process's CPU: what a late loop looks like, and when it says so."""

from __future__ import annotations

import asyncio
import gc
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.endpoint.instrument import (
    CPU_LIMIT,
    LAG_LIMIT_MS,
    Instrument,
    LoopMonitor,
    _Histogram,
    _missed,
    client_limit,
    frozen_heap,
)


@pytest.mark.parametrize(
    ("now", "lags_ms"),
    [
        pytest.param(0.99, [], id="not due yet"),
        pytest.param(1.0, [0], id="on time"),
        pytest.param(1.125, [125], id="late by half a beat"),
        pytest.param(1.25, [250, 0], id="a beat late: the next one is due, too"),
        pytest.param(2.0, [1000, 750, 500, 250, 0], id="stuck: every beat that passed waited"),
    ],
)
def test_beats_that_passed_are_samples(now: float, lags_ms: list[float]) -> None:
    assert list(_missed(1.0, now, beat=0.25)) == lags_ms


@pytest.mark.parametrize(
    ("lag_p99_ms", "cpu_share", "gap_ms", "word"),
    [
        (None, None, None, None),
        (0.4, 0.1, None, None),
        (LAG_LIMIT_MS, CPU_LIMIT, None, None),
        (2.1, 0.1, None, "event loop"),
        (2.1, 0.1, 5.0, "event loop"),
        (2.1, 0.1, 20.1, "event loop"),
        (2.1, 0.1, 50.0, None),
        (5.1, 0.1, 50.0, "limit 5.0 ms"),
        (0.4, 0.71, 50.0, "71% of a core"),
        (None, 0.71, None, "71% of a core"),
        (9.0, 0.9, None, "event loop"),
    ],
)
def test_a_client_past_its_limits_says_why(
    lag_p99_ms: float | None, cpu_share: float | None, gap_ms: float | None, word: str | None
) -> None:
    reason = client_limit(lag_p99_ms, cpu_share, gap_ms)
    assert (reason is None) if word is None else (reason is not None and word in reason)


@given(st.lists(st.floats(0, 1e7), min_size=1), st.sampled_from([50, 90, 99]))
def test_a_percentile_is_the_nearest_rank_within_a_percent(
    values: list[float], percent: int
) -> None:
    histogram = _Histogram()
    repeats = 300  # enough for every percentile
    for value in values * repeats:
        histogram.add(value)
    rank = math.ceil(len(values) * percent / 100)
    got = histogram.percentile(percent)
    assert got is not None
    # buckets below 1 µs are 0, and results are rounded to 1 µs
    assert got == pytest.approx(sorted(values)[rank - 1], rel=0.011, abs=0.002)
    assert histogram.max == pytest.approx(max(values), abs=0.001)


def test_percentiles_of_too_few_values_are_null() -> None:
    histogram = _Histogram()
    assert (histogram.percentile(50), histogram.max) == (None, None)
    for _ in range(298):
        histogram.add(1.0)
    assert histogram.percentile(50) is not None
    assert histogram.percentile(99) is None
    histogram.add(1.0)
    assert histogram.percentile(99) is not None


def test_memory_is_bounded_however_lags_differ() -> None:
    histogram = _Histogram()
    for exponent in range(100_000):
        histogram.add(1e-4 * 1.0003**exponent)
    assert len(histogram._buckets) < 2000


def watched(stall_s: float, *, at_end: bool = False) -> Instrument:
    async def work() -> LoopMonitor:
        async with LoopMonitor() as monitor:
            await asyncio.sleep(0.02)
            time.sleep(stall_s)  # noqa: ASYNC251 - a callback that holds the loop
            if not at_end:
                await asyncio.sleep(0.02)
        return monitor

    return asyncio.run(work()).reading()


@pytest.mark.parametrize("at_end", [False, True])
def test_a_stalled_loop_is_seen(at_end: bool) -> None:
    reading = watched(0.1, at_end=at_end)
    assert reading.loop_lag_ms.max is not None
    assert reading.loop_lag_ms.max >= 95  # a beat was due at most 5 ms after the stall began
    assert reading.samples >= 20
    assert reading.loop_lag_ms.p99 is None  # too few to tell


def test_a_loop_that_is_mostly_stuck_is_client_limited() -> None:
    reading = watched(1.6)
    assert reading.loop_lag_ms.p99 is not None
    assert reading.client_limited is not None
    assert reading.client_limited.startswith("the event loop was ")


def test_cpu_time_is_this_processs() -> None:
    async def work() -> LoopMonitor:
        async with LoopMonitor() as monitor:
            until = time.process_time() + 0.1
            while time.process_time() < until:
                pass
        return monitor

    reading = asyncio.run(work()).reading()
    assert reading.cpu_share is not None
    assert reading.cpu_share * reading.seconds >= 0.099


def test_a_reading_can_be_taken_meanwhile_and_stays_after_the_end() -> None:
    async def work() -> tuple[Instrument, LoopMonitor]:
        async with LoopMonitor() as monitor:
            await asyncio.sleep(0.02)
            meanwhile = monitor.reading()
            await asyncio.sleep(0.02)
        return meanwhile, monitor

    meanwhile, monitor = asyncio.run(work())
    assert 0 < meanwhile.seconds < monitor.reading().seconds
    assert meanwhile.samples <= monitor.reading().samples
    assert monitor.reading() == monitor.reading()
    assert Instrument.model_validate_json(monitor.reading().model_dump_json()) == monitor.reading()


def test_what_is_loaded_is_frozen_meanwhile() -> None:
    before = gc.get_freeze_count()
    with frozen_heap():
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0 == before

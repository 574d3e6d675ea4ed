"""Calibration end to end with few tokens; a client that stalls and a server that dies show up."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from ragevalkit.bench.calibrate import (
    Calibration,
    Load,
    LoadReading,
    Spread,
    Streams,
    calibrate,
    measure,
)
from ragevalkit.bench.loopback import Clock, Loopback
from ragevalkit.endpoint.instrument import Instrument, LoopLag
from ragevalkit.errors import EndpointUnusable
from ragevalkit.report.benches import calibration_tables

FILES = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")


def measured(load: Load) -> tuple[LoadReading, Streams]:
    with Loopback() as loopback:
        return asyncio.run(measure(loopback, load, Clock(0, 0)))


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_load_has_all_its_tokens_on_schedule(lockstep: bool) -> None:
    load = Load(streams=2, rate=100, seconds=0.2, lockstep=lockstep)
    reading, streams = measured(load)
    assert [len(stream) for stream in streams] == [20, 20]
    one, two = (stream[0].due_ns for stream in streams)
    assert two - one == (0 if lockstep else 5_000_000)
    assert reading.lateness_ms.n == reading.server_late_ms.n == 40
    assert reading.lateness_ms.p50 is not None
    assert reading.lateness_ms.p90 is not None
    assert reading.lateness_ms.p50 <= reading.lateness_ms.p90 <= reading.lateness_ms.max
    assert reading.lateness_ms.p99 is reading.floor_ms is None  # 40 tokens can't tell
    assert reading.cpu_us_per_token > 0
    assert reading.achieved_rate > 0


def test_the_floor_is_p99_of_the_lateness() -> None:
    reading, streams = measured(Load(streams=4, rate=500, seconds=0.2))
    assert reading.lateness_ms.n == 400
    assert reading.floor_ms == reading.lateness_ms.p99
    assert reading.lateness_ms.max == round(
        max(token.lateness_ms for stream in streams for token in stream), 3
    )


def test_a_client_that_stalls_is_late_and_says_so() -> None:
    async def stalling(loopback: Loopback) -> LoadReading:
        async def stall() -> None:
            while True:
                time.sleep(0.05)  # noqa: ASYNC251 - a callback that holds the loop
                await asyncio.sleep(0.001)

        stalls = asyncio.create_task(stall())
        reading, _ = await measure(loopback, Load(2, rate=100, seconds=3), Clock(0, 0))
        stalls.cancel()
        return reading

    with Loopback() as loopback:
        reading = asyncio.run(stalling(loopback))
    assert reading.lateness_ms.p90 is not None
    assert reading.lateness_ms.p90 > 20  # at 98 % of the time, uniform up to 50
    assert reading.instrument.loop_lag_ms.max is not None
    assert reading.instrument.loop_lag_ms.max >= 45
    assert reading.instrument.client_limited is not None
    assert "event loop" in reading.instrument.client_limited


@pytest.mark.parametrize("after_s", [0.0, 0.5])
def test_a_server_that_dies_is_named(after_s: float) -> None:
    async def killing(loopback: Loopback) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(after_s, os.kill, loopback.pid, signal.SIGKILL)
        await measure(loopback, Load(2, seconds=600), Clock(0, 0))

    with (
        Loopback() as loopback,
        pytest.raises(EndpointUnusable, match="the loopback server died: exit status -9"),
    ):
        asyncio.run(killing(loopback))


def test_loads_are_measured_in_order_and_announced() -> None:
    said: list[str] = []
    loads = [Load(n, rate=100, seconds=0.1) for n in (2, 1)]
    calibration, raw = asyncio.run(calibrate("c", loads, said.append))
    assert [load.streams for load in calibration.loads] == [2, 1]
    assert [(load.streams, len(streams)) for load, streams in raw] == [(2, 2), (1, 1)]
    assert said == [
        "2 x 100 tokens/s, staggered, for 0.1 s",
        "1 x 100 tokens/s, staggered, for 0.1 s",
    ]
    assert Calibration.model_validate_json(calibration.model_dump_json()) == calibration


def spread(p99: float | None, n: int = 300) -> Spread:
    return Spread(p50=0.1, p90=0.2, p99=p99, max=5.0, n=n)


def reading(
    floor_ms: float | None = 0.5, server_p99: float | None = 0.2, limited: str | None = None
) -> LoadReading:
    return LoadReading(
        streams=16,
        asked_rate=50,
        achieved_rate=49.94,
        lateness_ms=spread(floor_ms),
        server_late_ms=spread(server_p99),
        floor_ms=floor_ms,
        cpu_us_per_token=30.4,
        instrument=Instrument(
            seconds=6,
            samples=1200,
            loop_lag_ms=LoopLag(p50=0.1, p99=0.9, max=2),
            cpu_share=0.123,
            client_limited=limited,
        ),
    )


@pytest.mark.parametrize(
    ("load", "uncertainty_ms", "notes"),
    [
        (reading(), 0, ["Differences below 0.5 ms are under the floor at 16 streams."]),
        (reading(floor_ms=None), 0, ["No floor at 16 streams: p99 needs 299 tokens"]),
        (
            reading(server_p99=2.5),
            0,
            ["Differences below", "At 16 streams the server itself was 2.5 ms late at p99"],
        ),
        (
            reading(limited="the event loop was late"),
            0,
            ["Differences below", "Client-limited at 16 streams: the event loop was late."],
        ),
        (reading(), 0.05, ["Differences below", "another clock; it is known to 0.05 ms"]),
    ],
)
def test_tables_say_what_the_numbers_mean(
    load: LoadReading, uncertainty_ms: float, notes: list[str]
) -> None:
    calibration = Calibration(
        name="c",
        rate=50,
        seconds=6,
        lockstep=False,
        clock_offset_ms=0,
        clock_uncertainty_ms=uncertainty_ms,
        loads=[load],
    )
    late, took = calibration_tables(calibration)
    said = late.notes + took.notes
    assert len(said) == len(notes)
    for note, words in zip(said, notes, strict=True):
        assert words in note
    assert late.rows[0][0] == "16"
    assert took.rows[0] == [
        "16",
        "49.9/s",
        "0.2 ms" if "2.5" not in took.rows[0][2] else "2.5 ms",
        "30 µs",
        "12.3 %",
        "0.9 ms",
    ]


@pytest.mark.parametrize("model", [Calibration, LoadReading, Spread, Instrument, LoopLag])
def test_fields_are_documented(model: type[BaseModel]) -> None:
    section = FILES.partition("## `bench calibrate --json`")[2].partition("\n## ")[0]
    for name in model.model_fields:
        assert re.search(rf"\b{name}\b", section), name

"""Tables of the benches.

Public: `calibration_tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragevalkit.report.numbers import counted, milliseconds, percent
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.bench.calibrate import Calibration, LoadReading

_SERVER_LATE_MS = 2.0
"""A loopback server later than this at p99 means that the machine is busy with something else."""


def calibration_tables(calibration: Calibration) -> list[Table]:
    """How late the stamps were, and what took the time, a row each load."""
    order = "in lockstep" if calibration.lockstep else "staggered"
    title = (
        f"Lateness of token stamps: streams of {calibration.rate:g} tokens/s, {order}, "
        f"{calibration.seconds:g} s"
    )
    late = Table(
        title,
        ["streams", "p50", "p90", "p99", "max", "tokens"],
        [_lateness(load) for load in calibration.loads],
        [_floor(load) for load in calibration.loads],
        text_columns=0,
    )
    took = Table(
        "What it took",
        ["streams", "rate", "server late p99", "CPU a token", "CPU of a core", "loop lag p99"],
        [_effort(load) for load in calibration.loads],
        [remark for load in calibration.loads for remark in _remarks(load)],
        text_columns=0,
    )
    if calibration.clock_uncertainty_ms:
        late.notes.append(
            f"The server has another clock; it is known to "
            f"{milliseconds(calibration.clock_uncertainty_ms)}, and no lateness better."
        )
    return [late, took]


def _lateness(load: LoadReading) -> list[str]:
    late = load.lateness_ms
    times = map(milliseconds, (late.p50, late.p90, late.p99, late.max))
    return [str(load.streams), *times, f"{late.n:,}"]


def _effort(load: LoadReading) -> list[str]:
    return [
        str(load.streams),
        f"{load.achieved_rate:.1f}/s",
        milliseconds(load.server_late_ms.p99),
        f"{load.cpu_us_per_token:.0f} µs",
        percent(load.instrument.cpu_share),
        milliseconds(load.instrument.loop_lag_ms.p99),
    ]


def _floor(load: LoadReading) -> str:
    at_once = counted(load.streams, "stream")
    if load.floor_ms is None:
        return f"No floor at {at_once}: p99 needs 299 tokens, so take more seconds."
    return f"Differences below {milliseconds(load.floor_ms)} are under the floor at {at_once}."


def _remarks(load: LoadReading) -> list[str]:
    at_once = counted(load.streams, "stream")
    remarks = []
    if load.instrument.client_limited:
        remarks.append(f"Client-limited at {at_once}: {load.instrument.client_limited}.")
    late = load.server_late_ms.p99
    if late is not None and late > _SERVER_LATE_MS:
        remarks.append(
            f"At {at_once} the server itself was {milliseconds(late)} late at p99: the machine is "
            "busy, and part of the lateness is its own."
        )
    return remarks

"""What surrounds every bench: the endpoint got to know, and this client watched meanwhile.

Public: `session`, `Session`, `Floor`, `FLOOR_S`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bench.calibrate import Load, Spread, measure
from ragevalkit.bench.loopback import Loopback
from ragevalkit.endpoint.client import ChatClient, Timeouts
from ragevalkit.endpoint.fingerprint import choose_model, fingerprint
from ragevalkit.endpoint.instrument import Instrument, LoopMonitor, frozen_heap
from ragevalkit.endpoint.probe import Probe, probe
from ragevalkit.endpoint.profile import Profile

FLOOR_S = 2.0
"""How long the lateness of this client's stamps is measured before a bench."""
_FLOOR_RATE = 200.0
"""Tokens a second, of all streams together: enough for a p99."""


class Floor(BaseModel):
    """What is this instrument's own in the times of a bench."""

    model_config = ConfigDict(extra="forbid")

    ms: float | None
    """p99 of the lateness of one stamp: a single time is not known better. Null: not measured."""
    lateness_ms: Spread | None
    """Of the stamps of tokens whose sending time is known (`bench calibrate`), before the bench."""
    instrument: Instrument
    """While the bench ran; `client_limited` says why its times can't be trusted, if so."""


@dataclass
class Session:
    """An endpoint that is known, and the watch on this client."""

    client: ChatClient
    """Asks as the probe found best."""
    model: str
    probe: Probe
    fingerprint: dict[str, Any]
    monitor: LoopMonitor
    """Runs as long as the session."""
    lateness: Spread | None

    def floor(self, median_gap_ms: float | None = None) -> Floor:
        """The floor as it is known by now.

        Args:
            median_gap_ms: median gap between the tokens that were timed.
        """
        late = self.lateness
        return Floor(
            ms=late.p99 if late else None,
            lateness_ms=late,
            instrument=self.monitor.reading(median_gap_ms),
        )


@asynccontextmanager
async def session(
    profile: Profile,
    *,
    concurrency: int = 1,
    timeouts: Timeouts | None = None,
    tools: list[dict[str, Any]] | None = None,
    on_check: Callable[[str], None] = lambda title: None,
    on_warning: Callable[[str], None] = lambda line: None,
    before_probe: Callable[[ChatClient, str], Awaitable[None]] | None = None,
) -> AsyncIterator[Session]:
    """Get to know an endpoint, and watch this client until the end of `async with`.

    Args:
        profile: with the address of a server that runs.
        tools: those that the bench will offer; None: the agent's.
        on_check: gets what is being looked at.
        on_warning: gets lines for the user.
        before_probe: asks by client and model before any other completion is asked for.

    Raises:
        EndpointUnusable: the endpoint can't be used.
    """
    client = ChatClient(profile, concurrency=concurrency, timeouts=timeouts)
    try:
        model, listed, warning = await choose_model(client)
        if warning:
            on_warning(warning)
        marks = await fingerprint(client, model, listed)
        on_check("how late this client's stamps are")
        lateness = await _lateness(concurrency)
        if before_probe is not None:
            await before_probe(client, model)
        offered = load_toolbox(profile.strict).schemas if tools is None else tools
        found = await probe(client, model, offered, listed=listed, on_check=on_check)
        for line in found.warnings():
            on_warning(line)
        client.options = found.options()
        client.proven = True  # the probe's requests succeeded: a rejection now is of one request
        with frozen_heap():
            async with LoopMonitor() as monitor:
                yield Session(client, model, found, marks, monitor, lateness)
    finally:
        await client.close()


async def _lateness(streams: int) -> Spread | None:
    """How late stamps are with so many streams at once, against a server that knows."""
    if FLOOR_S <= 0:
        return None
    load = Load(streams, max(1.0, _FLOOR_RATE / streams), FLOOR_S)
    with Loopback() as loopback:
        reading, _ = await measure(loopback, load, loopback.clock())
    return reading.lateness_ms

"""What is this server? A few short requests, a verdict each, and what follows from them.

Public: `probe`, `Probe`, `Finding`, `Verdict`, `Limits`.

A check is one function over one `Look`, in the file of its theme; a new one is added to the
theme's tuple. Each says yes, no, unknown or not_supported, and never more than it saw.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.faults import Fault
from ragevalkit.endpoint.probe import caching, counts, grammar, identity, thinking, tools
from ragevalkit.endpoint.probe.finding import Finding, Verdict, unknown
from ragevalkit.endpoint.probe.look import Check, Limits, Look, Spent
from ragevalkit.endpoint.probe.questions import plain
from ragevalkit.endpoint.probe.result import Probe
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round, RoundState

__all__ = ["Finding", "Limits", "Probe", "Verdict", "probe"]

CHECKS: tuple[Check, ...] = (
    *identity.CHECKS,
    *counts.BUDGET,
    *counts.COUNTS,
    *thinking.CHECKS,
    *tools.CHECKS,
    *grammar.CHECKS,
    *counts.COUNTS_OF_CALLS,
    *caching.CHECKS,
)
"""In the order in which they are made: later ones use what earlier ones found."""

_LIMITS = Limits()


async def probe(
    client: ChatClient,
    model: str,
    tools: list[dict[str, Any]],
    *,
    listed: list[dict[str, Any]] | None = None,
    on_check: Callable[[str], None] = lambda title: None,
    limits: Limits = _LIMITS,
) -> Probe:
    """Find out what an endpoint does with what a run will ask of it.

    Args:
        client: says where the endpoint is; the probe asks by a client of its own.
        model: the name to ask for.
        tools: the tools that the run will offer, as they are sent.
        listed: entries of `/models`, where they were read before.
        on_check: gets the title of each check before it is made.

    Raises:
        EndpointUnusable: not one request succeeded.
    """
    began = time.monotonic()
    look = Look(client.profile, model, tools, listed or [], limits)
    try:
        if listed is None:
            look.listed = await _listed(look)
        on_check("a plain request")
        await plain(look)
        if (fault := _hopeless(client, look)) is not None:
            raise EndpointUnusable(client.explain(fault))
        for check in CHECKS:
            on_check(check.title)
            finding = await _made(check, look)
            look.known[check.name] = _without(client.profile.api_key(), finding)
        if not look.answered:
            raise EndpointUnusable(client.explain(_fault(look.replies["plain"])))
    finally:
        await look.close()
    return Probe(
        endpoint=client.profile.name,
        model=model,
        findings=look.known,
        requests=look.requests,
        seconds=round(time.monotonic() - began, 3),
    )


async def _made(check: Check, look: Look) -> Finding:
    try:
        finding = await check.run(look)
    except Spent as spent:
        finding = unknown(str(spent))
    return finding.model_copy(update={"title": check.title})


async def _listed(look: Look) -> list[dict[str, Any]]:
    look.requests += 1
    try:
        return await look.client.models()
    except Fault:
        return []


def _hopeless(client: ChatClient, look: Look) -> Fault | None:
    """The fault of the plain request, where any other would meet it as well."""
    reply = look.replies["plain"]
    if reply.state is RoundState.DONE or reply.state is RoundState.REJECTED:
        return None
    fault = _fault(reply)
    if reply.state is RoundState.DEADLINE and reply.clock.first_event_ms is None:
        seconds = look.limits.request_s
        return Fault(RoundState.STALLED, f"the server sent nothing for {seconds:g} s")
    return fault if client.unusable(fault) else None


def _fault(round_: Round) -> Fault:
    status = round_.attempts[-1].status if round_.attempts else None
    return Fault(round_.state, round_.error or round_.state.value, status)


def _without(key: str | None, finding: Finding) -> Finding:
    """`finding` without the key, which some servers repeat."""
    if not key:
        return finding
    value = finding.value
    return finding.model_copy(
        update={
            "evidence": finding.evidence.replace(key, "***"),
            "value": value.replace(key, "***") if isinstance(value, str) else value,
        }
    )

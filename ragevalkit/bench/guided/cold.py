"""The first requests for a grammar: of an engine, and of a schema.

Public: `ask_engine_cold`, `engine_cold`, `ask_first_uses`, `first_uses`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from ragevalkit.bench.folder import Record
from ragevalkit.bench.guided.arms import Material, request
from ragevalkit.bench.guided.asking import REJECTED, Asker, ttft
from ragevalkit.bench.guided.estimate import Estimate, estimate
from ragevalkit.bench.guided.ready import Nonces, Ready
from ragevalkit.bench.guided.result import EngineCold, FirstUse
from ragevalkit.bench.guided.schemas import new_schema, new_tools
from ragevalkit.bench.prompts import Cold
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.turn.record import Round

_COMPILED = ("T2", "T3", "J")
"""Arms whose grammar is made from a schema."""
_VARIANTS = 10**9


async def ask_engine_cold(client: ChatClient, material: Material, sitting: int) -> list[Record]:
    """Two plain requests and two for one new schema, before any other request for a grammar.

    Raises:
        EndpointUnusable: the first request failed in a way that the next would, too.
    """
    material = replace(material, schema=new_schema(secrets.randbelow(_VARIANTS)))
    records = []
    for number, arm in enumerate(("J0", "J0", "J", "J")):
        body = request(arm, material, Cold.nonce())
        round_ = await client.complete(body, [], time.perf_counter_ns())
        place = {"sitting": sitting, "state": "engine-cold", "arm": arm, "number": number}
        records.append(Record.now(place, round_))
        if round_.state in REJECTED:
            break
    return records


def engine_cold(records: Sequence[Record], streams: bool) -> list[EngineCold]:
    """What the first request for a grammar took, of each sitting."""
    sittings: dict[int, dict[int, Round]] = {}
    for record in records:
        if record.place.get("state") == "engine-cold" and record.round is not None:
            sitting = sittings.setdefault(record.place["sitting"], {})
            sitting[record.place["number"]] = record.round
    found = []
    for number, rounds in sittings.items():
        times = [_rounded(ttft(rounds[n], streams)) if n in rounds else None for n in (1, 2, 3)]
        rejected = next((r.error for r in rounds.values() if r.state in REJECTED), None)
        found.append(
            EngineCold(
                sitting=number,
                plain_ms=times[0],
                first_ms=times[1],
                again_ms=times[2],
                said=rejected,
            )
        )
    return found


async def ask_first_uses(asker: Asker, ready: Ready, nonces: Nonces, block: int) -> None:
    """For each arm whose grammar is made from a schema, a new one, twice.

    Raises:
        Stopped: the server is gone.
    """
    for arm in _COMPILED:
        if arm not in ready.arms or ready.states[arm].engaged == "no":
            continue
        variant = secrets.randbelow(_VARIANTS)
        if arm == "J":
            material = replace(ready.material, schema=new_schema(variant))
        else:
            material = replace(ready.material, tools=new_tools(ready.material.tools, variant))
        for state in ("first", "again"):
            nonce = nonces.nonce((block, arm, state))
            body = request(arm, material, nonce, **nonces.cold.fields())
            await asker.ask(body, state=state, arm=arm, block=block)


def first_uses(records: Sequence[Record], streams: bool, margin: float) -> list[FirstUse]:
    """First request less second, for each arm."""
    pairs: dict[str, dict[tuple[int, int], dict[str, Round]]] = {}
    for record in records:
        place, round_ = record.place, record.round
        if place.get("state") in ("first", "again") and round_ is not None:
            of_arm = pairs.setdefault(place["arm"], {})
            pair = of_arm.setdefault((place["sitting"], place["block"]), {})
            pair[place["state"]] = round_
    return [
        _first_use(arm, [p for p in pairs[arm].values() if len(p) == 2], streams, margin)
        for arm in _COMPILED
        if arm in pairs
    ]


def _first_use(
    arm: str, pairs: Sequence[dict[str, Round]], streams: bool, margin: float
) -> FirstUse:
    times = [
        (first, again)
        for pair in pairs
        if (first := ttft(pair["first"], streams)) is not None
        and (again := ttft(pair["again"], streams)) is not None
    ]
    lengths = {round_.prompt_tokens for pair in pairs for round_ in pair.values()}
    return FirstUse(
        arm=arm,
        schemas=len(times),
        ttft_ms=estimate([first - again for first, again in times], margin),
        queue_ms=_queued(pairs, margin),
        first_ms=_rounded(median(t[0] for t in times)) if times else None,
        again_ms=_rounded(median(t[1] for t in times)) if times else None,
        prompt_tokens=sorted(length for length in lengths if length is not None),
    )


def _queued(pairs: Sequence[dict[str, Round]], margin: float) -> Estimate | None:
    """By the server's own queue, in which vLLM compiles."""
    differences = []
    for pair in pairs:
        first, again = pair["first"].server, pair["again"].server
        if first is None or again is None or first.queue_ms is None or again.queue_ms is None:
            continue
        differences.append(first.queue_ms - again.queue_ms)
    return estimate(differences, margin) if differences else None


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 3)

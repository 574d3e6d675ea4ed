"""The sweep over the number of tools: what they cost, and whether calls stay well-formed.

Public: `ask_tool_counts`, `CountsResult`, `call_defects_of`.

Each block asks every number of tools twice: for prose, whose first token tells the cost of the
prompt, and for a call of one named tool.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from jsonschema import Draft202012Validator

from ragevalkit.bench.folder import Record
from ragevalkit.bench.guided.analysis import (
    blocks_of,
    cache_state,
    complete_blocks,
    differences,
)
from ragevalkit.bench.guided.arms import Contrast, Material, request
from ragevalkit.bench.guided.asking import REJECTED, Asker, Stopped
from ragevalkit.bench.guided.blocks import Blocks
from ragevalkit.bench.guided.estimate import Verdict, estimate, nothing_known
from ragevalkit.bench.guided.plan import SWEEP_TOKENS
from ragevalkit.bench.guided.ready import Nonces
from ragevalkit.bench.guided.result import CacheState, ToolCount
from ragevalkit.bench.guided.tools import tools_for
from ragevalkit.scoring.calls import leak
from ragevalkit.scoring.summary import Rate
from ragevalkit.stats import wilson
from ragevalkit.turn.record import Round, RoundState

_NONE = "none"
"""The arm without tools."""
_CALL = " call"
_WARM_UPS = 2
_ABOUT = (
    "rated voltage",
    "oil change interval",
    "noise level",
    "safety valve",
    "spare parts",
    "operating temperature",
    "warranty",
    "dimensions",
)


@dataclass(frozen=True)
class CountsResult:
    """What came of the sweep."""

    found: list[ToolCount]
    blocks: int
    stopped: str | None
    cache: CacheState


@dataclass(frozen=True)
class _Offer:
    """One number of tools."""

    tools: list[dict[str, Any]]
    generated: int
    rejected: str | None = None

    @property
    def names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools]


async def ask_tool_counts(
    blocks: Blocks,
    asker: Asker,
    material: Material,
    nonces: Nonces,
    earlier: Sequence[Record],
    streams: bool,
) -> CountsResult:
    """Ask all blocks that are missing, and read what came.

    Raises:
        EndpointUnusable: the endpoint takes no request at all.
    """
    plan = blocks.plan
    target = material.tools[0]
    offers = {n: _Offer(*tools_for(n, material.tools, plan.seed)) for n in plan.counts}
    bodies = _Bodies(material, offers, target, nonces)
    stopped = None

    def records() -> list[Record]:
        return [*earlier, *asker.records]

    try:
        for count, offer in list(offers.items()):
            offers[count] = replace(offer, rejected=await _rejection(asker, bodies, count))
        taken = [n for n, offer in offers.items() if offer.rejected is None]
        if taken:
            await _ask_blocks(blocks, asker, bodies, taken, records, streams)
    except Stopped as stop:
        stopped = str(stop)
    name = target["function"]["name"]
    return CountsResult(
        found=[
            _count(n, offer, name, records(), plan.margin_ms, streams)
            for n, offer in offers.items()
        ],
        blocks=len(complete_blocks(records(), blocks.arms)) if blocks.arms else 0,
        stopped=stopped,
        cache=cache_state(blocks_of(records()), nonces.cold.field or "nonce"),
    )


async def _ask_blocks(
    blocks: Blocks,
    asker: Asker,
    bodies: _Bodies,
    counts: Sequence[int],
    records: Callable[[], list[Record]],
    streams: bool,
) -> None:
    blocks.arms = [_NONE, *map(str, counts), *(f"{n}{_CALL}" for n in counts)]
    done = complete_blocks(records(), blocks.arms)

    async def one(arm: str, block: int, position: int) -> Round:
        place = {"arm": arm, "block": block, "position": position}
        return await asker.ask(bodies.of(arm, block), state="measured", **place)

    async def between(block: int) -> None:
        """Nothing."""

    await blocks.ask(
        len(done),
        1 + max((block for _, block in done), default=-1),
        one,
        between,
        lambda: [differences(records(), _over_none(n), streams) for n in counts],
    )


@dataclass(frozen=True)
class _Bodies:
    """The requests of the sweep."""

    material: Material
    offers: Mapping[int, _Offer]
    target: Mapping[str, Any]
    nonces: Nonces

    def of(self, arm: str, block: object) -> dict[str, Any]:
        fields = self.nonces.cold.fields()
        nonce = self.nonces.nonce(block)
        if arm == _NONE:
            return request("P", self.material, nonce, **fields)
        calls = arm.endswith(_CALL)
        tools = self.offers[int(arm.removesuffix(_CALL))].tools
        material = replace(self.material, tools=tools)
        if not calls:
            return request("T1", material, nonce, **fields)
        about = _ABOUT[block % len(_ABOUT)] if isinstance(block, int) else _ABOUT[0]
        question = _call_question(self.target, about)
        material = replace(material, tokens=SWEEP_TOKENS)
        return request("T1", material, nonce, question=question, **fields)


def call_defects_of(round_: Round, tools: Sequence[Mapping[str, Any]]) -> set[str]:
    """Kinds of what is wrong with the calls of a reply, named as in scoring: `not_json`,
    `truncated`, `unknown_tool`, `schema`, `in_content`, `in_reasoning`.

    Args:
        tools: those that were offered, as they were sent.
    """
    parameters = {t["function"]["name"]: t["function"].get("parameters", {}) for t in tools}
    kinds = set()
    for call in round_.calls:
        if call.name not in parameters:
            kinds.add("unknown_tool")
            continue
        try:
            arguments = json.loads(call.arguments) if call.arguments.strip() else {}
        except ValueError:
            kinds.add("truncated" if round_.finish_reason == "length" else "not_json")
            continue
        if not Draft202012Validator(parameters[call.name]).is_valid(arguments):
            kinds.add("schema")
    if kind := leak(round_, list(parameters)):
        kinds.add(kind)
    return kinds


def _call_question(tool: Mapping[str, Any], about: str) -> str:
    function = tool["function"]
    parameters = function.get("parameters", {})
    properties = parameters.get("properties", {})
    names = [*parameters.get("required", ()), *properties]
    texts = [n for n in names if properties.get(n, {}).get("type") == "string"]
    argument = f' with {texts[0]} "{about}"' if texts else ""
    return f"Call the function {function['name']}{argument}. Write nothing else."


async def _rejection(asker: Asker, bodies: _Bodies, count: int) -> str | None:
    """The server's words, where it doesn't take so many tools."""
    for number in range(_WARM_UPS):
        body = bodies.of(str(count), f"warm-up {count} {number}")
        round_ = await asker.ask(body, state="warm-up", arm=str(count), number=number)
        if round_.state in REJECTED:
            return round_.error or round_.state.value
    return None


def _count(
    count: int, offer: _Offer, target: str, records: Sequence[Record], margin: float, streams: bool
) -> ToolCount:
    blocks = blocks_of(records).values()
    if offer.rejected is not None:
        ttft_ms = nothing_known(Verdict.NOT_ENGAGED, margin)
    else:
        ttft_ms = estimate(differences(records, _over_none(count), streams), margin)
    asked = [b[f"{count}{_CALL}"] for b in blocks if f"{count}{_CALL}" in b]
    done = [round_ for round_ in asked if round_.state is RoundState.DONE]
    with_calls = [round_ for round_ in done if round_.calls]
    tried = [r for r in done if r.calls or leak(r, offer.names)]
    defects = [call_defects_of(round_, offer.tools) for round_ in tried]
    rounds = [b[str(count)] for b in blocks if str(count) in b]
    lengths = [r.prompt_tokens for r in rounds if r.prompt_tokens is not None]
    return ToolCount(
        tools=count,
        generated=offer.generated,
        status="run" if offer.rejected is None else "not_supported",
        evidence=offer.rejected or "",
        prompt_tokens=round(median(lengths)) if lengths else None,
        ttft_ms=ttft_ms,
        called=_rate(len(with_calls), len(done)),
        right_tool=_rate(sum(r.calls[0].name == target for r in with_calls), len(with_calls)),
        well_formed=_rate(sum(not kinds for kinds in defects), len(tried)),
        defects=dict(Counter(kind for kinds in defects for kind in sorted(kinds))),
    )


def _over_none(count: int) -> Contrast:
    return Contrast(_NONE, str(count), "tools in all")


def _rate(k: int, n: int) -> Rate:
    interval = wilson(k, n)
    return Rate(
        k=k,
        n=n,
        value=k / n if n else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
    )

"""One sitting of the bench: the endpoint got to know, the requests, and the result.

Public: `measure`.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ragevalkit.bench.folder import Record
from ragevalkit.bench.guided.analysis import Known, analyse, complete_blocks, differences
from ragevalkit.bench.guided.arms import ARMS, CONTRASTS, Material, request
from ragevalkit.bench.guided.asking import Asker, Stopped, gap
from ragevalkit.bench.guided.blocks import Blocks
from ragevalkit.bench.guided.cold import ask_engine_cold, ask_first_uses
from ragevalkit.bench.guided.plan import Observer, Plan
from ragevalkit.bench.guided.ready import Nonces, Ready, get_ready
from ragevalkit.bench.guided.result import GuidedResult
from ragevalkit.bench.guided.schemas import new_schema, null_grammar
from ragevalkit.bench.guided.tool_counts import ask_tool_counts
from ragevalkit.bench.prompts import Cold
from ragevalkit.bench.session import Session, session
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.probe import Probe, Verdict
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round

_WARM_NONCE = "000000000000"
"""At the start of the prompts that are to come from the cache."""


async def measure(plan: Plan, observer: Observer) -> GuidedResult:
    """Begin or continue the bench; all that was asked is in its folder then.

    Raises:
        InputError: the folder holds another bench.
        EndpointUnusable: the endpoint can't be used.
        RunFolderError: the disk is full, or the folder can't be written.
    """
    folder = plan.folder
    earlier = folder.records()
    sitting = 1 + max((r.place["sitting"] for r in earlier), default=-1)
    cold: list[Record] = []

    async def before_probe(client: ChatClient, model: str) -> None:
        folder.check(plan.settings(model))
        if "J" in plan.arms and not plan.counts:
            observer.checks("the first request for a grammar")
            material = _material(plan, model, None, plan.tokens)
            cold.extend(await ask_engine_cold(client, material, sitting))

    with plan.connect(plan.profile) as profile:
        async with session(
            profile,
            timeouts=plan.timeouts,
            tools=[dict(tool) for tool in plan.tools],
            on_check=observer.checks,
            on_warning=observer.warns,
            before_probe=before_probe,
        ) as at:
            probe = at.probe.model_dump(mode="json")
            folder.open(plan.settings(at.model), fingerprint=at.fingerprint, probe=probe)
            try:
                for record in cold:
                    folder.add(record)
                return await _Sitting(plan, observer, at, [*earlier, *cold], sitting).result()
            finally:
                folder.close()


class _Sitting:
    """What is done once the endpoint is known."""

    def __init__(
        self, plan: Plan, observer: Observer, at: Session, earlier: Sequence[Record], number: int
    ) -> None:
        self._plan, self._observer, self._at = plan, observer, at
        self._earlier = earlier
        self._asker = Asker(at, plan.folder, number)
        self._nonces = Nonces(Cold.of(at.probe))
        self._streams = at.probe.verdict("streaming") is not Verdict.NO
        if not self._streams:
            observer.warns("each request asks for one token, since replies come whole")
        on_record = (plan.folder.read_manifest() or {}).get("planned_blocks")
        self._blocks = Blocks(plan, observer, [], plan.blocks or on_record)

    @property
    def _records(self) -> list[Record]:
        return [*self._earlier, *self._asker.records]

    async def result(self) -> GuidedResult:
        tokens = self._plan.tokens if self._streams else 1
        material = _material(self._plan, self._at.model, self._at.probe, tokens)
        if self._plan.counts:
            counts = await ask_tool_counts(
                self._blocks, self._asker, material, self._nonces, self._earlier, self._streams
            )
            known = self._known(Ready(material, []), counts.stopped)
            base = analyse([], self._plan, known)
            return base.model_copy(
                update={"blocks": counts.blocks, "tool_counts": counts.found, "cache": counts.cache}
            )
        self._observer.checks("each arm's first requests")
        try:
            ready = await get_ready(self._asker, material, self._plan.arms, self._nonces)
        except Stopped as stop:
            raise EndpointUnusable(
                f"endpoint {self._plan.profile.name} fails at the arms' first requests: {stop}"
            ) from stop
        self._warn(ready)
        stopped = None
        try:
            await self._ask_blocks(ready)
        except Stopped as stop:
            stopped = str(stop)
        return analyse(self._records, self._plan, self._known(ready, stopped))

    def _warn(self, ready: Ready) -> None:
        for arm, state in ready.states.items():
            if not state.supported:
                self._observer.warns(f"{arm} ({ARMS[arm]}) is not supported: {state.evidence}")
            elif state.engaged == "no":
                self._observer.warns(f"{arm} ({ARMS[arm]}) is not engaged: {state.evidence}")

    async def _ask_blocks(self, ready: Ready) -> None:
        done = complete_blocks(self._records, ready.arms)
        contrasts = [c for c in CONTRASTS if {c.base, c.arm} <= set(ready.arms)]
        self._blocks.arms = ready.arms

        async def one(arm: str, block: int, position: int) -> Round:
            nonce = self._nonces.nonce(block)
            body = request(arm, ready.material, nonce, **self._nonces.cold.fields())
            place = {"arm": arm, "block": block, "position": position}
            return await self._asker.ask(body, state="measured", **place)

        async def between(block: int) -> None:
            await ask_first_uses(self._asker, ready, self._nonces, block)
            await self._ask_warm(ready, block)

        await self._blocks.ask(
            len(done),
            1 + max((block for _, block in done), default=-1),
            one,
            between,
            lambda: [differences(self._records, c, self._streams) for c in contrasts],
        )

    async def _ask_warm(self, ready: Ready, block: int) -> None:
        """P and T1 from the cache: what the first request leaves there, the second one finds,
        whatever was asked in between."""
        pair = [arm for arm in ("P", "T1") if arm in ready.arms]
        for arm in pair if block % 4 == 1 else pair[::-1]:
            body = request(arm, ready.material, _WARM_NONCE)
            for state in ("prime", "cached"):
                await self._asker.ask(body, state=state, arm=arm, block=block)

    def _known(self, ready: Ready, stopped: str | None) -> Known:
        gaps = [g for r in self._records if r.round and (g := gap(r.round)) is not None]
        return Known(
            name=self._plan.folder.path.name,
            model=self._at.model,
            states=ready.states,
            arms=ready.arms,
            streams=self._streams,
            kept_out_by=self._nonces.cold.field or "nonce",
            planned=self._blocks.planned,
            stopped=stopped,
            floor=self._at.floor(statistics.median(gaps) if gaps else None),
        )


def _material(plan: Plan, model: str, probe: Probe | None, tokens: int) -> Material:
    engine = probe.findings.get("engine") if probe else None
    return Material(
        model=model,
        tools=plan.tools,
        schema=new_schema(0),
        null_grammar=null_grammar(str(engine.value or "")) if engine else None,
        tokens=tokens,
        seed=plan.seed,
        sampling=plan.profile.sampling.parameters(),
    )

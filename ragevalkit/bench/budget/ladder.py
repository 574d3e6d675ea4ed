"""Asks a ladder of output budgets, then the thinking controls, and keeps what came.

Public: `measure`, `Setup`, `settings_of`, `MOST_LOST_IN_A_ROW`.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ragevalkit.agent.graph import Agent, Limits
from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bank import Bank
from ragevalkit.bench.budget.plan import Control, Ladder, Step, known_controls, steps
from ragevalkit.bench.budget.reading import Reading, read
from ragevalkit.bench.budget.result import BudgetResult, by_rung, summarise
from ragevalkit.bench.folder import BenchFolder, Record
from ragevalkit.bench.measuring import Watch
from ragevalkit.bench.prompts import Cold
from ragevalkit.bench.session import Session, session
from ragevalkit.corpus import Corpus
from ragevalkit.endpoint.client import Timeouts
from ragevalkit.endpoint.probe import Verdict
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError
from ragevalkit.turn.record import Round, Turn

MOST_LOST_IN_A_ROW = 10

_ANNOUNCE_S = 10.0
_BUDGET_NAMES = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class Setup:
    """All that a budget bench is made of."""

    folder: BenchFolder
    profile: Profile
    """With the address of a server that runs."""
    bank: Bank
    ladder: Ladder
    corpora: Mapping[str, Corpus]
    """Empty where no tools are offered."""
    controls: bool = True
    """Whether to try the thinking controls."""
    turn_s: float = 600.0
    """Most seconds for one request, or one turn."""
    timeouts: Timeouts = Timeouts()


def settings_of(setup: Setup, model: str) -> dict[str, Any]:
    """What must be the same for the bench to be continued."""
    profile, ladder = setup.profile, setup.ladder
    return {
        "bench": "budget",
        "endpoint": {
            "name": profile.name,
            # a built-in endpoint listens at another port each time
            "base_url": None if profile.built_in else profile.base_url,
            "model": model,
            "sampling": profile.sampling.parameters(),
            "extra_body": profile.extra_body,
        },
        "bank": {"name": setup.bank.name, "hash": setup.bank.hash},
        "questions": [question.id for question in ladder.questions],
        "budgets": list(ladder.budgets),
        "runs": ladder.runs,
        "agent": ladder.agent,
        "controls": setup.controls,
        "seed": ladder.seed,
        "turn_timeout_s": setup.turn_s,
    }


async def measure(setup: Setup, watch: Watch) -> BudgetResult:
    """Ask what isn't on record yet, and write result.json; a finished bench gives its result.

    Raises:
        InputError: the profile sets the output budget itself, or the folder holds another bench.
        EndpointUnusable: the endpoint can't be used.
        RunFolderError: the disk is full, or the folder can't be written.
    """
    if fixed := [name for name in _BUDGET_NAMES if name in setup.profile.extra_body]:
        raise InputError(
            f"the extra_body of {setup.profile.name} sets {fixed[0]}, so that no other budget can "
            "be asked for; take it out of the profile"
        )
    if (finished := _finished(setup)) is not None:
        return finished
    async with session(
        setup.profile,
        timeouts=setup.timeouts,
        tools=load_toolbox(setup.profile.strict).schemas,
        on_check=watch.checks,
        on_warning=watch.warns,
    ) as known:
        known.client.proven = True  # it answered the probe: a rejected budget is a finding
        setup.folder.open(
            settings_of(setup, known.model),
            fingerprint=known.fingerprint,
            probe=known.probe.model_dump(mode="json"),
        )
        try:
            return await _Asking(setup, known, watch).result()
        finally:
            setup.folder.close()


def _finished(setup: Setup) -> BudgetResult | None:
    """The result on record, where all of this very bench was asked."""
    folder = setup.folder
    try:
        settings = orjson.loads(folder.manifest.read_bytes())["settings"]
        result = BudgetResult.model_validate_json(folder.result.read_bytes())
        model = setup.profile.model or settings["endpoint"]["model"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    same = settings == orjson.loads(orjson.dumps(settings_of(setup, model)))
    return result if same and not result.lost else None


class _Asking:
    """A bench under way."""

    def __init__(self, setup: Setup, known: Session, watch: Watch) -> None:
        self._setup, self._known, self._watch = setup, known, watch
        self._cold = Cold.of(known.probe)
        self._toolbox = load_toolbox(setup.profile.strict)
        self._prompt = load_prompt()
        self._readings: dict[tuple[tuple[str, Any], ...], Reading] = {}
        for record in setup.folder.records():
            self._readings[_key(record.place)] = read(record)
        self._lost_in_a_row = 0

    async def result(self) -> BudgetResult:
        setup, ladder = self._setup, self._setup.ladder
        ladder_steps = list(steps(ladder))
        controls = self._controls() if setup.controls else []
        control_steps = list(steps(ladder, controls)) if controls else []
        await self._ask(ladder_steps, len(ladder_steps) + len(control_steps))
        if controls is None:
            # the probe saw no thinking, but its one question may not have needed any
            thought = any(r.reasoning_tokens for r in self._readings.values())
            controls = known_controls(self._known.probe, ladder.budgets) if thought else []
            control_steps = list(steps(ladder, controls)) if controls else []
        everything = [*ladder_steps, *control_steps]
        await self._ask(control_steps, len(everything))
        pairs = [
            (s, self._readings[_key(s.place)])
            for s in everything
            if _key(s.place) in self._readings
        ]
        length = self._known.probe.findings.get("context_length")
        result = summarise(
            ladder,
            controls,
            by_rung(pairs),
            name=setup.folder.path.name,
            endpoint=setup.profile.name,
            model=self._known.model,
            context=length.value if length and isinstance(length.value, int) else None,
            floor=self._known.floor(self._gap()),
        )
        setup.folder.write_result(result)
        return result

    def _gap(self) -> float | None:
        gaps = [r.gap_ms for r in self._readings.values() if r.gap_ms is not None]
        return statistics.median(gaps) if gaps else None

    def _controls(self) -> list[Control] | None:
        """Those to try; None where that depends on what the ladder shows."""
        if self._known.probe.verdict("thinks") is not Verdict.YES:
            return None
        return known_controls(self._known.probe, self._setup.ladder.budgets)

    async def _ask(self, wanted: Sequence[Step], planned: int) -> None:
        """Ask the steps that aren't on record, or were lost; ten lost in a row end it."""
        for step in wanted:
            on_record = self._readings.get(_key(step.place))
            if on_record is not None and not on_record.lost:
                continue
            if self._lost_in_a_row >= MOST_LOST_IN_A_ROW:
                return
            ticker = asyncio.create_task(self._tick(step, planned))
            try:
                record = Record.now(step.place, await self._one(step))
            finally:
                ticker.cancel()
            self._setup.folder.add(record)
            reading = self._readings[_key(step.place)] = read(record)
            self._lost_in_a_row = self._lost_in_a_row + 1 if reading.lost else 0

    async def _tick(self, step: Step, planned: int) -> None:
        """Say what is asked, and again while it lasts."""
        finished = sum(not reading.lost for reading in self._readings.values())
        waited_s = 0.0
        while True:
            so_far = f", {waited_s:.0f} s so far" if waited_s else ""
            self._watch.step(f"{step}{so_far}", finished, planned)
            await asyncio.sleep(_ANNOUNCE_S)
            waited_s += _ANNOUNCE_S

    async def _one(self, step: Step) -> Round | Turn:
        client, profile = self._known.client, self._setup.profile
        fields = [step.control.fields if step.control else {}, self._cold_fields()]
        client.profile = profile.model_copy(
            update={"extra_body": _over(profile.extra_body, fields)}
        )
        try:
            if self._setup.ladder.agent:
                return await self._turn(step)
            return await self._request(step)
        finally:
            client.profile = profile

    def _cold_fields(self) -> dict[str, Any]:
        """Inside a turn the cache is part of what is measured; a salt parts turns alone."""
        if self._setup.ladder.agent and self._cold.field == "cache_prompt":
            return {}
        return self._cold.fields()

    async def _request(self, step: Step) -> Round:
        """One question without tools and without a prompt that tells to search."""
        history = [{"role": m.role, "content": m.content} for m in step.question.history]
        body = {
            "model": self._known.model,
            "messages": [*history, {"role": "user", "content": step.question.question}],
            **self._setup.profile.sampling.parameters(),
            "seed": self._setup.ladder.seed + step.run,
            "max_completion_tokens": step.budget,
        }
        rounds: list[Round] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._setup.turn_s):
                await self._known.client.complete(body, rounds, time.perf_counter_ns())
        return rounds[-1]

    async def _turn(self, step: Step) -> Turn:
        limits = Limits(output_tokens=step.budget, turn_s=self._setup.turn_s)
        agent = Agent(
            self._known.client,
            self._known.model,
            self._toolbox,
            self._prompt,
            limits,
            self._setup.ladder.seed,
        )
        corpus = self._setup.corpora[step.question.corpus or ""]
        return await agent.ask(step.question, corpus, step.run)


def _key(place: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(place.items()))


def _over(under: dict[str, Any], layers: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Fields of all, later ones first; tables such as `chat_template_kwargs` are merged."""
    merged = dict(under)
    for layer in layers:
        for name, value in layer.items():
            old = merged.get(name)
            if isinstance(old, dict) and isinstance(value, dict):
                value = {**old, **value}
            merged[name] = value
    return merged

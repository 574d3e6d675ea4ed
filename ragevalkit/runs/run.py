"""A run: from a plan to a finished folder, also when it is interrupted and continued.

Public: `Plan`, `Observer`, `RunResult`, `execute`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol

import orjson

from ragevalkit.agent.graph import Agent, Limits
from ragevalkit.agent.tools import Toolbox
from ragevalkit.bank import Bank
from ragevalkit.corpus import Corpus
from ragevalkit.endpoint.client import ChatClient, Retries, Timeouts
from ragevalkit.endpoint.fingerprint import choose_model, fingerprint
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError, Interrupted
from ragevalkit.runs.folder import RunFolder, replace_file
from ragevalkit.runs.loop import run_to_end
from ragevalkit.runs.manifest import changed_settings, new_manifest, settings_of
from ragevalkit.runs.results import read_summary, write_results
from ragevalkit.runs.schedule import Item, Stopped, ask_all
from ragevalkit.runs.writer import Writer
from ragevalkit.scoring.score import Score, score_turn
from ragevalkit.scoring.summary import Summary, Tally
from ragevalkit.scoring.timing import turn_timing
from ragevalkit.turn.record import Ended, Turn


@dataclass(frozen=True)
class Plan:
    """All that a run is made of."""

    folder: RunFolder
    bank: Bank
    corpora: Mapping[str, Corpus]
    """By the name that `Question.corpus` gives; "" for questions without one."""
    profile: Profile
    connect: Callable[[Profile], AbstractContextManager[Profile]]
    """Gives the profile to ask; starts the server of a built-in endpoint."""
    prompt: str
    toolbox: Toolbox
    limits: Limits = Limits()
    repeats: int = 1
    concurrency: int = 1
    limit: int | None = None
    """Ask only the first so many questions."""
    tags: list[str] = field(default_factory=list)
    """Ask only questions that have one of these tags; empty: all."""
    seed: int = 0
    retries: Retries = Retries()
    timeouts: Timeouts = Timeouts()

    def items(self) -> list[Item]:
        """What the run asks, in this order: all questions once, then again."""
        questions = [
            q for q in self.bank.questions if not self.tags or set(self.tags) & set(q.tags)
        ]
        chosen = questions[: self.limit]
        return [Item(question, repeat) for repeat in range(self.repeats) for question in chosen]

    def settings(self, model: str | None) -> dict[str, Any]:
        """What must not change when the run is continued."""
        return settings_of(
            bank=self.bank,
            corpora=self.corpora,
            profile=self.profile,
            model=model,
            prompt=self.prompt,
            tools_hash=self.toolbox.hash,
            limits=self.limits,
            seed=self.seed,
            repeats=self.repeats,
            tags=self.tags,
        )


class Observer(Protocol):
    """Is told how a run goes on."""

    def reads_corpus(self, pages: int, files: int, of_files: int) -> None:
        """A corpus is read and indexed for the first time."""

    def plans(self, plan: Plan) -> None:
        """What will be asked, before the endpoint is."""

    def begins(self, model: str, waiting: int, finished: int) -> None:
        """The endpoint answers; so many turns are to be asked, so many are on record."""

    def warns(self, message: str) -> None: ...

    def turn(self, turn: Turn, score: Score, tally: Tally) -> None:
        """A turn is finished and on its way to the disk."""


@dataclass(frozen=True)
class RunResult:
    """How a run came out."""

    summary: Summary
    interrupted: bool = False
    stopped: str | None = None
    """Why it was stopped before its end: the last of ten infrastructure errors in a row."""
    judge_failed: bool = False
    """The judge that was asked for can't be used."""

    @property
    def exit_code(self) -> int:
        """0 done, 3 with infrastructure errors, 130 interrupted."""
        if self.interrupted:
            return 130
        failed = self.stopped is not None or self.judge_failed or self.summary.infra_errors
        return 3 if failed else 0


def execute(plan: Plan, observer: Observer) -> RunResult:
    """Begin a run, or continue it where its folder holds one, and write its results.

    Raises:
        InputError: the folder holds a run with other settings, or nothing is left to ask of.
        EndpointUnusable: the endpoint can't be used; no turn was asked.
        RunFolderError: the disk is full, or the folder can't be written.
    """
    items = plan.items()
    if not items:
        raise InputError(f"no question of {plan.bank.path} has the tag {' or '.join(plan.tags)}")
    observer.plans(plan)
    plan.folder.open()
    try:
        return _Run(plan, items, observer).execute()
    finally:
        plan.folder.release()


class _Run:
    def __init__(self, plan: Plan, items: list[Item], observer: Observer) -> None:
        self.plan, self.items, self.observer = plan, items, observer
        self.tally = Tally()
        self.scores: list[Score] = []
        self.finished: set[tuple[str, int]] = set()
        self.manifest = plan.folder.read_manifest()

    def execute(self) -> RunResult:
        if self.manifest is not None:
            model = self.plan.profile.model or self.manifest["settings"]["endpoint"].get("model")
            self._refuse_other_settings(model)
        self._take_finished()
        waiting = [i for i in self.items if (i.question.id, i.repeat) not in self.finished]
        interrupted, stopped = False, None
        on_record = None if waiting else read_summary(self.plan.folder)
        if on_record and on_record.turns == self.tally.turns:
            return RunResult(on_record)
        if waiting:
            if self.manifest is not None and self.manifest.get("scored_with"):
                self.observer.warns("corrected labels are dropped; `score --bank` takes them again")
            try:
                with self.plan.connect(self.plan.profile) as profile:
                    run_to_end(self._ask(profile, waiting))
            except Stopped as stop:
                stopped = str(stop)
            except KeyboardInterrupt as interrupt:
                if not self.tally.turns:
                    message = "interrupted before the first turn was finished; nothing was kept"
                    raise Interrupted(message) from interrupt
                interrupted = True
        planned = {(i.question.id, i.repeat) for i in self.items} | self.finished
        summary = write_results(self.plan.folder, self.tally, self.scores, len(planned))
        return RunResult(summary, interrupted, stopped)

    def _refuse_other_settings(self, model: str | None) -> None:
        assert self.manifest is not None
        settings = orjson.loads(orjson.dumps(self.plan.settings(model)))
        for name, before, after in changed_settings(self.manifest["settings"], settings):
            raise InputError(
                f"{self.plan.folder.path} holds a run with another {name} ({_shown(before)}, now "
                f"{_shown(after)}); choose another --name, or take the old setting"
            )

    def _take_finished(self) -> None:
        """Score the turns on record; infrastructure errors are asked again."""
        again = {(item.question.id, item.repeat) for item in self.items}
        for turn in self.plan.folder.read_turns():
            key = (turn.question_id, turn.repeat)
            if turn.ended is Ended.INFRA_ERROR and key in again:
                continue
            self.finished.add(key)
            self._score(turn)

    async def _ask(self, profile: Profile, waiting: list[Item]) -> None:
        plan = self.plan
        client = ChatClient(
            profile,
            concurrency=plan.concurrency,
            retries=plan.retries,
            timeouts=plan.timeouts,
        )
        try:
            model, listed, warning = await choose_model(client)
            if warning:
                self.observer.warns(warning)
            if self.manifest is not None:
                self._refuse_other_settings(model)
            self._write_manifest(model, await fingerprint(client, model, listed))
            plan.folder.keep_turns(self.finished)
            agent = Agent(client, model, plan.toolbox, plan.prompt, plan.limits, plan.seed)
            self.observer.begins(model, len(waiting), len(self.finished))
            await self._ask_and_write(agent, waiting)
        finally:
            await client.close()

    async def _ask_and_write(self, agent: Agent, waiting: list[Item]) -> None:
        folder = self.plan.folder
        writer = Writer(folder.attempts, folder.turns)

        def finish(turn: Turn) -> None:
            writer.check()
            score = self._score(turn)
            for number, round_ in enumerate(turn.rounds):
                writer.put(folder.attempts, partial(_attempt_lines, turn, number, round_.attempts))
            writer.put(folder.turns, lambda: turn.model_dump_json().encode())
            self.observer.turn(turn, score, self.tally)

        try:
            await ask_all(
                agent,
                waiting,
                self.plan.corpora,
                concurrency=self.plan.concurrency,
                on_turn=finish,
            )
        finally:
            writer.close()

    def _score(self, turn: Turn) -> Score:
        score = score_turn(turn, self.plan.corpora.get(turn.corpus))
        turn.outcome = score.outcome.value
        self.tally.add(score, turn_timing(turn))
        self.scores.append(score)
        return score

    def _write_manifest(self, model: str, server: dict[str, Any]) -> None:
        may_change = {
            "limit": self.plan.limit,
            "concurrency": self.plan.concurrency,
            "requests": {"retries": asdict(self.plan.retries), **asdict(self.plan.timeouts)},
            "fingerprint": server,
        }
        if self.manifest is None:
            name = self.plan.folder.name
            self.manifest = new_manifest(name, self.plan.settings(model), **may_change)
        else:
            if self.manifest.get("fingerprint") != server:
                self.observer.warns("the server's fingerprint has changed since the run began")
            history = self.manifest.setdefault("earlier", [])
            history.append({name: self.manifest.get(name) for name in may_change})
            self.manifest.update(may_change)
        content = orjson.dumps(self.manifest, option=orjson.OPT_INDENT_2)
        replace_file(self.plan.folder.manifest, [content, b"\n"])


def _attempt_lines(turn: Turn, number: int, attempts: list[Any]) -> bytes:
    place = {"question_id": turn.question_id, "repeat": turn.repeat, "round": number}
    return b"\n".join(orjson.dumps(place | a.model_dump(mode="json")) for a in attempts)


def _shown(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:60] + "…"

"""A run that is under way: what is finished, what is waiting, and its turns being asked.

Public: `LiveRun`, `Observer`, `Stopped`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any, Protocol

import orjson

from ragevalkit.agent.graph import Agent
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.engine import Ours
from ragevalkit.endpoint.fingerprint import choose_model, fingerprint
from ragevalkit.endpoint.probe import Limits as ProbeLimits
from ragevalkit.endpoint.probe import Probe, probe
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import EndpointUnusable, InputError
from ragevalkit.runs.folder import replace_file
from ragevalkit.runs.manifest import changed_settings, new_manifest
from ragevalkit.runs.plan import Plan
from ragevalkit.runs.results import read_summary, write_results
from ragevalkit.runs.schedule import Item, ask_all
from ragevalkit.runs.sittings import watched
from ragevalkit.runs.writer import Writer
from ragevalkit.scoring.score import Score, score_turn
from ragevalkit.scoring.summary import Summary, Tally
from ragevalkit.scoring.timing import turn_timing
from ragevalkit.turn.record import Ended, Turn

MOST_INFRA_ERRORS_IN_A_ROW = 10


class Observer(Protocol):
    """Is told how a run goes on. `run` is the run's name."""

    def reads_corpus(self, pages: int, files: int, of_files: int) -> None:
        """A corpus is read and indexed for the first time."""

    def plans(self, plan: Plan) -> None:
        """What will be asked, before the endpoint is."""

    def checks(self, what: str) -> None:
        """The probe looks at something."""

    def begins(self, run: str, model: str, waiting: int, finished: int) -> None:
        """The endpoint answers; so many turns are to be asked, so many are on record."""

    def warns(self, message: str) -> None: ...

    def turn(self, run: str, turn: Turn, score: Score, tally: Tally) -> None:
        """A turn is finished and on its way to the disk."""


class Stopped(Exception):
    """Ten turns of `run` in a row ended in an infrastructure error; the text is the last one's."""

    def __init__(self, run: LiveRun, error: str) -> None:
        super().__init__(error)
        self.run = run


class LiveRun:
    """A run whose folder is open. It is asked like this, by itself or alternating with another:

    ```
    async with run.ready(profile), run.sitting():
        await run.ask(items)
    ```
    """

    def __init__(self, plan: Plan, observer: Observer) -> None:
        """Take what is on record.

        Raises:
            InputError: the folder holds a run with other settings, or is damaged.
        """
        self.plan, self.observer = plan, observer
        self.name = plan.folder.name
        self.tally = Tally()
        self.scores: list[Score] = []
        self.finished: set[tuple[str, int]] = set()
        self.items = plan.items()
        self._infra_errors_in_a_row = 0
        self.manifest = plan.folder.read_manifest()
        if self.manifest is not None:
            model = plan.profile.model or self.manifest["settings"]["endpoint"].get("model")
            self._refuse_other_settings(model)
        self._take_finished()
        self.waiting = {item.key for item in self.items} - self.finished
        if self.waiting and self.manifest is not None and self.manifest.get("scored_with"):
            self._warn("corrected labels are dropped; `score --bank` takes them again")

    @asynccontextmanager
    async def ready(self, profile: Profile) -> AsyncIterator[None]:
        """Connect, and find out what the endpoint is and can do; nothing is written yet.

        Raises:
            EndpointUnusable: it can't be used.
        """
        plan = self.plan
        self._client = ChatClient(
            profile, concurrency=plan.concurrency, retries=plan.retries, timeouts=plan.timeouts
        )
        try:
            with self.naming_it():
                await self._get_to_know()
            yield
        finally:
            await self._client.close()

    @asynccontextmanager
    async def sitting(self) -> AsyncIterator[None]:
        """Open the files; from here to its end turns may be asked.

        Raises:
            RunFolderError: the disk is full, or the folder can't be written.
        """
        folder, agent = self.plan.folder, self._agent
        self._write_manifest()
        folder.keep_turns(self.finished)
        self.observer.begins(self.name, agent.model, len(self.waiting), len(self.finished))
        async with watched(
            folder, agent.client, agent.model, lambda: self.tally.median_gap_ms
        ) as ours:
            self._ours: Ours = ours
            self._writer = Writer(folder.attempts, folder.turns)
            try:
                yield
            finally:
                self._writer.close()

    async def ask(self, items: Iterable[Item]) -> None:
        """Ask those of the items that are waiting.

        Raises:
            EndpointUnusable: the endpoint has never completed a request and can't be used.
            Stopped: ten infrastructure errors in a row, also over several calls.
            RunFolderError: the disk is full, or the folder can't be written.
        """
        with self.naming_it():
            await ask_all(
                self._agent,
                [item for item in items if item.key in self.waiting],
                self.plan.corpora,
                concurrency=self.plan.concurrency,
                on_turn=self._finish,
            )

    def results(self) -> Summary:
        """Write scores and summary, where they aren't on record.

        Raises:
            InputError: server.json is damaged.
            RunFolderError: the disk is full, or the folder can't be written.
        """
        folder = self.plan.folder
        on_record = None if self.waiting else read_summary(folder)
        if on_record and on_record.turns == self.tally.turns:
            return on_record
        planned = {item.key for item in self.items} | self.finished
        return write_results(folder, self.tally, self.scores, len(planned))

    @contextmanager
    def naming_it(self) -> Iterator[None]:
        """Where two endpoints are asked, errors say which one is meant."""
        try:
            yield
        except EndpointUnusable as error:
            if self.plan.against is None:
                raise
            raise EndpointUnusable(f"{self.plan.profile.name}: {error}") from error

    def _warn(self, message: str) -> None:
        self.observer.warns(f"{self.name}: {message}" if self.plan.against else message)

    def _refuse_other_settings(self, model: str | None) -> None:
        assert self.manifest is not None
        against = asdict(self.plan.against) if self.plan.against else None
        before = {**self.manifest["settings"], "against": self.manifest.get("against")}
        now = orjson.loads(orjson.dumps({**self.plan.settings(model), "against": against}))
        for name, old, new in changed_settings(before, now):
            raise InputError(
                f"{self.plan.folder.path} holds a run with another {name} ({_shown(old)}, now "
                f"{_shown(new)}); choose another --name, or take the old setting"
            )

    def _take_finished(self) -> None:
        """Score the turns on record; infrastructure errors are asked again."""
        again = {item.key for item in self.items}
        for turn in self.plan.folder.read_turns():
            key = (turn.question_id, turn.repeat)
            if turn.ended is Ended.INFRA_ERROR and key in again:
                continue
            self.finished.add(key)
            self._score(turn)

    async def _get_to_know(self) -> None:
        plan, client = self.plan, self._client
        model, listed, warning = await choose_model(client)
        if warning:
            self._warn(warning)
        if self.manifest is not None:
            self._refuse_other_settings(model)
        self._fingerprint = await fingerprint(client, model, listed)
        self._probe = await self._find_out(model, listed) if plan.probe else None
        self._agent = Agent(client, model, plan.toolbox, plan.prompt, plan.limits, plan.seed)

    async def _find_out(self, model: str, listed: list[dict[str, Any]]) -> Probe:
        """What the endpoint can do; from now on the client asks as it is best asked."""
        longest_s = min(ProbeLimits().request_s, self.plan.timeouts.stall_s)
        whose = f"{self.plan.profile.name}, " if self.plan.against else ""
        found = await probe(
            self._client,
            model,
            self.plan.toolbox.schemas,
            listed=listed,
            on_check=lambda what: self.observer.checks(whose + what),
            limits=ProbeLimits(request_s=longest_s),
        )
        self._client.options = found.options()
        for warning in found.run_warnings(self.plan.profile.strict):
            self._warn(warning)
        return found

    def _write_manifest(self) -> None:
        found = self._probe
        may_change = {
            "limit": self.plan.limit,
            "concurrency": self.plan.concurrency,
            "requests": {"retries": asdict(self.plan.retries), **asdict(self.plan.timeouts)},
            "fingerprint": self._fingerprint,
            "probe": found.model_dump(mode="json") if found else None,
        }
        if self.manifest is None:
            settings = self.plan.settings(self._agent.model)
            against = asdict(self.plan.against) if self.plan.against else None
            self.manifest = new_manifest(self.name, settings, against=against, **may_change)
        else:
            if self.manifest.get("fingerprint") != self._fingerprint:
                self._warn("the server's fingerprint has changed since the run began")
            history = self.manifest.setdefault("earlier", [])
            history.append({name: self.manifest.get(name) for name in may_change})
            self.manifest.update(may_change)
        content = orjson.dumps(self.manifest, option=orjson.OPT_INDENT_2)
        replace_file(self.plan.folder.manifest, [content, b"\n"])

    def _finish(self, turn: Turn) -> None:
        """Score a turn, put it on its way to the disk, and stop where too many were lost."""
        folder, writer = self.plan.folder, self._writer
        writer.check()
        self._ours.add(turn.rounds)
        score = self._score(turn)
        for number, round_ in enumerate(turn.rounds):
            writer.put(folder.attempts, partial(_attempt_lines, turn, number, round_.attempts))
        writer.put(folder.turns, lambda: turn.model_dump_json().encode())
        self.observer.turn(self.name, turn, score, self.tally)
        lost = turn.ended is Ended.INFRA_ERROR
        self._infra_errors_in_a_row = self._infra_errors_in_a_row + 1 if lost else 0
        if self._infra_errors_in_a_row >= MOST_INFRA_ERRORS_IN_A_ROW:
            raise Stopped(self, turn.error or "")

    def _score(self, turn: Turn) -> Score:
        score = score_turn(turn, self.plan.corpora.get(turn.corpus))
        turn.outcome = score.outcome.value
        self.tally.add(score, turn_timing(turn))
        self.scores.append(score)
        return score


def _attempt_lines(turn: Turn, number: int, attempts: list[Any]) -> bytes:
    place = {"question_id": turn.question_id, "repeat": turn.repeat, "round": number}
    return b"\n".join(orjson.dumps(place | a.model_dump(mode="json")) for a in attempts)


def _shown(value: object) -> str:
    """A setting in a few words; of an order of two runs, which one the other is."""
    if isinstance(value, dict) and "run" in value:
        value = value["run"]
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:60] + "…"

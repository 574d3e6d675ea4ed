"""What a user sees while a run goes on; all of it on standard error.

Public: `Announcer`, `Silent`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from ragevalkit.report.numbers import counted

if TYPE_CHECKING:
    from ragevalkit.corpus import Corpus
    from ragevalkit.runs.plan import Plan
    from ragevalkit.runs.run import RunResult
    from ragevalkit.scoring.score import Score
    from ragevalkit.scoring.summary import Tally
    from ragevalkit.turn.record import Turn

FIRST_TURNS = 3
"""After so many turns of each run the time that the rest will take is estimated."""
PLAIN_INTERVAL_S = 10.0
"""Between two progress lines where standard error is no terminal."""


@dataclass
class _Pace:
    """How far one run is. Of two that alternate each has its own."""

    waiting: int
    finished: int
    done: int = 0
    took_s: float = 0.0
    counts: str = ""
    """The outcomes so far, those that occur."""

    @property
    def left_s(self) -> float:
        return self.took_s / self.done * (self.waiting - self.done)


class Announcer:
    """Says what one or two runs will ask, how far they are, and how long the rest will take.

    On a terminal a bar; elsewhere a line now and then.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("corpus", total=None, note="", visible=False)
        self._last_turn = self._last_line = time.monotonic()
        self._paces: dict[str, _Pace] = {}
        self._probing = self._estimated = self._alternating = False

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def reads_corpus(self, pages: int, files: int, of_files: int) -> None:
        note = f"{pages:,} pages read and indexed"
        self._bar.update(self._task, completed=files, total=of_files, note=note, visible=True)
        self._plain(f"corpus: {files} of {of_files} files, {note}")

    def plans(self, plan: Plan) -> None:
        items = plan.items()
        answerable = sum(item.question.answerable for item in items)
        tags = f" tagged {' or '.join(plan.tags)}" if plan.tags else ""
        times = f" ({len(items) // plan.repeats} questions, each {plan.repeats} times)"
        pages = sum({c.hash: c.page_count for c in plan.corpora.values()}.values())
        self._console.print(
            f"{plan.bank.name}: {len(items)} turns{times if plan.repeats > 1 else ''}{tags} "
            f"({answerable} answerable, "
            f"{len(items) - answerable} not) over {pages:,} pages, against {plan.profile.name}, "
            f"{plan.concurrency} at once, into {plan.folder.path}",
            markup=False,
        )
        self._alternating = plan.against is not None
        if plan.against and plan.against.side == "b":
            self._console.print(
                f"alternating with {plan.against.run}, in blocks of {plan.against.block} questions "
                "or more",
                markup=False,
            )
            return  # its corpora are the other's
        for corpus in {c.hash: c for c in plan.corpora.values()}.values():
            for line in _corpus_remarks(corpus):
                self.warns(line)

    def checks(self, what: str) -> None:
        if not self._probing:
            self._probing = True
            self._console.print("probing what the endpoint can do (--no-probe leaves it out)")
        self._bar.update(self._task, description="probe", total=None, note=what, visible=True)
        self._plain(f"probe: {what}")

    def begins(self, run: str, model: str, waiting: int, finished: int) -> None:
        self._paces[run] = _Pace(waiting, finished)
        self._last_turn = time.monotonic()
        already = f"; {finished} turns are on record" if finished else ""
        whose = f"{run}: " if self._alternating else ""
        self._console.print(f"{whose}model {model}; asking {waiting} turns{already}", markup=False)
        self._bar.reset(self._task, total=self._total, description="turns", visible=True, note="")

    def ends(self, result: RunResult) -> None:
        """Say why a run, or one of two, didn't come to its end."""
        for of in filter(None, (result.against, result)):
            if of.stopped is not None:
                whose = f" of {of.summary.run}" if result.against else ""
                self.warns(
                    f"stopped: ten turns{whose} in a row ended in an infrastructure error, the "
                    f"last one by: {of.stopped}; the same command continues the run"
                )
        if result.interrupted:
            self.warns("interrupted; the same command continues the run")

    def judges(self, done: int, of: int) -> None:
        self._bar.update(
            self._task, description="answers judged", completed=done, total=of, visible=True
        )
        self._plain(f"{done} of {of} answers judged")

    def writes(self, page: Path) -> None:
        self._bar.update(self._task, description="page", note=f"writing {page}", visible=True)
        self._plain(f"writing {page}")

    def warns(self, message: str) -> None:
        self._console.print(f"ragevalkit: {message}", markup=False)

    def turn(self, run: str, turn: Turn, score: Score, tally: Tally) -> None:
        now, pace, paces = time.monotonic(), self._paces[run], self._paces.values()
        pace.took_s += now - self._last_turn
        self._last_turn = now
        pace.done += 1
        pace.counts = "  ".join(_counts(tally))
        done, took_s = sum(p.done for p in paces), sum(p.took_s for p in paces)
        waiting = sum(p.waiting for p in paces) - done
        left = _duration(
            sum(p.left_s for p in paces) if all(p.done for p in paces) else took_s / done * waiting
        )
        note = f"{done / took_s * 60:.1f} a minute, {left} left · " + " · ".join(
            f"{name}: {p.counts}" if self._alternating else p.counts
            for name, p in self._paces.items()
        )
        begun = sum(p.finished for p in paces)
        self._bar.update(self._task, completed=begun + done, note=note)
        enough = all(p.done >= min(FIRST_TURNS, p.waiting) for p in paces)
        if enough and not self._estimated:
            self._estimated = True
            if waiting:
                self._console.print(
                    f"first {done} turns took {_duration(took_s)}; about {left} for the other "
                    f"{waiting}",
                    markup=False,
                )
        else:
            self._plain(f"{begun + done} of {self._total} turns, {note}")

    @property
    def _total(self) -> int:
        return sum(pace.finished + pace.waiting for pace in self._paces.values())

    def _plain(self, line: str) -> None:
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last_line >= PLAIN_INTERVAL_S:
            self._last_line = now
            self._console.print(line, markup=False)


def _counts(tally: Tally) -> Iterator[str]:
    """Running counts: the outcomes so far, those that occur."""
    total = tally.outcomes[True] + tally.outcomes[False]
    return (f"{outcome} {count}" for outcome, count in sorted(total.items()) if count)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _corpus_remarks(corpus: Corpus) -> Iterator[str]:
    blank = sum(len(d.pages_without_text) for d in corpus.documents.values())
    if blank:
        yield (
            f"no text on {counted(blank, 'page')} of {corpus.path}, so no search finds them "
            f"(`ragevalkit corpus pages {corpus.path}` lists all)"
        )


class Silent(Announcer):
    """Says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._console.quiet = True

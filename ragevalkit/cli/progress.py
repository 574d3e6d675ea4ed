"""What a user sees while a run goes on; all of it on standard error.

Public: `Announcer`, `Silent`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
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
    from ragevalkit.runs.run import Plan
    from ragevalkit.scoring.score import Score
    from ragevalkit.scoring.summary import Tally
    from ragevalkit.turn.record import Turn

FIRST_TURNS = 3
"""After so many turns the time that the rest will take is estimated."""
PLAIN_INTERVAL_S = 10.0
"""Between two progress lines where standard error is no terminal."""


class Announcer:
    """Says what a run will ask, how far it is, and how long the rest will take.

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
        self._began = self._last_line = time.monotonic()
        self._waiting = self._finished = self._done = 0

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
        for corpus in {c.hash: c for c in plan.corpora.values()}.values():
            for line in _corpus_remarks(corpus):
                self.warns(line)

    def begins(self, model: str, waiting: int, finished: int) -> None:
        self._waiting, self._finished, self._began = waiting, finished, time.monotonic()
        already = f"; {finished} turns are on record" if finished else ""
        self._console.print(f"model {model}; asking {waiting} turns{already}", markup=False)
        total = finished + waiting
        self._bar.reset(self._task, total=total, description="turns", visible=True, note="")

    def judges(self, done: int, of: int) -> None:
        self._bar.update(
            self._task, description="answers judged", completed=done, total=of, visible=True
        )
        self._plain(f"{done} of {of} answers judged")

    def warns(self, message: str) -> None:
        self._console.print(f"ragevalkit: {message}", markup=False)

    def turn(self, turn: Turn, score: Score, tally: Tally) -> None:
        self._done += 1
        elapsed = time.monotonic() - self._began
        left = elapsed / self._done * (self._waiting - self._done)
        note = f"{self._done / elapsed * 60:.1f} a minute, {_duration(left)} left · " + "  ".join(
            _counts(tally)
        )
        done = self._finished + self._done
        self._bar.update(self._task, completed=done, note=note)
        if self._done == FIRST_TURNS < self._waiting:
            self._console.print(
                f"first {FIRST_TURNS} turns took {_duration(elapsed)}; about {_duration(left)} "
                f"for the other {self._waiting - self._done}",
                markup=False,
            )
        else:
            self._plain(f"{done} of {self._finished + self._waiting} turns, {note}")

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

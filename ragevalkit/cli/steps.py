"""What a user sees while a bench of many steps goes on; all of it on standard error.

Public: `Steps`, `numbers`.
"""

from __future__ import annotations

import re
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ragevalkit.cli.progress import PLAIN_INTERVAL_S
from ragevalkit.errors import InputError
from ragevalkit.report.numbers import seconds


class Steps:
    """Says what is asked, how far the bench is, and how long the rest will take.

    On a terminal a bar; elsewhere a line now and then.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("probe", total=None, note="")
        self._said = time.monotonic()
        self._began: tuple[float, int] | None = None
        """When the first step began, and how many were finished before."""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()
        if kind is KeyboardInterrupt and self._began is not None:
            self._console.print("interrupted; the same command continues")

    def checks(self, what: str) -> None:
        self._bar.update(self._task, note=what)
        self._say(f"finding out what the endpoint can do: {what}")

    def warns(self, message: str) -> None:
        self._console.print(f"ragevalkit: {message}", markup=False)

    def step(self, what: str, done: int, planned: int) -> None:
        now = time.monotonic()
        if self._began is None:
            self._began = now, done
            already = f"; {done} are on record" if done else ""
            self._console.print(f"{planned} steps{already}", markup=False)
        began, before = self._began
        left = ""
        if done > before:
            left = f", about {seconds((now - began) / (done - before) * (planned - done))} left"
        self._bar.update(
            self._task, description="steps", completed=done, total=planned, note=f"{what}{left}"
        )
        self._say(f"{done} of {planned}: {what}{left}")

    def _say(self, line: str) -> None:
        now = time.monotonic()
        if not self._console.is_terminal and now - self._said >= PLAIN_INTERVAL_S:
            self._said = now
            self._console.print(line, markup=False)


def numbers(option: str, text: str, most: int) -> tuple[int, ...]:
    """The numbers of an option such as `128,512`, rising; none for an empty text.

    Raises:
        InputError: it holds something else, or a number out of 1 to `most`.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not all(re.fullmatch(r"\d{1,10}", word, re.A) and 1 <= int(word) <= most for word in words):
        raise InputError(
            f"{option} takes numbers from 1 to {most:,} with commas between, not '{text}'"
        )
    return tuple(sorted({int(word) for word in words}))

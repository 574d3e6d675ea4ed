"""Tables in the terminal.

Public: `print_run`, `print_table`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ragevalkit.report.numbers import counted
from ragevalkit.report.tables import Table, run_tables

if TYPE_CHECKING:
    from ragevalkit.scoring.summary import Summary

_RESULTS = (
    "report.html",
    "summary.json",
    "turns.jsonl",
    "scores.jsonl",
    "run.json",
    "server.json",
    "power.csv",
)

PIPE_WIDTH = 1000
"""Columns where standard output is no terminal: there a row is a line."""

_LONGEST_WORD = 14
_LONGEST_NAME = 40
"""A first column of names up to so long is never folded."""


def print_run(summary: Summary, folder: Path) -> None:
    """A run's tables, and where its files are."""
    console = _console()
    partly = f" of {summary.planned} planned" if summary.turns < summary.planned else ""
    console.print(
        Text(
            f"\n{summary.run}: {summary.turns} turns{partly}, {summary.scored} scored, "
            f"{summary.infra_errors} lost to infrastructure errors",
            style="bold",
        )
    )
    for cause, turns in summary.lost_to.items():
        console.print(Text(f"  lost {counted(turns, 'turn')} to: {cause}"))
    if summary.infra_errors:
        console.print(Text("  the same command asks them again"))
    for table in run_tables(summary):
        print_table(table, console)
    files = [name for name in _RESULTS if (folder / name).exists()]
    console.print(Text(f"\nResults are in {folder}/: {', '.join(files)}"))


def print_table(table: Table, console: Console | None = None) -> None:
    """One table, with its notes below."""
    console = console or _console()
    console.print()
    shown = RichTable(
        title=Text(table.title), title_justify="left", box=SIMPLE, pad_edge=False, show_edge=False
    )
    for position, column in enumerate(table.columns):
        is_text = table.is_text(position)
        names = position == 0 and max(map(len, (r[0] for r in table.rows)), default=0)
        shown.add_column(
            Text(column),
            justify="left" if is_text else "right",
            overflow="fold",
            no_wrap=not is_text or 0 < names <= _LONGEST_NAME,
            min_width=_longest_word(table, position) if is_text and not names else None,
        )
    for row in table.rows:
        shown.add_row(*map(Text, row))
    console.print(shown)
    for note in table.notes:
        console.print(Text(note, style="dim"))


def _longest_word(table: Table, position: int) -> int:
    """Columns that a text column needs so that no word is broken; long ones may be."""
    words = " ".join([table.columns[position], *(row[position] for row in table.rows)]).split()
    return min(_LONGEST_WORD, max(map(len, words), default=1))


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)

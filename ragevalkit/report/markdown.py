"""A comparison as Markdown, for a job's summary or a comment.

Public: `comparison_markdown`, `escaped`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragevalkit.report.comparison import (
    comparison_tables,
    flipped_blocks,
    gate_sentence,
    headline,
)
from ragevalkit.report.tables import Table
from ragevalkit.report.turns import visible

if TYPE_CHECKING:
    from ragevalkit.compare.result import Comparison

_SPECIAL = re.compile(
    r"[\\`*{}\[\]<>#|!&~$@^]|:(?=//)"  # markup, tables, links, images, mentions, formulas
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # inside a name an underscore is one
    r"|^[-+](?=[-\s]|$)|^=|^\d+(?=[.)](?:\s|$))|(?<=www)\.",
)


def comparison_markdown(of: Comparison) -> str:
    """The tables and the flipped questions; text from models and banks can't be markup in it."""
    return "\n".join(_lines(of)) + "\n"


def escaped(text: str) -> str:
    """A text as one line that Markdown shows as it is."""
    line = " ".join(visible(text).split())
    return _SPECIAL.sub(lambda found: "".join(f"&#{ord(c)};" for c in found[0]), line)


def _lines(of: Comparison) -> Iterator[str]:
    yield f"## {escaped(of.a.run)} and {escaped(of.b.run)}: {escaped(gate_sentence(of))}"
    yield ""
    for line in headline(of):
        yield f"- {escaped(line)}"
    for table in comparison_tables(of):
        yield from _table(table)
    if of.flipped.shown:
        yield ""
        yield f"### {len(of.flipped.shown)} of {of.flipped.questions} flipped questions"
    for title, lines in flipped_blocks(of):
        yield ""
        yield f"**{escaped(title)}**"
        yield ""
        for line in lines:
            yield f"- {escaped(line)}"


def _table(table: Table) -> Iterator[str]:
    yield ""
    yield f"### {escaped(table.title)}"
    yield ""
    yield _row(table.columns)
    yield _row([":--" if table.is_text(p) else "--:" for p in range(len(table.columns))], raw=True)
    for row in table.rows:
        yield _row(row)
    for note in table.notes:
        yield ""
        yield escaped(note)


def _row(cells: list[str], raw: bool = False) -> str:
    return f"| {' | '.join(cells if raw else map(escaped, cells))} |"

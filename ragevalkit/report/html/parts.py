"""What a page is made of, before it is HTML.

Public: `Verdict`, `Prose`, `Section`, `Page`.

Every string here is plain text: the templates escape it. The one exception is the SVG of a
`Chart`, which its maker has made safe.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from ragevalkit.report.charts.chart import Chart
    from ragevalkit.report.html.turns_island import TurnsIsland
    from ragevalkit.report.tables import Table


@dataclass(frozen=True)
class Verdict:
    """What the page says first."""

    line: str
    """One sentence."""
    tone: Literal["good", "bad", "open", "none"]
    """none: the page describes and does not judge."""
    because: list[str] = field(default_factory=list)
    """What the sentence rests on and what makes it doubtful, a line each."""


@dataclass(frozen=True)
class Prose:
    """Paragraphs of plain text."""

    lines: list[str]


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it, in reading order."""

    id: str
    """Its address in the page; lower case, no spaces."""
    title: str
    blocks: list[Table | Chart | Prose]

    @classmethod
    def of(cls, id: str, title: str, *blocks: Table | Chart | Prose | None) -> Self:
        """With the blocks that there are."""
        return cls(id, title, [block for block in blocks if block is not None])


@dataclass(frozen=True)
class Page:
    """A whole report."""

    kind: Literal["run", "comparison", "bench"]
    title: str
    verdict: Verdict
    facts: list[str]
    """Short facts of the head: what was measured, when, on what."""
    sections: list[Section]
    turns: TurnsIsland | None = None
    """The turns behind the numbers; null where the page has none."""

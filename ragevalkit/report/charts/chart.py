"""A chart as a value.

Public: `Chart`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Chart:
    """A picture, ready for the page, and what it says in words."""

    title: str
    """Plain text."""
    svg: str
    """One `<svg>`, safe to be put into a page as it is: no script, no style, no outside address,
    all text from data escaped. Its colours are classes that the page's style sheet defines."""
    text: str
    """What the picture shows, for those who can't see it; plain text."""
    notes: list[str] = field(default_factory=list)
    """Lines under the picture; plain text."""

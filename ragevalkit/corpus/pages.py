"""What a document is made of.

Public: `Page`, `Document`, `Pagination`, `clean`, `numbered`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Pagination = Literal["pdf", "marker", "length"]
"""Where page breaks come from: the PDF's pages, marks in the text, or cuts at a stated length."""

_DROPPED = {0x00AD: None, 0xFFFE: None}
"""Soft hyphens, and PDFium's sign for a hyphen at the end of a line."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document."""

    index: int
    """Place in the document, from 1. This is the number that is cited."""

    label: str | None
    """The number printed on the page, such as `iv`, where the document says so."""

    text: str
    """Text with `\\n` line ends, no blanks around it; empty where the page has no text layer."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read from its file."""

    name: str
    """Path inside the corpus without suffix, `/` between folders: what a citation names."""

    file: str
    """Path inside the corpus with suffix."""

    pagination: Pagination
    """Where its page breaks come from; numbers of `length` are those of passages, not of pages."""

    pages: list[Page]
    """At least one, in order, `index` from 1."""


def clean(text: str) -> str:
    """`text` with every line end as `\\n`, without soft hyphens, U+FFFE and a byte order mark."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_DROPPED).removeprefix("\ufeff")


def numbered(pages: Iterable[tuple[str | None, str]]) -> list[Page]:
    """Pages of (label, text) pairs in order: blanks around both go, an empty label is none."""
    return [
        Page(index, (label or "").strip() or None, text.strip())
        for index, (label, text) in enumerate(pages, start=1)
    ]

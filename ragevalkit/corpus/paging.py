"""Where pages of running text begin: at marks in it, or at a stated length.

Public: `PAGE_CHARS`, `MARKER`, `split_at_markers`, `cut_by_length`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

PAGE_CHARS = 3000
"""Most characters of a page where the document has no marks."""

MARKER = re.compile(r"page:(.*)", re.IGNORECASE | re.DOTALL)
"""The inside of the comment `<!-- page: LABEL -->`, blanks around it removed."""

_MARK = re.compile(r"^[ \t]*<!--\s*page:([^\n]*?)-->[ \t]*$|\f", re.IGNORECASE | re.MULTILINE)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


def split_at_markers(text: str) -> list[tuple[str | None, str]] | None:
    """(label, text) of each page, or None where `text` has neither a marker nor a form feed.

    A line that holds nothing but `<!-- page: LABEL -->` starts a page with that printed label, and
    blank text before the first one is no page. A form feed ends the page before it, also a blank
    one: that is how `pdftotext` writes a scanned cover, and dropping it would shift every number.
    Blank text after the last form feed, or between a form feed and a marker, is no page.
    """
    marks = list(_MARK.finditer(text))
    if not marks:
        return None
    pages: list[tuple[str | None, str]] = []
    label: str | None = None
    opened_by_marker = False
    start = 0
    for mark in marks:
        before = text[start : mark.start()]
        is_feed = mark[1] is None
        if is_feed or opened_by_marker or before.strip():
            pages.append((label, before))
        label, opened_by_marker, start = mark[1], not is_feed, mark.end()
    rest = text[start:]
    if opened_by_marker or rest.strip():
        pages.append((label, rest))
    return pages


def cut_by_length(text: str, paragraph_break: str = "\n\n") -> list[tuple[str | None, str]]:
    """(None, text) of pages of at most `PAGE_CHARS` characters, none of them blank.

    Paragraphs are what blank lines part, or single line ends where `paragraph_break` is a line end.
    As many whole ones as fit make a page. One that is longer than a page starts a page, is cut at
    the last blank that fits (in the middle of a word only where it has none), and its end is
    followed by the next paragraph. The rule depends on the text alone, so numbers are stable.
    """
    parts = _BLANK_LINES.split(text) if paragraph_break == "\n\n" else text.split(paragraph_break)
    return [(None, page) for page in _packed(_pieces(parts), paragraph_break)]


def _pieces(paragraphs: Iterable[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        whole = paragraph.strip()
        start = 0
        while len(whole) - start > PAGE_CHARS:
            end = _last_blank(whole, start)
            yield whole[start:end].rstrip()
            start = end
            while whole[start].isspace():
                start += 1
        if whole:
            yield whole[start:]


def _last_blank(text: str, start: int) -> int:
    """Where to cut so that at most `PAGE_CHARS` characters from `start`, no blank, go before it."""
    for end in range(start + PAGE_CHARS, start, -1):
        if text[end].isspace():
            return end
    return start + PAGE_CHARS


def _packed(pieces: Iterable[str], joint: str) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for piece in pieces:
        grown = size + len(joint) + len(piece)
        if held and grown > PAGE_CHARS:
            yield joint.join(held)
            held, grown = [], len(piece)
        elif not held:
            grown = len(piece)
        held.append(piece)
        size = grown
    if held:
        yield joint.join(held)

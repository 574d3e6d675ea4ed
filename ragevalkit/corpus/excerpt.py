"""The part of a page that a search result shows.

Public: `excerpt`, `Hit`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Hit = tuple[int, int, str]
"""Where a query term stands in a text: first character, character after its last, the term."""

_LEAD = 200
"""Characters of context wanted before the first hit, where there is room."""

_TAIL = 60
"""Most characters given up at the end to stop between words."""

_BLANK = re.compile(r"\s")
_CUT = "…"


def excerpt(text: str, hits: Sequence[Hit], length: int) -> str:
    """`text` whole where it has at most `length` characters, else a window of at most that many.

    The window is the first of those that hold most distinct terms, `hits` being in order of place.
    It starts at a line's or, failing that, a word's beginning, ends between words where there are
    blanks, and has `…` at each end where text was left out. `length` is at least 100.
    """
    if len(text) <= length:
        return text
    room = length - 2 * len(_CUT)
    first, last = _richest(hits, room)
    earliest = max(0, last - room, min(first - _LEAD, len(text) - room))
    start = _beginning(text, earliest, first)
    end = _ending(text, start + room, last)
    before = _CUT if text[:start].strip() else ""
    after = _CUT if text[end:].strip() else ""
    return f"{before}{text[start:end].strip()}{after}"


def _richest(hits: Sequence[Hit], room: int) -> tuple[int, int]:
    """Start and end of the first window with most distinct terms; (0, 0) without hits."""
    best, found = 0, (0, 0)
    inside: dict[str, int] = {}
    first = 0
    for _, end, term in hits:
        inside[term] = inside.get(term, 0) + 1
        while end - hits[first][0] > room:
            gone = hits[first][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        if len(inside) > best:
            best, found = len(inside), (hits[first][0], end)
    return found


def _beginning(text: str, earliest: int, latest: int) -> int:
    """Where to start in `earliest`..`latest`: at the first line, else word, else `latest`."""
    if earliest == 0:
        return 0
    line = text.find("\n", earliest - 1, latest)
    if line >= 0:
        return line + 1
    blank = _BLANK.search(text, earliest - 1, latest)
    return blank.end() if blank else latest


def _ending(text: str, latest: int, last: int) -> int:
    """Where to end at or before `latest`, between words if that is near, never before `last`."""
    if latest >= len(text):
        return len(text)
    for end in range(latest, max(last, latest - _TAIL), -1):
        if text[end].isspace():
            return end
    return latest

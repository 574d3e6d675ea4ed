"""Plain text, and what all text formats share: UTF-8, then pages at marks or by length.

Public: `read_text`, `decode`.
"""

from __future__ import annotations

from pathlib import Path

from ragevalkit.corpus.pages import Page, Pagination, clean, numbered
from ragevalkit.corpus.paging import cut_by_length, split_at_markers
from ragevalkit.errors import InputError


def decode(path: Path, data: bytes) -> str:
    """The text of `data` in UTF-8 with or without byte order mark, cleaned (`pages.clean`).

    Raises `InputError` naming the file and the offset, in bytes from 0, of what is not UTF-8.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8, or take it out."
        ) from None
    return clean(text)


def read_text(path: Path, data: bytes) -> tuple[Pagination, list[Page]]:
    """Pages of plain text: at form feeds and page markers, else of at most 3,000 characters.

    The rules are those of `paging.split_at_markers` and `paging.cut_by_length`.
    """
    text = decode(path, data)
    marked = split_at_markers(text)
    if marked is not None:
        return "marker", numbered(marked)
    return "length", numbered(cut_by_length(text))

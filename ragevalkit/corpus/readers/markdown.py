"""Markdown, kept as it is written.

Public: `read_markdown`.
"""

from __future__ import annotations

from pathlib import Path

from ragevalkit.corpus.pages import Page, Pagination
from ragevalkit.corpus.readers.text import read_text


def read_markdown(path: Path, data: bytes) -> tuple[Pagination, list[Page]]:
    """Pages of a Markdown file, its source as text: models read it, and quotes are found in it.

    A line with nothing but `<!-- page: iv -->` starts a page whose printed label is `iv`; its index
    is its ordinal all the same. Text before the first such line is a page of its own unless blank.
    A form feed ends a page. Without either, pages are paragraphs, blank lines between them, up to
    3,000 characters; see `paging` for both rules.
    """
    return read_text(path, data)

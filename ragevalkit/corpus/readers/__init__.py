"""From the bytes of a file to a document with pages.

Public: `SUFFIXES`, `READERS_VERSION`, `read_document`, `extractor`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from ragevalkit.corpus.pages import Document, Page, Pagination
from ragevalkit.errors import InputError

READERS_VERSION = 1
"""Raised whenever a reader would give other pages or texts than before: caches are then rebuilt."""

Read = tuple[Pagination, list[Page]]
OnPages = Callable[[int], None]

_PDF = frozenset({".pdf"})
_MARKDOWN = frozenset({".md", ".markdown"})
_HTML = frozenset({".html", ".htm"})
_TEXT = frozenset({".txt"})

SUFFIXES = _PDF | _MARKDOWN | _HTML | _TEXT
"""Suffixes of files that can be read, in lower case."""


def extractor() -> str:
    """What stands behind the text of pages, for cache keys: our version and PDFium's binding's."""
    return f"readers {READERS_VERSION}, pypdfium2 {version('pypdfium2')}"


def read_document(
    path: Path, data: bytes, name: str, file: str, on_pages: OnPages | None = None
) -> Document:
    """The document in `data`, the bytes of `path`, whose suffix chooses the reader.

    `on_pages(n)` is called with the pages read so far while a long PDF is read. Raises `InputError`
    that names the file where it is empty, damaged, encrypted, not UTF-8 or has no page.
    """
    pagination, pages = _read(path, data, on_pages)
    if not pages:
        raise InputError(f"{path} has no text to make pages of: fill it, or take it out.")
    return Document(name, file, pagination, pages)


def _read(path: Path, data: bytes, on_pages: OnPages | None) -> Read:
    # Only the library that this file needs is imported: most corpora need one of them.
    suffix = PurePosixPath(path.name).suffix.lower()
    if suffix in _PDF:
        from ragevalkit.corpus.readers.pdf import read_pdf

        return "pdf", read_pdf(path, data, on_pages)
    if suffix in _HTML:
        from ragevalkit.corpus.readers.html import read_html

        return read_html(path, data)
    if suffix in _MARKDOWN:
        from ragevalkit.corpus.readers.markdown import read_markdown

        return read_markdown(path, data)
    if suffix in _TEXT:
        from ragevalkit.corpus.readers.text import read_text

        return read_text(path, data)
    raise InputError(f"{path} can't be read: it must end in {', '.join(sorted(SUFFIXES))}.")

"""HTML, as lines of text.

Public: `read_html`.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from bs4 import BeautifulSoup, CData, Comment, Tag, UnusualUsageWarning
from bs4.element import NavigableString, PageElement
from bs4.exceptions import ParserRejectedMarkup

from ragevalkit.corpus.pages import Page, Pagination, clean, numbered
from ragevalkit.corpus.paging import MARKER, cut_by_length
from ragevalkit.corpus.readers.text import decode
from ragevalkit.errors import InputError

_DROPPED = frozenset(["script", "style", "title", "template", "meta", "link", "base", "noscript"])
"""Elements that show no text. The title is one: before the first mark it would be a page."""

_BLOCK_NAMES = (
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav"
    " ol option p pre section summary tbody tfoot thead ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_PAGE_BREAK_CHARS = 40
"""A page break holds at most its number; one with more text is a wrapper, and its text is kept."""

_PAGE_WORD = re.compile(r"^(?:page|p\.)\s*(?=\S)", re.IGNORECASE)
_SPACES = re.compile(r"[^\S\n]+")


def read_html(path: Path, data: bytes) -> tuple[Pagination, list[Page]]:
    """Pages of an HTML file: a line for each block and table row, ` | ` between a row's cells.

    A page starts at a comment `<!-- page: LABEL -->` and at an element with `role="doc-pagebreak"`
    or `epub:type="pagebreak"`, whose label is its `aria-label`, else `title`, else text, without a
    leading "Page" and a closing stop. Text before the first mark is a page of its own unless blank.
    Without a mark, lines are put together to pages of at most 3,000 characters (`paging`).
    Script, style and title are dropped. Raises `InputError` where the file is not UTF-8.
    """
    lines = _Lines()
    _walk(_parsed(path, decode(path, data)), lines)
    pages = lines.pages()
    if lines.has_marks:
        return "marker", numbered(pages)
    return "length", numbered(cut_by_length(pages[0][1] if pages else "", paragraph_break="\n"))


def _parsed(path: Path, text: str) -> BeautifulSoup:
    with warnings.catch_warnings():
        # XHTML, and text that looks like an address, are what we were given: nothing to warn about.
        warnings.simplefilter("ignore", UnusualUsageWarning)
        try:
            return BeautifulSoup(text, "html.parser")
        except ParserRejectedMarkup as error:
            raise InputError(
                f"{path} can't be read as HTML ({error}): mend it, or take it out."
            ) from None


class _Lines:
    """Text of pages in the making: what a walk over the tree writes to."""

    def __init__(self) -> None:
        self.has_marks = False
        self._pages: list[tuple[str | None, list[str]]] = [(None, [])]
        self._tables = 0
        self._cells = 0
        """Cells so far in the outermost table's row: while there are any, breaks are blanks."""

    def text(self, text: str, keep_lines: bool) -> None:
        folded = text if keep_lines and not self._in_cell else text.replace("\n", " ")
        self._pages[-1][1].append(folded)

    def line_end(self) -> None:
        self._pages[-1][1].append(" " if self._in_cell else "\n")

    def page(self, label: str | None) -> None:
        self.has_marks = True
        self._pages.append((label, []))

    def open(self, name: str) -> None:
        if name == "table":
            self._tables += 1
        elif name == "tr" and self._tables <= 1:
            self._cells = 0
        if name in ("td", "th") and self._tables:
            if self._tables == 1 and self._cells:
                self._pages[-1][1].append(" | ")
            elif self._tables > 1:
                self.line_end()
            self._cells += 1
        elif name in _BLOCKS or name in ("table", "tr"):
            self.line_end()

    def close(self, name: str) -> None:
        if name == "table":
            self._tables -= 1
        if name in ("table", "tr") and self._tables <= (name == "tr"):
            self._cells = 0
        if name in _BLOCKS or name in ("table", "tr"):
            self.line_end()

    def pages(self) -> list[tuple[str | None, str]]:
        """(label, text) of every page, without a blank one before the first mark."""
        made = [(label, _tidy("".join(parts))) for label, parts in self._pages]
        return made if made[0][1] else made[1:]

    @property
    def _in_cell(self) -> bool:
        return bool(self._cells)


def _walk(soup: BeautifulSoup, lines: _Lines) -> None:
    """Write everything below `soup` in order; no recursion: real pages nest thousands deep."""
    todo: list[PageElement | str] = list(reversed(soup.contents))
    pre = 0
    while todo:
        node = todo.pop()
        if isinstance(node, str) and not isinstance(node, NavigableString):
            lines.close(node)
            pre -= node == "pre"
        elif isinstance(node, Tag):
            if node.name in _DROPPED:
                continue
            if _is_page_break(node):
                inner = " ".join(node.get_text(" ").split())
                lines.page(_break_label(node, inner))
                if len(inner) <= _PAGE_BREAK_CHARS:
                    continue
            lines.open(node.name)
            pre += node.name == "pre"
            todo.append(str(node.name))
            todo.extend(reversed(node.contents))
        elif isinstance(node, Comment):
            marker = MARKER.fullmatch(node.strip())
            if marker:
                lines.page(clean(marker[1]))
        elif type(node) in (NavigableString, CData):
            # Again, since character references can stand for soft hyphens and line ends.
            lines.text(clean(str(node)), keep_lines=pre > 0)


def _is_page_break(tag: Tag) -> bool:
    roles = f"{tag.get('role') or ''} ".split()
    kinds = f"{tag.get('epub:type') or ''} ".split()
    return "doc-pagebreak" in roles or "pagebreak" in kinds


def _break_label(tag: Tag, inner: str) -> str | None:
    short = inner if len(inner) <= _PAGE_BREAK_CHARS else ""
    label = str(tag.get("aria-label") or tag.get("title") or short).strip()
    return clean(_PAGE_WORD.sub("", label).rstrip(". "))


def _tidy(text: str) -> str:
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)

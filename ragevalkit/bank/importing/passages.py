"""A corpus made of the passages that a data set brings: a document a file, a page a passage.

Public: `Passages`, `file_name`.
"""

from __future__ import annotations

import re
from pathlib import Path

from ragevalkit.corpus.readers import SUFFIXES
from ragevalkit.turn.folding import fold_name

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
_MARK = re.compile(r"<!--(?=\s*page:)", re.IGNORECASE)
_LONGEST = 180
"""Bytes of a file's name; file systems take 255."""


class Passages:
    """Documents with their passages, in the order in which they came."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._places: dict[tuple[str, str], int] = {}
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def append(self, document: str, text: str) -> int:
        """The page that `text` becomes: the next one of `document`."""
        if document not in self._texts:
            self._texts[document] = []
            self._names[document] = file_name(document, self._taken)
        pages = self._texts[document]
        pages.append(text.strip())
        self._places.setdefault((document, pages[-1]), len(pages))
        return len(pages)

    def page(self, document: str, text: str) -> int:
        """The page of `text` in `document`: the one that has it already, or the next one."""
        known = self._places.get((document, text.strip()))
        return known if known is not None else self.append(document, text)

    def find(self, document: str) -> tuple[str, int] | None:
        """Name in the corpus and number of pages of a document."""
        pages = self._texts.get(document)
        return (self._names[document], len(pages)) if pages else None

    @property
    def documents(self) -> int:
        return len(self._texts)

    @property
    def pages(self) -> int:
        return sum(map(len, self._texts.values()))

    def write(self, folder: Path) -> None:
        """Write a Markdown file a document into `folder`, in place of those that lie there."""
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.md"):
            old.unlink()
        for document, texts in self._texts.items():
            pages = (f"<!-- page: {n} -->\n{_plain(text)}\n" for n, text in enumerate(texts, 1))
            path = folder / f"{self._names[document]}.md"
            path.write_text("".join(pages), encoding="utf-8")


def file_name(title: str, taken: set[str]) -> str:
    """A name for a document's file, without suffix; unique also where case doesn't count.

    Args:
        taken: folded names so far; the new one is added.
    """
    name = _UNSAFE.sub("-", title).lstrip(". ").rstrip() or "untitled"
    while len(name.encode()) > _LONGEST:
        name = name[:-1].rstrip()
    while fold_name(name) in taken or name.lower().endswith(tuple(SUFFIXES)):
        name += "_"
    taken.add(fold_name(name))
    return name


def _plain(text: str) -> str:
    """`text` without what would begin a page of its own."""
    return _MARK.sub("<! --", text.replace("\f", "\n"))

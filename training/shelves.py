"""The labelled questions that an adapter learns from, and the documents that they are about.

Public: `Shelf`, `read_shelves`, `read_public`, `bind`, `is_held_out`, `MATERIAL`, `DEVELOPMENT`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from ragevalkit.bank import Question, load_bank
from ragevalkit.corpus import Corpus, open_corpus

MATERIAL = Path(__file__).parent / "material"
DEVELOPMENT = ("hospital-lab", "storage-boxes", "three-gardens-society")
"""Shelves that are left out, to see how training comes on."""
HELD_OUT = 3
"""One in so many of CLAPnq's questions is kept for the test."""
BOUND = 2
"""Pages of the material that are bound as one: they were written short."""
MOST_BLANK = 60
"""Blank pages before a bound document's first are fewer: the material's own documents end before
page ten, and whoever never copied a number of two digits copies the first alone."""
LINE = 92
"""Characters of a line where a document's lines are broken, as a PDF's are."""

_PAGE = re.compile(r"<!-- page: \d+ -->\n")


@dataclass(frozen=True)
class Shelf:
    """Questions about one corpus."""

    name: str
    corpus: Corpus
    questions: Sequence[Question]


def read_shelves(into: Path, wanted: Callable[[str], bool]) -> list[Shelf]:
    """The invented shelves whose names are wanted, each as it is and bound.

    Args:
        into: an empty folder for the bound documents.
    """
    found = []
    for folder in sorted(MATERIAL.iterdir()):
        if folder.is_dir() and wanted(folder.name):
            bound = bind(folder / "corpus", into / folder.name)
            questions = load_bank(folder / "bank.jsonl").questions
            found += [
                Shelf(folder.name, open_corpus(folder / "corpus"), questions),
                Shelf(f"{folder.name}, bound", bound, [_moved(q) for q in questions]),
            ]
    return found


def bind(corpus: Path, into: Path) -> Corpus:
    """The corpus with its pages bound in twos behind blank ones, and every other document's lines
    broken."""
    into.mkdir()
    for file in sorted(corpus.iterdir()):
        _, *pages = _PAGE.split(file.read_text(encoding="utf-8"))
        if crc32(file.name.encode()) % 2:
            pages = [_broken(page) for page in pages]
        bound = ["\n".join(pages[at : at + BOUND]) for at in range(0, len(pages), BOUND)]
        text = "".join(f"<!-- page: {at} -->\n{page}" for at, page in enumerate(bound, 1))
        blank = "<!-- page: -->\n" * _blank(file.stem)
        (into / file.name).write_text(blank + text, encoding="utf-8")
    return open_corpus(into)


def _broken(page: str) -> str:
    return "\n".join(
        line if line.startswith(("|", "#")) else textwrap.fill(line, LINE)
        for line in page.split("\n")
    )


def _blank(document: str) -> int:
    return crc32(document.encode()) % MOST_BLANK


def _moved(question: Question) -> Question:
    """The question as it is labelled where pages are bound."""
    evidence: list[Any] = [
        e.model_copy(update={"page": _blank(e.document) + (e.page + BOUND - 1) // BOUND})
        for e in question.evidence
    ]
    return question.model_copy(update={"evidence": evidence})


def read_public(bank: Path) -> Shelf:
    """CLAPnq's questions but for those that are held out, as `bank import` wrote them."""
    questions = [q for q in load_bank(bank).questions if not is_held_out(q)]
    return Shelf("clapnq", open_corpus(bank.parent / "corpora" / bank.stem), questions)


def is_held_out(question: Question) -> bool:
    return int(question.hash, 16) % HELD_OUT == 0

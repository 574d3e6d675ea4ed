"""The layouts that are known by name, in one table.

Public: `Layout`, `LAYOUTS`, `layout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ragevalkit.bank.importing import (
    clapnq,
    financebench,
    mmlongbench,
    mtrag,
    qasper,
    squad2,
    uda,
)
from ragevalkit.bank.importing.draft import Draft, Rows
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.errors import InputError


@dataclass(frozen=True)
class Layout:
    """How a public data set is laid out."""

    meaning: str
    read: Callable[[Rows, Passages], Iterator[Draft]]
    files: tuple[str, ...]
    """Names of its files in a folder, in the order in which they are read."""

    passages: bool
    """Whether it brings passages, which become the corpus; else it refers to PDFs."""

    page_base: int = 1
    """The number of a document's first page."""

    documents: str | None = None
    """Folder of PDFs inside the data set's own, where it has them."""

    read_with_partial: Callable[[Rows, Passages], Iterator[Draft]] | None = None
    """The same, with questions that are answerable in part."""


LAYOUTS = {
    "clapnq": Layout(
        "Wikipedia passages; half of the questions unanswerable",
        clapnq.read,
        ("clapnq_*_answerable.jsonl", "clapnq_*_unanswerable.jsonl"),
        passages=True,
    ),
    "mtrag": Layout(
        "conversations over passages (MTRAG-UN: with unanswerable questions)",
        mtrag.read,
        ("*reference.jsonl",),
        passages=True,
        read_with_partial=lambda rows, passages: mtrag.read(rows, passages, keep_partial=True),
    ),
    "squad2": Layout(
        "SQuAD 2.0: Wikipedia paragraphs, with impossible questions",
        squad2.read,
        ("dev-v2*.json", "train-v2*.json"),
        passages=True,
    ),
    "qasper": Layout(
        "papers, paragraph by paragraph, with unanswerable questions",
        qasper.read,
        ("qasper-*.json",),
        passages=True,
    ),
    "financebench": Layout(
        "annual reports (PDF), pages from 0",
        financebench.read,
        ("financebench_open_source.jsonl",),
        passages=False,
        page_base=0,
        documents="pdfs",
    ),
    "mmlongbench": Layout(
        "MMLongBench-Doc: long PDFs, with unanswerable questions",
        mmlongbench.read,
        ("samples.json",),
        passages=False,
        documents="documents",
    ),
    "uda": Layout(
        "PDFs; pages where question names carry them, or a folder with pages added",
        uda.read,
        ("questions.jsonl", "*_qa.csv", "bench_*.json"),
        passages=False,
        documents="pdfs",
    ),
}


def layout(name: str) -> Layout:
    """The layout of this name. Raises `InputError` where there is none."""
    if name not in LAYOUTS:
        raise InputError(f"there is no layout '{name}'; known are {', '.join(LAYOUTS)}")
    return LAYOUTS[name]

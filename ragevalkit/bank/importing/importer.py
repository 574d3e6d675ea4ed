"""An import from end to end: rows, drafts, questions, files, and the proof that they can be used.

Public: `Request`, `Imported`, `import_bank`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import TypeVar

import orjson

from ragevalkit.bank.importing.checking import Checker, Find
from ragevalkit.bank.importing.draft import Draft, Rows
from ragevalkit.bank.importing.layouts import Layout, layout
from ragevalkit.bank.importing.mapping import Mapping, read_mapped
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.sources import HUB, rows_of
from ragevalkit.bank.importing.tally import Tally
from ragevalkit.bank.loading import check_evidence, load_bank
from ragevalkit.bank.question import Question
from ragevalkit.corpus import Corpus, Progress, open_corpus
from ragevalkit.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """What to import, and how."""

    sources: Sequence[str]
    """Files, a folder, or `hf:NAME`."""

    into: Path
    layout: str | None = None
    mapping: Mapping = field(default_factory=Mapping)
    page_base: int | None = None
    """The number of a document's first page; None: the layout's, else 1."""

    split: str | None = None
    limit: int | None = None
    """Only so many questions, from the first."""

    documents: Path | None = None
    """Where the documents lie that the source refers to."""

    keep_partial: bool = False
    name: str | None = None
    overwrite: bool = False


@dataclass(frozen=True)
class Imported:
    """What came of it."""

    bank: Path
    corpus: Path | None
    """The corpus that was written, or that evidence was checked against."""

    documents: int | None
    pages: int | None
    page_base: int
    tally: Tally


def import_bank(
    request: Request,
    progress: Callable[[int], None] = lambda rows: None,
    corpus_progress: Progress | None = None,
) -> Imported:
    """Write a bank, and a corpus where the source brings passages.

    Nothing is written unless every row can be read. What was written is read back and checked.

    Raises:
        InputError: the source, a row or an option can't be used, or no question is left.
    """
    kind = layout(request.layout) if request.layout else None
    base = _page_base(request, kind)
    name = _name(request)
    bank = request.into / f"{name}.jsonl"
    corpus = request.into / "corpora" / name
    _check_free(request, bank, corpus if kind and kind.passages else None)
    opened = _open_documents(request, kind, corpus_progress)
    passages = Passages()
    refers = None
    find: Find | None = None
    if kind and kind.passages:
        refers, find = f"corpora/{name}", passages.find
    elif opened is not None:
        refers, find = _reference(opened.path, request.into), _Finder(opened).find
    checker = Checker(name, refers, find, base)
    drafts = _drafts(request, kind, _counted(_rows(request, kind), progress), passages, opened)
    questions = list(checker.questions(islice(drafts, request.limit)))
    if not questions:
        reasons = ", ".join(f"{why}: {n}" for why, n in checker.tally.left_out.items() if n)
        raise InputError(
            f"{' '.join(request.sources)}: none of {checker.tally.read} questions can be kept"
            + (f" ({reasons})" if reasons else "")
        )
    _write(request.into, bank, questions, passages, corpus if kind and kind.passages else None)
    if kind and kind.passages:
        opened = open_corpus(corpus, corpus_progress)
    written = load_bank(bank)
    if opened is not None:
        check_evidence(written, {refers or "": opened})
    return Imported(
        bank,
        opened.path if opened is not None else None,
        len(opened.documents) if opened is not None else None,
        opened.page_count if opened is not None else None,
        base,
        checker.tally,
    )


def _rows(request: Request, kind: Layout | None) -> Rows:
    patterns = kind.files if kind else ()
    return chain.from_iterable(rows_of(s, request.split, patterns) for s in request.sources)


def _drafts(
    request: Request, kind: Layout | None, rows: Rows, passages: Passages, opened: Corpus | None
) -> Iterator[Draft]:
    if kind is not None:
        read = kind.read
        if request.keep_partial:
            if kind.read_with_partial is None:
                raise InputError(f"--keep-partial is for mtrag; {request.layout} has no such label")
            read = kind.read_with_partial
        return read(rows, passages)
    if request.keep_partial:
        raise InputError("--keep-partial is for --layout mtrag")
    mapping = request.mapping
    if opened is not None and len(opened.documents) == 1:
        mapping = replace(mapping, document=next(iter(opened.documents)))
    return read_mapped(rows, mapping)


def _counted(rows: Iterable[T], progress: Callable[[int], None]) -> Iterator[T]:
    for number, row in enumerate(rows, 1):
        progress(number)
        yield row


def _page_base(request: Request, kind: Layout | None) -> int:
    if kind and request.mapping.columns:
        raise InputError("--map and --layout exclude each other: a layout knows its columns")
    if kind and kind.passages:
        if request.page_base is not None:
            raise InputError(f"--page-base: the pages of {request.layout} are passages, from 1")
        if request.documents is not None:
            raise InputError(f"--documents: {request.layout} brings its own documents")
    if request.page_base is not None:
        return request.page_base
    return kind.page_base if kind else 1


def _name(request: Request) -> str:
    source = request.sources[0]
    if request.name is not None:
        if not re.fullmatch(r"\w[\w.-]*", request.name):
            raise InputError(f"--name takes letters, digits, '.', '_' and '-', not {request.name}")
        return request.name
    if request.layout:
        return request.layout
    if source.startswith(HUB):
        source = source.removeprefix(HUB).partition(":")[0]
    return re.sub(r"[^\w.-]+", "-", Path(source).resolve().stem).strip("-.") or "bank"


def _check_free(request: Request, bank: Path, corpus: Path | None) -> None:
    if request.into.exists() and not request.into.is_dir():
        raise InputError(f"--into {request.into} is a file; it takes a folder")
    for source in request.sources:
        if not source.startswith(HUB) and bank.resolve() == Path(source).resolve():
            raise InputError(f"{bank} is the source itself; --name or --into gives another")
    taken = next((path for path in (bank, corpus) if path is not None and path.exists()), None)
    if taken is not None and not request.overwrite:
        raise InputError(f"{taken} exists; --overwrite replaces it, --name gives another name")


def _open_documents(
    request: Request, kind: Layout | None, progress: Progress | None
) -> Corpus | None:
    documents = request.documents
    source = Path(request.sources[0])
    if documents is None and kind and kind.documents and (source / kind.documents).is_dir():
        documents = source / kind.documents
    return open_corpus(documents, progress) if documents is not None else None


def _reference(documents: Path, into: Path) -> str:
    """How a bank names the documents' folder: from its own one, or in full where that is far."""
    relative = os.path.relpath(documents.resolve(), into.resolve())
    return str(documents.resolve()) if relative.count("..") > 3 else relative


class _Finder:
    """Documents of a corpus by the names that sources use: with or without folder and suffix."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._last: dict[str, set[str]] = {}
        for info in corpus.documents.values():
            for spelling in {PurePosixPath(info.file).name, PurePosixPath(info.file).stem}:
                self._last.setdefault(spelling.casefold(), set()).add(info.name)

    def find(self, document: str) -> tuple[str, int] | None:
        name = self._corpus.resolve(document)
        if name is not None:
            return document, self._corpus.documents[name].pages
        meant = self._last.get(PurePosixPath(document).name.casefold(), set())
        if len(meant) != 1:
            return None
        name = next(iter(meant))
        return name, self._corpus.documents[name].pages


def _write(
    into: Path, bank: Path, questions: list[Question], passages: Passages, corpus: Path | None
) -> None:
    try:
        into.mkdir(parents=True, exist_ok=True)
        if corpus is not None:
            passages.write(corpus)
        unfinished = bank.with_name(f".{bank.name}.part")
        with unfinished.open("wb") as lines:
            lines.writelines(orjson.dumps(question.line()) + b"\n" for question in questions)
        unfinished.replace(bank)
    except OSError as error:
        raise InputError(f"{error.filename or into} can't be written: {error.strerror}") from error

"""A corpus: opened from files or from the cache, then searched and looked up.

Public: `Corpus`, `Progress`, `open_corpus`, `open_cached`.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import tantivy

from ragevalkit.corpus.cache import building, cache_folder, cache_root, publish
from ragevalkit.corpus.folder import SourceFile, corpus_key, find_files
from ragevalkit.corpus.index import INDEX_VERSION, IndexWriter, file_sizes, open_index
from ragevalkit.corpus.manifest import (
    Damaged,
    DocumentInfo,
    Manifest,
    PageHash,
    read_manifest,
    write_manifest,
)
from ragevalkit.corpus.pages import Page
from ragevalkit.corpus.readers import extractor, read_document
from ragevalkit.corpus.search import PageSearch, Result
from ragevalkit.errors import InputError, RunFolderError
from ragevalkit.turn.folding import fold_name
from ragevalkit.turn.protocol import SEARCH_RESULTS

_INDEX = "index"
_TRIES = 3


class Progress(Protocol):
    """Told how far reading and indexing have come; called on the thread that opens the corpus."""

    def __call__(self, pages: int, files: int, of_files: int) -> None:
        """`pages` read so far, `files` finished of `of_files`; not called if the cache answers."""


class Corpus:
    """Documents with their pages, and the search over them.

    Nothing in it changes once it is open: an event loop and any number of threads may use it.
    """

    def __init__(
        self, path: Path, skipped: Sequence[str], manifest: Manifest, index: tantivy.Index
    ) -> None:
        self.path = path
        """The folder or file that it was opened from."""

        self.skipped: list[str] = list(skipped)
        """Paths inside the folder that are no documents: hidden, or of a kind that isn't read."""

        self.hash = manifest.hash
        """SHA-256 over name, index, label and text of every page in order: what a run records."""

        self.documents: Mapping[str, DocumentInfo] = MappingProxyType(
            {info.name: info for info in manifest.documents}
        )
        """Every document by name, in order of their paths."""

        self.page_count = sum(info.pages for info in manifest.documents)
        """Pages of all documents."""

        self._search = PageSearch(index, self.documents)
        self._places: dict[str, int] = {}
        self._folded: dict[str, set[str]] = {}
        place = 0
        for info in manifest.documents:
            self._places[info.name] = place
            place += info.pages
            for spelling in (info.name, info.file):
                self._folded.setdefault(fold_name(spelling), set()).add(info.name)
        self._files = {info.file: info.name for info in manifest.documents}

    def resolve(self, name: str) -> str | None:
        """The name of the document that `name` means, None where it means none or several.

        A name means itself, then the file with that path; other case or another Unicode
        composition of either counts where only one document can be meant.
        """
        if name in self.documents:
            return name
        if name in self._files:
            return self._files[name]
        meant = self._folded.get(fold_name(name), set())
        return next(iter(meant)) if len(meant) == 1 else None

    def search(
        self, query: str, document: str | None = None, limit: int = SEARCH_RESULTS
    ) -> list[Result]:
        """The best pages for `query`, at most `limit`, in all documents or in one.

        Any text is taken as words, all of which are optional: nothing in it is an operator, and it
        never raises. A query without words gets no results, and so does a `document` that
        `resolve` doesn't know: ask that first to tell the two apart. Pages are ranked by BM25 over
        English stems, equal scores in order of the corpus. For limits on a query's length see
        `search.QUERY_TERMS`, for text that isn't English `index.analyzer`.
        """
        within = None
        if document is not None:
            within = self.resolve(document)
            if within is None:
                return []
        return self._search.best(query, within, limit)

    def page(self, document: str, index: int) -> Page:
        """The page with this index, from 1. Raises `LookupError` where `document` has none such."""
        info = self.documents[document]
        if not 1 <= index <= info.pages:
            raise LookupError(f"{document} has pages 1 to {info.pages}, not {index}")
        text = self._search.text(self._places[document] + index - 1)
        return Page(index, info.labels[index - 1], text)


def open_corpus(path: Path, progress: Progress | None = None) -> Corpus:
    """The corpus of a folder with its subfolders, or of a single file.

    Its files are hashed at every opening; they are read and indexed only where the cache has no
    index for exactly these contents. Processes may open the same corpus at once. Raises
    `InputError` naming the file where there is nothing to read or something can't be read.
    """
    files, skipped = find_files(path)
    key = corpus_key(files, extractor(), f"index {INDEX_VERSION}", f"tantivy {version('tantivy')}")
    folder = cache_folder(key)
    for _ in range(_TRIES):
        try:
            return Corpus(path, skipped, *_load(folder))
        except Damaged:
            _build(files, folder, progress)
    try:
        return Corpus(path, skipped, *_load(folder))
    except Damaged as error:
        raise InputError(
            f"The corpus cache at {folder} can't be read back ({error}):"
            " set RAGEVALKIT_CACHE to a folder on another disk."
        ) from None


def open_cached(hash_: str) -> Corpus | None:
    """The corpus with this `Corpus.hash` from the cache, without its documents; None if not there.

    Its `path` is the cache's folder.
    """
    for folder in sorted((cache_root() / "corpora").glob("*")):
        try:
            if read_manifest(folder).hash == hash_:
                return Corpus(folder, [], *_load(folder))
        except Damaged:
            continue
    return None


def _load(folder: Path) -> tuple[Manifest, tantivy.Index]:
    manifest = read_manifest(folder)
    pages = sum(info.pages for info in manifest.documents)
    return manifest, open_index(folder / _INDEX, manifest.index_files, pages)


def _usable(folder: Path) -> bool:
    try:
        _load(folder)
    except Damaged:
        return False
    return True


def _build(files: Sequence[SourceFile], folder: Path, progress: Progress | None) -> None:
    try:
        with building(folder) as made:
            _fill(files, made, progress)
            publish(made, folder, _usable)
    except OSError as error:
        message = (
            f"The corpus cache at {folder.parent} can't be written ({error.strerror or error})"
        )
        if error.errno == errno.ENOSPC:
            raise RunFolderError(f"{message}: free some space.") from None
        raise InputError(
            f"{message}: set RAGEVALKIT_CACHE to a folder that you may write to."
        ) from None


def _fill(files: Sequence[SourceFile], made: Path, progress: Progress | None) -> None:
    """Read all `files` and write index and manifest into the empty folder `made`."""
    page_hash = PageHash()
    infos: list[DocumentInfo] = []
    pages = 0
    with IndexWriter(made / _INDEX) as writer:
        for done, source in enumerate(files):
            on_pages = None
            if progress is not None:
                on_pages = partial(_pass_on, progress, pages, done, len(files))
            document = read_document(source.path, source.read(), source.name, source.file, on_pages)
            for page in document.pages:
                page_hash.add(document.name, page)
                writer.add(document.name, page)
            infos.append(DocumentInfo.of(document))
            pages += len(document.pages)
            if progress is not None:
                progress(pages, done + 1, len(files))
    sizes = file_sizes(made / _INDEX)
    write_manifest(made, Manifest(page_hash.hexdigest(), infos, sizes))


def _pass_on(progress: Progress, before: int, files: int, of_files: int, pages: int) -> None:
    progress(before + pages, files, of_files)

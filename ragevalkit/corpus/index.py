"""The tantivy index: its fields, how pages are written into it, how it is opened.

Public: `INDEX_VERSION`, `schema`, `analyzer`, `IndexWriter`, `open_index`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import tantivy

from ragevalkit.corpus.manifest import Damaged
from ragevalkit.corpus.pages import Page

INDEX_VERSION = 1
"""Raised whenever fields, analysis or the manifest change: caches are then rebuilt."""

HEAP_BYTES = 128_000_000
"""Memory of the writer; 100,000 pages of 200 words fit into one segment."""


def schema() -> tantivy.Schema:
    """The index's fields: one entry a page.

    `document` (its name, whole: the filter), `page` (index in the document), `place` (ordinal in
    the corpus from 0: breaks ties, and finds a page), `text` (English stems with frequencies; a
    bag of words needs no positions).
    """
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("document", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("page", stored=True)
    builder.add_unsigned_field("place", indexed=True, fast=True)
    builder.add_text_field("text", stored=True, tokenizer_name="en_stem", index_option="freq")
    return builder.build()


def analyzer() -> tantivy.TextAnalyzer:
    """What tantivy's own `en_stem` does to a text, for queries (a test holds them equal).

    Words are runs of letters and digits, in lower case, English stems, none over 40 bytes. Text
    without blanks between words (Chinese, Japanese, Thai) is found by whole runs between
    punctuation alone, and runs over 40 bytes aren't found at all; other languages are found by
    their words as they stand, or by what English stemming makes of them on both sides.
    """
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(40))
    builder = builder.filter(tantivy.Filter.lowercase())
    return builder.filter(tantivy.Filter.stemmer("english")).build()


class IndexWriter:
    """A new index in an empty folder: pages go in, in order; the end of the block commits them.

    One indexing thread, since several deal pages out to segments by chance, and the last digits of
    scores depend on that. It works beside the thread that reads documents.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._writer = tantivy.Index(schema(), str(folder)).writer(HEAP_BYTES, 1)
        self._place = 0

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._writer.commit()
        else:
            self._writer.rollback()
        self._writer.wait_merging_threads()

    def add(self, document: str, page: Page) -> None:
        """Take in the next page of the corpus."""
        entry = tantivy.Document()
        entry.add_text("document", document)
        entry.add_unsigned("page", page.index)
        entry.add_unsigned("place", self._place)
        entry.add_text("text", page.text)
        self._writer.add_document(entry)
        self._place += 1


def file_sizes(folder: Path) -> dict[str, int]:
    """Size in bytes of every file of the index, by name; tantivy's lock files left out."""
    return {
        entry.name: entry.stat().st_size
        for entry in folder.iterdir()
        if not entry.name.startswith(".")
    }


def open_index(folder: Path, sizes: Mapping[str, int], pages: int) -> tantivy.Index:
    """The index in `folder`. Raises `Damaged` unless it has these files, sizes and pages.

    No stored text is read: files are mapped into memory and read where a search needs them.
    """
    try:
        if file_sizes(folder) != dict(sizes):
            raise Damaged("index files are missing or have another size")
        index = tantivy.Index.open(str(folder))
        # Nothing ever changes in a published index; watching for it would cost a thread.
        index.config_reader("manual")
        index.reload()
        if index.searcher().num_docs != pages:
            raise Damaged("index has another number of pages")
    except (OSError, ValueError) as error:
        raise Damaged(f"index: {error}") from error
    return index

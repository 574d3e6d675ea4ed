"""Documents, their pages, and the search over them.

Public: `open_corpus`, `open_cached`, `Corpus`, `Result`, `DocumentInfo`, `Page`, `Document`,
`Progress`, `read_document`, `SUFFIXES`, `cache_root`.
"""

from __future__ import annotations

from ragevalkit.corpus.cache import cache_root
from ragevalkit.corpus.corpus import Corpus, Progress, open_cached, open_corpus
from ragevalkit.corpus.manifest import DocumentInfo
from ragevalkit.corpus.pages import Document, Page
from ragevalkit.corpus.readers import SUFFIXES, read_document
from ragevalkit.corpus.search import Result

__all__ = [
    "SUFFIXES",
    "Corpus",
    "Document",
    "DocumentInfo",
    "Page",
    "Progress",
    "Result",
    "cache_root",
    "open_cached",
    "open_corpus",
    "read_document",
]

"""What a cached corpus knows without reading a page: documents, labels, counts, hash.

Public: `DocumentInfo`, `Manifest`, `PageHash`, `Damaged`, `write_manifest`, `read_manifest`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from ragevalkit.corpus.pages import Document, Page, Pagination

_FILE = "manifest.json"


class Damaged(Exception):
    """A cache that can't be used: it is built again, nobody sees this."""


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document of a corpus, without its texts."""

    name: str
    """What a citation names."""

    file: str
    """Path inside the corpus with suffix."""

    pages: int
    """How many there are; indexes run from 1 to this."""

    labels: list[str | None]
    """Printed label of each page in order, None where it has none."""

    pages_without_text: list[int]
    """Indexes of pages that search can't find, such as scans without a text layer."""

    pagination: Pagination
    """`pdf`, `marker` or `length`: with `length`, numbers are those of passages."""

    @classmethod
    def of(cls, document: Document) -> DocumentInfo:
        """What is to be known of `document`."""
        return cls(
            document.name,
            document.file,
            len(document.pages),
            [page.label for page in document.pages],
            [page.index for page in document.pages if not page.text],
            document.pagination,
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything in a corpus cache beside the index."""

    hash: str
    """The corpus hash: see `PageHash`."""

    documents: list[DocumentInfo]
    """In order of `file`, which is the order of pages in the index."""

    index_files: Mapping[str, int]
    """Size in bytes of each file of the index, by name: how a half-written one is recognised."""


class PageHash:
    """SHA-256 over document name, index, label and text of every page of a corpus in order.

    Each page goes in as a JSON array on a line, so that no two corpora run together.
    """

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def add(self, name: str, page: Page) -> None:
        """Take in the next page."""
        self._sha256.update(orjson.dumps([name, page.index, page.label, page.text]) + b"\n")

    def hexdigest(self) -> str:
        """The hash of all pages so far."""
        return self._sha256.hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest` into a cache folder."""
    record = {
        "hash": manifest.hash,
        "documents": [_record(info) for info in manifest.documents],
        "index_files": dict(manifest.index_files),
    }
    (folder / _FILE).write_bytes(orjson.dumps(record))


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a cache folder. Raises `Damaged` where there is none that makes sense."""
    try:
        record = orjson.loads((folder / _FILE).read_bytes())
        documents = [_info(entry) for entry in record["documents"]]
        sizes = {str(name): int(size) for name, size in record["index_files"].items()}
        return Manifest(str(record["hash"]), documents, sizes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"manifest: {error}") from error


def _record(info: DocumentInfo) -> dict[str, object]:
    # Most documents have no labels: a null each would be most of the file.
    return asdict(info) | {"labels": info.labels if any(info.labels) else None}


def _info(entry: dict[str, object]) -> DocumentInfo:
    info = DocumentInfo(**entry)  # type: ignore[arg-type]
    if info.labels is None:
        return DocumentInfo(**(entry | {"labels": [None] * info.pages}))
    if len(info.labels) != info.pages:
        raise ValueError(f"labels of {info.name}")
    return info

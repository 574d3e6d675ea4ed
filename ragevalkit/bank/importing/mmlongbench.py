"""MMLongBench-Doc: questions on long PDFs with pictures and tables. The PDFs are the user's.

Public: `read`.

Pages are those of the PDF for most documents and printed numbers for some; the writer counts pages
that a document doesn't have.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows, each
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.values import integers, text, texts

_NEGATIVE = "not answerable"


def read(rows: Rows, _: Passages) -> Iterator[Draft]:
    """Drafts of rows with `question`, `answer`, `doc_id`, `evidence_pages`."""
    return each(rows, _drafts)


def _drafts(row: Row) -> Iterator[Draft]:
    document = text(row.need("doc_id"))
    answer = row.need("answer")
    answerable = text(answer).casefold() != _NEGATIVE
    kinds = [row.fields.get("doc_type"), f"answer: {text(row.fields.get('answer_format'))}"]
    kinds += texts(row.fields.get("evidence_sources"))
    row.need("evidence_pages")
    yield Draft(
        row.where,
        text(row.need("question")),
        answerable,
        evidence=[Gold(document, page) for page in row.read("evidence_pages", integers)],
        answers=[", ".join(texts(answer))] if answerable and text(answer) else [],
        tags=texts([text(kind).lower() for kind in kinds]),
    )

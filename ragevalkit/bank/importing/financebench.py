"""FinanceBench: questions on annual reports, all answerable. The PDFs are the user's.

Public: `read`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows, each
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.values import integers, text, texts


def read(rows: Rows, _: Passages) -> Iterator[Draft]:
    """Drafts of rows with `question`, `answer`, `doc_name` and `evidence`; pages count from 0."""
    return each(rows, _drafts)


def _drafts(row: Row) -> Iterator[Draft]:
    report = text(row.fields.get("doc_name"))
    kinds = [row.fields.get("question_type"), row.fields.get("question_reasoning")]
    yield Draft(
        row.where,
        text(row.need("question")),
        True,
        id=text(row.need("financebench_id")),
        evidence=[
            Gold(
                text(item.get("evidence_doc_name") or item.get("doc_name")) or report,
                integers(item["evidence_page_num"])[0],
                text(item.get("evidence_text")) or None,
            )
            for item in row.need("evidence")
        ],
        answers=texts([row.need("answer")]),
        tags=texts([text(kind).lower() for kind in kinds]),
    )

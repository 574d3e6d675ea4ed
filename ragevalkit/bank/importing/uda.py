"""UDA: questions on PDFs, as its tables, its bench files, or with pages found for them.

Public: `read`.

Only FinQA's question names carry a page. The other sets' questions are left out as answerable
without evidence, unless somebody has added `pages`, as the folder uda_wiki of the test data has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows, each
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.values import boolean, integers, text, texts

_PAGE = re.compile(r"page_(\d+)")


def read(rows: Rows, _: Passages) -> Iterator[Draft]:
    """Drafts of rows with `doc_name` and `q_uid`, or with `doc` and `pages` (PDF pages, from 1)."""
    return each(rows, lambda row: _paged(row) if "pages" in row.fields else _plain(row))


def _plain(row: Row) -> Iterator[Draft]:
    document = text(row.fields.get("doc_name")) or row.key or text(row.need("doc_name"))
    name = text(row.need("q_uid"))
    page = _PAGE.search(text(row.fields.get("doc_page_uid"))) or _PAGE.search(name)
    numbered = sorted(column for column in row.fields if re.fullmatch(r"answer_\d+", column))
    answers = [row.fields.get(column) for column in (*numbered, "short_answer", "answer")]
    given = row.fields.get("answers")
    answers += [*given.values()] if isinstance(given, dict) else texts(given)
    yield Draft(
        row.where,
        text(row.need("question")),
        True,
        id=name,
        evidence=[Gold(document, int(page[1]))] if page else [],
        answers=texts(answers) or texts([row.fields.get("long_answer")]),
    )


def _paged(row: Row) -> Iterator[Draft]:
    answerable = row.read("answerable", boolean)
    pages = row.read("pages", integers)
    held_out = text(row.fields.get("held_out_doc"))
    answers = texts([row.fields.get("short_answer")]) or texts([row.fields.get("answer")])
    yield Draft(
        row.where,
        text(row.need("question")),
        answerable,
        id=text(row.need("id")),
        evidence=[Gold(text(row.need("doc")), page) for page in pages],
        answers=answers if answerable else [],
        tags=texts([row.fields.get("page_quality")]),
        because=f"the article that holds it is not here: {held_out}" if held_out else None,
    )

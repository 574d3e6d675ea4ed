"""SQuAD 2.0: questions on paragraphs of Wikipedia articles, many of them impossible to answer.

Public: `read`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows, each
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.values import text, texts


def read(rows: Rows, passages: Passages) -> Iterator[Draft]:
    """Drafts of articles (`title`, `paragraphs`), or of the hub's rows (`title`, `context`, …).

    A document is an article, a page its paragraph's number. Answers that are only plausible are
    no references.
    """
    return each(rows, partial(_drafts, passages))


def _drafts(passages: Passages, row: Row) -> Iterator[Draft]:
    title = text(row.need("title"))
    if "paragraphs" not in row.fields:
        page = passages.page(title, text(row.need("context")))
        given = row.need("answers")
        yield _draft(row.where, row.fields, Gold(title, page), given["text"])
        return
    for paragraph in row.fields["paragraphs"]:
        page = passages.append(title, text(paragraph["context"]))
        for number, asked in enumerate(paragraph["qas"], 1):
            where = f"{row.where}, paragraph {page}, question {number}"
            answers = [answer["text"] for answer in asked["answers"]]
            yield _draft(where, asked, Gold(title, page), answers)


def _draft(where: str, asked: dict[str, Any], gold: Gold, given: list[Any]) -> Draft:
    answers = texts(given)
    impossible = asked.get("is_impossible")
    answerable = bool(answers) if impossible is None else not impossible
    return Draft(
        where,
        text(asked["question"]),
        answerable,
        id=text(asked["id"]),
        evidence=[gold] if answerable else [],
        answers=answers if answerable else [],
    )

"""CLAPnq: questions on passages of Wikipedia articles, half of them unanswerable.

Public: `read`.

An unanswerable question comes with a random passage of its article: it becomes a page of the
corpus, on the topic and without the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows, each
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.values import text, texts

_NO_ANSWER = "NA"
"""Stands where an annotator of a round gave none."""


def read(rows: Rows, passages: Passages) -> Iterator[Draft]:
    """Drafts of rows with `id`, `input`, `passages` and `output`; a page is a passage."""
    return each(rows, partial(_drafts, passages))


def _drafts(passages: Passages, row: Row) -> Iterator[Draft]:
    outputs = row.need("output")
    given = texts([output["answer"] for output in outputs])
    answers = [answer for answer in given if answer != _NO_ANSWER]
    support = texts([s for output in outputs for s in output.get("selected_sentences") or []])
    evidence = []
    for passage in row.need("passages"):
        title, body = text(passage["title"]), text(passage["text"])
        page = passages.page(title, body)
        evidence.append(Gold(title, page, _quote(support, body)))
    yield Draft(
        row.where,
        text(row.need("input")),
        bool(answers),
        id=f"clapnq-{text(row.need('id'))}",
        evidence=evidence if answers else [],
        answers=answers,
    )


def _quote(support: list[str], body: str) -> str | None:
    """The supporting sentences where they stand side by side, else the first that is there."""
    sentences = [sentence.removesuffix("&").rstrip() for sentence in support]
    together = " ".join(sentences)
    if together and together in body:
        return together
    return next((sentence for sentence in sentences if sentence and sentence in body), None)

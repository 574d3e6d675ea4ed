"""QASPER: questions on papers, each labelled by one or more annotators.

Public: `read`.

What most annotators say decides whether a question is answerable. A page is a paragraph: the
abstract is the first, those of the full text follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows, each
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.values import text, texts


def read(rows: Rows, passages: Passages) -> Iterator[Draft]:
    """Drafts of papers (`title`, `abstract`, `full_text`, `qas`); the release's shape or the hub's.

    Evidence of several annotators is one group: each page is an alternative.
    """
    return each(rows, partial(_drafts, passages))


def _drafts(passages: Passages, row: Row) -> Iterator[Draft]:
    paper = row.key or text(row.need("id"))
    pages = _paragraphs(passages, paper, row)
    for number, asked in enumerate(_listed(row.need("qas")), 1):
        answers = [_answer(item) for item in _listed(asked["answers"])]
        yield _draft(f"{row.where}, question {number}", asked, answers, pages, paper)


def _paragraphs(passages: Passages, paper: str, row: Row) -> dict[str, int]:
    """Page of each paragraph; a section's name stands above its first one."""
    abstract = text(row.fields.get("abstract"))
    heading = f"# {text(row.need('title'))}\n\n"
    pages = {abstract: passages.append(paper, heading + abstract)}
    for section in _listed(row.need("full_text")):
        name = text(section.get("section_name"))
        heading = f"## {name}\n\n" if name else ""
        for paragraph in map(text, section["paragraphs"]):
            if paragraph:
                pages.setdefault(paragraph, passages.append(paper, heading + paragraph))
                heading = ""
    return pages


def _draft(
    where: str,
    asked: dict[str, Any],
    answers: list[dict[str, Any]],
    pages: dict[str, int],
    paper: str,
) -> Draft:
    given = [answer for answer in answers if not answer["unanswerable"]]
    answerable = len(given) * 2 > len(answers)
    disputed = len(given) * 2 == len(answers)
    paragraphs = texts([p for answer in given for p in answer["evidence"]])
    evidence = [Gold(paper, pages[p]) for p in paragraphs if p in pages]
    left_out = "annotators_disagree" if disputed else None
    if answerable and paragraphs and not evidence:
        left_out = "evidence_not_in_text"
    return Draft(
        where,
        text(asked["question"]),
        None if disputed else answerable,
        id=text(asked["question_id"]),
        evidence=evidence if answerable else [],
        answers=texts([_reference(answer) for answer in given]) if answerable else [],
        tags=texts([_kind(answer) for answer in given]) if answerable else [],
        left_out=left_out,
    )


def _answer(item: dict[str, Any]) -> dict[str, Any]:
    """An annotator's answer; the release wraps it once more."""
    inner: dict[str, Any] = item.get("answer", item)
    return inner


def _reference(answer: dict[str, Any]) -> str:
    if answer.get("yes_no") is not None:
        return "yes" if answer["yes_no"] else "no"
    return ", ".join(texts(answer["extractive_spans"])) or text(answer["free_form_answer"])


def _kind(answer: dict[str, Any]) -> str:
    if answer.get("yes_no") is not None:
        return "yes_no"
    return "extractive" if answer["extractive_spans"] else "abstractive"


def _listed(value: Any) -> list[dict[str, Any]]:
    """A list of objects; the hub stores one as an object of lists."""
    if not isinstance(value, dict):
        return list(value)
    return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]

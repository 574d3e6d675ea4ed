"""Both replies to a question that came out differently, beside what it asked for.

Public: `side_by_side`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ragevalkit.report.html.paired_turns import PairedTurns
from ragevalkit.report.numbers import count
from ragevalkit.report.tables import Table
from ragevalkit.report.turns import ScoredTurn, first_words

if TYPE_CHECKING:
    from ragevalkit.bank import Question
    from ragevalkit.compare.result import Comparison, FlippedQuestion

Key = tuple[str, int]
"""Question id on a's side, and repeat."""

_QUESTION = 300
"""Characters of a question that are shown; the whole of it is in its turn."""
_SAID_ABOVE = ("turns_with_defect", "defects_per_turn")
"""Metrics of which the row of the defects says more."""


def side_by_side(of: Comparison, pairs: Mapping[Key, PairedTurns]) -> list[Table]:
    """A table for each flipped question that the comparison shows, in its order.

    Args:
        pairs: the turns of these questions.
    """
    return [
        Table(
            _title(question),
            ["", of.a.run, of.b.run],
            [*_rows(question), ["cites", *map(_cited, pair)]],
            list(_wanted(pair.a.question)) if pair.a else [],
            text_columns=3,
        )
        for question in of.flipped.shown
        if (pair := pairs.get((question.question_id, question.repeat)))
    ]


def _title(question: FlippedQuestion) -> str:
    repeat = f", repeat {question.repeat}" if question.repeat else ""
    return f"{question.question_id}{repeat}: {first_words(question.question, _QUESTION)}"


def _rows(question: FlippedQuestion) -> Iterator[list[str]]:
    a, b = question.a, question.b
    yield ["reply", a.reply or "nothing", b.reply or "nothing"]
    yield ["outcome", a.outcome, b.outcome]
    yield ["defects", *(", ".join(side.defects) or "none" for side in (a, b))]
    for name, values in question.metrics.items():
        if name not in _SAID_ABOVE:
            yield [name, *map(count, values)]


def _cited(shown: ScoredTurn | None) -> str:
    """`admin-guide p. 7 (evidence), release-notes p. 1 (wrong_page)`."""
    pages = []
    for of in shown.score.citations if shown and shown.score else ():
        what = "evidence" if of.is_evidence else of.defect
        pages.append(f"{of.document} p. {of.page}{f' ({what})' if what else ''}")
    return _each_once(pages) or "nothing"


def _wanted(question: Question) -> Iterator[str]:
    """What the bank says of a question."""
    if question.answers:
        yield f"Reference: {' / '.join(question.answers)}"
    if question.evidence:
        pages = (f"{page.document} p. {page.page}" for page in question.evidence)
        yield f"Evidence: {_each_once(pages)}"
    if not question.answerable:
        because = question.unanswerable_because
        yield "The documents don't answer it" + (f": {because}" if because else ".")


def _each_once(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))

"""The metrics: for one turn each is true, false, a number, or undefined.

Public: `METRICS`, `Metric`, `OVER`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.view import TurnView

OVER: dict[str, Callable[[TurnView], bool]] = {
    "scored": lambda v: True,
    "answerable": lambda v: v.question.answerable,
    "unanswerable": lambda v: not v.question.answerable,
    "answerable, evidence retrieved": lambda v: v.question.answerable and v.evidence_retrieved,
    "answerable with citations": lambda v: v.question.answerable and bool(v.cited),
    "answerable with a short reference": lambda v: (
        v.question.answerable and v.correct_answer is not None
    ),
    "declined": lambda v: v.outcome is Outcome.DECLINE,
}
"""Which turns a metric is defined for; infrastructure errors never."""


@dataclass(frozen=True)
class Metric:
    """A rate over turns, or a mean."""

    name: str
    over: str
    """A key of `OVER`."""
    counts: str
    """What is counted, in words."""
    value: Callable[[TurnView], bool | float]
    is_mean: bool = False
    """A mean of numbers; else a share of turns."""
    higher_is_better: bool = True
    descriptive: bool = False
    """Its denominator depends on what the model did, so two runs can't be compared by it alone."""

    def of(self, view: TurnView) -> bool | float | None:
        """Its value for a turn; None where it is undefined there."""
        if view.outcome is Outcome.INFRA_ERROR or not OVER[self.over](view):
            return None
        value = self.value(view)
        return float(value) if self.is_mean else value


def _searched_first(view: TurnView) -> bool:
    """A turn that ended before it searched did not search first."""
    return bool(view.good_calls) and view.good_calls[0].name == "search"


def _citation_precision(view: TurnView) -> float:
    """A page that is cited twice, for two quotes, is one cited page."""
    pages = {(cited.document, cited.page): cited for cited in view.cited}
    return sum(map(view.is_evidence, pages.values())) / len(pages)


def _citation_recall(view: TurnView) -> float:
    return view.groups_cited / len(view.groups)


def _declined(view: TurnView) -> bool:
    return view.outcome is Outcome.DECLINE


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("answered", "scored", "a visible final reply", lambda v: v.answered),
        Metric(
            "searched_first",
            "scored",
            "a well-formed search ran before any cite and before the final reply",
            _searched_first,
        ),
        Metric(
            "evidence_retrieved",
            "answerable",
            "an evidence page was among the search results that the model saw",
            lambda v: v.evidence_retrieved,
        ),
        Metric(
            "cited_correct_page",
            "answerable",
            "every evidence group has a cited page",
            lambda v: v.cited_correct_page,
        ),
        Metric(
            "cited_given_retrieved",
            "answerable, evidence retrieved",
            "every evidence group has a cited page",
            lambda v: v.cited_correct_page,
            descriptive=True,
        ),
        Metric(
            "citation_precision",
            "answerable with citations",
            "share of the cited pages that are evidence",
            _citation_precision,
            is_mean=True,
            descriptive=True,
        ),
        Metric(
            "citation_recall",
            "answerable with citations",
            "share of the evidence groups that are cited",
            _citation_recall,
            is_mean=True,
            descriptive=True,
        ),
        Metric("refused_correctly", "unanswerable", "declined", _declined),
        Metric("over_refused", "answerable", "declined", _declined, higher_is_better=False),
        Metric(
            "abstention_precision",
            "declined",
            "the question was unanswerable",
            lambda v: not v.question.answerable,
            descriptive=True,
        ),
        Metric(
            "correct_answer",
            "answerable with a short reference",
            "a reference of at most 12 words stands in the reply, numbers with units equal",
            lambda v: bool(v.correct_answer),
        ),
        Metric(
            "malformed_calls",
            "scored",
            "a call that is no JSON, cut off, of an unknown tool, against its schema, left in the "
            "text, or with an id used twice",
            lambda v: bool(v.call_defects),
            higher_is_better=False,
        ),
        Metric(
            "turns_with_defect",
            "scored",
            "at least one defect",
            lambda v: bool(v.defects),
            higher_is_better=False,
        ),
        Metric(
            "defects_per_turn",
            "scored",
            "defects, each class at most once a turn",
            lambda v: len(v.defects),
            is_mean=True,
            higher_is_better=False,
        ),
    )
}

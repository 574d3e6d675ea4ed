"""The metrics: for one turn each is true, false, or undefined.

Public: `METRICS`, `Metric`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragevalkit.bank import Question
from ragevalkit.scoring.calls import call_defects
from ragevalkit.scoring.citations import covers_all_groups, is_evidence, pages_seen
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.turn.record import Turn


@dataclass(frozen=True)
class Metric:
    """A rate over turns."""

    name: str
    over: str
    """Which turns it is defined for: scored, answerable or unanswerable."""
    counts: str
    """What makes a turn count, in words."""
    holds: Callable[[Turn, Question, Outcome], bool]
    higher_is_better: bool = True

    def of(self, turn: Turn, question: Question, outcome: Outcome) -> bool | None:
        """Whether it holds for a turn; None where it is undefined there."""
        if outcome is Outcome.INFRA_ERROR:
            return None
        if self.over != "scored" and question.answerable != (self.over == "answerable"):
            return None
        return self.holds(turn, question, outcome)


def _answered(turn: Turn, question: Question, outcome: Outcome) -> bool:
    return outcome is not Outcome.NO_OUTPUT


def _searched_first(turn: Turn, question: Question, outcome: Outcome) -> bool:
    """A reply without any call, and a turn that ended before it searched, did not search first."""
    for round_ in turn.rounds:
        for call in round_.calls:
            if call.defect is None and call.result is not None:
                return call.name == "search"
    return False


def _evidence_retrieved(turn: Turn, question: Question, outcome: Outcome) -> bool:
    return any(is_evidence(page, question.evidence) for page in pages_seen(turn))


def _cited_correct_page(turn: Turn, question: Question, outcome: Outcome) -> bool:
    return covers_all_groups(turn.citations, question.evidence)


def _declined(turn: Turn, question: Question, outcome: Outcome) -> bool:
    return outcome is Outcome.DECLINE


def _malformed_calls(turn: Turn, question: Question, outcome: Outcome) -> bool:
    return bool(call_defects(turn))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("answered", "scored", "a visible final reply", _answered),
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
            _evidence_retrieved,
        ),
        Metric(
            "cited_correct_page",
            "answerable",
            "every evidence group has a cited page",
            _cited_correct_page,
        ),
        Metric("refused_correctly", "unanswerable", "declined", _declined),
        Metric("over_refused", "answerable", "declined", _declined, higher_is_better=False),
        Metric(
            "malformed_calls",
            "scored",
            "a call that is no JSON, cut off, of an unknown tool, against its schema, left in the "
            "text, or with an id used twice",
            _malformed_calls,
            higher_is_better=False,
        ),
    )
}

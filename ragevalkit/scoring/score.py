"""Scoring one turn.

Public: `SCORER_VERSION`, `Score`, `ScoredCitation`, `score_turn`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ragevalkit.bank import Question
from ragevalkit.corpus import Corpus
from ragevalkit.scoring.citations import CitationKind, citation_kind
from ragevalkit.scoring.defects import find_defects, undefined_defects
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.view import Cited, TurnView
from ragevalkit.turn.record import Turn

SCORER_VERSION = 3
"""Raised whenever a score may come out differently for the same turn."""


class ScoredCitation(BaseModel):
    """A cited page and what is wrong with it."""

    model_config = ConfigDict(extra="forbid")

    document: str
    page: int
    source: Literal["call", "text"]
    """text: read from the reply of an agent that has no `cite` tool."""
    is_evidence: bool
    defect: CitationKind | None


class Score(BaseModel):
    """The scores of one turn. A line of scores.jsonl."""

    model_config = ConfigDict(extra="forbid")

    scorer: int = SCORER_VERSION
    question_id: str
    question_hash: str
    repeat: int
    answerable: bool
    outcome: Outcome
    metrics: dict[str, bool | float | None]
    """Every metric; null where it is undefined for this turn."""
    defects: list[str]
    undefined_defects: list[str] = []
    """Defects that could not be told, as the corpus wasn't at hand."""
    recovered_calls: int = 0
    """Malformed calls that a later good call made up for."""
    citations: list[ScoredCitation] = []
    lost_to: str | None = None
    """What an infrastructure error was; null for a scored turn."""
    labels: dict[str, Any] | None = None
    """The corrected bank line that it was scored by; null where it was the turn's own."""
    detectors_disagree: bool
    """The marker and the text detector read the reply differently."""


def score_turn(turn: Turn, corpus: Corpus | None, question: Question | None = None) -> Score:
    """Score a turn.

    Args:
        corpus: the documents; None leaves undefined what needs their pages.
        question: corrected labels; None takes the bank line that the turn carries.
    """
    labels = question.line() if question else None
    question = question or Question.model_validate(turn.bank_line)
    view = TurnView(turn, question, corpus)
    view.defects = find_defects(view)
    is_scored = view.outcome is not Outcome.INFRA_ERROR
    return Score.model_construct(
        scorer=SCORER_VERSION,
        question_id=turn.question_id,
        question_hash=question.hash,
        repeat=turn.repeat,
        answerable=question.answerable,
        outcome=view.outcome,
        metrics={name: metric.of(view) for name, metric in METRICS.items()},
        defects=view.defects,
        undefined_defects=undefined_defects(view) if is_scored else [],
        recovered_calls=sum(c.recovered for r in turn.rounds for c in r.calls),
        citations=[_scored(cited, view) for cited in view.cited] if is_scored else [],
        lost_to=None if is_scored else turn.error or "an unknown fault",
        labels=labels,
        detectors_disagree=is_scored and view.reading.disagree,
    )


def _scored(cited: Cited, view: TurnView) -> ScoredCitation:
    return ScoredCitation.model_construct(
        document=cited.document,
        page=cited.page,
        source="text" if cited.in_text else "call",
        is_evidence=view.is_evidence(cited),
        defect=citation_kind(cited, view),
    )

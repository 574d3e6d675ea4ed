"""Scoring one turn.

Public: `SCORER_VERSION`, `Score`, `score_turn`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ragevalkit.bank import Question
from ragevalkit.scoring.defects import find_defects
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.outcome import Outcome, read_outcome
from ragevalkit.turn.record import Turn

SCORER_VERSION = 1
"""Raised whenever a score may come out differently for the same turn."""


class Score(BaseModel):
    """The scores of one turn. A line of scores.jsonl."""

    model_config = ConfigDict(extra="forbid")

    scorer: int = SCORER_VERSION
    question_id: str
    question_hash: str
    repeat: int
    answerable: bool
    outcome: Outcome
    metrics: dict[str, bool | None]
    """Every metric; null where it is undefined for this turn."""
    defects: list[str]
    detectors_disagree: bool
    """The marker and the text detector read the reply differently."""


def score_turn(turn: Turn) -> Score:
    """Score a turn against the bank line that it carries."""
    question = Question.model_validate(turn.bank_line)
    reading = read_outcome(turn)
    return Score.model_construct(
        scorer=SCORER_VERSION,
        question_id=turn.question_id,
        question_hash=turn.question_hash,
        repeat=turn.repeat,
        answerable=question.answerable,
        outcome=reading.outcome,
        metrics={
            name: metric.of(turn, question, reading.outcome) for name, metric in METRICS.items()
        },
        defects=find_defects(turn, reading.outcome),
        detectors_disagree=reading.outcome is not Outcome.INFRA_ERROR and reading.disagree,
    )

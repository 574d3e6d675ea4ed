"""Whether a turn came out right, in one word: what costs are divided by.

Public: `is_correct`, `MEANING`.
"""

from __future__ import annotations

from ragevalkit.scoring.score import Score

MEANING = (
    "an answerable question whose every evidence group is cited, and whose short reference, where "
    "there is one, stands in the reply; or an unanswerable one that was declined"
)


def is_correct(score: Score) -> bool:
    """Answerable: `cited_correct_page`, and `correct_answer` where it is defined. Unanswerable:
    `refused_correctly`."""
    metrics = score.metrics
    if not score.answerable:
        return bool(metrics.get("refused_correctly"))
    return bool(metrics.get("cited_correct_page")) and metrics.get("correct_answer") is not False

"""The questions that came out differently, worst regressions first.

Public: `find_flipped`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ragevalkit.compare.arm import Arm, read_turn_at
from ragevalkit.compare.pairing import Pairs
from ragevalkit.compare.result import Flipped, FlippedQuestion, Reply
from ragevalkit.scoring.metrics import METRICS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

REPLY_CHARACTERS = 600
"""Of a reply that is shown."""

_JUDGED = [name for name, metric in METRICS.items() if not metric.descriptive]


def find_flipped(pairs: Pairs, most: int) -> Flipped:
    """Questions on which the mean of a metric with a verdict changed.

    Args:
        most: so many are shown with both replies.
    """
    import numpy as np

    questions = np.asarray(pairs.questions, dtype=np.int64)
    loss = np.zeros(len(pairs))
    means: dict[int, dict[str, tuple[float, float]]] = defaultdict(dict)
    losses: dict[int, float] = defaultdict(float)
    for name in _JUDGED:
        a, b = pairs.values(name)
        defined = ~(np.isnan(a) | np.isnan(b))
        sign = 1 if METRICS[name].higher_is_better else -1
        loss[defined] += sign * (a - b)[defined]
        for number, of_a, of_b in _changed(a[defined], b[defined], questions[defined]):
            means[number][name] = of_a, of_b
            losses[number] += sign * (of_a - of_b)
    order = sorted(means, key=lambda number: (-losses[number], -len(means[number]), number))
    chosen = order[:most]
    worst = _worst_pairs(questions, loss, set(chosen))
    shown = [_shown(pairs, worst[number], means[number], losses[number]) for number in chosen]
    return Flipped(questions=len(order), shown=shown)


def _changed(a: Array, b: Array, questions: Any) -> list[tuple[int, float, float]]:
    """Number and both means of the questions whose mean changed."""
    import numpy as np

    numbers, unit = np.unique(questions, return_inverse=True)
    sizes = np.bincount(unit)
    of_a, of_b = (np.bincount(unit, weights=side) / sizes for side in (a, b))
    return [
        (int(numbers[place]), float(of_a[place]), float(of_b[place]))
        for place in np.flatnonzero(np.abs(of_a - of_b) > 1e-12)
    ]


def _worst_pairs(questions: Any, loss: Array, wanted: set[int]) -> dict[int, int]:
    """Of each wanted question the pair with the largest loss; the first of several."""
    worst: dict[int, int] = {}
    for place, number in enumerate(questions.tolist()):
        if number in wanted and (number not in worst or loss[place] > loss[worst[number]]):
            worst[number] = place
    return worst


def _shown(
    pairs: Pairs, place: int, means: dict[str, tuple[float, float]], loss: float
) -> FlippedQuestion:
    row = pairs.a_rows[place]
    question = read_turn_at(pairs.a, row).bank_line.get("question")
    return FlippedQuestion(
        question_id=pairs.a.question_ids[row],
        repeat=pairs.a.repeats[row],
        question=str(question),
        loss=loss,
        metrics=means,
        a=_reply(pairs.a, row),
        b=_reply(pairs.b, pairs.b_rows[place]),
    )


def _reply(arm: Arm, row: int) -> Reply:
    text = read_turn_at(arm, row).reply
    cut = len(text) > REPLY_CHARACTERS
    return Reply(
        outcome=arm.outcomes[row],
        defects=list(arm.defects[row]),
        reply=text[:REPLY_CHARACTERS].rstrip() + "…" if cut else text,
    )

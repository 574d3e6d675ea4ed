"""Which turns of two runs belong together: those of the same question hash and repeat.

Public: `Pairs`, `pair`, `UNPAIRED`, `left_over`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragevalkit.compare.arm import Arm
from ragevalkit.scoring.outcome import Outcome

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

UNPAIRED = {
    "only_a": "asked in a alone",
    "only_b": "asked in b alone",
    "edited": "with an edited bank line",
    "infra_error_a": "lost to infrastructure in a",
    "infra_error_b": "lost to infrastructure in b",
    "infra_error_both": "lost to infrastructure in both",
}
"""Why a turn has no partner."""


@dataclass(frozen=True)
class Pairs:
    """Turns of the same question and repeat that both sides scored."""

    a: Arm
    b: Arm
    a_rows: list[int]
    b_rows: list[int]
    questions: list[int]
    """For each pair, the number of its question, from 0."""
    hashes: list[str]
    """The questions' hashes, by these numbers."""
    unpaired: dict[str, int]
    """Turns, or pairs of turns, by a key of `UNPAIRED`; those that occur."""

    def __len__(self) -> int:
        return len(self.a_rows)

    @property
    def repeated(self) -> bool:
        """Whether some question has several pairs."""
        return len(self.hashes) < len(self)

    def values(self, measure: str) -> tuple[Array, Array]:
        """A measure's values on both sides, pair by pair."""
        import numpy as np

        return (
            np.frombuffer(self.a.values[measure])[self.a_rows],
            np.frombuffer(self.b.values[measure])[self.b_rows],
        )


def pair(a: Arm, b: Arm) -> Pairs:
    """Pair the turns of two arms and count what is left over, by reason."""
    a_rows, b_rows, questions = [], [], []
    numbers: dict[str, int] = {}
    unpaired: Counter[str] = Counter()
    for key, a_row in a.rows.items():
        b_row = b.rows.get(key)
        if b_row is None:
            continue
        lost_a = a.outcomes[a_row] == Outcome.INFRA_ERROR
        lost_b = b.outcomes[b_row] == Outcome.INFRA_ERROR
        if lost_a or lost_b:
            both = lost_a and lost_b
            unpaired[f"infra_error_{'both' if both else 'a' if lost_a else 'b'}"] += 1
            continue
        a_rows.append(a_row)
        b_rows.append(b_row)
        questions.append(numbers.setdefault(key[0], len(numbers)))
    unpaired.update(_alone(a, b))
    counts = {reason: unpaired[reason] for reason in UNPAIRED if unpaired[reason]}
    return Pairs(a, b, a_rows, b_rows, questions, list(numbers), counts)


def left_over(unpaired: Mapping[str, int]) -> str:
    """What wasn't paired, in words."""
    return ", ".join(f"{turns:,} {UNPAIRED[why]}" for why, turns in unpaired.items())


def _alone(a: Arm, b: Arm) -> Counter[str]:
    """Turns that only one side has; a question id with another hash on the other is an edit."""
    alone_a = {_place(a, row) for key, row in a.rows.items() if key not in b.rows}
    alone_b = {_place(b, row) for key, row in b.rows.items() if key not in a.rows}
    edited = alone_a & alone_b
    return Counter(edited=len(edited), only_a=len(alone_a - edited), only_b=len(alone_b - edited))


def _place(arm: Arm, row: int) -> tuple[str, int]:
    return arm.question_ids[row], arm.repeats[row]

"""The difference of one measure over the pairs: estimate, flips, test and intervals.

Public: `Difference`, `difference_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragevalkit.stats import (
    Interval,
    cluster_bootstrap_difference,
    deviation_bound,
    mcnemar_exact,
    questions_to_decide,
    sign_flip,
    smallest_detectable_difference,
    smallest_detectable_mean,
    tango_interval,
    wilson,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

_MANY = 2_000
"""Questions from which on what a rate can detect is taken from the normal approximation: it is then
right to a tenth of a point, and the exact power takes seconds."""


@dataclass(frozen=True)
class Difference:
    """b - a of a measure, question by question."""

    a: Array
    """Mean of each question's pairs on a; those pairs that both sides define."""
    b: Array
    n: int
    """Pairs."""
    k_a: float
    """Sums over the pairs."""
    k_b: float
    is_rate: bool
    """Every value is 0 or 1."""
    unit: float | None
    """Step from one outcome of a question to the next; None for an amount, as of time."""

    @property
    def questions(self) -> int:
        return len(self.a)

    @property
    def is_paired_rate(self) -> bool:
        """A rate of questions asked once: a two-by-two table tells all."""
        return self.is_rate and self.n == self.questions

    @cached_property
    def differences(self) -> Array:
        return self.b - self.a

    @property
    def estimate(self) -> float | None:
        return float(self.b.mean() - self.a.mean()) if self.n else None

    @cached_property
    def a_only(self) -> int:
        """Questions on which a is higher."""
        return int((self.differences < 0).sum())

    @cached_property
    def b_only(self) -> int:
        return int((self.differences > 0).sum())

    @cached_property
    def p(self) -> float | None:
        """Two-sided: exact McNemar over pairs of a rate, else the sign-flip test over questions."""
        if not self.n:
            return None
        if self.is_paired_rate:
            return mcnemar_exact(self.a_only, self.b_only)
        return sign_flip(self.differences.tolist())

    def interval(self, level: float) -> Interval | None:
        """Tango's over pairs of a rate, else the cluster bootstrap's over questions.

        None without pairs, and for an amount where resampling says nothing.
        """
        if self.is_paired_rate:
            return tango_interval(self.a_only, self.b_only, self.n, level)
        return cluster_bootstrap_difference(self.differences.tolist(), level, unit=self.unit)

    def detectable(self, significance: float) -> float | None:
        """The smallest difference that so many questions show with 80 % power; None where they
        can't show any."""
        if not self.is_paired_rate or self.questions >= _MANY:
            return smallest_detectable_mean(
                self.differences.tolist(), self.unit or 1.0, significance=significance
            )
        discordant = wilson(self.a_only + self.b_only, self.questions)
        if discordant is None:
            return None
        return smallest_detectable_difference(
            self.questions, discordant.high, significance=significance
        )

    def more_questions(
        self, margin: float, higher_is_better: bool, significance: float
    ) -> int | None:
        """How many more would decide, one way or the other, if the truth is what was seen."""
        deviation = deviation_bound(self.differences.tolist(), self.unit or 1.0)
        if self.estimate is None or deviation is None:
            return None
        gain = self.estimate if higher_is_better else -self.estimate
        needed = questions_to_decide(gain, deviation, margin, significance=significance)
        return max(1, needed - self.questions)


def difference_of(
    a: Array, b: Array, questions: list[int], *, is_rate: bool = False, unit: float | None = None
) -> Difference:
    """The difference of a measure over pairs; those that a side leaves undefined are left out.

    Args:
        a, b: values pair by pair, NaN where undefined.
        questions: the number of each pair's question.
    """
    import numpy as np

    defined = ~(np.isnan(a) | np.isnan(b))
    a, b = a[defined], b[defined]
    _, place = np.unique(np.asarray(questions, dtype=np.int64)[defined], return_inverse=True)
    sizes = np.bincount(place)
    return Difference(
        a=np.bincount(place, weights=a) / sizes,
        b=np.bincount(place, weights=b) / sizes,
        n=len(a),
        k_a=float(a.sum()),
        k_b=float(b.sum()),
        is_rate=is_rate,
        unit=unit,
    )

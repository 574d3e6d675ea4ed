"""Paired differences between two arms: their median, its interval, and what it means.

Public: `Estimate`, `Verdict`, `estimate`, `nothing_known`, `blocks_for`, `FEWEST_BLOCKS`.

The unit is the block: the difference of two requests that were sent within seconds of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from statistics import NormalDist, median

from pydantic import BaseModel, ConfigDict

from ragevalkit.stats import Interval, cluster_bootstrap_median, tost

FEWEST_BLOCKS = 12
"""With fewer, the interval misses the truth too often."""
_POWER = 0.8
_NORMAL = NormalDist()
_HALF = _NORMAL.inv_cdf(0.975)
"""Half of a 95 % interval, in standard errors."""
_MEDIAN_COST = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, for normal differences."""


class Verdict(StrEnum):
    COSTS = "costs"
    SAVES = "saves"
    EQUIVALENT = "equivalent"
    """Shown to differ by less than the margin."""
    INCONCLUSIVE = "inconclusive"
    NOT_ENGAGED = "not_engaged"
    """One of the arms didn't do what it is there for; there is no number."""


class Estimate(BaseModel):
    """The difference between two arms, `to` less `from`, in milliseconds; null: none is known."""

    model_config = ConfigDict(extra="forbid")

    median: float | None
    """Of the differences within blocks."""
    low: float | None
    high: float | None
    """95 % interval of the median."""
    verdict: Verdict
    margin: float
    """Stated before the bench; differences inside it count as none."""
    detectable: float | None
    """Smallest true difference that so many pairs would find with 80 % power."""
    pairs: int
    """Blocks in which both arms have this number."""
    kept: float | None = None
    """Share of the blocks whose two outputs are the same, where only those can be compared."""


def estimate(
    differences: Sequence[float],
    margin: float,
    *,
    doubtful: bool = False,
    kept: float | None = None,
) -> Estimate:
    """The median difference and a verdict, tried in this order.

    `equivalent`: the 90 % interval lies within the margin on both sides (two one-sided tests);
    `costs` or `saves`: the 95 % interval lies on one side of 0; else `inconclusive`.

    Args:
        differences: one a block.
        doubtful: whether it isn't known that both arms were what they should be: then a difference
            may show, and nothing is not shown to be nothing.
    """
    wide = cluster_bootstrap_median(differences, 0.95)
    narrow = cluster_bootstrap_median(differences, 0.90)
    return Estimate(
        median=_rounded(median(differences)) if differences else None,
        low=_rounded(wide.low) if wide else None,
        high=_rounded(wide.high) if wide else None,
        verdict=_verdict(wide, narrow, margin, doubtful),
        margin=margin,
        detectable=_rounded(_detectable(wide)) if wide else None,
        pairs=len(differences),
        kept=None if kept is None else round(kept, 4),
    )


def nothing_known(verdict: Verdict, margin: float, kept: float | None = None) -> Estimate:
    """Where there is no number."""
    return Estimate(
        median=None,
        low=None,
        high=None,
        verdict=verdict,
        margin=margin,
        detectable=None,
        pairs=0,
        kept=kept,
    )


def blocks_for(differences: Sequence[float], precision: float) -> int:
    """How many blocks bring the 95 % interval to about `precision` on either side of the median.

    From a pilot's differences: their spread is read from the median distance to the median, which
    one slow request doesn't change, and counts a fifth more than it is, since a pilot is small.
    """
    if len(differences) < 2:
        return FEWEST_BLOCKS
    middle = median(differences)
    deviation = 1.2 * median(abs(d - middle) for d in differences) / _NORMAL.inv_cdf(0.75)
    return max(FEWEST_BLOCKS, math.ceil((_HALF * _MEDIAN_COST * deviation / precision) ** 2))


def _verdict(
    wide: Interval | None, narrow: Interval | None, margin: float, doubtful: bool
) -> Verdict:
    if wide is None or narrow is None:
        return Verdict.INCONCLUSIVE
    if not doubtful and tost(narrow, margin):
        return Verdict.EQUIVALENT
    if wide.low > 0:
        return Verdict.COSTS
    return Verdict.SAVES if wide.high < 0 else Verdict.INCONCLUSIVE


def _detectable(interval: Interval) -> float:
    standard_error = (interval.high - interval.low) / (2 * _HALF)
    return (_HALF + _NORMAL.inv_cdf(_POWER)) * standard_error


def _rounded(ms: float) -> float:
    return round(ms, 4)

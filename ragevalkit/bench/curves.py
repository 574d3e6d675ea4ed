"""Curves through measured points, and rates, each with its interval.

Public: `Estimate`, `Fit`, `fit_line`, `total_rate`, `mean_estimate`, `gain`, `knee`, `over_wait`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from ragevalkit.stats import Interval, cluster_bootstrap_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RESAMPLES = 2_000
_ENOUGH = 10
"""Values from which on resampling them tells how a mean varies."""
_FEWEST = 3
"""Values from which on an interval says anything at all."""
_CURVED_SHARE = 0.05
"""A quadratic term that makes less than this of the largest value isn't worth a word."""


class Estimate(BaseModel):
    """A number with its 95 % interval; the ends are null where too little was repeated."""

    model_config = ConfigDict(extra="forbid")

    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float | None, interval: Interval | None = None) -> Self:
        """Rounded to four significant digits and more."""
        ends = interval or Interval(math.inf, math.inf)
        return cls(value=_rounded(value), low=_rounded(ends.low), high=_rounded(ends.high))


class Fit(NamedTuple):
    """y = base + slope·x [+ curve·x²]."""

    base: float
    slope: float
    curve: float
    """0 for a straight line."""
    base_interval: Interval | None
    slope_interval: Interval | None
    curve_interval: Interval | None


def fit_line(
    points: Sequence[tuple[float, float]], *, may_curve: bool = False, seed: int = 0
) -> Fit | None:
    """The line through points (x, y) of positive y, by relative least squares.

    Each y weighs by 1 over the median of those at its x, since times vary in proportion to their
    length; so the base is set by the small x. A base below 0 is put to 0. None with under two
    different x.

    Intervals are percentiles of a residual bootstrap, set further apart as Student's t is wider
    than the normal; None with fewer than two points more than parameters.

    Args:
        may_curve: with three different x, a quadratic term is taken where its interval lies above 0
            and it makes 5 % of the largest y.

    Source: Davison and Hinkley 1997, section 6.2.3 (resampling residuals);
    Hesterberg 2015, Am. Stat. 69:371 (the expanded percentile interval).
    """
    usable = [(x, y) for x, y in points if y > 0]
    different = len({x for x, _ in usable})
    if different < 2:
        return None
    if may_curve and different > 2:
        curved = _fit(usable, 2, seed)
        largest = max(x for x, _ in usable)
        top = curved.base + curved.slope * largest + curved.curve * largest**2
        if (
            curved.curve_interval is not None
            and curved.curve_interval.low > 0
            and curved.slope > 0
            and curved.curve * largest**2 >= _CURVED_SHARE * top
        ):
            return curved
    return _fit(usable, 1, seed)


def _fit(points: Sequence[tuple[float, float]], degree: int, seed: int) -> Fit:
    import numpy as np
    from scipy.special import ndtr, stdtrit

    x, y = np.array(points, dtype=float).T
    unit = x.max() or 1.0
    powers = np.vander(x / unit, degree + 1, increasing=True)
    weights = 1 / _level_medians(x, y)
    design, aims = powers * weights[:, None], y * weights
    inverse = np.linalg.pinv(design)
    found = inverse @ aims
    residuals = aims - design @ found
    freedom = len(x) - degree - 1
    ends: list[Interval | None] = [None] * 3
    if freedom >= 2:
        random = np.random.default_rng(seed)
        centred = (residuals - residuals.mean()) * math.sqrt(len(x) / freedom)
        drawn = random.choice(centred, size=(_RESAMPLES, len(x)))
        tried = (design @ found + drawn) @ inverse.T
        tail = float(ndtr(stdtrit(freedom, 0.025)))
        lows, highs = np.quantile(tried, [tail, 1 - tail], axis=0)
        for place in range(degree + 1):
            scale = unit**place
            ends[place] = Interval(float(lows[place]) / scale, float(highs[place]) / scale)
    if found[0] < 0:
        rest = np.linalg.pinv(design[:, 1:]) @ aims
        found = np.concatenate([[0.0], rest])
    scaled = [float(value) / unit**place for place, value in enumerate(found)]
    floor = ends[0] and Interval(max(0.0, ends[0].low), max(0.0, ends[0].high))
    return Fit(scaled[0], scaled[1], scaled[2] if degree > 1 else 0.0, floor, ends[1], ends[2])


def _level_medians(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """For each point the median y of those with nearly its x: what weighs it must not be its own
    error."""
    import numpy as np

    levels = np.round(np.log2(np.maximum(1.0, x)) * 4)
    return np.array([np.median(y[levels == level]) for level in levels])


def total_rate(amounts: Sequence[float], seconds: Sequence[float]) -> Estimate:
    """Sum of amounts over sum of seconds, with the requests (or cells) as what was repeated."""
    if not seconds or sum(seconds) <= 0:
        return Estimate(value=None)
    return Estimate.of(sum(amounts) / sum(seconds), _ratio_interval(seconds, amounts))


def mean_estimate(values: Sequence[float]) -> Estimate:
    """The mean of positive values, which are what was repeated."""
    if not values:
        return Estimate(value=None)
    return Estimate.of(sum(values) / len(values), _ratio_interval([1.0] * len(values), values))


def gain(base_s: Sequence[float], other_s: Sequence[float]) -> Estimate:
    """How many times as fast the other is: mean time of the base over its mean time, by pairs."""
    if not base_s or sum(other_s) <= 0:
        return Estimate(value=None)
    return Estimate.of(sum(base_s) / sum(other_s), _ratio_interval(other_s, base_s))


def _ratio_interval(a: Sequence[float], b: Sequence[float]) -> Interval | None:
    """Interval of the mean of `b` over that of `a`, pair by pair, by the logarithm's first-order
    terms, so it lies above 0.

    The bootstrap's, but Student's for a few pairs, whose resamples can't reach beyond them; None
    for fewer than three, or where all terms are equal.
    """
    from scipy.special import stdtrit

    count = len(a)
    if count >= _ENOUGH:
        return cluster_bootstrap_ratio(a, b)
    mean_a, mean_b = sum(a) / count, sum(b) / count
    if count < _FEWEST or mean_a <= 0 or mean_b <= 0:
        return None
    terms = [y / mean_b - x / mean_a for x, y in zip(a, b, strict=True)]
    if min(terms) == max(terms):
        return None
    half = float(-stdtrit(count - 1, 0.025)) * stdev(terms) / math.sqrt(count)
    return Interval(mean_b / mean_a * math.exp(-half), mean_b / mean_a * math.exp(half))


def knee(levels: Sequence[tuple[int, float]], growth: float) -> int | None:
    """The smallest level from which the rate grows by less than `growth` a doubling up to every
    larger level; None where the last step still grows by more, or there is none.

    Growth from (c, A) to (d, B) is (B/A)^(1/log2(d/c)) - 1.

    Args:
        levels: streams and aggregate rate, by rising streams.
        growth: 0.1 for 10 %.
    """
    for place, (streams, rate) in enumerate(levels[:-1]):
        later = levels[place + 1 :]
        if all((b / rate) ** (1 / math.log2(c / streams)) - 1 < growth for c, b in later):
            return streams
    return None


def over_wait(levels: Sequence[tuple[int, float]], factor: float) -> int | None:
    """The smallest level whose wait is more than `factor` times that of the first; None: none."""
    return next((c for c, wait in levels[1:] if wait > factor * levels[0][1]), None)


def _rounded(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    digits = 5 - math.floor(math.log10(abs(value))) if value else 0
    return round(value, min(9, max(2, digits)))

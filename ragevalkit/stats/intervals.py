"""Intervals for rates.

Public: `Interval`, `wilson`, `clustered_wilson`, `design_effect`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float


def wilson(k: float, n: float, level: float = 0.95) -> Interval | None:
    """Wilson's score interval of the rate k/n; None where n is 0.

    Real k and n are allowed, for effective sample sizes.

    Source: Wilson 1927, JASA 22:209; as recommended by Brown, Cai and DasGupta 2001, Stat. Sci.
    16:101.
    """
    if n <= 0:
        return None
    if not 0 <= k <= n:
        raise ValueError(f"k must lie between 0 and n, got {k} of {n}")
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate = k / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    # the exact ends at 0 and n; floating point would leave 1e-17
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return Interval(low, high)


def clustered_wilson(clusters: Iterable[Sequence[float]], level: float = 0.95) -> Interval | None:
    """Wilson's interval at the effective sample size n / design effect.

    Args:
        clusters: the outcomes of each question's repeats, each 0 or 1.
    """
    filled = [cluster for cluster in clusters if cluster]
    n = sum(map(len, filled))
    if n == 0:
        return None
    rate = sum(map(sum, filled)) / n
    effective = n / design_effect(filled)
    return wilson(rate * effective, effective, level)


def design_effect(clusters: Sequence[Sequence[float]]) -> float:
    """How many times larger the variance of a rate is than with independent outcomes.

    The variance of a ratio estimator over clusters (Kish 1965; Rao and Scott 1992, Biometrics
    48:577) divided by p(1-p)/n. Kept between 1 and the mean cluster size; where all outcomes are
    equal it can't be estimated and the mean cluster size is taken, so that repeats of one question
    never count as new questions.
    """
    count, n = len(clusters), sum(map(len, clusters))
    mean_size = n / count
    if mean_size == 1:
        return 1.0
    rate = sum(map(sum, clusters)) / n
    if count == 1 or rate in (0, 1):
        return mean_size
    spread = sum((sum(cluster) - rate * len(cluster)) ** 2 for cluster in clusters)
    clustered = count / (count - 1) * spread / n**2
    return min(mean_size, max(1.0, clustered / (rate * (1 - rate) / n)))

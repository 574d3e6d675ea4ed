"""What a number of pairs can detect, before anybody pays for a run.

Public: `mcnemar_power`, `smallest_detectable_difference`, `pairs_needed_to_detect`,
`non_inferiority_power`, `non_inferiority_margin`, `pairs_needed_for_margin`,
`repeats_interval_factor`.

A pair is a question asked of both sides; it is discordant where one side is right and the other
wrong. Everything here depends on the share of discordant pairs, `discordant`, which nobody knows
before a run: plan with several.

Powers are exact sums over all outcomes (below, what is left out weighs less than 1e-9), not normal
approximations. As the tests are discrete, power isn't quite monotone in the number of pairs: one
pair more can lose a fraction of a point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from ragevalkit.stats.paired import tango_score

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

MOST_PAIRS = 131_072
"""Where the search for a number of pairs ends; more are given as None."""

_STEP = 1e-4
"""Differences and margins are given on a grid of a hundredth of a point, rounded up."""
_SPREAD = 7.0
"""Standard deviations of a count on each side beyond which nothing is summed."""


@lru_cache(maxsize=4096)
def mcnemar_power(
    pairs: int, difference: float, discordant: float, significance: float = 0.05
) -> float:
    """Power of the exact two-sided McNemar test.

    The number of discordant pairs is binomial, and given it so is the number that go one way; the
    test is the two-sided binomial one with p = 1/2 on the latter.

    Args:
        difference: true difference of the two rates, either sign.
        discordant: true share of discordant pairs; at least the size of the difference.

    Source: McNemar 1947, Psychometrika 12:153; unconditional power as in Duffy 1984, Biometrics
    40:1005.
    """
    _check(pairs, discordant)
    if abs(difference) > discordant + 1e-12:
        raise ValueError("a difference can't be larger than the share of discordant pairs")
    if pairs == 0 or discordant == 0:
        return 0.0
    import numpy as np
    from scipy.special import bdtr

    share = min(1.0, (1 + abs(difference) / discordant) / 2)
    counts = _likely(pairs, discordant)
    most = np.array([_most_against(int(count), significance) for count in counts])
    able = most >= 0
    if not able.any():
        return 0.0
    counts, most = counts[able], most[able]
    # significant where at most `most` went against the difference, or at most `most` with it
    rejected = bdtr(most, counts, 1 - share) + bdtr(most, counts, share)
    return min(1.0, float(_binomial(counts, pairs, discordant) @ rejected))


def smallest_detectable_difference(
    pairs: int, discordant: float, power: float = 0.8, significance: float = 0.05
) -> float | None:
    """The smallest true difference that the exact two-sided McNemar test finds with `power`.

    None where nothing can be found: even if all discordant pairs go one way, they are too few.
    """

    def enough(step: int) -> bool:
        difference = min(step * _STEP, discordant)
        return mcnemar_power(pairs, difference, discordant, significance) >= power

    last = math.ceil(discordant / _STEP - 1e-9)
    if not enough(last):
        return None
    return min(_first(enough, 0, last) * _STEP, discordant)


def pairs_needed_to_detect(
    difference: float, discordant: float, power: float = 0.8, significance: float = 0.05
) -> int | None:
    """The pairs with which the exact two-sided McNemar test finds `difference` with `power`.

    None where it takes more than `MOST_PAIRS`, and where the discordant pairs are fewer than the
    difference, which can't be so large then.
    """
    if abs(difference) > discordant:
        return None
    return _pairs(lambda n: mcnemar_power(n, difference, discordant, significance) >= power)


@lru_cache(maxsize=4096)
def non_inferiority_power(
    pairs: int, margin: float, discordant: float, significance: float = 0.05
) -> float:
    """How likely 'no worse by more than `margin`' is shown where the two sides are equal.

    It is shown where the lower bound of Tango's interval of the difference lies above -margin: at
    a one-sided significance of 5 % that is the 90 % interval.

    Source: Tango 1998, Stat. Med. 17:891, eq. 13 and the estimate under the null hypothesis in its
    section 2.2; power by the sum over all numbers of pairs lost and won.
    """
    _check(pairs, discordant)
    if not 0 < margin < 1:
        raise ValueError("a margin lies between 0 and 1")
    if pairs == 0:
        return 0.0
    import numpy as np

    counts = _likely(pairs, discordant)
    half = _SPREAD * math.sqrt(counts.max()) / 2 + 2
    # lost: pairs in which only the other side was right; about half of the discordant ones
    lost = np.arange(
        max(0, math.floor(counts.min() / 2 - half)), math.ceil(counts.max() / 2 + half) + 1
    )
    won = counts[:, None] - lost[None, :]
    possible = won >= 0
    lost_all = np.broadcast_to(lost[None, :], won.shape)
    weights = np.where(
        possible, _binomial(lost_all, np.broadcast_to(counts[:, None], won.shape), 0.5), 0.0
    )
    shown = tango_score(won, lost_all, pairs, -margin) > NormalDist().inv_cdf(1 - significance)
    by_count = (weights * (shown & possible)).sum(axis=1)
    return min(1.0, float(_binomial(counts, pairs, discordant) @ by_count))


def non_inferiority_margin(
    pairs: int, discordant: float, power: float = 0.8, significance: float = 0.05
) -> float | None:
    """The smallest margin within which equal sides are shown to be no worse, with `power`.

    About sqrt(6.18 * discordant / pairs) at the defaults. None where not even a margin of 99.99
    points would do.
    """

    def enough(step: int) -> bool:
        return non_inferiority_power(pairs, step * _STEP, discordant, significance) >= power

    last = round(1 / _STEP) - 1
    return _first(enough, 0, last) * _STEP if enough(last) else None


def pairs_needed_for_margin(
    margin: float, discordant: float, power: float = 0.8, significance: float = 0.05
) -> int | None:
    """The pairs with which equal sides are shown to be no worse by `margin`, with `power`.

    None where it takes more than `MOST_PAIRS`.
    """
    return _pairs(lambda n: non_inferiority_power(n, margin, discordant, significance) >= power)


def repeats_interval_factor(repeats: int, correlation: float) -> float:
    """By what factor `repeats` turns of each question narrow an interval, compared with one.

    The question is the unit: n stays the number of questions. Averaging takes away only the part of
    the variance that lies within questions: sqrt((1 + (repeats - 1) * correlation) / repeats).

    Args:
        correlation: between two repeats of one question, from 0 (pure chance) to 1 (repeats say
            the same thing again).

    Source: Kish 1965, Survey Sampling, section 5.4 (design effect); Miller 2024, arXiv 2411.00640,
    section 3.1 (resampling).
    """
    if repeats < 1 or not 0 <= correlation <= 1:
        raise ValueError("repeats from 1, a correlation from 0 to 1")
    return math.sqrt((1 + (repeats - 1) * correlation) / repeats)


def _check(pairs: int, discordant: float) -> None:
    if pairs < 0 or not 0 <= discordant <= 1:
        raise ValueError(f"{pairs} pairs with a share of {discordant} discordant can't be")


def _likely(pairs: int, discordant: float) -> Any:
    """The numbers of discordant pairs that are at all likely."""
    import numpy as np

    mean = pairs * discordant
    half = _SPREAD * math.sqrt(mean * (1 - discordant)) + 8
    low, high = max(0, math.floor(mean - half)), min(pairs, math.ceil(mean + half))
    return np.arange(low, high + 1)


@lru_cache(maxsize=65_536)
def _most_against(count: int, significance: float) -> int:
    """The most of `count` discordant pairs that may go the other way in a significant result.

    -1 where none may: fewer than 6 pairs at 5 %.
    """
    if 2 * 0.5**count > significance:
        return -1
    from scipy.special import bdtr

    # about where it lies; each step from there is decided by the exact tail
    z = NormalDist().inv_cdf(1 - significance / 2)
    most = max(0, math.floor(count / 2 - z * math.sqrt(count) / 2))
    while 2 * bdtr(most + 1, count, 0.5) <= significance:
        most += 1
    while most >= 0 and 2 * bdtr(most, count, 0.5) > significance:
        most -= 1
    return most


def _binomial(k: Any, n: Any, p: float) -> Any:
    """P(X = k) of the binomial, element by element; 0 where k lies outside 0..n."""
    import numpy as np

    k, n = np.broadcast_arrays(np.asarray(k), np.asarray(n))
    inside = (k >= 0) & (k <= n)
    if p in (0.0, 1.0):
        return np.where(inside & (k == (n if p else 0)), 1.0, 0.0)
    k = np.where(inside, k, 0)
    factorials = _log_factorials(int(n.max()) if n.size else 0)
    logs = factorials[n] - factorials[k] - factorials[n - k]
    return np.where(inside, np.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p)), 0.0)


def _log_factorials(most: int) -> Array:
    """ln 0! to ln `most`!; the table is made for the next power of two."""
    return _log_factorial_table(1 << max(10, most.bit_length()))


@lru_cache(maxsize=4)
def _log_factorial_table(size: int) -> Array:
    import numpy as np

    return np.array([math.lgamma(k + 1) for k in range(size + 1)])


def _pairs(enough: Callable[[int], bool]) -> int | None:
    """The first number of pairs from which on it is enough, but for the saw-tooth of the power."""
    last = 8
    while not enough(last):
        if last >= MOST_PAIRS:
            return None
        last *= 2
    return _first(enough, last // 2 if last > 8 else 0, last)


def _first(enough: Callable[[int], bool], below: int, last: int) -> int:
    """The first number in `below` + 1 to `last` that is enough, by halving; `last` is."""
    while last - below > 1:
        middle = (below + last) // 2
        if enough(middle):
            last = middle
        else:
            below = middle
    return last

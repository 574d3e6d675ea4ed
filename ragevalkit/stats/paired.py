"""Two rates of the same questions: the difference, its interval and its test.

Public: `tango_interval`, `tango_score`, `newcombe_interval`, `mcnemar_exact`.

A pair is a question asked of both sides, `a` and `b`. `a_only` counts the pairs where only `a` has
what is counted, `b_only` those where only `b` has it: the discordant pairs. All else is concordant
and says nothing about the difference but how many pairs there are.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from ragevalkit.stats.intervals import Interval, wilson

_HALVINGS = 60
"""Of an interval at most 2 wide, down to what a float can tell."""


def mcnemar_exact(a_only: int, b_only: int) -> float:
    """Two-sided p of the exact McNemar test: the discordant pairs as tosses of a fair coin.

    1 without discordant pairs. Five pairs all going one way give 0.0625: no fewer than six can be
    significant at 5 %.

    Source: McNemar 1947, Psychometrika 12:153; the two-sided p is twice the smaller tail, at most
    1, as in R's `binom.test` and statsmodels' `mcnemar(exact=True)`.
    """
    _check(a_only, b_only, a_only + b_only)
    from scipy.special import bdtr  # scipy.stats, which has the test, takes a second to import

    return min(1.0, 2 * float(bdtr(min(a_only, b_only), a_only + b_only, 0.5)))


def tango_interval(a_only: int, b_only: int, n: int, level: float = 0.95) -> Interval | None:
    """Tango's score interval of the difference b - a of two paired rates; None where n is 0.

    It has a width without any discordant pair too: z²/(n + z²) to either side. It isn't quite the
    inverse of `mcnemar_exact`, but of McNemar's test without a continuity correction: four pairs
    that all go one way exclude 0 at 95 %, while the exact p is 0.125.

    Args:
        n: all pairs, the concordant ones too.

    Source: Tango 1998, Stat. Med. 17:891; recommended for paired rates by Newcombe 1998, Stat. Med.
    17:2635, and Fagerland, Lydersen and Laake 2014, Stat. Med. 33:2850. The bounds are found by
    halving on `tango_score`.
    """
    _check(a_only, b_only, n)
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    low = _lower_bound(b_only, a_only, n, z)
    # what b has over a is what a lacks against b
    return Interval(low, -_lower_bound(a_only, b_only, n, z))


def _lower_bound(won: int, lost: int, n: int, z: float) -> float:
    low, high = -1.0, (won - lost) / n
    if low == high:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tango_score(won, lost, n, middle) > z else (low, middle)
    return (low + high) / 2


def tango_score(won: Any, lost: Any, pairs: int, difference: float) -> Any:
    """Tango's score statistic of H0: the rate difference is `difference`; element by element.

    About normal under H0, and larger the more pairs are `won` rather than `lost`.

    Source: Tango 1998, Stat. Med. 17:891, eq. 13 and the estimate under H0 in its section 2.2.
    """
    import numpy as np

    # the share lost under H0 is the larger root of a q² + b q + c
    a = 2.0 * pairs
    b = -won - lost + (2.0 * pairs - won + lost) * difference
    c = -lost * difference * (1 - difference)
    share = (np.sqrt(np.maximum(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    variance = pairs * (2 * share + difference * (1 - difference))
    excess = won - lost - pairs * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = excess / np.sqrt(np.maximum(variance, 0.0))
    return np.where(variance > 1e-12, statistic, np.where(excess > 0, np.inf, 0.0))


def newcombe_interval(
    both: int, a_only: int, b_only: int, neither: int, level: float = 0.95
) -> Interval | None:
    """Newcombe's interval of the difference b - a of two paired rates; None without pairs.

    From Wilson's intervals of the two rates and their correlation: a second opinion beside
    `tango_interval`, which needs the concordant pairs by kind.

    Source: Newcombe 1998, Stat. Med. 17:2635, method 10 (square and add, the correlation corrected
    for continuity).
    """
    n = both + a_only + b_only + neither
    _check(a_only, b_only, n)
    a, b = wilson(both + a_only, n, level), wilson(both + b_only, n, level)
    if a is None or b is None:
        return None
    rate_a, rate_b = (both + a_only) / n, (both + b_only) / n
    margins = (both + a_only) * (b_only + neither) * (both + b_only) * (a_only + neither)
    cross = float(both * neither - a_only * b_only)
    if cross > 0:
        cross = max(0.0, cross - n / 2)
    phi = cross / math.sqrt(margins) if margins else 0.0

    def reach(of_a: float, of_b: float) -> float:
        return math.sqrt(max(0.0, of_a**2 - 2 * phi * of_a * of_b + of_b**2))

    difference = rate_b - rate_a
    return Interval(
        difference - reach(a.high - rate_a, rate_b - b.low),
        difference + reach(rate_a - a.low, b.high - rate_b),
    )


def _check(a_only: int, b_only: int, n: int) -> None:
    if min(a_only, b_only) < 0 or a_only + b_only > n:
        raise ValueError(f"{a_only} and {b_only} discordant pairs of {n} can't be")

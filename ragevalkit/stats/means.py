"""What the differences of a number of questions can detect, as means.

Public: `deviation_bound`, `smallest_detectable_mean`, `questions_to_decide`.

The question is the unit: its difference is the mean of its repeats on b, less that on a. With one
repeat a rate's differences are -1, 0 and 1, and `power` has the exact way for what can be detected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from ragevalkit.stats.intervals import wilson


def deviation_bound(
    differences: Sequence[float], unit: float = 1.0, level: float = 0.95
) -> float | None:
    """Upper bound of the root mean square of a question's difference; None without questions.

    Over differences of -1, 0 and 1 the mean square is the share of discordant pairs, and the bound
    the upper end of its Wilson interval. For values between it is a little wide: no variable
    between 0 and 1 varies more than one that is either.

    Args:
        unit: the step from one outcome to the next, or more: where a difference is larger than it,
            the largest is taken.
    """
    return _upper_mean(differences, unit, level, power=2)


def smallest_detectable_mean(
    differences: Sequence[float],
    unit: float = 1.0,
    power: float = 0.8,
    significance: float = 0.05,
) -> float | None:
    """The smallest true mean difference that so many questions find with `power`.

    From `deviation_bound`, so what is printed is what they find at the worst. None where nothing
    can be found: the mean size of the differences, at its own upper bound, is smaller than that.

    Source: the paired t test, (t of 1 - significance/2 + t of `power`) * deviation / sqrt(n), as in
    Chow, Shao and Wang 2008, Sample Size Calculations in Clinical Research, section 3.1.
    """
    deviation = deviation_bound(differences, unit)
    most = _upper_mean(differences, unit, 0.95, power=1)
    if deviation is None or most is None or len(differences) < 2:
        return None
    from scipy.special import stdtrit

    freedom = len(differences) - 1
    quantiles = stdtrit(freedom, 1 - significance / 2) + stdtrit(freedom, power)
    found = float(quantiles) * deviation / math.sqrt(len(differences))
    return found if found <= most else None


def questions_to_decide(
    difference: float,
    deviation: float,
    margin: float,
    power: float = 0.8,
    significance: float = 0.05,
) -> int:
    """About how many questions, in all, would decide if the truth is what was seen.

    The fewer of those that show 'no worse by more than `margin`' and those that find a difference,
    each with `power`. Normal approximations, a few questions short of the exact numbers of
    `pairs_needed_for_margin` and `pairs_needed_to_detect`, and for any difference.

    Args:
        difference: b - a in the good direction: below 0, b is worse.
        deviation: of a question's difference, as by `deviation_bound`.
        significance: two-sided for a difference; 'no worse' is one-sided at 5 %.

    Source: Chow, Shao and Wang 2008, section 3.1; with equal sides and a margin n = 6.18 *
    deviation² / margin² at the defaults.
    """
    if not margin > 0:
        raise ValueError(f"a margin is above 0, got {margin}")
    normal = NormalDist()
    reaching = normal.inv_cdf(power)
    # how many standard errors apart for a deviation of 1, the better of the two ways
    best = max(
        distance / (normal.inv_cdf(1 - tail) + reaching)
        for tail, distance in ((0.05, margin + difference), (significance / 2, abs(difference)))
    )
    return max(1, math.ceil((deviation / best) ** 2))


def _upper_mean(
    differences: Sequence[float], unit: float, level: float, *, power: int
) -> float | None:
    """Upper bound of the root of the mean of |difference|^power."""
    sizes = [abs(difference) for difference in differences]
    largest = max([unit, *sizes])
    shares = [(size / largest) ** power for size in sizes]
    interval = wilson(math.fsum(shares), len(sizes), level)
    return None if interval is None else largest * interval.high ** (1 / power)

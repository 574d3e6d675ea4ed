"""No worse than, and as good as, by a margin that was fixed beforehand.

Public: `non_inferiority`, `tost`.

Both read an interval of the difference b - a. A one-sided test at 5 % is the 90 % interval, at
2.5 % the 95 % one; each of the two tests of TOST is one-sided.

Source: CPMP 2000, Points to consider on switching between superiority and non-inferiority,
CPMP/EWP/482/99; Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657.
"""

from __future__ import annotations

from ragevalkit.stats.intervals import Interval


def non_inferiority(interval: Interval, margin: float, higher_is_better: bool = True) -> bool:
    """Whether b is shown to be no worse than a by `margin`: the interval's bad end is inside it.

    A bad end that lies on the margin isn't inside.
    """
    _check(margin)
    return interval.low > -margin if higher_is_better else interval.high < margin


def tost(interval: Interval, margin: float) -> bool:
    """Whether a and b are shown to differ by less than `margin` either way."""
    _check(margin)
    return -margin < interval.low and interval.high < margin


def _check(margin: float) -> None:
    if not margin > 0:
        raise ValueError(f"a margin is above 0, got {margin}")

"""Percentiles that are null where the data can't tell.

Public: `Percentiles`, `percentiles`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

SMALLEST_N = {50: 1, 90: 29, 99: 299}
"""Values needed for each percentile: from there on a distribution-free 95 % interval by order
statistics exists on its upper side (1 - 0.9^29 > 0.95). The median is given from one value on."""


class Percentiles(NamedTuple):
    """Percentiles in the unit of the values; null where there are too few, or where it lies among
    the censored ones."""

    p50: float | None
    p90: float | None
    p99: float | None
    n: int
    """Values, with the censored ones."""
    censored: int
    """Values that are only known to be larger than all others: what never came."""


def percentiles(values: Iterable[float | None]) -> Percentiles:
    """Percentiles by linear interpolation between order statistics.

    Args:
        values: None for a censored value.
    """
    seen = [math.inf if value is None else value for value in values]
    seen.sort()
    p50, p90, p99 = (_percentile(seen, p) for p in (50, 90, 99))
    return Percentiles(p50, p90, p99, len(seen), sum(map(math.isinf, seen)))


def _percentile(ordered: list[float], percent: int) -> float | None:
    if len(ordered) < SMALLEST_N[percent]:
        return None
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    fraction = position - below
    if fraction == 0:
        value = ordered[below]
    else:
        value = ordered[below] + (ordered[below + 1] - ordered[below]) * fraction
    return value if math.isfinite(value) else None

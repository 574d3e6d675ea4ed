"""Percentiles: hand values, the smallest numbers of values, and what never came."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.stats import percentiles
from ragevalkit.stats.percentiles import SMALLEST_N

VALUES = st.floats(-1e9, 1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([7.0], 7.0),
        ([1.0, 2.0], 1.5),
        ([3.0, 1.0, 2.0], 2.0),
        ([4.0, 1.0, 3.0, 2.0], 2.5),
        ([1.0, 1.0, 1.0, 100.0], 1.0),
        ([], None),
    ],
)
def test_median_by_hand(values: list[float], median: float | None) -> None:
    found = percentiles(values)
    assert found == (median, None, None, len(values), 0)


@pytest.mark.parametrize("n", [299, 300, 301, 1000])
def test_percentiles_are_those_of_the_standard_library(n: int) -> None:
    rng = random.Random(n)
    values = [rng.lognormvariate(3, 1) for _ in range(n)]
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    found = percentiles(values)
    assert (found.p50, found.p90, found.p99) == pytest.approx((cuts[49], cuts[89], cuts[98]))
    assert (found.n, found.censored) == (n, 0)


@pytest.mark.parametrize(
    ("n", "given_"),
    [
        (0, ""),
        (1, "p50"),
        (28, "p50"),
        (29, "p50 p90"),
        (298, "p50 p90"),
        (299, "p50 p90 p99"),
    ],
)
def test_a_percentile_without_enough_values_is_null(n: int, given_: str) -> None:
    found = percentiles(map(float, range(n)))._asdict()
    assert [name for name in ("p50", "p90", "p99") if found[name] is not None] == given_.split()


@pytest.mark.parametrize("percent", [90, 99])
def test_the_smallest_n_is_the_first_with_an_upper_bound(percent: int) -> None:
    """The largest of n values exceeds the percentile with chance 1 - p^n, first above 95 %."""
    n = SMALLEST_N[percent]
    assert 1 - (percent / 100) ** n > 0.95 >= 1 - (percent / 100) ** (n - 1)


@pytest.mark.parametrize(
    ("came", "never", "median"),
    [
        (3, 0, 1.0),
        (3, 1, 1.5),
        (3, 2, 2.0),
        (2, 2, None),  # between a value and one that never came
        (1, 2, None),
        (0, 3, None),
    ],
)
def test_what_never_came_counts_as_larger_than_all(
    came: int, never: int, median: float | None
) -> None:
    found = percentiles([None] * never + [float(i) for i in range(came)])
    assert (found.p50, found.n, found.censored) == (median, came + never, never)


def test_only_the_percentiles_among_the_censored_are_null() -> None:
    found = percentiles([*map(float, range(285)), *[None] * 15])
    assert found.p50 == 149.5
    assert found.p90 == pytest.approx(269.1)
    assert found.p99 is None


@settings(deadline=None)
@given(st.lists(st.none() | VALUES, max_size=330))
def test_order_does_not_matter_and_percentiles_rise(values: list[float | None]) -> None:
    found = percentiles(values)
    assert found == percentiles(reversed(values))
    known = [p for p in (found.p50, found.p90, found.p99) if p is not None]
    assert known == sorted(known)
    seen = [value for value in values if value is not None]
    assert all(min(seen) <= p <= max(seen) for p in known)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=60))
def test_median_is_the_standard_librarys(values: list[float]) -> None:
    assert percentiles(values).p50 == pytest.approx(statistics.median(values), rel=1e-9, abs=1e-6)

"""The cluster bootstrap: of a mean, and of what differs between two sides."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import NormalDist, fmean

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.stats import (
    Interval,
    cluster_bootstrap_difference,
    cluster_bootstrap_mean,
    cluster_bootstrap_median,
    cluster_bootstrap_ratio,
    tango_interval,
)


@pytest.mark.parametrize(
    "clusters", [[], [[]], [[1.0]], [[0.5], [0.5]], [[1, 0], [0.5]], [[2.0]] * 50]
)
def test_values_without_spread_give_no_interval(clusters: list[list[float]]) -> None:
    assert cluster_bootstrap_mean(clusters) is None


def test_the_same_values_give_the_same_interval_in_any_order() -> None:
    clusters = [[random.Random(n).random()] for n in range(40)]
    shuffled = random.Random(1).sample(clusters, len(clusters))
    assert cluster_bootstrap_mean(clusters) == cluster_bootstrap_mean(shuffled)


def test_many_independent_values_give_the_normal_interval() -> None:
    chance = random.Random(7)
    values = [chance.gauss(3, 2) for _ in range(4000)]
    interval = cluster_bootstrap_mean([[value] for value in values])
    assert interval is not None
    half = NormalDist().inv_cdf(0.975) * 2 / 4000**0.5
    assert interval.low == pytest.approx(fmean(values) - half, abs=0.01)
    assert interval.high == pytest.approx(fmean(values) + half, abs=0.01)


def test_intervals_cover_the_truth_where_repeats_agree() -> None:
    """A naive bootstrap over all values would be half as wide and miss too often."""
    chance = random.Random(3)
    covered = 0
    for _ in range(200):
        clusters = [[chance.gauss(0, 1)] * 4 for _ in range(60)]
        interval = cluster_bootstrap_mean(clusters)
        assert interval is not None
        covered += interval.low <= 0 <= interval.high
    assert covered >= 180


def test_a_difference_without_spread_has_an_interval_only_by_its_unit() -> None:
    assert cluster_bootstrap_difference([], unit=1) is None
    assert cluster_bootstrap_difference([0.5]) is None
    assert cluster_bootstrap_difference([0.0] * 46) is None
    interval = cluster_bootstrap_difference([0.0] * 46, unit=1)
    tango = tango_interval(0, 0, 46)
    assert interval is not None
    assert tango is not None
    assert interval == pytest.approx(tango, abs=0.015)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-6, 6).map(lambda k: k / 3), min_size=1, max_size=60), st.booleans())
def test_the_interval_of_a_difference_holds_the_mean(values: list[float], many: bool) -> None:
    values *= 40 if many else 1
    interval = cluster_bootstrap_difference(values, 0.9, unit=1)
    assert interval is not None
    assert interval.low - 1e-9 <= fmean(values) <= interval.high + 1e-9


@pytest.mark.parametrize("count", [400, 1500])
def test_many_differences_give_the_interval_of_the_t_test(count: int) -> None:
    """Resampled up to 1,000, Student's beyond."""
    values = np.random.default_rng(count).normal(0.1, 2, size=count)
    expected = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    half = (expected.high - expected.low) / 2
    interval = cluster_bootstrap_difference(list(values))
    assert interval == pytest.approx((expected.low, expected.high), abs=0.05 * half)


@pytest.mark.parametrize("of", [cluster_bootstrap_difference, cluster_bootstrap_median])
def test_the_interval_of_a_difference_keeps_order_sign_and_scale(
    of: Callable[[Sequence[float]], Interval | None],
) -> None:
    chance = random.Random(12)
    values = [chance.gauss(0.2, 1) for _ in range(40)]
    interval = of(values)
    assert interval is not None
    assert of(chance.sample(values, len(values))) == interval
    assert of([3 * value for value in values]) == pytest.approx(
        (3 * interval.low, 3 * interval.high)
    )
    mirrored = of([-value for value in values])
    assert mirrored == pytest.approx((-interval.high, -interval.low), abs=0.05)


@pytest.mark.parametrize("count", [46, 115])
def test_the_median_has_the_interval_of_searched_medians(count: int) -> None:
    """The bounds cut off a twentieth each, but for a resampled median that comes often."""
    chance = np.random.default_rng(count)
    values = chance.lognormal(size=count)
    medians = np.median(values[chance.integers(count, size=(20_000, count))], axis=1)
    interval = cluster_bootstrap_median(list(values), 0.9)
    assert interval is not None
    for beyond, beyond_or_at in (
        (medians < interval.low, medians <= interval.low),
        (medians > interval.high, medians >= interval.high),
    ):
        assert beyond.mean() - 0.01 <= 0.05 <= beyond_or_at.mean() + 0.01


def test_five_values_can_not_bound_a_median() -> None:
    assert cluster_bootstrap_median([1, 2, 3, 4, 5]) is None
    assert cluster_bootstrap_median([1, 2, 3, 4, 5, 6]) is not None


def test_a_ratio_of_means() -> None:
    chance = np.random.default_rng(5)
    a = chance.lognormal(size=116)
    b = 1.3 * a * chance.lognormal(0, 0.2, size=116)
    interval = cluster_bootstrap_ratio(list(a), list(b))
    other = scipy.stats.bootstrap(
        (a, b),
        lambda x, y, axis: y.mean(axis) / x.mean(axis),
        paired=True,
        n_resamples=4999,
        method="percentile",
        rng=1,
    ).confidence_interval
    assert interval == pytest.approx(tuple(other), abs=0.2 * (other.high - other.low))
    assert cluster_bootstrap_ratio([1.0, 2.0], [2.0, 4.0]) is None
    assert cluster_bootstrap_ratio([0.0, 0.0], [2.0, 4.0]) is None
    assert cluster_bootstrap_ratio([], []) is None
    with pytest.raises(ValueError, match="no pairs"):
        cluster_bootstrap_ratio([1.0], [1.0, 2.0])

"""The cluster bootstrap of a mean."""

from __future__ import annotations

import random
from statistics import NormalDist, fmean

import pytest

from ragevalkit.stats import cluster_bootstrap_mean


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

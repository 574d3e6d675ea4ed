"""Holm: statsmodels, the levels of its intervals, and the two against each other."""

from __future__ import annotations

from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from ragevalkit.stats import holm, holm_levels

ps = st.floats(0, 1)


@settings(max_examples=20, deadline=None)
@given(st.lists(ps, min_size=1, max_size=15))
def test_adjusted_values_are_those_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_a_metric_without_a_test_does_not_count() -> None:
    assert holm([0.01, None, 0.04]) == pytest.approx([0.02, None, 0.04])
    assert holm_levels([0.01, None, 0.04]) == pytest.approx([0.975, None, 0.95])
    assert holm([]) == holm_levels([]) == []
    assert holm([None]) == holm_levels([None]) == [None]


@pytest.mark.parametrize(
    ("p_values", "levels"),
    [
        ([0.04], [0.95]),
        ([0.3, 0.2], [0.975, 0.975]),
        ([0.03, 0.001, 0.3, 0.012], [0.975, 0.9875, 0.975, 1 - 0.05 / 3]),
        # the second fails; the third is small enough for its own rank and fails all the same
        ([0.001, 0.03, 0.03], [1 - 0.05 / 3, 0.975, 0.975]),
    ],
)
def test_levels_step_down_and_stay_where_holm_stops(
    p_values: list[float], levels: list[float]
) -> None:
    assert holm_levels(p_values) == pytest.approx(levels)


@given(st.lists(st.floats(1e-12, 1).filter(lambda p: abs(p * 60 % 1) > 1e-6), max_size=13))
def test_intervals_exclude_0_exactly_where_the_adjusted_p_is_small(p_values: list[float]) -> None:
    """For a normal estimate, whose interval is the inverse of its test."""
    normal = NormalDist()
    for p, adjusted, level in zip(p_values, holm(p_values), holm_levels(p_values), strict=True):
        assert adjusted is not None
        assert level is not None
        estimate = -normal.inv_cdf(p / 2)
        half = normal.inv_cdf((1 + level) / 2)
        assert (estimate > half) == (adjusted <= 0.05)

"""Fits that find what was put in, intervals that hold it, and knees."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.bench.curves import (
    Estimate,
    fit_line,
    gain,
    knee,
    mean_estimate,
    over_wait,
    total_rate,
)

LENGTHS = (128, 512, 2048, 8192)


def noisy(
    base: float, slope: float, curve: float, seed: int, repeats: int = 3
) -> list[tuple[float, float]]:
    source = random.Random(seed)
    return [
        (float(x), (base + slope * x + curve * x * x) * source.gauss(1, 0.03))
        for x in LENGTHS
        for _ in range(repeats)
    ]


@given(base=st.floats(1, 500), slope=st.floats(0.001, 5))
def test_exact_points_give_the_line(base: float, slope: float) -> None:
    fit = fit_line([(x, base + slope * x) for x in LENGTHS for _ in range(2)])
    assert fit is not None
    assert fit.base == pytest.approx(base, rel=1e-6)
    assert fit.slope == pytest.approx(slope, rel=1e-6)
    assert fit.curve == 0


def test_a_base_below_nothing_is_nothing() -> None:
    fit = fit_line([(100, 50.0), (200, 150.0), (300, 250.0)])
    assert fit is not None
    assert fit.base == 0
    assert fit.slope > 0.5


@pytest.mark.parametrize("points", [[], [(1.0, 2.0)], [(1.0, 2.0), (1.0, 3.0)], [(1.0, 0.0)] * 3])
def test_no_line_through_one_x(points: list[tuple[float, float]]) -> None:
    assert fit_line(points) is None


def test_few_points_have_a_line_and_no_interval() -> None:
    fit = fit_line([(1.0, 2.0), (2.0, 3.0), (3.0, 4.0)])
    assert fit is not None
    assert fit.slope_interval is fit.base_interval is None


def test_a_quadratic_term_is_found_where_there_is_one() -> None:
    curved = fit_line(noisy(20, 0.2, 4e-5, seed=1), may_curve=True)
    assert curved is not None
    assert curved.curve == pytest.approx(4e-5, rel=0.3)
    assert curved.slope == pytest.approx(0.2, rel=0.3)
    straight = fit_line(noisy(20, 0.2, 0, seed=1), may_curve=True)
    assert straight is not None
    assert straight.curve == 0


def test_intervals_hold_the_truth() -> None:
    """At least 90 of 100 simulated benches, nominal 95."""
    slopes = bases = 0
    for seed in range(100):
        fit = fit_line(noisy(30, 0.2, 0, seed))
        assert fit is not None
        assert fit.slope_interval is not None
        assert fit.base_interval is not None
        slopes += fit.slope_interval.low <= 0.2 <= fit.slope_interval.high
        bases += fit.base_interval.low <= 30 <= fit.base_interval.high
    assert slopes >= 90
    assert bases >= 90


@pytest.mark.parametrize("repeats", [3, 6, 12])
def test_intervals_of_few_repeats_hold_the_truth(repeats: int) -> None:
    """At least 90 of 100 simulated benches, nominal 95: rates of 50, waits of 20, gains of 2."""
    rates = waits = gained = 0
    for seed in range(100):
        source = random.Random(seed)
        seconds = [source.gauss(2, 0.2) for _ in range(repeats)]
        other = [source.gauss(1, 0.1) for _ in range(repeats)]
        amounts = [50 * s * source.gauss(1, 0.05) for s in seconds]
        rates += holds(total_rate(amounts, seconds), 50)
        waits += holds(mean_estimate([10 * s for s in seconds]), 20)
        gained += holds(gain(seconds, other), 2)
    assert rates >= 90
    assert waits >= 90
    assert gained >= 90


def holds(of: Estimate, truth: float) -> bool:
    assert of.low is not None
    assert of.high is not None
    return of.low <= truth <= of.high


def test_rates_are_sums_over_sums() -> None:
    rate = total_rate([100, 200, 300], [1, 1, 1])
    assert rate.value == 200
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < 200 < rate.high
    assert rate.low > 0
    assert total_rate([100, 300], [1, 1]) == Estimate(value=200.0)  # two say nothing of spread
    assert total_rate([], []) == total_rate([1], [0]) == Estimate(value=None)


def test_means_and_gains() -> None:
    assert mean_estimate([]) == Estimate(value=None)
    assert mean_estimate([5.0]) == Estimate(value=5.0)
    twice = gain([2.0, 2.2, 1.8, 2.1], [1.0, 1.1, 0.9, 1.05])
    assert twice.value == pytest.approx(2.0, abs=0.01)
    assert gain([], []) == Estimate(value=None)


@pytest.mark.parametrize(
    ("levels", "streams"),
    [
        ([], None),
        ([(1, 100.0)], None),
        ([(1, 100.0), (2, 200.0), (4, 400.0)], None),  # grows to the end
        ([(1, 100.0), (2, 200.0), (4, 205.0), (8, 210.0)], 2),
        ([(1, 100.0), (4, 105.0)], 1),
        ([(1, 100.0), (4, 110.0), (8, 400.0)], None),  # a dent is no knee
        ([(1, 100.0), (2, 190.0), (4, 180.0), (8, 150.0)], 2),  # falls
        ([(1, 100.0), (4, 120.9)], 1),  # 9.95 % a doubling
        ([(1, 100.0), (4, 121.1)], None),  # 10.05 %
    ],
)
def test_the_knee(levels: list[tuple[int, float]], streams: int | None) -> None:
    assert knee(levels, 0.1) == streams


@pytest.mark.parametrize(
    ("levels", "streams"),
    [([], None), ([(1, 10.0), (2, 20.0)], None), ([(1, 10.0), (2, 20.0), (4, 20.1)], 4)],
)
def test_where_the_wait_exceeds_twice_the_unloaded_one(
    levels: list[tuple[int, float]], streams: int | None
) -> None:
    assert over_wait(levels, 2.0) == streams


@given(st.floats(1e-9, 1e12))
def test_estimates_keep_their_digits(value: float) -> None:
    kept = Estimate.of(value).value
    assert kept is not None
    assert kept == pytest.approx(value, rel=1e-4, abs=1e-9)

"""What mean differences can detect: the exact way for rates, statsmodels, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from ragevalkit.stats import (
    deviation_bound,
    pairs_needed_for_margin,
    pairs_needed_to_detect,
    questions_to_decide,
    sign_flip,
    smallest_detectable_difference,
    smallest_detectable_mean,
    wilson,
)

HALVES = [0.5, -0.5, 1.0, -1.0]


def test_the_deviation_of_one_repeat_is_the_discordant_share() -> None:
    share = wilson(12, 116)
    assert share is not None
    bound = deviation_bound([1.0] * 5 + [-1.0] * 7 + [0.0] * 104)
    assert bound == pytest.approx(math.sqrt(share.high))


def test_the_deviation_is_bounded_where_nothing_differs() -> None:
    assert deviation_bound([]) is None
    assert deviation_bound([0.0] * 46) == pytest.approx(math.sqrt(3.8415 / (46 + 3.8415)), abs=1e-4)


@given(st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=60), st.floats(0.1, 9))
def test_the_deviation_is_above_what_was_seen_and_scales(values: list[float], by: float) -> None:
    bound = deviation_bound(values)
    assert bound is not None
    assert bound >= math.sqrt(sum(value * value for value in values) / len(values)) - 1e-9
    assert deviation_bound([by * value for value in values], by) == pytest.approx(by * bound)


@pytest.mark.parametrize("significance", [0.05, 0.05 / 13])
@pytest.mark.parametrize("count", [46, 116, 1000])
def test_the_smallest_mean_has_the_power_that_statsmodels_gives_it(
    count: int, significance: float
) -> None:
    differences = [HALVES[k % 4] if k % 3 == 0 else 0.0 for k in range(count)]
    found = smallest_detectable_mean(differences, significance=significance)
    deviation = deviation_bound(differences)
    assert found is not None
    assert deviation is not None
    power = TTestPower().power(found / deviation, count, significance, alternative="two-sided")
    assert power == pytest.approx(0.8, abs=0.01)


def test_the_smallest_mean_is_found_with_that_power() -> None:
    """The sign-flip test on 60 questions whose differences deviate as assumed."""
    chance = np.random.default_rng(6)
    effect = float(TTestPower().solve_power(nobs=60, alpha=0.05, power=0.8))
    found = [
        sign_flip(list(chance.normal(effect, 1, size=60)), draws=999) <= 0.05 for _ in range(400)
    ]
    assert sum(found) / 400 == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(("pairs", "discordant"), [(116, 24), (300, 30), (1000, 200)])
def test_over_single_repeats_it_comes_near_the_exact_way(pairs: int, discordant: int) -> None:
    differences = [1.0, -1.0] * (discordant // 2) + [0.0] * (pairs - discordant)
    share = wilson(discordant, pairs)
    assert share is not None
    exact = smallest_detectable_difference(pairs, share.high)
    assert exact is not None
    assert smallest_detectable_mean(differences) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("differences", [[], [1.0], [0.0] * 46, [0.0] * 40 + [0.5] * 2])
def test_too_few_differences_detect_nothing(differences: list[float]) -> None:
    """As with one repeat, where at most so many discordant pairs could go one way."""
    assert smallest_detectable_mean(differences) is None


def test_the_questions_that_decide_come_near_the_exact_numbers() -> None:
    deviation = math.sqrt(0.1)
    assert questions_to_decide(0, deviation, 0.05) == 248
    exact = pairs_needed_for_margin(0.05, 0.1)
    assert exact is not None
    assert questions_to_decide(0, deviation, 0.05) == pytest.approx(exact, rel=0.1)
    exact = pairs_needed_to_detect(0.06, 0.1)
    assert exact is not None
    # the difference takes its own square from the variance, which the bound leaves in
    assert questions_to_decide(-0.06, deviation, 0.05) == pytest.approx(exact, rel=0.1)


@settings(max_examples=60)
@given(st.floats(-0.3, 0.3), st.floats(0.01, 1), st.floats(0.01, 0.2))
def test_some_number_of_questions_always_decides(
    difference: float, deviation: float, margin: float
) -> None:
    needed = questions_to_decide(difference, deviation, margin)
    assert needed >= 1
    # at the worst the truth lies about half way between no difference and the margin
    assert needed <= math.ceil((2.8016 + 2.4865) ** 2 * (deviation / margin) ** 2)
    assert questions_to_decide(difference, 2 * deviation, margin) >= needed


def test_a_margin_is_above_0() -> None:
    with pytest.raises(ValueError, match="above 0"):
        questions_to_decide(0, 0.3, 0)

"""What pairs can detect: published plans, other ways to the same number, simulation, properties."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.stats import (
    mcnemar_power,
    non_inferiority_margin,
    non_inferiority_power,
    pairs_needed_for_margin,
    pairs_needed_to_detect,
    repeats_interval_factor,
    smallest_detectable_difference,
    tango_interval,
)

SHARES = (0.05, 0.10, 0.15, 0.20, 0.30)
TABLE = {
    46: (None, None, None, 18.3, 22.8),
    70: (None, None, 12.9, 15.1, 18.7),
    116: (None, 8.3, 10.2, 11.9, 14.7),
    200: (4.4, 6.4, 7.9, 9.1, 11.1),
    300: (3.7, 5.3, 6.4, 7.4, 9.1),
    500: (2.9, 4.1, 5.0, 5.7, 7.0),
    1000: (2.0, 2.9, 3.5, 4.0, 4.9),
    2000: (1.4, 2.0, 2.5, 2.8, 3.5),
}
"""Points; computed elsewhere by the same definition (data-and-statistics.md, 4.2)."""

PAIRS = st.integers(1, 400)
SHARE = st.integers(1, 60).map(lambda percent: percent / 100)


@pytest.mark.parametrize("pairs", TABLE)
def test_smallest_difference_is_that_of_the_table(pairs: int) -> None:
    for share, points in zip(SHARES, TABLE[pairs], strict=True):
        found = smallest_detectable_difference(pairs, share)
        if points is None:
            assert found is None
        else:
            assert found is not None
            assert 100 * found == pytest.approx(points, abs=0.1)


@pytest.mark.parametrize(
    ("margin", "share", "approximately", "exactly"),
    [(0.02, 0.10, 1546, 1565), (0.05, 0.10, 248, 263), (0.05, 0.20, 495, 501), (0.1, 0.1, 62, 77)],
)
def test_pairs_for_a_margin_are_a_few_more_than_the_normal_approximation_says(
    margin: float, share: float, approximately: int, exactly: int
) -> None:
    z = NormalDist().inv_cdf(0.95) + NormalDist().inv_cdf(0.8)
    assert math.ceil(z * z * share / margin**2) == approximately
    assert pairs_needed_for_margin(margin, share) == exactly


def fraction_power(pairs: int, difference: Fraction, share: Fraction) -> float:
    """By brute force over both counts, in exact numbers."""
    up, down = (share + difference) / 2, (share - difference) / 2
    total = Fraction(0)
    for won in range(pairs + 1):
        for lost in range(pairs + 1 - won):
            count = won + lost
            tail = sum(math.comb(count, k) for k in range(min(won, lost) + 1))
            if count and 2 * Fraction(tail, 2**count) <= Fraction(1, 20):
                ways = math.comb(pairs, count) * math.comb(count, won)
                total += ways * up**won * down**lost * (1 - share) ** (pairs - count)
    return float(total)


@pytest.mark.parametrize(
    ("pairs", "difference", "share"),
    [(5, "1/2", "1/2"), (12, "3/10", "2/5"), (20, "0", "3/10"), (25, "-1/5", "1/4"), (9, "1", "1")],
)
def test_mcnemar_power_by_brute_force(pairs: int, difference: str, share: str) -> None:
    expected = fraction_power(pairs, Fraction(difference), Fraction(share))
    found = mcnemar_power(pairs, float(Fraction(difference)), float(Fraction(share)))
    assert found == pytest.approx(expected, abs=1e-9)


def test_mcnemar_power_by_simulation() -> None:
    chance = random.Random(7)
    rejected, trials = 0, 3000
    for _ in range(trials):
        won = lost = 0
        for _ in range(116):
            drawn = chance.random()
            won += drawn < 0.12
            lost += 0.12 <= drawn < 0.15
        count = won + lost
        tail = sum(math.comb(count, k) for k in range(min(won, lost) + 1))
        rejected += 2 * tail / 2**count <= 0.05
    assert rejected / trials == pytest.approx(mcnemar_power(116, 0.09, 0.15), abs=0.03)


def test_non_inferiority_power_by_simulation() -> None:
    chance = random.Random(3)
    bounds: dict[tuple[int, int], float] = {}
    shown, trials = 0, 2000
    for _ in range(trials):
        drawn = [chance.random() for _ in range(70)]
        won, lost = sum(x < 0.06 for x in drawn), sum(0.06 <= x < 0.12 for x in drawn)
        if (won, lost) not in bounds:
            interval = tango_interval(lost, won, 70, 0.9)
            assert interval is not None
            bounds[won, lost] = interval.low
        shown += bounds[won, lost] > -0.1
    assert shown / trials == pytest.approx(non_inferiority_power(70, 0.1, 0.12), abs=0.035)


def test_margins_come_near_the_normal_approximation() -> None:
    for pairs, share in ((300, 0.2), (1000, 0.1), (5000, 0.05)):
        margin = non_inferiority_margin(pairs, share)
        assert margin == pytest.approx(math.sqrt(6.18 * share / pairs), rel=0.03)


def test_zero_flips_leave_a_margin() -> None:
    """Without any discordant pair Tango's 90 % bound is z²/(n + z²)."""
    z2 = NormalDist().inv_cdf(0.95) ** 2
    for pairs in (46, 116, 300):
        assert non_inferiority_margin(pairs, 0) == pytest.approx(z2 / (pairs + z2), abs=1e-4)


def test_nothing_can_be_told_without_pairs() -> None:
    assert mcnemar_power(0, 0.1, 0.2) == 0
    assert smallest_detectable_difference(0, 0.2) is None
    assert non_inferiority_margin(0, 0.2) is None
    assert smallest_detectable_difference(1000, 0) is None


def test_five_one_sided_pairs_are_too_few() -> None:
    assert mcnemar_power(5, 1, 1) == 0
    assert mcnemar_power(6, 1, 1) == 1


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="larger than the share"):
        mcnemar_power(100, 0.2, 0.1)
    with pytest.raises(ValueError, match="can't be"):
        mcnemar_power(100, 0.1, 1.1)
    with pytest.raises(ValueError, match="margin"):
        non_inferiority_power(100, 0, 0.1)
    assert pairs_needed_to_detect(0.05, 0.04) is None


@settings(max_examples=60)
@given(PAIRS, SHARE, st.floats(0, 1), st.floats(0, 1))
def test_larger_differences_are_found_more_often(
    pairs: int, share: float, one: float, other: float
) -> None:
    small, large = sorted((one * share, other * share))
    weak, strong = mcnemar_power(pairs, small, share), mcnemar_power(pairs, large, share)
    assert weak <= strong + 1e-9
    assert mcnemar_power(pairs, -small, share) == pytest.approx(weak)


@settings(max_examples=60)
@given(PAIRS, SHARE)
def test_without_a_difference_the_test_keeps_its_level(pairs: int, share: float) -> None:
    assert mcnemar_power(pairs, 0, share) <= 0.05 + 1e-9


@settings(max_examples=40)
@given(PAIRS, SHARE)
def test_the_smallest_difference_is_just_found(pairs: int, share: float) -> None:
    found = smallest_detectable_difference(pairs, share)
    if found is None:
        assert mcnemar_power(pairs, share, share) < 0.8
    else:
        assert mcnemar_power(pairs, found, share) >= 0.8
        assert mcnemar_power(pairs, max(0.0, found - 1e-4), share) < 0.8


# a discrete test's power is a saw-tooth, so neighbours may lie either way; twice as many may not
COMMON = st.floats(0.05, 0.3)


@settings(max_examples=40)
@given(st.integers(40, 400), st.integers(2, 4), COMMON)
def test_many_more_pairs_tell_more(pairs: int, times: int, share: float) -> None:
    few = smallest_detectable_difference(pairs, share)
    many = smallest_detectable_difference(times * pairs, share)
    if few is not None:
        assert many is not None
        assert many <= few
    margins = [non_inferiority_margin(n, share) for n in (times * pairs, pairs)]
    assert None not in margins
    assert margins[0] <= margins[1]


@settings(max_examples=40)
@given(st.integers(40, 400), COMMON, st.floats(2, 3))
def test_many_more_discordant_pairs_hide_more(pairs: int, low: float, times: float) -> None:
    calm = smallest_detectable_difference(pairs, low)
    noisy = smallest_detectable_difference(pairs, times * low)
    if calm is not None:
        assert noisy is not None
        assert calm <= noisy
    margins = [non_inferiority_margin(pairs, share) for share in (low, times * low)]
    assert margins[0] <= margins[1]


@settings(max_examples=30)
@given(st.integers(2, 20), st.integers(0, 40))
def test_the_pairs_needed_are_just_enough(points: int, beyond: int) -> None:
    difference = points / 100
    share = min(1.0, difference + beyond / 100)
    needed = pairs_needed_to_detect(difference, share)
    assert needed is not None
    assert mcnemar_power(needed, difference, share) >= 0.8
    assert mcnemar_power(needed - 1, difference, share) < 0.8
    needed = pairs_needed_for_margin(difference, share)
    assert needed is not None
    assert non_inferiority_power(needed, difference, share) >= 0.8
    assert non_inferiority_power(needed - 1, difference, share) < 0.8


def test_repeats_only_take_away_chance_within_questions() -> None:
    assert repeats_interval_factor(1, 0.3) == 1
    assert repeats_interval_factor(4, 0) == 0.5
    assert repeats_interval_factor(4, 1) == 1
    assert repeats_interval_factor(3, 0.5) == pytest.approx(math.sqrt(2 / 3))
    with pytest.raises(ValueError, match="repeats"):
        repeats_interval_factor(0, 0.5)

"""The paired difference: published examples, other implementations, exact coverage, properties."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from ragevalkit.stats import mcnemar_exact, newcombe_interval, non_inferiority, tango_interval

tables = st.integers(1, 300).flatmap(
    lambda n: st.integers(0, n).flatmap(
        lambda discordant: st.tuples(st.integers(0, discordant), st.just(discordant), st.just(n))
    )
)
"""Pairs that only b has, discordant pairs, all pairs."""


@pytest.mark.parametrize(
    ("both", "a_only", "b_only", "neither", "low", "high"),
    [
        # Cavo et al. 2012, as in Fagerland, Lydersen and Laake 2017, Statistical Analysis of
        # Contingency Tables, chapter 8; their R package contingencytables prints the same
        (59, 6, 16, 80, 0.0054, 0.1240),
        # the refusals of docs/statistics.md: 38 against 40 of 46, in two of their overlaps
        (38, 0, 2, 6, -0.0369, 0.1453),
        (35, 3, 5, 3, -0.0889, 0.1801),
    ],
)
def test_tango_has_the_published_values(
    both: int, a_only: int, b_only: int, neither: int, low: float, high: float
) -> None:
    n = both + a_only + b_only + neither
    assert tango_interval(a_only, b_only, n) == pytest.approx((low, high), abs=5e-5)


def test_newcombe_has_the_published_values() -> None:
    """The same example and package as for Tango's."""
    assert newcombe_interval(59, 6, 16, 80) == pytest.approx((0.0046, 0.1186), abs=5e-5)


@pytest.mark.parametrize("n", [1, 46, 116, 300])
def test_no_flips_leave_a_width(n: int) -> None:
    z2 = NormalDist().inv_cdf(0.975) ** 2
    assert tango_interval(0, 0, n) == pytest.approx((-z2 / (n + z2), z2 / (n + z2)))


def test_all_pairs_one_way_reach_the_end() -> None:
    z2 = NormalDist().inv_cdf(0.975) ** 2
    assert tango_interval(0, 9, 9) == pytest.approx(((9 - z2) / (9 + z2), 1))


def score(won: int, lost: int, n: int, difference: float) -> float:
    """Tango's statistic with the share lost by likelihood, in a search over thirds."""
    low, high = max(0.0, -difference), (1 - difference) / 2

    def likelihood(share: float) -> float:
        rest = 1 - difference - 2 * share
        parts = ((won, share + difference), (lost, share), (n - won - lost, rest))
        return sum(k * math.log(max(p, 1e-300)) for k, p in parts if k)

    for _ in range(100):
        third = (high - low) / 3
        if likelihood(low + third) < likelihood(high - third):
            low += third
        else:
            high -= third
    variance = n * (2 * low + difference - difference**2)
    return (won - lost - n * difference) / math.sqrt(variance)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.996])
@pytest.mark.parametrize(
    ("a_only", "b_only", "n"), [(0, 2, 46), (3, 5, 46), (13, 27, 116), (30, 1, 70), (0, 4, 300)]
)
def test_tango_bounds_are_where_the_score_test_is_just_rejected(
    a_only: int, b_only: int, n: int, level: float
) -> None:
    interval = tango_interval(a_only, b_only, n, level)
    assert interval is not None
    z = NormalDist().inv_cdf((1 + level) / 2)
    assert score(b_only, a_only, n, interval.low) == pytest.approx(z, abs=1e-4)
    assert score(b_only, a_only, n, interval.high) == pytest.approx(-z, abs=1e-4)


@settings(max_examples=100, deadline=None)
@given(tables, st.floats(0.5, 0.99))
def test_intervals_hold_the_difference_and_mirror_it(
    table: tuple[int, int, int], level: float
) -> None:
    b_only, discordant, n = table
    a_only = discordant - b_only
    rest = n - discordant
    for of_b, of_a in (
        (tango_interval(a_only, b_only, n, level), tango_interval(b_only, a_only, n, level)),
        (
            newcombe_interval(rest, a_only, b_only, 0, level),
            newcombe_interval(rest, b_only, a_only, 0, level),
        ),
    ):
        assert of_b is not None
        assert of_a is not None
        assert -1 - 1e-9 <= of_b.low <= (b_only - a_only) / n + 1e-9
        assert (b_only - a_only) / n - 1e-9 <= of_b.high <= 1 + 1e-9
        assert of_b == pytest.approx((-of_a.high, -of_a.low), abs=1e-9)


def chance_of(won: int, lost: int, n: int, p_won: float, p_lost: float) -> float:
    ways = math.comb(n, won) * math.comb(n - won, lost)
    return ways * p_won**won * p_lost**lost * (1 - p_won - p_lost) ** (n - won - lost)


@pytest.mark.parametrize(("level", "least"), [(0.9, 0.88), (0.95, 0.938), (0.99, 0.98)])
def test_tango_covers_the_truth(level: float, least: float) -> None:
    """Over all outcomes of 46 pairs: no simulation, so no luck."""
    bounds = {
        (won, lost): tango_interval(lost, won, 46, level) for won in range(24) for lost in range(24)
    }
    for p_won, p_lost in ((0.02, 0.02), (0.05, 0.05), (0.1, 0.1), (0.02, 0.1), (0.15, 0.05)):
        truth = p_won - p_lost
        covered = seen = 0.0
        for (won, lost), interval in bounds.items():
            assert interval is not None
            chance = chance_of(won, lost, 46, p_won, p_lost)
            seen += chance
            covered += chance * (interval.low <= truth <= interval.high)
        assert seen > 0.999
        assert covered / seen >= least, (p_won, p_lost)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_that_of_statsmodels(a_only: int, b_only: int) -> None:
    other = mcnemar([[10, a_only], [b_only, 10]], exact=True).pvalue
    assert mcnemar_exact(a_only, b_only) == pytest.approx(min(1, other), rel=1e-9, abs=1e-300)
    assert mcnemar_exact(b_only, a_only) == mcnemar_exact(a_only, b_only)


@pytest.mark.parametrize(
    ("a_only", "b_only", "p"),
    [
        (0, 0, 1),
        (0, 5, 0.0625),
        (0, 6, 0.03125),
        (6, 16, 0.052479),  # Cavo et al. 2012, as above
        (0, 14, 2 / 2**14),  # 13 against 27 defects, nested and disjoint
        (13, 27, 0.0385),
    ],
)
def test_mcnemar_has_the_published_values(a_only: int, b_only: int, p: float) -> None:
    assert mcnemar_exact(a_only, b_only) == pytest.approx(p, abs=5e-5)


def test_tango_is_a_little_bolder_than_mcnemar() -> None:
    """As both docstrings say: four pairs one way."""
    interval = tango_interval(0, 4, 116)
    assert interval is not None
    assert interval.low > 0
    assert mcnemar_exact(0, 4) == 0.125


def test_without_pairs_there_is_no_interval() -> None:
    assert tango_interval(0, 0, 0) is None
    assert newcombe_interval(0, 0, 0, 0) is None


@pytest.mark.parametrize(("a_only", "b_only", "n"), [(-1, 2, 10), (6, 5, 10)])
def test_counts_that_can_not_be(a_only: int, b_only: int, n: int) -> None:
    with pytest.raises(ValueError, match="can't be"):
        tango_interval(a_only, b_only, n)


@pytest.mark.parametrize("p_lost", [0.06, 0.1, 0.15])
def test_no_worse_is_rarely_shown_at_the_margin(p_lost: float) -> None:
    """Where b is worse by just the margin, the 90 % interval shows otherwise in about 5 %."""
    margin, p_won = 0.05, p_lost - 0.05
    shown = 0.0
    for won in range(24):
        for lost in range(24):
            interval = tango_interval(lost, won, 46, 0.9)
            assert interval is not None
            if non_inferiority(interval, margin):
                shown += chance_of(won, lost, 46, p_won, p_lost)
    assert shown <= 0.06

"""Wilson's interval and its clustered form: published values, closed forms, properties, coverage.

The values of the first table are those that statsmodels 0.15 gives, by
`proportion_confint(k, n, method="wilson")`; 81/263, 15/148, 0/20 and 1/29 are also the examples of
Newcombe 1998, Stat. Med. 17:857, table I.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.stats import Interval, clustered_wilson, design_effect, wilson

Z2 = Fraction("1.959963984540054") ** 2


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.255289, 0.366210),
        (15, 148, 0.062386, 0.160487),
        (0, 20, 0.0, 0.161125),
        (1, 29, 0.006113, 0.171755),
        (38, 46, 0.692766, 0.909142),
        (40, 46, 0.743341, 0.938822),
        (67, 70, 0.881403, 0.985318),
        (68, 70, 0.901677, 0.992129),
    ],
)
def test_wilson_has_the_published_values(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n) == pytest.approx((low, high), abs=6e-7)


@pytest.mark.parametrize("n", [1, 2, 7, 46, 1000])
def test_wilson_at_the_ends_has_its_closed_form(n: int) -> None:
    """At k = 0 the bounds are 0 and z²/(n + z²); at k = n they are mirrored."""
    share = float(Z2 / (n + Z2))
    none, every = wilson(0, n), wilson(n, n)
    assert none is not None
    assert every is not None
    assert none.low == 0.0
    assert every.high == 1.0
    assert none.high == pytest.approx(share)
    assert every.low == pytest.approx(1 - share)


@pytest.mark.parametrize(("k", "n"), [(1, 2), (38, 46), (67, 70), (3, 1000)])
def test_wilson_bounds_are_where_the_score_test_is_just_rejected(k: int, n: int) -> None:
    """(k/n - p)² = z² p(1-p)/n at both bounds, which is Wilson's definition."""
    interval = wilson(k, n)
    assert interval is not None
    for bound in map(Fraction, interval):
        assert float((Fraction(k, n) - bound) ** 2) == pytest.approx(
            float(Z2 * bound * (1 - bound) / n), rel=1e-6
        )


def test_wilson_of_nothing_is_none() -> None:
    assert wilson(0, 0) is None
    assert clustered_wilson([]) is None
    assert clustered_wilson([[], []]) is None


@pytest.mark.parametrize(("k", "n"), [(-1, 10), (11, 10), (0.1, 0.05), (float("nan"), 10)])
def test_wilson_refuses_a_k_that_can_not_be(k: float, n: float) -> None:
    with pytest.raises(ValueError, match="between 0 and n"):
        wilson(k, n)


counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(deadline=None)
@given(counts)
def test_wilson_lies_in_the_unit_interval_and_holds_the_rate(count: tuple[int, int]) -> None:
    k, n = count
    interval = wilson(k, n)
    assert interval is not None
    assert 0 <= interval.low <= k / n <= interval.high <= 1
    assert interval.low < interval.high


@settings(deadline=None)
@given(counts)
def test_wilson_is_symmetric(count: tuple[int, int]) -> None:
    k, n = count
    assert wilson(k, n) == pytest.approx(Interval(*(1 - b for b in reversed(wilson(n - k, n)))))


@settings(deadline=None)
@given(counts.filter(lambda count: count[0] < count[1]))
def test_wilson_rises_with_k(count: tuple[int, int]) -> None:
    k, n = count
    below, above = wilson(k, n), wilson(k + 1, n)
    assert below is not None
    assert above is not None
    assert below.low < above.low
    assert below.high < above.high


@settings(deadline=None)
@given(counts, st.floats(0.5, 0.98), st.floats(0.005, 0.01))
def test_wilson_widens_with_confidence(
    count: tuple[int, int], confidence: float, more: float
) -> None:
    narrow, wide = wilson(*count, confidence), wilson(*count, confidence + more)
    assert narrow is not None
    assert wide is not None
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


@settings(deadline=None)
@given(counts, st.integers(2, 20))
def test_wilson_narrows_with_more_data_at_the_same_rate(count: tuple[int, int], times: int) -> None:
    k, n = count
    few, many = wilson(k, n), wilson(k * times, n * times)
    assert few is not None
    assert many is not None
    assert many.high - many.low < few.high - few.low


outcomes = st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=30)


@settings(deadline=None)
@given(outcomes)
def test_design_effect_lies_between_one_and_the_mean_cluster_size(
    clusters: list[list[bool]],
) -> None:
    mean = sum(map(len, clusters)) / len(clusters)
    assert 1 <= design_effect(clusters) <= mean


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_one_repeat_is_the_plain_interval(values: list[bool]) -> None:
    clusters = [[value] for value in values]
    assert design_effect(clusters) == 1
    assert clustered_wilson(clusters) == wilson(sum(values), len(values))


@settings(deadline=None)
@given(outcomes)
def test_clustered_interval_is_never_narrower_than_the_plain_one(
    clusters: list[list[bool]],
) -> None:
    k, n = sum(map(sum, clusters)), sum(map(len, clusters))
    plain, clustered = wilson(k, n), clustered_wilson(clusters)
    assert plain is not None
    assert clustered is not None
    assert clustered.low <= plain.low + 1e-12
    assert plain.high <= clustered.high + 1e-12


@settings(deadline=None)
@given(outcomes)
def test_empty_clusters_change_nothing(clusters: list[list[bool]]) -> None:
    assert clustered_wilson([[], *clusters, []]) == clustered_wilson(clusters)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_repeats_that_agree_count_as_one_question(size: int) -> None:
    """G/(G-1) x size before the cap; so n / design effect is the number of questions."""
    clusters = [[question % 3 == 0] * size for question in range(60)]
    assert design_effect(clusters) == size
    assert clustered_wilson(clusters) == pytest.approx(wilson(20, 60))


def test_design_effect_by_hand() -> None:
    """Rate 1/2, residuals 1, 0, 0, -1: 4/3 x 2/64 = 1/24, over (1/4)/8 = 1/32."""
    clusters = [[True, True], [True, False], [False, True], [False, False]]
    assert design_effect(clusters) == pytest.approx(4 / 3)
    assert clustered_wilson(clusters) == pytest.approx(wilson(3, 6))


@pytest.mark.parametrize("value", [True, False])
def test_where_all_outcomes_are_equal_repeats_are_no_new_questions(value: bool) -> None:
    assert clustered_wilson([[value] * 4] * 10) == wilson(10 * value, 10)
    assert design_effect([[value, not value, value]]) == 3, "one question"


def simulate(seed: int, questions: int, repeats: int, agree: float) -> list[list[bool]]:
    """Outcomes at a rate of 0.8; a repeat copies its question's outcome with chance `agree`."""
    rng = random.Random(seed)
    clusters = []
    for _ in range(questions):
        usual = rng.random() < 0.8
        clusters.append(
            [usual if rng.random() < agree else rng.random() < 0.8 for _ in range(repeats)]
        )
    return clusters


def test_design_effect_of_independent_repeats_is_about_one() -> None:
    effects = [design_effect(simulate(seed, 200, 5, agree=0)) for seed in range(40)]
    assert max(effects) < 1.4
    assert sum(effects) / len(effects) < 1.1


def test_design_effect_finds_the_correlation() -> None:
    """1 + (m - 1) rho, with rho = 0.9² between the repeats of a question."""
    effects = [design_effect(simulate(seed, 200, 5, agree=0.9)) for seed in range(40)]
    assert sum(effects) / len(effects) == pytest.approx(1 + 4 * 0.81, rel=0.05)


def test_clustered_interval_covers_the_true_rate_and_the_plain_one_does_not() -> None:
    runs = 600
    clustered = plain = 0
    for seed in range(runs):
        clusters = simulate(seed, 60, 5, agree=0.95)
        of_questions = clustered_wilson(clusters)
        of_turns = wilson(sum(map(sum, clusters)), 300)
        assert of_questions is not None
        assert of_turns is not None
        clustered += of_questions.low <= 0.8 <= of_questions.high
        plain += of_turns.low <= 0.8 <= of_turns.high
    assert clustered / runs >= 0.93
    assert plain / runs < 0.75

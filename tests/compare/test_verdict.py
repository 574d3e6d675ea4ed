"""Verdicts, by cases computed by hand and with the article's counts."""

from __future__ import annotations

import pytest
from compare.arms import arm, rates, table
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.compare.pairing import pair
from ragevalkit.compare.result import MetricResult
from ragevalkit.compare.verdict import DEFAULT_MARGINS, compare_metrics, judge
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.stats import Interval

JUDGED = [name for name, metric in METRICS.items() if not metric.descriptive]


@pytest.mark.parametrize(
    ("adjusted", "one_sided", "higher", "lower"),
    [
        ((0.01, 0.09), (0.02, 0.08), "better", "worse"),
        ((-0.09, -0.01), (-0.08, -0.02), "worse", "better"),
        ((-0.06, 0.06), (-0.04, 0.04), "no_worse", "no_worse"),
        ((-0.06, 0.06), (-0.05, 0.04), "inconclusive", "no_worse"),
        ((-0.02, 0.09), (-0.01, 0.08), "no_worse", "inconclusive"),
        ((-0.20, 0.20), (-0.16, 0.16), "inconclusive", "inconclusive"),
        ((-0.04, -0.01), (-0.035, -0.015), "no_worse", "better"),
        ((0.0, 0.10), (0.01, 0.09), "no_worse", "inconclusive"),
        (None, (-0.04, 0.04), "no_worse", "no_worse"),
        ((-0.02, 0.02), None, "inconclusive", "inconclusive"),
    ],
)
def test_the_order_of_verdicts(
    adjusted: tuple[float, float] | None,
    one_sided: tuple[float, float] | None,
    higher: str,
    lower: str,
) -> None:
    """For a metric where higher is better, and for one where lower is; the margin is 5 points."""
    intervals = [Interval(*ends) if ends else None for ends in (adjusted, one_sided)]
    assert judge(*intervals, 0.05, True)[0] == higher
    assert judge(*intervals, 0.05, False)[0] == lower


def test_a_small_loss_inside_the_margin_is_said() -> None:
    assert judge(Interval(-0.04, -0.01), Interval(-0.03, -0.02), 0.05) == ("no_worse", True)
    assert judge(Interval(0.01, 0.04), Interval(0.02, 0.03), 0.05, False) == ("no_worse", True)
    assert judge(Interval(-0.04, 0.01), Interval(-0.03, 0.005), 0.05) == ("no_worse", False)


def only(metric: str, n: int, both: int, a_only: int, b_only: int) -> MetricResult:
    return compare_metrics(rates(metric, n, both, a_only, b_only), DEFAULT_MARGINS)[metric]


def test_the_articles_refusals_tell_nothing() -> None:
    """38 against 40 of 46: from no overlap of the changes to the most that is likely."""
    nested = only("refused_correctly", 46, 38, 0, 2)
    crossed = only("refused_correctly", 46, 35, 3, 5)
    for result in (nested, crossed):
        assert (result.a.k, result.b.k, result.a.n) == (38, 40, 46)
        assert result.difference == pytest.approx(2 / 46)
        assert result.method, result.test == ("tango", "mcnemar_exact")
    assert (nested.flips.a_only, nested.flips.b_only) == (0, 2)
    assert (nested.low, nested.high) == pytest.approx((-0.037, 0.145), abs=5e-4)
    assert (crossed.low, crossed.high) == pytest.approx((-0.089, 0.180), abs=5e-4)
    assert nested.p == pytest.approx(0.5)
    assert crossed.p == pytest.approx(0.7266, abs=1e-4)
    assert crossed.verdict == "inconclusive"
    assert crossed.detectable == pytest.approx(0.229, abs=5e-3)
    assert nested.detectable is None, "so few changes can't tell anything, whichever way they go"
    assert crossed.more_questions is not None


def test_the_articles_defects_differ_only_if_they_lie_on_the_same_turns() -> None:
    """13 against 27 of 116 turns: 14 more, or 13 that went and 27 that came."""
    nested = only("turns_with_defect", 116, 13, 0, 14)
    disjoint = only("turns_with_defect", 116, 0, 13, 27)
    assert nested.p == pytest.approx(0.000122, abs=1e-6)
    assert disjoint.p == pytest.approx(0.0385, abs=1e-4)
    assert nested.verdict == "worse"
    assert (nested.a.k, nested.b.k) == (disjoint.a.k, disjoint.b.k) == (13, 27)


def test_holm_counts_the_metrics_that_have_a_verdict() -> None:
    """A difference that stands alone needs a wider interval beside nine other metrics."""
    a, b = table(116, 0, 13, 27)
    alone = compare_metrics(
        pair(arm({"turns_with_defect": list(a)}), arm({"turns_with_defect": list(b)})),
        DEFAULT_MARGINS,
    )
    columns_a = {name: list(a) for name in JUDGED} | {"cited_given_retrieved": list(a)}
    columns_b = columns_a | {"turns_with_defect": list(b)}
    among = compare_metrics(pair(arm(columns_a), arm(columns_b)), DEFAULT_MARGINS)
    assert alone["turns_with_defect"].verdict == "worse"
    assert alone["turns_with_defect"].adjusted is not None
    assert alone["turns_with_defect"].adjusted.level == pytest.approx(0.95)
    result = among["turns_with_defect"]
    assert result.verdict == "inconclusive"
    assert result.adjusted is not None
    assert result.adjusted.level == pytest.approx(1 - 0.05 / len(JUDGED))
    assert result.p_adjusted == pytest.approx(len(JUDGED) * 0.0385, abs=1e-3)
    assert (result.low, result.high) == (
        alone["turns_with_defect"].low,
        alone["turns_with_defect"].high,
    ), "the plain interval is the same"
    assert among["cited_given_retrieved"].verdict is None
    assert among["cited_given_retrieved"].p_adjusted is None


@pytest.mark.parametrize("metric", [n for n, m in METRICS.items() if m.descriptive])
def test_descriptive_metrics_get_no_verdict(metric: str) -> None:
    """They are over the pairs in which both sides define them."""
    a = arm({metric: [1.0, 0.0, 1.0, None, 1.0]})
    b = arm({metric: [0.0, 0.0, None, 1.0, 1.0]})
    result = compare_metrics(pair(a, b), DEFAULT_MARGINS)[metric]
    assert result.a.n == result.b.n == 3
    assert (result.verdict, result.margin, result.detectable) == (None, None, None)
    assert result.difference == pytest.approx(-1 / 3)


def test_a_metric_that_no_pair_defines_is_null_throughout() -> None:
    result = compare_metrics(
        pair(arm({"answered": [1.0]}), arm({"answered": [1.0]})), DEFAULT_MARGINS
    )
    of = result["refused_correctly"]
    assert of.a.model_dump() == {"k": 0, "n": 0, "value": None}
    assert (of.difference, of.low, of.p, of.verdict, of.detectable) == (None,) * 5


def test_repeats_make_the_question_the_unit() -> None:
    """40 questions asked 5 times: 200 turns, and no more than 40 questions' worth."""
    a, b = table(40, 20, 8, 2)
    turns_a = [value for value in a for _ in range(5)]
    turns_b = [value for value in b for _ in range(5)]
    pairs = pair(arm({"answered": turns_a}, repeats=5), arm({"answered": turns_b}, repeats=5))
    assert pairs.repeated
    repeated = compare_metrics(pairs, DEFAULT_MARGINS)["answered"]
    once = only("answered", 40, 20, 8, 2)
    assert (repeated.a.k, repeated.a.n, repeated.questions) == (140, 200, 40)
    assert (repeated.method, repeated.test) == ("cluster_bootstrap", "sign_flip")
    assert repeated.flips == once.flips
    assert repeated.difference == pytest.approx(once.difference)
    assert repeated.p == pytest.approx(once.p), "over whole flips they are the same test"
    assert repeated.low == pytest.approx(once.low, abs=0.03)


def test_a_flip_is_a_question_whose_mean_changed() -> None:
    a = arm({"answered": [1.0, 0.0, 1.0, 1.0, 0.0, 0.0]}, repeats=2)
    b = arm({"answered": [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]}, repeats=2)
    result = compare_metrics(pair(a, b), DEFAULT_MARGINS)["answered"]
    assert result.flips.model_dump() == {"a_only": 1, "b_only": 1}


def test_the_value_is_the_mean_of_the_questions_means() -> None:
    """So that the difference is that of the two values, also where a turn was lost."""
    a = arm({"answered": [1.0, 1.0, 0.0, None]}, repeats=2)
    b = arm({"answered": [1.0, 0.0, 1.0, 1.0]}, repeats=2)
    result = compare_metrics(pair(a, b), DEFAULT_MARGINS)["answered"]
    assert (result.a.k, result.a.n) == (2, 3)
    assert (result.a.value, result.b.value) == (0.5, 0.75)
    assert result.difference == 0.25


def test_no_change_at_all_is_no_certainty() -> None:
    """Ten questions without a flip can't show that fewer than 5 in 100 are lost."""
    for repeats in (1, 4):
        turns = [1.0] * 10 * repeats
        side = arm({"answered": turns}, repeats=repeats)
        few = compare_metrics(pair(side, side), DEFAULT_MARGINS)["answered"]
        assert few.verdict == "inconclusive"
        turns = [1.0] * 116 * repeats
        side = arm({"answered": turns}, repeats=repeats)
        many = compare_metrics(pair(side, side), DEFAULT_MARGINS)["answered"]
        assert many.verdict == "no_worse"
        assert many.low is not None
        assert many.low < 0


@given(
    st.sampled_from(JUDGED),
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60),
)
def test_swapping_the_sides_turns_all_signs(metric: str, values: list[tuple[bool, bool]]) -> None:
    a = arm({metric: [float(one) for one, _ in values]})
    b = arm({metric: [float(other) for _, other in values]})
    forth = compare_metrics(pair(a, b), DEFAULT_MARGINS)[metric]
    back = compare_metrics(pair(b, a), DEFAULT_MARGINS)[metric]
    assert forth.difference is not None
    assert back.difference == pytest.approx(-forth.difference)
    assert (forth.flips.a_only, forth.flips.b_only) == (back.flips.b_only, back.flips.a_only)
    assert forth.p == pytest.approx(back.p)
    assert (forth.a, forth.b) == (back.b, back.a)
    if not METRICS[metric].is_mean:
        assert forth.low is not None
        assert forth.low == pytest.approx(-(back.high or 0.0))
        lost = {"worse", "no_worse"}
        assert (forth.verdict == "better") == (back.verdict == "worse" or back.small_loss)
        assert back.verdict in lost or forth.verdict != "better"
        assert forth.detectable == back.detectable


@given(st.integers(1, 300), st.data())
def test_a_verdict_agrees_with_its_interval(n: int, data: st.DataObject) -> None:
    a_only = data.draw(st.integers(0, n))
    b_only = data.draw(st.integers(0, n - a_only))
    result = only("answered", n, n - a_only - b_only, a_only, b_only)
    assert result.adjusted is not None
    assert result.one_sided is not None
    if result.verdict == "better":
        assert result.adjusted.low > 0
    elif result.verdict == "worse":
        assert result.adjusted.high < 0
        assert result.one_sided.low <= -0.05
    elif result.verdict == "no_worse":
        assert result.one_sided.low > -0.05
    else:
        assert result.one_sided.low <= -0.05
        assert result.adjusted.low <= 0 <= result.adjusted.high
        assert result.more_questions is not None
        assert result.more_questions >= 1

"""Where things lie: axes, distributions, orientations."""

from __future__ import annotations

import math
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.charts import results
from report.charts.svgs import parsed

from ragevalkit.report.charts import comparison as compared
from ragevalkit.report.charts.axes import (
    Axis,
    at_values,
    from_zero,
    linear,
    logarithmic,
    number_tick,
    time_tick,
)
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.gaps import GapCounts
from ragevalkit.report.charts.run import metric_intervals
from ragevalkit.report.charts.times import first_tokens
from ragevalkit.stats import percentiles

SIZES = st.floats(1e-4, 1e9)


def holds(axis: Axis, values: list[float]) -> bool:
    within = all(
        axis.low <= value * (1 + 1e-9) and value <= axis.high * (1 + 1e-9) for value in values
    )
    return within and 2 <= len(axis.ticks) <= 60 and list(axis.ticks) == sorted(set(axis.ticks))


@given(st.lists(SIZES | SIZES.map(lambda v: -v) | st.just(0.0), max_size=5))
def test_a_linear_axis_holds_its_values_and_ends_at_ticks(values: list[float]) -> None:
    axis = linear("t", values, number_tick, strong=0)
    above = [abs(v) for v in (axis.low, axis.high)]
    assert all(axis.low - 1e-6 * max(above) <= v <= axis.high + 1e-6 * max(above) for v in values)
    assert (axis.ticks[0], axis.ticks[-1]) == (axis.low, axis.high)
    assert 2 <= len(axis.ticks) <= 8
    assert axis.low <= 0 <= axis.high


@given(st.lists(SIZES, max_size=5))
def test_a_logarithmic_axis_holds_its_values_and_ends_at_ticks(values: list[float]) -> None:
    axis = logarithmic("t", values, time_tick)
    assert holds(axis, values)
    assert (axis.ticks[0], axis.ticks[-1]) == (axis.low, axis.high)


@given(st.lists(st.floats(0, 1e7), max_size=5))
def test_an_axis_from_zero_holds_its_values(values: list[float]) -> None:
    assert holds(from_zero("t", values, number_tick), values)


def test_an_axis_may_have_one_value() -> None:
    axis = at_values("streams", [8, 8], number_tick)
    assert list(axis.ticks) == [8]
    assert axis.low < 8 < axis.high


@given(st.sampled_from([linear, logarithmic]), st.lists(SIZES, min_size=2, max_size=5))
def test_a_value_has_its_share_of_the_axis(make: object, values: list[float]) -> None:
    assert callable(make)
    axis = make("t", values, number_tick)
    shares = [axis.share(value) for value in sorted(values)]
    assert shares == sorted(shares)
    assert (axis.share(axis.low), axis.share(axis.high)) == (0, 1)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (-20, "−20"),
        (0.25, "0.25"),
        (1024, "1,024"),
        (16387, "16.4k"),
        (100_000, "100k"),
        (math.inf, "–"),
    ],
)
def test_ticks_are_short(value: float, written: str) -> None:
    assert number_tick(value) == written


@given(
    st.lists(st.just(0.0) | st.floats(0.002, 1e6), max_size=400),
    st.sampled_from([50, 90, 99]),
)
def test_percentiles_of_counted_gaps_are_right_to_the_next_value(
    values: list[float], percent: int
) -> None:
    """To half a percent of a value beside the percentile: between two it may be either."""
    of = GapCounts()
    for begin in range(0, len(values), 7):
        of.add(values[begin : begin + 7])
    assert (of.n, of.zeros) == (len(values), values.count(0))
    exact = getattr(percentiles(values), f"p{percent}")
    found = of.percentile(percent)
    assert (found is None) is (exact is None)
    if found is not None:
        ordered = sorted(values)
        place = (len(ordered) - 1) * percent / 100
        below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
        assert 0.993 * below <= found <= 1.007 * above


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=50))
def test_drawn_bins_hold_all_gaps(values: list[float]) -> None:
    of = GapCounts()
    of.add(values)
    bins = of.bins()
    assert sum(share for _, share in bins) == pytest.approx(1)
    assert bins[0][0] <= min(values) * 1.001
    assert bins[-1][0] >= max(values) * 0.999
    assert bins[-1][1] == 0


def across(chart: Chart | None, shape: str) -> list[float]:
    """Places from left to right of the points, in the order of the rows."""
    assert chart is not None
    found = []
    for path in parsed(chart.svg).iter("path"):
        at = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", path.get("transform", ""))
        if at and path.get("stroke") == shape:
            found.append((float(at[2]), float(at[1])))
    return [x for _, x in sorted(found)]


def test_a_higher_rate_lies_further_right() -> None:
    places = across(metric_intervals(results.summary(answered=70, searched_first=35)), A)
    answered, searched_first, evidence_retrieved = places[:3]
    assert searched_first < evidence_retrieved < answered


A, B = "var(--chart-1)", "var(--chart-2)"


def test_right_is_better_for_b_whatever_the_metric() -> None:
    """cited_correct_page rose, refused_correctly fell, over_refused rose, which is worse."""
    metrics = {
        "answered": results.metric_result(0.0, "no_worse"),
        "cited_correct_page": results.metric_result(0.03, "no_worse"),
        "over_refused": results.metric_result(0.2, "worse"),
        "turns_with_defect": results.metric_result(-0.1, "better"),
    }
    same, more, refused, fewer = across(
        compared.differences(results.comparison(metrics=metrics)), A
    )
    assert refused < same < more < fewer


def test_right_is_faster() -> None:
    """first token and whole turn take longer on b, a token takes less."""
    first, turn, token = across(compared.time_differences(results.comparison()), A)
    assert turn < first < token


def curve_tops(chart: Chart | None) -> dict[str, float]:
    """The highest point, in pixels from the top, of each curve."""
    assert chart is not None
    tops = {}
    for path in parsed(chart.svg).iter("path"):
        shape = path.get("d", "")
        if path.get("fill") is None and path.get("stroke") in (A, B) and "Z" not in shape:
            ys = [float(y) for y in re.findall(r",(-?[\d.]+)", shape)]
            tops.setdefault(str(path.get("stroke")), min(ys))
    return tops


def test_a_token_that_never_came_keeps_its_curve_below_the_top() -> None:
    drawn = random.Random(2)
    ttft: list[float | None] = [drawn.uniform(90, 110) for _ in range(300)]
    answers = [drawn.uniform(9e3, 2e4) if n % 4 else None for n in range(300)]
    chart = first_tokens(ttft, answers)
    tops = curve_tops(chart)
    assert tops[A] == 0
    assert tops[B] == pytest.approx(50, abs=1), "a quarter of 200 pixels"
    assert chart is not None
    assert "never in 75 of 300 turns" in chart.text


def test_a_median_that_never_came_is_said() -> None:
    chart = first_tokens([90.0, 91.0], [None, None])
    assert chart is not None
    assert "first answer token: no median, never in 2 of 2 turns" in chart.text

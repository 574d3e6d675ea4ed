"""Every chart: safe, small, named, and the same numbers in words."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from report.charts import bench_results, results
from report.charts.svgs import parsed, words
from report.charts.test_svg import HOSTILE

from ragevalkit.report.charts import comparison as compared
from ragevalkit.report.charts.budget import budget_charts, curve_charts
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.gaps import GapCounts, gaps
from ragevalkit.report.charts.guided import guided_charts
from ragevalkit.report.charts.rates import calibration_charts, stream_charts, sweep_charts
from ragevalkit.report.charts.run import defect_counts, metric_intervals, outcome_matrix
from ragevalkit.report.charts.times import composition, first_tokens

PARTS = {"wait": 1100.0, "reasoning": 6100.0, "tool_arguments": 0.0, "answer": 1500.0, "tools": 9.0}


def counted_gaps(n: int = 2000) -> dict[str, GapCounts]:
    drawn = random.Random(1)
    channels = {"reasoning": GapCounts(), "answer": GapCounts(), "tool arguments": GapCounts()}
    channels["reasoning"].add([drawn.lognormvariate(2, 0.2) for _ in range(n)])
    channels["answer"].add([0.0, 9.5, 300.0])
    return channels


def run_charts() -> list[Chart | None]:
    drawn = random.Random(1)
    ttft = [drawn.lognormvariate(4.6, 0.2) for _ in range(2000)]
    answers = [drawn.lognormvariate(9.8, 0.4) if n % 10 else None for n in range(2000)]
    of = results.summary(HOSTILE)
    return [
        metric_intervals(of),
        outcome_matrix(of),
        defect_counts(of),
        first_tokens(ttft, answers),
        gaps(counted_gaps()),
        composition(PARTS),
    ]


def comparison_charts(a: str = HOSTILE, b: str = HOSTILE) -> list[Chart | None]:
    of = results.comparison(a, b)
    return [
        compared.differences(of),
        compared.both_sides(results.summary(a), results.summary(b, answered=40)),
        compared.flips(of),
        compared.time_differences(of),
        compared.both_compositions(of),
    ]


def bench_charts() -> list[Chart]:
    return [
        *guided_charts(bench_results.guided(HOSTILE)),
        *budget_charts(bench_results.budget(HOSTILE)),
        *curve_charts(bench_results.curve()),
        *sweep_charts(bench_results.sweep()),
        *stream_charts(bench_results.stream((HOSTILE, f"{HOSTILE}2", "c", "d", "e"))),
        *calibration_charts(bench_results.calibration()),
    ]


@pytest.fixture(scope="module")
def charts() -> list[Chart]:
    drawn = [*run_charts(), *comparison_charts(), *bench_charts()]
    found = [chart for chart in drawn if chart is not None]
    assert len(found) == len(drawn) == 29
    return found


def test_every_chart_is_safe_named_and_small(charts: list[Chart]) -> None:
    for chart in charts:
        assert parsed(chart.svg).get("aria-label")
        assert chart.title
        assert chart.text.endswith(".")
        assert any(digit in chart.text for digit in "123456789")
        assert all(note.endswith(".") for note in chart.notes)
        assert len(chart.svg) < 20_000, chart.title


def test_no_chart_reaches_out_of_the_page_or_styles_itself(charts: list[Chart]) -> None:
    never = ("style", "<script", "http", "url(", "class=", "font-family")
    for chart in charts:
        assert not [word for word in never if word in chart.svg], chart.title


def test_the_charts_of_a_run_are_under_150_kb_together() -> None:
    assert sum(len(chart.svg) for chart in run_charts() if chart) < 150_000


@pytest.mark.parametrize(
    ("draw", "seen"),
    [
        (
            lambda: metric_intervals(results.summary(answered=70, over_refused=2)),
            ["answered", "over_refused ↓", "70/70", "2/70", "citation_recall", "0.200", "–"],
        ),
        (
            lambda: outcome_matrix(results.summary()),
            ["answerable (70)", "✓ 61 · 87.1 %", "8 · 17.4 %", "✓ 38 · 82.6 %", "0", "hedge"],
        ),
        (
            lambda: defect_counts(results.summary()),
            ["answer:should_have_declined", "8", "turns, of 116"],
        ),
        (
            lambda: first_tokens([97.0], [18_000.0]),
            ["97 ms", "18 s", "first token", "first answer token"],
        ),
        (lambda: composition(PARTS), ["1,100 ms, 13 %", "6,100 ms, 70 %", "9 ms, <1 %", "4 s"]),
        (
            lambda: compared.differences(results.comparison()),
            ["no_worse", "inconclusive", "worse", "better", "over_refused ↓", "b is better →"],
        ),
        (
            lambda: compared.both_sides(results.summary("bf16"), results.summary("nvfp4")),
            ["a: bf16", "b: nvfp4", "malformed_calls ↓"],
        ),
        (lambda: compared.flips(results.comparison()), ["0 : 2", "2 : 0", "12 : 1", "won on b →"]),
        (
            lambda: compared.time_differences(results.comparison()),
            ["first token", "+35 ms", "whole turn", "+6.2 s", "−4.7 ms", "b is faster →"],
        ),
        (
            lambda: compared.both_compositions(results.comparison()),
            ["900 ms : 1.5 s", "2.5 s : 6.2 s", "reasoning"],
        ),
    ],
)
def test_what_stands_in_a_chart(draw: Callable[[], Chart | None], seen: list[str]) -> None:
    chart = draw()
    assert chart is not None
    shown = words(chart.svg)
    assert not set(seen) - set(shown)


def by_title(charts: list[Chart]) -> dict[str, list[str]]:
    return {chart.title: words(chart.svg) for chart in charts}


def test_what_stands_in_the_charts_of_benches() -> None:
    guided = by_title(guided_charts(bench_results.guided()))
    first = guided["First-token time: what each part costs"]
    verdicts = {"costs", "equivalent", "inconclusive", "not engaged"}
    assert verdicts | {"T1-P", "tool parser", "server's clock"} <= set(first)
    assert {"1", "2", "8", "32"} <= set(guided["First-token time by number of tools"])
    ladder = by_title(budget_charts(bench_results.budget()))
    assert ladder["Tokens by output budget"].count("0/3 answer") == 3
    assert ladder["First tokens by output budget"].count("3/3 never") == 3
    assert "thinking 0" in ladder["Tokens by thinking control"]
    sweep = by_title(sweep_charts(bench_results.sweep()))
    assert "knee: 8" in sweep["Rates by number of streams"]
    assert "over 2 times the first" in sweep["First token by number of streams"]
    stream = by_title(stream_charts(bench_results.stream()))
    assert {"spark", "h200"} <= set(stream["Decode rate by output length"])
    assert {"h200, decode", "faster", "inconclusive"} <= set(stream["As fast as spark"])


def links_of(chart: Chart | None) -> list[str]:
    assert chart is not None
    return [link.get("href", "") for link in parsed(chart.svg).iter("a")]


def test_charts_lead_to_the_turns_behind_them() -> None:
    of = results.summary()
    assert links_of(outcome_matrix(of)) == [
        "#turns?outcome=answer&answerable=1",
        "#turns?outcome=answer&answerable=0",
        "#turns?outcome=decline&answerable=1",
        "#turns?outcome=decline&answerable=0",
        "#turns?outcome=hedge&answerable=1",
    ], "only cells with turns in them"
    assert links_of(defect_counts(of)) == [
        "#turns?defect=answer%3Ashould_have_declined",
        "#turns?defect=refusal%3Ashould_have_answered",
    ]
    assert "#turns?metric=answered" in links_of(metric_intervals(of))
    assert links_of(compared.flips(results.comparison())) == [
        f"#turns?metric={name}&flipped=1"
        for name in ("cited_correct_page", "refused_correctly", "over_refused", "defects_per_turn")
    ]


def test_what_there_is_nothing_to_draw_of_has_no_chart() -> None:
    of = results.comparison()
    assert of.timing is not None
    apart = of.timing.model_copy(update={"compared": False, "why_not": "concurrency"})
    none = results.comparison(timing=apart, metrics={})
    empty = bench_results.guided().model_copy(update={"contrasts": {}, "tool_counts": []})
    nothing = [
        defect_counts(results.summary().model_copy(update={"defects": {}})),
        first_tokens([], []),
        first_tokens([None, None], [None, None]),
        gaps({"answer": GapCounts()}),
        composition({}),
        composition({"wait": 0.0}),
        compared.differences(none),
        compared.flips(none),
        compared.time_differences(none),
        compared.both_compositions(none),
        compared.time_differences(results.comparison(timing=None)),
        *guided_charts(empty),
        *stream_charts(bench_results.stream().model_copy(update={"arms": {}, "gains": []})),
        *sweep_charts(bench_results.sweep().model_copy(update={"lengths": [], "concurrency": []})),
        *budget_charts(bench_results.budget().model_copy(update={"budgets": [], "controls": []})),
        *curve_charts(bench_results.curve().model_copy(update={"points": []})),
        *calibration_charts(bench_results.calibration().model_copy(update={"loads": []})),
    ]
    assert not any(nothing)

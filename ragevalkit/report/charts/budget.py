"""Charts of `bench budget`.

Public: `budget_charts`, `curve_charts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragevalkit.report.charts.axes import (
    at_values,
    from_zero,
    linear,
    logarithmic,
    number_tick,
    time_tick,
)
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.curves import Series, draw_curves, share_point
from ragevalkit.report.charts.layers import Key, Look
from ragevalkit.report.charts.rows import Mark, Row, draw_rows
from ragevalkit.report.numbers import MISSING, milliseconds, percent, rate

if TYPE_CHECKING:
    from ragevalkit.bench.budget.curve import Curve
    from ragevalkit.bench.budget.result import BudgetResult, Rung
    from ragevalkit.scoring.summary import Rate


def budget_charts(result: BudgetResult) -> list[Chart]:
    """The ladder of budgets: tokens and times of every run; the same over thinking controls."""
    ladder = [(f"{rung.budget:,}", rung) for rung in result.budgets if rung.runs]
    controls = [(rung.control, rung) for rung in result.controls if rung.runs]
    drawn = [
        _tokens("Tokens by output budget", ladder, budgets=True),
        _times("First tokens by output budget", ladder),
        _tokens("Tokens by thinking control", controls),
        _times("First tokens by thinking control", controls),
    ]
    return [chart for chart in drawn if chart is not None]


def _tokens(
    title: str, rungs: Sequence[tuple[str, Rung]], *, budgets: bool = False
) -> Chart | None:
    """What reasoning and answer took: a pair of lines a rung, a point a run."""
    known = [n for _, of in rungs for n in (*of.reasoning_tokens, *of.answer_tokens)]
    counts = [float(n) for n in known if n is not None]
    if not counts:
        return None
    limits = [float(of.budget) for _, of in rungs] if budgets else []
    rows = [
        Row(
            label,
            [_points(of.reasoning_tokens, "a"), _points(of.answer_tokens, "b")],
            f"{of.answered}/{of.runs} answer",
            says=f"{label}: {rate(of.answered, of.runs)} runs answer; reasoning tokens "
            f"{_listed(of.reasoning_tokens)}, answer tokens {_listed(of.answer_tokens)}",
            band=(of.budget, of.budget) if budgets else None,
        )
        for label, of in rungs
    ]
    axis = from_zero("tokens, a point each run", (*counts, *limits), number_tick)
    keys = [Key("a", "reasoning tokens"), Key("b", "answer tokens")]
    notes = ["The dashed line is the budget."] if budgets else []
    text = "; ".join(row.says for row in rows) + "."
    return Chart(title, draw_rows(rows, axis, title, keys=keys), text, notes)


def _times(title: str, rungs: Sequence[tuple[str, Rung]]) -> Chart | None:
    known = [ms for _, of in rungs for ms in (*of.ttft_ms, *of.first_answer_ms)]
    times = [ms for ms in known if ms is not None]
    if not times:
        return None
    rows = [
        Row(
            label,
            [_points(of.ttft_ms, "a"), _points(of.first_answer_ms, "b")],
            _never(of),
            says=f"{label}: first token {_times_of(of.ttft_ms)}, first answer token "
            f"{_times_of(of.first_answer_ms)}",
        )
        for label, of in rungs
    ]
    axis = logarithmic("a point each run", times, time_tick)
    keys = [Key("a", "first token"), Key("b", "first answer token")]
    notes = (
        ["On the right: in how many runs no answer token came."]
        if any(r.word for r in rows)
        else []
    )
    text = "; ".join(row.says for row in rows) + "."
    return Chart(title, draw_rows(rows, axis, title, keys=keys), text, notes)


def _points(values: Sequence[float | None], look: Look) -> Mark:
    known = sorted(value for value in values if value is not None)
    return Mark(known[0] if known else None, look=look, others=known[1:])


def _never(of: Rung) -> str:
    never = sum(ms is None for ms in of.first_answer_ms)
    return f"{never}/{of.runs} never" if never else ""


def _listed(counts: Sequence[int | None]) -> str:
    return ", ".join(MISSING if n is None else f"{n:,}" for n in counts)


def _times_of(times: Sequence[float | None]) -> str:
    return ", ".join("never" if ms is None else milliseconds(ms) for ms in times)


def curve_charts(curve: Curve) -> list[Chart]:
    """Quality against output budget."""
    if len({point.budget for point in curve.points}) < 2:
        return []
    found: list[tuple[str, Look, list[tuple[int, Rate]]]] = [
        ("correct", "a", [(p.budget, p.correct) for p in curve.points]),
        ("refused correctly", "b", [(p.budget, p.refused_correctly) for p in curve.points]),
    ]
    series = [
        Series(
            name, look, [share_point(budget, of) for budget, of in rates if of.value is not None]
        )
        for name, look, rates in found
    ]
    x = at_values("output budget, tokens", [p.budget for p in curve.points], number_tick)
    y = linear("% of the questions it is over, 95 % interval", (0, 100), number_tick)
    title = "Quality against output budget"
    text = "; ".join(
        f"{p.budget:,}: correct {percent(p.correct.value)}, refused correctly "
        f"{percent(p.refused_correctly.value)}"
        for p in curve.points
    )
    shown = [of for of in series if of.points]
    return [Chart(title, draw_curves(shown, x, y, title), f"{text}.")]

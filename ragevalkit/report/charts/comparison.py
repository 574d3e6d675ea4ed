"""Charts of a comparison: differences with their verdicts, both sides, flips, times.

Public: `differences`, `both_sides`, `flips`, `time_differences`, `both_compositions`.

Right is always better for b.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragevalkit.report.charts import links
from ragevalkit.report.charts.axes import linear, number_tick, time_tick
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.drawing import BAD
from ragevalkit.report.charts.layers import Key
from ragevalkit.report.charts.rows import Bar, Mark, Row, draw_rows
from ragevalkit.report.charts.run import SHARE_AXIS, counts_defects, hundredfold
from ragevalkit.report.comparison import CLOCKS, arrow
from ragevalkit.report.differences import between, points, points_between, signed
from ragevalkit.report.numbers import interval, mean, milliseconds, percent, rate

if TYPE_CHECKING:
    from ragevalkit.compare.result import Bounds, ClockResult, Comparison, MetricResult
    from ragevalkit.scoring.summary import Rate, Summary

_ENDS = ("← b is worse", "b is better →")


def differences(of: Comparison) -> Chart | None:
    """The difference of each metric with the intervals that decide, its margin, and the verdict.

    The article's Figure 9 as it should be. None where no metric has a verdict.
    """
    judged = {name: m for name, m in of.metrics.items() if m.verdict is not None}
    if not judged:
        return None
    rows = [_difference_row(name, metric) for name, metric in judged.items()]
    axis = linear("points, in b's favour", _reached(rows), number_tick, strong=0)
    title = "Differences, with margins and verdicts"
    notes = [
        "Thick: the 90 % interval; where it begins right of the dashed margin, b is no worse. "
        "Thin: the 95 % interval, adjusted by Holm; where it is clear of 0, b is better or worse.",
        "Metrics with ↓ are turned round, as lower is better. Of defects_per_turn: defects in 100 "
        "turns.",
    ]
    text = "; ".join(_difference_says(name, metric) for name, metric in judged.items()) + "."
    return Chart(title, draw_rows(rows, axis, title, ends=_ENDS), text, notes)


def _difference_row(name: str, metric: MetricResult) -> Row:
    sign = 100 if _higher_is_better(name) else -100
    decides = metric.adjusted
    outer = (decides.low, decides.high) if decides else (metric.low, metric.high)
    low, high = _turned(*outer, sign)
    mark = Mark(
        None if metric.difference is None else sign * metric.difference,
        low,
        high,
        core=_core(metric.one_sided, sign),
    )
    return Row(
        _arrowed(name),
        [mark],
        str(metric.verdict),
        links.turns(metric=name, flipped=1),
        _difference_says(name, metric),
        band=None if metric.margin is None else (-100 * metric.margin, 0),
    )


def _core(bounds: Bounds | None, sign: float) -> tuple[float, float] | None:
    if bounds is None:
        return None
    low, high = sorted((sign * bounds.low, sign * bounds.high))
    return low, high


def _turned(
    low: float | None, high: float | None, sign: float
) -> tuple[float, float] | tuple[None, None]:
    if low is None or high is None:
        return None, None
    first, second = sorted((sign * low, sign * high))
    return first, second


def _reached(rows: list[Row]) -> list[float]:
    """All values that the axis must hold."""
    marks = [mark for row in rows for mark in row.marks]
    ends = [end for mark in marks for end in (mark.at, mark.low, mark.high, *(mark.core or ()))]
    bands = [end for row in rows for end in row.band or ()]
    return [end for end in (*ends, *bands) if end is not None]


def _difference_says(name: str, metric: MetricResult) -> str:
    small_loss = ", with a small loss" if metric.small_loss else ""
    if counts_defects(name):
        change = signed(mean, metric.difference)
        reach = between(mean, metric.low, metric.high)
    else:
        change, reach = points(metric.difference), points_between(metric.low, metric.high)
    verdict = str(metric.verdict).replace("_", " ")
    return f"{name}: b − a {change} (95 % interval {reach}), {verdict}{small_loss}"


def _higher_is_better(name: str) -> bool:
    from ragevalkit.scoring.metrics import METRICS

    return METRICS[name].higher_is_better


def _arrowed(name: str) -> str:
    return f"{name}{arrow(name)}"


def both_sides(a: Summary, b: Summary) -> Chart:
    """The metrics of two runs that are shares, each with the interval of its own run."""
    shared = [
        name
        for name, of in a.metrics.items()
        if name in b.metrics and not counts_defects(name) and (of.n or b.metrics[name].n)
    ]
    rows = [
        Row(
            _arrowed(name),
            [_side(a.metrics[name], "a"), _side(b.metrics[name], "b")],
            link=links.turns(metric=name),
            says=_both_say(name, a.metrics[name], b.metrics[name]),
        )
        for name in shared
    ]
    title = "Both runs, metric by metric"
    keys = [Key("a", f"a: {a.run}"), Key("b", f"b: {b.run}")]
    notes = [
        "Each run over all its turns, with its own interval. Whether they differ is told by the "
        "pairs: two overlapping intervals may belong to a difference."
    ]
    text = "; ".join(row.says for row in rows) + "."
    return Chart(title, draw_rows(rows, SHARE_AXIS, title, keys=keys), text, notes)


def _side(of: Rate, look: str) -> Mark:
    value, low, high = map(hundredfold, (of.value, of.low, of.high))
    return Mark(value, low, high, look="a" if look == "a" else "b")


def _both_say(name: str, a: Rate, b: Rate) -> str:
    return f"{name}: a {_said(a)}, b {_said(b)}"


def _said(of: Rate) -> str:
    if of.value is None:
        return "undefined"
    counted = "" if of.k is None else f"{rate(of.k, of.n)}, "
    return f"{counted}{percent(of.value)} ({interval(of.low, of.high)})"


def flips(of: Comparison) -> Chart | None:
    """How many questions each metric lost and won between a and b; None where none did."""
    counts = {
        name: (m.flips.a_only, m.flips.b_only)
        if _higher_is_better(name)
        else (m.flips.b_only, m.flips.a_only)
        for name, m in of.metrics.items()
        if m.verdict is not None
    }
    flipped = {name: both for name, both in counts.items() if any(both)}
    if not flipped:
        return None
    rows = [
        Row(
            name,
            word=f"{lost} : {won}",
            link=links.turns(metric=name, flipped=1),
            says=f"{name}: {lost} lost on b, {won} won",
            bars=[Bar(0, -lost, BAD), Bar(0, won)],
        )
        for name, (lost, won) in flipped.items()
    ]
    ends = [end for lost, won in flipped.values() for end in (-lost, won)]
    axis = linear("questions", ends, lambda value: number_tick(abs(value)), strong=0)
    title = "Questions that flipped"
    text = "; ".join(row.says for row in rows) + "."
    notes = ["Questions whose mean changed from a to b; a verdict weighs both directions."]
    if still := [name for name in counts if name not in flipped]:
        notes.append(f"None flipped in {', '.join(still)}.")
    words = ("← lost on b", "won on b →")
    return Chart(title, draw_rows(rows, axis, title, ends=words), text, notes)


def time_differences(of: Comparison) -> Chart | None:
    """How much longer or shorter b took, in percent of a's median; None where times can't be
    compared."""
    timing = of.timing
    if timing is None or not timing.compared:
        return None
    rows = [
        _clock_row(*CLOCKS.get(name, (name, milliseconds)), clock)
        for name, clock in timing.clocks.items()
        if clock.difference is not None and clock.a.p50
    ]
    if not rows:
        return None
    axis = linear("b − a, % of a's median, 95 % interval", _reached(rows), _percent, strong=0)
    title = "Times of b against a"
    text = "; ".join(row.says for row in rows) + "."
    ends = ("← b is slower", "b is faster →")
    notes = ["Right is faster. The difference is the median over the questions."]
    return Chart(title, draw_rows(rows, axis.reversed(), title, ends=ends), text, notes)


def _clock_row(label: str, written: object, clock: ClockResult) -> Row:
    assert callable(written)
    base = clock.a.p50
    assert base
    values = (clock.difference, clock.low, clock.high)
    at, low, high = (None if value is None else 100 * value / base for value in values)
    change = signed(written, clock.difference)
    reach = between(written, clock.low, clock.high)
    says = (
        f"{label}: median a {written(clock.a.p50)}, b {written(clock.b.p50)}; "
        f"b − a {change} (95 % interval {reach})"
    )
    return Row(label, [Mark(at, low, high)], change, says=says)


def _percent(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number_tick(value)}"


def both_compositions(of: Comparison) -> Chart | None:
    """Mean time of each part of a turn on both sides; None where times can't be compared."""
    timing = of.timing
    if timing is None or not timing.compared:
        return None
    parts: Mapping[str, tuple[float, float]] = {
        part: (mean.a, mean.b)
        for part, mean in timing.composition.items()
        if mean.a is not None and mean.b is not None and (mean.a or mean.b)
    }
    if not parts:
        return None
    rows = [
        Row(
            part.replace("_", " "),
            [Mark(a, 0, a, look="a"), Mark(b, 0, b, look="b")],
            f"{time_tick(a)} : {time_tick(b)}",
        )
        for part, (a, b) in parts.items()
    ]
    axis = linear("a turn, mean", _reached(rows), time_tick)
    title = "Where a turn's time went, on both sides"
    keys = [Key("a", f"a: {of.a.run}"), Key("b", f"b: {of.b.run}")]
    text = "; ".join(
        f"{part.replace('_', ' ')}: a {milliseconds(a)}, b {milliseconds(b)}"
        for part, (a, b) in parts.items()
    )
    return Chart(title, draw_rows(rows, axis, title, keys=keys), f"{text}.")

"""Charts of a run's times: first tokens, and where a turn's time went.

Public: `first_tokens`, `composition`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragevalkit.report.charts.axes import linear, logarithmic, number_tick, time_tick
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.curves import Dot, Point, Series, draw_curves
from ragevalkit.report.charts.drawing import PART_COLORS, A
from ragevalkit.report.charts.layers import Look
from ragevalkit.report.charts.rows import Bar, Row, draw_rows
from ragevalkit.report.numbers import counted, milliseconds, seconds
from ragevalkit.stats import percentiles

_STEPS = 150
"""Points of a distribution's curve, at most."""


def first_tokens(
    ttft_ms: Sequence[float | None], first_answer_ms: Sequence[float | None]
) -> Chart | None:
    """When the first token of any kind came, and when the first of the answer did.

    The article's Figure 3, with all turns instead of one number. None where no token came.

    Args:
        ttft_ms: of each turn; None where it never came.
        first_answer_ms: from the turn's start.
    """
    came: list[tuple[str, Look, Sequence[float | None]]] = [
        ("first token", "a", ttft_ms),
        ("first answer token", "b", first_answer_ms),
    ]
    times = [ms for _, _, values in came for ms in values if ms is not None]
    if not times:
        return None
    x = logarithmic("since the request, of the answer since the turn began", times, time_tick)
    y = linear("% of turns in which it had come", (0, 100), number_tick)
    series = [Series(name, look, _steps(values, x.high), True) for name, look, values in came]
    dots, said = [], []
    for name, look, values in came:
        of = percentiles(values)
        median = "no median" if of.p50 is None else f"median {milliseconds(of.p50)}"
        never = f", never in {of.censored} of {counted(of.n, 'turn')}" if of.censored else ""
        said.append(f"{name}: {median}{never}")
        if of.p50 is not None:
            dots.append(Dot(of.p50, 50, look, milliseconds(of.p50)))
    title = "First token, and first token of the answer"
    notes = ["The points are medians."]
    if None in ttft_ms or None in first_answer_ms:
        notes.append("Where a curve stays below 100 %, the other turns never had such a token.")
    return Chart(title, draw_curves(series, x, y, title, dots=dots), "; ".join(said) + ".", notes)


def _steps(values: Sequence[float | None], end: float) -> list[Point]:
    """The share of all values that had come by a time, in percent."""
    came = sorted(value for value in values if value is not None)
    if not came:
        return []
    places = sorted({round(i * (len(came) - 1) / _STEPS) for i in range(_STEPS + 1)})
    steps = [Point(came[place], 100 * (place + 1) / len(values)) for place in places]
    return [Point(steps[0].x, 0), *steps, Point(end, steps[-1].y)]


def composition(parts: Mapping[str, float]) -> Chart | None:
    """Where the time of a median turn went, part after part: the article's Figure 10.

    None where it took no time.

    Args:
        parts: milliseconds of each part (`MedianTurn.parts_ms`).
    """
    whole = sum(parts.values())
    if whole <= 0:
        return None
    rows, begun = [], 0.0
    for part, ms in parts.items():
        if ms:
            bar = Bar(begun, begun + ms, PART_COLORS.get(part, A))
            rows.append(
                Row(_spaced(part), word=f"{milliseconds(ms)}, {_of(ms, whole)}", bars=[bar])
            )
        begun += ms
    axis = linear("all rounds together, one part after the other", (0, whole), time_tick)
    title = "Where a median turn's time went"
    text = ", ".join(f"{_spaced(part)} {milliseconds(ms)}" for part, ms in parts.items())
    return Chart(title, draw_rows(rows, axis, title), f"{seconds(whole / 1000)}: {text}.")


def _of(part: float, whole: float) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else "<1 %"


def _spaced(name: str) -> str:
    return name.replace("_", " ")

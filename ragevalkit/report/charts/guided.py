"""Charts of `bench guided`.

Public: `guided_charts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragevalkit.report.charts.axes import at_values, linear, number_tick, time_tick
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.curves import Point, Series, draw_curves, share_point
from ragevalkit.report.charts.layers import Key, Look
from ragevalkit.report.charts.rows import Mark, Row, draw_rows
from ragevalkit.report.differences import between, signed
from ragevalkit.report.numbers import counted, milliseconds, rate

if TYPE_CHECKING:
    from ragevalkit.bench.guided.estimate import Estimate
    from ragevalkit.bench.guided.result import ContrastResult, GuidedResult, ToolCount
    from ragevalkit.scoring.summary import Rate

_ENDS = ("← saves", "costs →")


def guided_charts(result: GuidedResult) -> list[Chart]:
    """What the arms' differences are, and what more tools cost."""
    drawn = [_first_token(result), _per_token(result), *_tool_counts(result.tool_counts)]
    return [chart for chart in drawn if chart is not None]


def _first_token(result: GuidedResult) -> Chart | None:
    """Contrasts of the first-token time, by the client's clock and the server's own."""
    contrasts = list(result.contrasts.items())
    if result.warm_prefix is not None:
        contrasts.append(("T1-P cached", result.warm_prefix))
    served = any(contrast.server_ttft_ms is not None for _, contrast in contrasts)
    rows = [_first_token_row(name, contrast, served) for name, contrast in contrasts]
    keys = [Key("value", "this client"), Key("c", "server's clock")] if served else []
    return _contrasts("First-token time: what each part costs", rows, keys)


def _first_token_row(name: str, contrast: ContrastResult, served: bool) -> Row:
    estimate, server = contrast.ttft_ms, contrast.server_ttft_ms
    marks = [_mark(estimate, "value")]
    if served:
        marks.append(_mark(server, "c") if server is not None else Mark(None, look="c"))
    return _row(name, contrast, estimate, marks)


def _per_token(result: GuidedResult) -> Chart | None:
    rows = [
        _row(name, contrast, contrast.gap_ms, [_mark(contrast.gap_ms, "value")])
        for name, contrast in result.contrasts.items()
    ]
    return _contrasts("Time per token, where outputs are the same", rows, [])


def _row(name: str, contrast: ContrastResult, estimate: Estimate, marks: list[Mark]) -> Row:
    reach = between(milliseconds, estimate.low, estimate.high)
    verdict = estimate.verdict.value.replace("_", " ")
    return Row(
        name,
        marks,
        verdict,
        says=f"{name}, {contrast.isolates}: {signed(milliseconds, estimate.median)} "
        f"(95 % interval {reach}), {verdict}",
        band=(-estimate.margin, estimate.margin),
        about=contrast.isolates,
    )


def _mark(estimate: Estimate, look: Look) -> Mark:
    return Mark(estimate.median, estimate.low, estimate.high, look=look)


def _contrasts(title: str, rows: list[Row], keys: Sequence[Key]) -> Chart | None:
    """None where no contrast has a number."""
    marks = [mark for row in rows for mark in row.marks]
    ends = [end for mark in marks for end in (mark.at, mark.low, mark.high) if end is not None]
    if not ends:
        return None
    bands = [end for row in rows for end in row.band or ()]
    axis = linear("ms, with the 95 % interval", (*ends, *bands), number_tick, strong=0)
    notes = ["Shaded: the margin, inside which a difference counts as none."]
    text = "; ".join(row.says for row in rows) + "."
    return Chart(title, draw_rows(rows, axis, title, ends=_ENDS, keys=keys), text, notes)


def _tool_counts(counts: Sequence[ToolCount]) -> Iterator[Chart]:
    """The first-token time and the calls by the number of tools."""
    run = [of for of in counts if of.status == "run"]
    costs = [(of.tools, of.ttft_ms) for of in run if of.ttft_ms.median is not None and of.tools]
    if len(costs) > 1:
        x = at_values("tools", [tools for tools, _ in costs], number_tick)
        points = [
            Point(tools, of.median, of.low, of.high) for tools, of in costs if of.median is not None
        ]
        values = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
        y = linear("first-token time over no tools", (0, *values), time_tick)
        title = "First-token time by number of tools"
        text = (
            "; ".join(f"{counted(int(p.x), 'tool')}: {signed(milliseconds, p.y)}" for p in points)
            + "."
        )
        yield Chart(title, draw_curves([Series("", "value", points)], x, y, title), text)
    called = [of for of in run if of.tools]
    if len(called) > 1 and any(of.called.n for of in called):
        yield _calls(called)


def _calls(counts: Sequence[ToolCount]) -> Chart:
    shares: list[tuple[str, Look, list[tuple[int, Rate]]]] = [
        ("called", "a", [(of.tools, of.called) for of in counts]),
        ("right tool", "b", [(of.tools, of.right_tool) for of in counts]),
        ("well-formed", "c", [(of.tools, of.well_formed) for of in counts]),
    ]
    series = [
        Series(name, look, [share_point(tools, of) for tools, of in found if of.value is not None])
        for name, look, found in shares
    ]
    x = at_values("tools", [of.tools for of in counts], number_tick)
    y = linear("% of replies, with the 95 % interval", (0, 100), number_tick)
    title = "Calls by number of tools"
    text = "; ".join(
        f"{counted(of.tools, 'tool')}: called {rate(of.called.k, of.called.n)}, right tool "
        f"{rate(of.right_tool.k, of.right_tool.n)}, well-formed "
        f"{rate(of.well_formed.k, of.well_formed.n)}"
        for of in counts
    )
    return Chart(title, draw_curves(series, x, y, title), f"{text}.")

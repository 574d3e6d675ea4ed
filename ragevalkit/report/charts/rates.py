"""Charts of `bench sweep`, `bench stream` and `bench calibrate`.

Public: `sweep_charts`, `stream_charts`, `calibration_charts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ragevalkit.report.bench_sweep import estimate, per_second
from ragevalkit.report.charts.axes import (
    Axis,
    at_values,
    linear,
    logarithmic,
    number_tick,
    time_tick,
)
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.curves import Line, Point, Series, draw_curves
from ragevalkit.report.charts.layers import Look
from ragevalkit.report.charts.rows import Mark, Row, draw_rows
from ragevalkit.report.numbers import counted, milliseconds

if TYPE_CHECKING:
    from ragevalkit.bench.calibrate import Calibration
    from ragevalkit.bench.curves import Estimate
    from ragevalkit.bench.stream_result import LengthGain, StreamArm, StreamResult
    from ragevalkit.bench.sweep_result import SweepResult

_LOOKS: tuple[Look, ...] = ("a", "b", "c", "d")
_PER_SECOND = "tokens a second, with the 95 % interval"
_WAIT = "mean wait for the first token, with the 95 % interval"


def sweep_charts(result: SweepResult) -> list[Chart]:
    """Prompt lengths and numbers of streams, a curve for each thing measured."""
    charts: list[Chart | None] = []
    if len(result.lengths) > 1:
        sizes = [
            float(of.prompt_tokens if of.measured_tokens is None else of.measured_tokens)
            for of in result.lengths
        ]
        x = at_values("prompt tokens", sizes, number_tick)
        charts += [
            _waits("First token by prompt length", x, sizes, [of.wait_ms for of in result.lengths]),
            _rates(
                "Prefill rate by prompt length",
                x,
                [("", sizes, [of.prefill_rate for of in result.lengths])],
            ),
            _rates(
                "Decode rate by prompt length",
                x,
                [("", sizes, [of.decode_rate for of in result.lengths])],
            ),
        ]
    charts += _streams(result)
    return [chart for chart in charts if chart is not None]


def _streams(result: SweepResult) -> Iterator[Chart | None]:
    levels = result.concurrency
    if len(levels) < 2:
        return
    counts = [float(of.streams) for of in levels]
    x = at_values("streams at once", counts, number_tick)
    knee = result.knee
    lines = [Line(knee.streams, f"knee: {knee.streams}")] if knee and knee.streams else []
    yield _rates(
        "Rates by number of streams",
        x,
        [
            ("all together", counts, [of.aggregate_rate for of in levels]),
            ("each", counts, [of.stream_rate for of in levels]),
        ],
        lines,
    )
    lines = []
    if knee and knee.wait_streams:
        lines = [Line(knee.wait_streams, f"over {knee.wait_factor:g} times the first")]
    waits = [of.wait_ms for of in levels]
    yield _waits("First token by number of streams", x, counts, waits, lines)


def _rates(
    title: str,
    x: Axis,
    curves: Sequence[tuple[str, Sequence[float], Sequence[Estimate]]],
    lines: Sequence[Line] = (),
) -> Chart | None:
    """Curves of rates over an axis from 0."""
    series = [
        Series(name, _LOOKS[place % len(_LOOKS)], _points(at, of))
        for place, (name, at, of) in enumerate(curves)
    ]
    series = [of for of in series if of.points]
    if not series:
        return None
    y = linear(_PER_SECOND, (0, *_reached(series)), number_tick)
    said = [_said(name, x, at, of, per_second) for name, at, of in curves]
    return Chart(title, draw_curves(series, x, y, title, lines=lines), f"{'. '.join(said)}.")


def _waits(
    title: str,
    x: Axis,
    at: Sequence[float],
    waits: Sequence[Estimate],
    lines: Sequence[Line] = (),
) -> Chart | None:
    """A curve of times over a logarithmic axis."""
    points = _points(at, waits)
    if not points:
        return None
    series = [Series("", "value", points)]
    y = logarithmic(_WAIT, _reached(series), time_tick)
    said = _said("", x, at, waits, milliseconds)
    return Chart(title, draw_curves(series, x, y, title, lines=lines), f"{said}.")


def _points(at: Sequence[float], of: Sequence[Estimate]) -> list[Point]:
    pairs = zip(at, of, strict=True)
    return [Point(x, e.value, e.low, e.high) for x, e in pairs if e.value is not None]


def _reached(series: Sequence[Series]) -> list[float]:
    ends = [end for of in series for p in of.points for end in (p.y, p.low, p.high)]
    return [end for end in ends if end is not None]


def _said(
    name: str,
    x: Axis,
    at: Sequence[float],
    of: Sequence[Estimate],
    written: Callable[[float | None], str],
) -> str:
    pairs = zip(at, of, strict=True)
    values = "; ".join(f"{v:,g}: {estimate(e, written)}" for v, e in pairs)
    return f"{name}, by {x.title}: {values}" if name else f"by {x.title}: {values}"


def stream_charts(result: StreamResult) -> list[Chart]:
    """Rate against output length, gaps, and gains of the later endpoints over the first."""
    drawn = [_output_lengths(result), _gaps(result), _gains(result)]
    return [chart for chart in drawn if chart is not None]


def _output_lengths(result: StreamResult) -> Chart | None:
    """The article's Figure 2."""
    sizes = [float(level.output_tokens) for of in result.arms.values() for level in of.levels]
    if len(set(sizes)) < 2:
        return None
    curves = [
        (
            arm if len(result.arms) > 1 else "",
            [float(level.output_tokens) for level in of.levels],
            [level.decode_rate for level in of.levels],
        )
        for arm, of in result.arms.items()
    ]
    x = at_values("output tokens", sizes, number_tick)
    return _rates("Decode rate by output length", x, curves)


def _gaps(result: StreamResult) -> Chart | None:
    rows = [row for arm, of in result.arms.items() for row in _gap_rows(arm, of, len(result.arms))]
    marks = [mark for row in rows for mark in row.marks]
    ends = [end for mark in marks for end in (mark.low, mark.at, mark.high) if end]
    if not ends:
        return None
    axis = logarithmic("between one token event and the next", ends, time_tick)
    title = "Gaps between token events"
    notes = ["The point is the median; thick: up to p90, thin: up to p99; hollow: the longest."]
    if any(mark.at == 0 for mark in marks):
        notes.append("A median of 0 lies at the left end: events came in one read.")
    text = "; ".join(row.says for row in rows) + "."
    return Chart(title, draw_rows(rows, axis, title), text, notes)


def _gap_rows(arm: str, of: StreamArm, arms: int) -> Iterator[Row]:
    for channel, gaps in of.gaps_ms.items():
        if gaps.p50 is None:
            continue
        label = f"{arm}, {channel}" if arms > 1 else channel
        core = None if gaps.p90 is None else (gaps.p50, gaps.p90)
        low = None if gaps.p99 is None else gaps.p50
        yield Row(
            label,
            [Mark(gaps.max, look="faint"), Mark(gaps.p50, low, gaps.p99, core)],
            f"p50 {milliseconds(gaps.p50)}",
            level=True,
            says=f"{label}: {counted(gaps.n, 'gap')}, p50 {milliseconds(gaps.p50)}, p90 "
            f"{milliseconds(gaps.p90)}, p99 {milliseconds(gaps.p99)}, longest "
            f"{milliseconds(gaps.max)}",
        )


def _gains(result: StreamResult) -> Chart | None:
    rows = [
        _gain_row(f"{gain.arm}, {name}", of, verdict)
        for gain in result.gains
        for name, of, verdict in _sides(gain.all)
        if of.value
    ]
    marks = [mark for row in rows for mark in row.marks]
    ends = [end for mark in marks for end in (mark.at, mark.low, mark.high) if end]
    if not ends:
        return None
    axis = logarithmic("times as fast, with the 95 % interval", ends, _times, strong=1)
    title = f"As fast as {result.gains[0].base}"
    words = ("← slower", "faster →")
    text = "; ".join(row.says for row in rows) + "."
    return Chart(title, draw_rows(rows, axis, title, ends=words), text)


def _sides(of: LengthGain) -> Iterator[tuple[str, Estimate, str]]:
    yield "decode", of.decode, of.decode_verdict
    yield "with the wait", of.whole, of.whole_verdict


def _gain_row(label: str, of: Estimate, verdict: str) -> Row:
    says = f"{label}: {estimate(of, lambda v: f'{v:.3g} times')}, {verdict}"
    return Row(label, [Mark(of.value, of.low, of.high)], verdict, says=says)


def _times(value: float) -> str:
    return f"{value:g}×"


def calibration_charts(calibration: Calibration) -> list[Chart]:
    """How late the stamps were, by the number of streams."""
    loads = calibration.loads
    if len(loads) < 2:
        return []
    found: list[tuple[str, Look, list[Point]]] = [
        ("median", "a", [Point(o.streams, v) for o in loads if (v := o.lateness_ms.p50)]),
        ("p99", "b", [Point(o.streams, v) for o in loads if (v := o.lateness_ms.p99)]),
    ]
    series = [Series(name, look, points) for name, look, points in found if points]
    if not series:
        return []
    x = at_values("streams at once", [o.streams for o in loads], number_tick)
    y = logarithmic("lateness of a token's stamp", _reached(series), time_tick)
    title = "Lateness by number of streams"
    text = "; ".join(
        f"{counted(o.streams, 'stream')}: median {milliseconds(o.lateness_ms.p50)}, p99 "
        f"{milliseconds(o.lateness_ms.p99)}"
        for o in loads
    )
    return [Chart(title, draw_curves(series, x, y, title), f"{text}.")]

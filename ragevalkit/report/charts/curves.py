"""Curves over two axes, with bands.

Public: `Series`, `Point`, `Dot`, `Line`, `share_point`, `draw_curves`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ragevalkit.report.charts.axes import Axis, horizontal, vertical
from ragevalkit.report.charts.drawing import BAD, FONT, INK, Frame, Layer, draw, plain
from ragevalkit.report.charts.layers import (
    CHARACTER,
    LOOKS,
    Key,
    Look,
    layer,
    legend,
    legend_height,
    symbol,
)

if TYPE_CHECKING:
    from ragevalkit.scoring.summary import Rate

_HEIGHT = 200.0


class Point(NamedTuple):
    """A point of a curve; its interval where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


def share_point(x: float, of: Rate) -> Point:
    """A rate in percent, 0 where it is undefined."""
    low, high = (None if end is None else 100 * end for end in (of.low, of.high))
    return Point(x, 100 * (of.value or 0), low, high)


@dataclass(frozen=True)
class Series:
    """A curve; without a name it has no place in the legend."""

    name: str
    look: Look
    points: Sequence[Point]
    stepped: bool = False
    """A distribution: it stays until the next value, and its points aren't marked."""


class Dot(NamedTuple):
    """A place on the plot with a word beside it."""

    x: float
    y: float
    look: Look
    text: str


class Line(NamedTuple):
    """An upright line with a word at its top."""

    x: float
    text: str


def draw_curves(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    label: str,
    *,
    dots: Sequence[Dot] = (),
    lines: Sequence[Line] = (),
) -> str:
    """The SVG of curves.

    Args:
        dots: places with a name.
        lines: what is to be seen on the axis below.
    """
    named = [Key(of.look, of.name) for of in series if of.name]
    ticks = max(len(y.written(tick)) for tick in y.ticks)
    above = 18 * bool(lines)
    frame = Frame(
        height=_HEIGHT,
        left=CHARACTER * ticks + 10,
        right=max(16, CHARACTER * len(x.written(x.ticks[-1])) / 2),
        top=30 + legend_height(named) + above,
    )
    layers = [*horizontal(x, frame), *vertical(y, frame, above=above)]
    for number, of in enumerate(series):
        # three bands over each other can't be told apart
        aside = 5 * (number - (len(series) - 1) / 2) if len(series) > 2 else None
        layers += _curve(of, x, y, aside)
    for dot in dots:
        layers += _dot(dot, x, y)
    for line in lines:
        layers += _line(line, x, frame)
    layers += legend(named, frame.left, -frame.top + 12, lines=True)
    return draw([of for of in layers if of["data"]["values"]], frame, label)


def _curve(of: Series, x: Axis, y: Axis, aside: float | None) -> list[Layer]:
    """Line, points and intervals; with a band, or moved aside by some pixels without one."""
    look = LOOKS[of.look]
    values: list[dict[str, Any]] = [
        {"x": x.kept(p.x), "y": y.kept(p.y)}
        | (
            {}
            if p.low is None or p.high is None
            else {"low": y.kept(p.low), "high": y.kept(p.high)}
        )
        for p in of.points
    ]
    line = {
        "type": "line",
        "color": look.color,
        "strokeWidth": 2,
        "strokeDash": look.dash,
        "interpolate": "step-after" if of.stepped else "linear",
    }
    across, up = x.encoding("x"), y.encoding("y")
    if of.stepped:
        return [layer(line, values, x=across, y=up)]
    ranged = [value for value in values if "low" in value]
    moved = {"xOffset": aside or 0}
    band = {"type": "area", "color": look.color, "opacity": 0.18}
    between = {"x": across, "y": y.encoding("low"), "y2": {"field": "high"}}
    return [
        layer(band, ranged if len(ranged) > 1 and aside is None else [], **between),
        layer({"type": "rule", "color": look.color, **moved}, ranged, **between),
        layer({**line, **moved}, values, x=across, y=up),
        layer({**symbol(of.look, 55), **moved}, values, x=across, y=up),
    ]


def _dot(dot: Dot, x: Axis, y: Axis) -> list[Layer]:
    values = [{"x": dot.x, "y": dot.y, "text": plain(dot.text, 30)}]
    at = {"x": x.encoding("x"), "y": y.encoding("y")}
    right = x.share(dot.x) < 0.5
    text = {"type": "text", "align": "left" if right else "right", "dx": 9 if right else -9}
    return [
        layer(symbol(dot.look, 70), values, **at),
        layer({**text, "dy": 11, "color": INK}, values, **at, text={"field": "text"}),
    ]


def _line(line: Line, x: Axis, frame: Frame) -> list[Layer]:
    values = [{"x": line.x, "text": plain(line.text, 30)}]
    rule = {"type": "rule", "color": BAD, "strokeDash": [4, 3]}
    align = "left" if x.share(line.x) < 0.5 else "right"
    text = {"type": "text", "fontSize": FONT - 1, "color": BAD, "align": align}
    ends = {"y": {"value": -2}, "y2": {"value": frame.height}}
    at = x.encoding("x")
    return [
        layer(rule, values, x=at, **ends),
        layer(text, values, x=at, y={"value": -8}, text={"field": "text"}),
    ]

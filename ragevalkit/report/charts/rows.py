"""Charts in rows: a label, points with intervals along one axis, and a word on the right.

Public: `Row`, `Mark`, `Bar`, `draw_rows`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragevalkit.report.charts.axes import Axis, horizontal
from ragevalkit.report.charts.drawing import BAD, FONT, GRID, SOFT, A, Frame, Layer, draw, plain
from ragevalkit.report.charts.layers import (
    CHARACTER,
    LOOKS,
    Key,
    Look,
    layer,
    legend,
    legend_height,
    pixels,
    symbol,
    word,
)

_ROW = 27.0
_ABOUT = 16.0
_BAR = 16.0
_OFFSET = 11.0
"""Between two marks of a row."""
_LABEL = 28
"""Characters: as many as the longest name of a defect has."""
_WORD = 16


@dataclass(frozen=True)
class Mark:
    """A point, with its intervals; what is None isn't drawn."""

    at: float | None
    low: float | None = None
    high: float | None = None
    core: tuple[float, float] | None = None
    """A second interval, drawn thick."""
    look: Look = "value"
    others: Sequence[float] = ()
    """More points beside it, without intervals."""


class Bar(NamedTuple):
    """From one value to another."""

    start: float
    end: float
    color: str = A


@dataclass(frozen=True)
class Row:
    """A line of the chart."""

    label: str
    marks: list[Mark] = field(default_factory=list)
    word: str = ""
    """Right of the plot."""
    link: str = ""
    """Address of the turns behind it."""
    says: str = ""
    """What the row says in words, for the link."""
    band: tuple[float, float] | None = None
    """A margin: shaded, with a dashed line at each end but 0."""
    bars: list[Bar] = field(default_factory=list)
    about: str = ""
    """A remark above the marks."""
    level: bool = False
    """Its marks lie on one line, not one under the other."""


class _Placed(NamedTuple):
    """A row and where it lies, in pixels of the plot."""

    row: Row
    top: float
    """Of all of it."""
    begin: float
    """Of its marks, under the remark."""
    middle: float
    bottom: float


def draw_rows(
    rows: Sequence[Row],
    axis: Axis,
    label: str,
    *,
    ends: tuple[str, str] | None = None,
    keys: Sequence[Key] = (),
) -> str:
    """The SVG of a chart in rows.

    Args:
        ends: words above the plot, at its left and right end: which way is better.
    """
    most = max((len(row.marks) for row in rows if not row.level), default=1)
    about = _ABOUT * any(row.about for row in rows)
    height = about + _ROW + _OFFSET * max(0, most - 1)
    labels = [plain(row.label, _LABEL) for row in rows]
    words = [plain(row.word, _WORD) for row in rows]
    frame = Frame(
        height=height * max(1, len(rows)),
        left=CHARACTER * max(map(len, labels), default=0) + 10,
        right=max(
            CHARACTER * max(map(len, words), default=0) + 14,
            CHARACTER * len(axis.written(axis.ticks[-1])) / 2,
        ),
        top=6 + legend_height(keys) + 20 * bool(ends),
    )
    placed = [
        _Placed(row, top, top + about, top + (height + about) / 2, top + height)
        for row, top in zip(rows, itertools.count(0, height))
    ]
    layers = [
        *_bands(placed, axis),
        *horizontal(axis, frame),
        *_bars(placed, axis),
        *(found for look in LOOKS for found in _marks(placed, look, axis)),
        _column(placed, labels, -10, align="right"),
        _column(placed, words, frame.width + 10, align="left"),
        _abouts(placed),
        *(_ends(ends, frame) if ends else ()),
        *legend(keys, frame.left, -frame.top + 12),
        _links(placed, frame),
    ]
    return draw([of for of in layers if of["data"]["values"]], frame, label)


def _marks(placed: Sequence[_Placed], look: Look, axis: Axis) -> Iterator[Layer]:
    """Intervals and points of one look."""
    found = [
        (mark, middle if row.level else middle + _OFFSET * (number - (len(row.marks) - 1) / 2))
        for row, _, _, middle, _ in placed
        for number, mark in enumerate(row.marks)
        if mark.look == look
    ]
    thin = [(y, mark.low, mark.high) for mark, y in found if mark.at is not None]
    thick = [(y, *mark.core) for mark, y in found if mark.core is not None]
    points = [(y, at) for mark, y in found for at in (mark.at, *mark.others) if at is not None]
    for width, lines in ((2, thin), (5, thick)):
        values = [
            {"y": y, "low": axis.kept(low), "high": axis.kept(high)}
            for y, low, high in lines
            if low is not None and high is not None
        ]
        rule = {"type": "rule", "color": LOOKS[look].color, "strokeWidth": width}
        along = {"x": axis.encoding("low"), "x2": {"field": "high"}}
        yield layer(rule, values, y=pixels("y"), **along)
    values = [{"y": y, "at": axis.kept(at)} for y, at in points]
    yield layer(symbol(look, 70), values, y=pixels("y"), x=axis.encoding("at"))


def _bands(placed: Sequence[_Placed], axis: Axis) -> list[Layer]:
    bands = [(of.row.band, of) for of in placed if of.row.band is not None]
    shades = [
        {"low": axis.kept(min(band)), "high": axis.kept(max(band)), "y": of.begin, "y2": of.bottom}
        for band, of in bands
    ]
    edges = [
        {"at": axis.kept(end), "y": of.begin, "y2": of.bottom}
        for band, of in bands
        for end in dict.fromkeys(band)
        if end
    ]
    shade = {"type": "rect", "color": GRID, "opacity": 0.6}
    edge = {"type": "rule", "color": BAD, "strokeDash": [3, 3], "strokeWidth": 1.5}
    up = {"y": pixels("y"), "y2": {"field": "y2"}}
    return [
        layer(shade, shades, x=axis.encoding("low"), x2={"field": "high"}, **up),
        layer(edge, edges, x=axis.encoding("at"), **up),
    ]


def _bars(placed: Sequence[_Placed], axis: Axis) -> Iterator[Layer]:
    bars = [(of.middle, bar) for of in placed for bar in of.row.bars]
    for color in dict.fromkeys(bar.color for _, bar in bars):
        values = [
            {"from": bar.start, "to": bar.end, "y": y - _BAR / 2, "y2": y + _BAR / 2}
            for y, bar in bars
            if bar.color == color
        ]
        along = {"x": axis.encoding("from"), "x2": {"field": "to"}}
        up = {"y": pixels("y"), "y2": {"field": "y2"}}
        yield layer({"type": "rect", "color": color}, values, **along, **up)


def _column(placed: Sequence[_Placed], texts: Sequence[str], x: float, **style: Any) -> Layer:
    values = [{"text": text, "y": of.middle} for text, of in zip(texts, placed, strict=True)]
    at = {"x": {"value": x}, "y": pixels("y")}
    return layer({"type": "text", **style}, values, **at, text={"field": "text"})


def _abouts(placed: Sequence[_Placed]) -> Layer:
    values = [{"text": plain(of.row.about, 48), "y": of.top + 9} for of in placed if of.row.about]
    style = {"type": "text", "align": "left", "fontSize": FONT - 1, "color": SOFT}
    at = {"x": {"value": 0}, "y": pixels("y")}
    return layer(style, values, **at, text={"field": "text"})


def _ends(words: tuple[str, str], frame: Frame) -> list[Layer]:
    style = {"fontSize": FONT - 1, "color": SOFT}
    left, right = words
    return [
        word(left, 0, -11, align="left", **style),
        word(right, frame.width, -11, align="right", **style),
    ]


def _links(placed: Sequence[_Placed], frame: Frame) -> Layer:
    """Over each row a surface that leads to its turns."""
    values = [
        {
            "y": of.top + 1,
            "y2": of.bottom - 1,
            "link": of.row.link,
            "says": plain(of.row.says or of.row.label, 200),
        }
        for of in placed
        if of.row.link
    ]
    surface = {"type": "rect", "color": "transparent", "aria": True}
    box = {
        "x": {"value": -frame.left},
        "x2": {"value": frame.width + frame.right},
        "y": pixels("y"),
        "y2": {"field": "y2"},
    }
    address = {"href": {"field": "link"}, "description": {"field": "says"}}
    return layer(surface, values, **box, **address)

"""Layers of Vega-Lite that several charts are made of.

Public: `layer`, `pixels`, `word`, `symbol`, `legend`, `legend_height`, `Look`, `LOOKS`, `Key`,
`CHARACTER`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ragevalkit.report.charts.drawing import FONT, INK, WIDTH, A, B, C, D, Layer, plain

CHARACTER = 7.6
"""Pixels of a character in a wide font."""
_LINE = 20.0
_ABREAST = 2


class _Look(NamedTuple):
    shape: str
    color: str
    filled: bool
    dash: list[int]


Look = Literal["value", "faint", "a", "b", "c", "d"]
LOOKS: dict[Look, _Look] = {
    "value": _Look("circle", A, True, []),
    "faint": _Look("circle", A, False, []),
    "a": _Look("circle", A, False, []),
    "b": _Look("diamond", B, True, [6, 2]),
    "c": _Look("square", C, False, [2, 2]),
    "d": _Look("triangle-up", D, True, [8, 3, 2, 3]),
}
"""Shape, filling and dashes tell series apart where colours don't."""


class Key(NamedTuple):
    """An entry of the legend."""

    look: Look
    text: str


def layer(mark: dict[str, Any], values: Sequence[dict[str, Any]], **encoding: Any) -> Layer:
    """One kind of mark, for each of the values."""
    return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding}


def pixels(name: str) -> dict[str, Any]:
    """A channel whose field holds pixels of the plot."""
    return {"field": name, "type": "quantitative", "scale": None, "axis": None}


def word(text: str, x: float, y: float, **mark: Any) -> Layer:
    """A text at a place of the plot, in pixels."""
    at = {"x": {"value": x}, "y": {"value": y}}
    return layer({"type": "text", **mark}, [{"text": text}], **at, text={"field": "text"})


def symbol(look: Look, size: int) -> dict[str, Any]:
    """The mark of a point."""
    of = LOOKS[look]
    return {
        "type": "point",
        "shape": of.shape,
        "size": size,
        "fill": of.color if of.filled else "var(--chart-paper)",
        "stroke": of.color,
        "strokeWidth": 2,
    }


def legend_height(keys: Sequence[Key]) -> float:
    """Pixels above the plot that a legend takes."""
    return _LINE * math.ceil(len(keys) / _ABREAST)


def legend(keys: Sequence[Key], left: float, y: float, *, lines: bool = False) -> list[Layer]:
    """Symbols, or pieces of their lines, and words, two abreast, from the left edge.

    Args:
        left: room left of the plot.
        y: middle of the first line.
    """
    layers = []
    sign = 32 if lines else 17
    characters = int((WIDTH / _ABREAST - sign - 10) / (CHARACTER - 0.4))
    x = 0.0
    for number, (look, text) in enumerate(keys):
        if number % _ABREAST == 0:
            x = 4 - left
            y += _LINE if number else 0
        of, shown = LOOKS[look], plain(text, characters)
        if lines:
            mark = {"type": "rule", "color": of.color, "strokeWidth": 2, "strokeDash": of.dash}
            ends = {"x": {"value": x}, "x2": {"value": x + 26}, "y": {"value": y}}
            layers.append(layer(mark, [{}], **ends))
        else:
            layers.append(layer(symbol(look, 60), [{}], x={"value": x + 5}, y={"value": y}))
        layers.append(word(shown, x + sign, y, align="left", color=INK, fontSize=FONT - 1))
        x += sign + (CHARACTER - 0.4) * len(shown) + 12
    return layers

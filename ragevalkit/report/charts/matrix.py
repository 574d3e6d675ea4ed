"""A matrix of counts.

Public: `Cell`, `draw_matrix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragevalkit.report.charts.drawing import BAD, FONT, GRID, INK, SOFT, A, Frame, draw, plain
from ragevalkit.report.charts.layers import layer, pixels

_ROW = 32.0
_LEFT = 100.0


class Cell(NamedTuple):
    """One count."""

    text: str
    share: float
    """Of its column; shades the cell."""
    good: bool
    """What is hoped for: it has a sign, and another colour."""
    link: str = ""
    says: str = ""


def draw_matrix(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Cell]], label: str
) -> str:
    """The SVG of a matrix, a row of cells for each name."""
    frame = Frame(height=_ROW * len(rows), left=_LEFT, right=4, top=28, bottom=4)
    wide = frame.width / len(columns)
    values = [
        {
            "x": wide * place + 2,
            "x2": wide * (place + 1) - 2,
            "y": _ROW * number + 2,
            "y2": _ROW * (number + 1) - 2,
            "middle": wide * (place + 0.5),
            "centre": _ROW * (number + 0.5),
            "text": f"✓ {cell.text}" if cell.good else cell.text,
            "shade": 0.6 * cell.share,
            "good": cell.good,
            "empty": not cell.share,
            "link": cell.link,
            "says": cell.says,
        }
        for number, row in enumerate(cells)
        for place, cell in enumerate(row)
    ]
    box = {"x": pixels("x"), "x2": {"field": "x2"}, "y": pixels("y"), "y2": {"field": "y2"}}
    shade = {"field": "shade", "type": "quantitative", "scale": None, "legend": None}
    centre = {"x": pixels("middle"), "y": pixels("centre"), "text": {"field": "text"}}
    layers = [
        layer({"type": "rect", "fill": "none", "stroke": GRID}, values, **box),
        *(
            layer({"type": "rect", "color": color}, of, **box, opacity=shade)
            for color, of in (
                (A, [v for v in values if v["good"] and not v["empty"]]),
                (BAD, [v for v in values if not v["good"] and not v["empty"]]),
            )
            if of
        ),
        *(
            layer({"type": "text", "color": color}, of, **centre)
            for color, of in (
                (INK, [v for v in values if not v["empty"]]),
                (SOFT, [v for v in values if v["empty"]]),
            )
            if of
        ),
        layer(
            {"type": "text", "align": "right"},
            [{"text": plain(n, 14), "y": _ROW * (i + 0.5)} for i, n in enumerate(rows)],
            x={"value": -10},
            y=pixels("y"),
            text={"field": "text"},
        ),
        layer(
            {"type": "text", "fontSize": FONT - 1, "color": SOFT},
            [{"text": plain(n, 24), "x": wide * (i + 0.5)} for i, n in enumerate(columns)],
            x=pixels("x"),
            y={"value": -12},
            text={"field": "text"},
        ),
    ]
    linked = [v for v in values if v["link"]]
    if linked:
        surface = {"type": "rect", "color": "transparent", "aria": True}
        address = {"href": {"field": "link"}, "description": {"field": "says"}}
        layers.append(layer(surface, linked, **box, **address))
    return draw(layers, frame, label)

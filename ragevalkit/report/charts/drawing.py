"""Drawing: layers of Vega-Lite become one SVG for light and dark, wide and narrow.

Public: `Layer`, `Frame`, `draw`, `plain`, `INK`, `SOFT`, `GRID`, `A`, `B`, `C`, `D`, `BAD`, `FONT`,
`WIDTH`, `PART_COLORS`.

A drawing is as wide as a phone, so that its text can be read there; on a wide page two stand side
by side. Texts are written in the page's own font and cut by number of characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragevalkit.report.charts.svg import clean
from ragevalkit.report.turns import first_words, visible

Layer = dict[str, Any]
"""A view of Vega-Lite."""

WIDTH = 420
FONT = 13
INK = "var(--chart-ink)"
SOFT = "var(--chart-soft)"
"""Second in importance: axes, remarks."""
GRID = "var(--chart-grid)"
A = "var(--chart-1)"
B = "var(--chart-2)"
C = "var(--chart-3)"
D = "var(--chart-4)"
BAD = "var(--chart-bad)"
"""Where b lost, or a margin lies."""
PART_COLORS = {
    "queue": SOFT,
    "prefill": SOFT,
    "wait": SOFT,
    "reasoning": D,
    "tool_arguments": B,
    "answer": A,
    "tools": C,
    "retries": BAD,
    "harness": SOFT,
}
"""Of a turn's parts, and of its channels: the same on the whole page."""

_VERSION = "6.4"
_CONFIG = {
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "labelFontSize": FONT - 1,
        "titleFontSize": FONT - 1,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
        "titlePadding": 8,
        "aria": False,
    },
    "text": {"fontSize": FONT, "color": INK, "baseline": "middle", "aria": False},
    "rule": {"color": INK, "aria": False},
    "line": {"aria": False},
    "area": {"aria": False},
    "rect": {"aria": False},
    "bar": {"aria": False},
    "point": {"aria": False, "opacity": 1},
}


@dataclass(frozen=True)
class Frame:
    """The room around the plot, in pixels of a drawing that is `WIDTH` wide."""

    height: float
    """Of the plot alone."""
    left: float
    right: float
    top: float = 8
    bottom: float = 44

    @property
    def width(self) -> float:
        """Of the plot alone."""
        return WIDTH - self.left - self.right


def draw(layers: Sequence[Layer], frame: Frame, label: str) -> str:
    """The SVG, ready for a page.

    Args:
        label: what the picture is called; of a blank one, `chart`.
    """
    import vl_convert

    spec = {
        "width": frame.width,
        "height": frame.height,
        "padding": {
            "left": frame.left,
            "right": frame.right,
            "top": frame.top,
            "bottom": frame.bottom,
        },
        "autosize": {"type": "none"},
        "config": _CONFIG,
        "layer": list(layers),
    }
    drawing = vl_convert.vegalite_to_svg(spec, vl_version=_VERSION, allowed_base_urls=[])
    return clean(drawing, label=plain(label, 200) or "chart")


def plain(text: str, characters: int) -> str:
    """Text from data as it can stand in a drawing: on one line, cut, and nothing that can't be
    written in XML."""
    shown = first_words(visible(text), characters)
    return shown.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")

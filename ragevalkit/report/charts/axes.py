"""Axes: where the ticks lie and what they say.

Public: `Axis`, `linear`, `logarithmic`, `at_values`, `from_zero`, `horizontal`, `vertical`,
`time_tick`, `number_tick`.

Ticks are written as the tables write numbers, so Vega's own labels aren't used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragevalkit.report.charts.drawing import FONT, GRID, SOFT, Frame, Layer
from ragevalkit.report.charts.layers import CHARACTER, layer, word
from ragevalkit.report.numbers import MISSING, milliseconds, seconds

Written = Callable[[float], str]

_STYLE = {"fontSize": FONT - 1, "color": SOFT}
_TICKS = 5
"""About so many; more don't fit beside each other on a phone."""


@dataclass(frozen=True)
class Axis:
    """A scale with its ticks, from low to high."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    written: Written
    scale: Literal["linear", "log", "symlog"] = "linear"
    reverse: bool = False
    strong: float | None = None
    """A value whose line is drawn as an axis: what 0 means, or 1 for a ratio."""

    def encoding(self, field: str) -> dict[str, Any]:
        """A channel along this axis."""
        scale = {
            "type": self.scale,
            "domain": [self.low, self.high],
            "nice": False,
            "zero": False,
            "reverse": self.reverse,
        }
        return {"field": field, "type": "quantitative", "scale": scale, "axis": None}

    def kept(self, value: float) -> float:
        """A value, or the end of the axis beyond which it lies."""
        return min(max(value, self.low), self.high)

    def share(self, value: float) -> float:
        """Where a value lies, from 0 at the low end to 1 at the high one."""
        low, high, at = map(self._grown, (self.low, self.high, value))
        return (at - low) / (high - low)

    def _grown(self, value: float) -> float:
        if self.scale == "log":
            return math.log(value)
        return math.log1p(value) if self.scale == "symlog" else value

    def reversed(self) -> Axis:
        return replace(self, reverse=not self.reverse)


def linear(
    title: str, values: Iterable[float], written: Written, *, strong: float | None = None
) -> Axis:
    """An axis over all values, and `strong`, that ends at ticks."""
    all_values = [*values, *([] if strong is None else [strong])]
    low, high = (min(all_values), max(all_values)) if all_values else (0.0, 1.0)
    if low == high:
        low, high = low - 1, high + 1
    step = _step((high - low) / _TICKS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [round(i * step, 10) for i in range(first, last + 1)]
    return Axis(title, ticks[0], ticks[-1], ticks, written, strong=strong)


def logarithmic(
    title: str, values: Iterable[float], written: Written, *, strong: float | None = None
) -> Axis:
    """A logarithmic axis over all positive values that ends at ticks."""
    positive = [v for v in (*values, strong or 0) if v > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 10.0)
    steps = (1,) if high / low > 300 else (1, 2, 5) if high / low > 5 else (1, 1.5, 2, 3, 5, 7)
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    grid = [float(f"{s}e{e}") for e in range(first, last + 1) for s in steps]
    start = max(i for i, tick in enumerate(grid) if tick <= low * (1 + 1e-9))
    end = min(i for i, tick in enumerate(grid) if tick >= high * (1 - 1e-9))
    ticks = grid[start : max(end, start + 1) + 1]
    return Axis(title, ticks[0], ticks[-1], ticks, written, scale="log", strong=strong)


def at_values(title: str, values: Iterable[float], written: Written) -> Axis:
    """A logarithmic axis whose ticks are the values."""
    ticks = sorted({value for value in values if value > 0}) or [1.0]
    low, high = (ticks[0] / 1.5, ticks[-1] * 1.5) if len(ticks) == 1 else (ticks[0], ticks[-1])
    return Axis(title, low, high, ticks, written, scale="log")


def from_zero(title: str, values: Iterable[float], written: Written) -> Axis:
    """An axis for amounts over decades of which some are 0: the logarithm beyond the first tick."""
    high = max([10.0, *values])
    decades = [10.0**e for e in range(1, math.floor(math.log10(high) + 1e-9) + 1)]
    return Axis(title, 0, max(1.2 * high, 12.0), [0, *decades], written, scale="symlog")


def _step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(s * power for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))


def horizontal(axis: Axis, frame: Frame) -> list[Layer]:
    """Lines, ticks and title of an axis under the plot."""
    place, bottom = axis.encoding("at"), frame.height
    shown = [{"at": tick, "text": axis.written(tick)} for tick in _thinned(axis, frame.width)]
    across = {"x": place, "y": {"value": 0}, "y2": {"value": bottom}}
    layers = [layer({"type": "rule", "color": GRID}, [{"at": t} for t in axis.ticks], **across)]
    if axis.strong is not None:
        layers.append(layer({"type": "rule", "color": SOFT}, [{"at": axis.strong}], **across))
    text = {"y": {"value": bottom + 14}, "text": {"field": "text"}}
    layers.append(layer({"type": "text", **_STYLE}, shown, x=place, **text))
    return [*layers, word(axis.title, _centre(axis.title, frame), bottom + 34, **_STYLE)]


def vertical(axis: Axis, frame: Frame, *, above: float = 0) -> list[Layer]:
    """Lines and ticks of an axis at the left of the plot, its title above them.

    Args:
        above: room left free between plot and title.
    """
    place = axis.encoding("at")
    shown = [{"at": tick, "text": axis.written(tick)} for tick in axis.ticks]
    across = {"y": place, "x": {"value": 0}, "x2": {"value": frame.width}}
    text = {"x": {"value": -6}, "text": {"field": "text"}}
    return [
        layer({"type": "rule", "color": GRID}, shown, **across),
        layer({"type": "text", "align": "right", **_STYLE}, shown, y=place, **text),
        word(axis.title, 4 - frame.left, -16 - above, align="left", **_STYLE),
    ]


def _centre(title: str, frame: Frame) -> float:
    """Where a title's middle lies: under the plot's, if it has room there."""
    half = CHARACTER * len(title) / 2
    return min(max(frame.width / 2, half - frame.left), frame.width + frame.right - half)


def _thinned(axis: Axis, width: float) -> list[float]:
    """The ticks that get a word: as many as have room, `strong` first, then the ends."""
    ticks = list(axis.ticks)
    if axis.scale == "linear":
        longest = max(len(axis.written(tick)) for tick in ticks)
        step = math.ceil(len(ticks) / max(2, int(width / (CHARACTER * longest + 8))))
        first = next((place for place, tick in enumerate(ticks) if tick == axis.strong), 0)
        return ticks[first % step :: step]
    kept: list[tuple[float, float, float]] = []
    wanted = [tick for tick in ticks if tick == axis.strong]
    for tick in dict.fromkeys([*wanted, ticks[0], ticks[-1], *ticks]):
        half = CHARACTER * len(axis.written(tick)) / 2 + 3
        middle = width * axis.share(tick)
        if all(middle + half <= low or middle - half >= high for _, low, high in kept):
            kept.append((tick, middle - half, middle + half))
    return [tick for tick, _, _ in kept]


def time_tick(ms: float) -> str:
    """`10 ms`, `2 s`."""
    return seconds(ms / 1000) if abs(ms) >= 1000 else milliseconds(ms) if ms else "0"


def number_tick(value: float) -> str:
    """`−10`, `0.5`, `2k`: short."""
    if not math.isfinite(value):
        return MISSING
    size = f"{abs(value) / 1000:.3g}k" if abs(value) >= 10_000 else f"{abs(value):,.4g}"
    return f"−{size}" if value < 0 else size

"""The gaps between token events, counted by size: the article's Figure 4.

Public: `GapCounts`, `gaps`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragevalkit.report.charts.axes import horizontal, logarithmic, time_tick
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.drawing import FONT, PART_COLORS, SOFT, A, Frame, Layer, draw
from ragevalkit.report.charts.layers import CHARACTER, layer, word
from ragevalkit.report.numbers import counted, milliseconds, percent
from ragevalkit.stats.percentiles import SMALLEST_N

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DECADES = (-3, 7)
"""A microsecond to nearly three hours."""
_FINE = 200
"""Bins a decade: what is read from them is right to half a percent."""
_COARSE = 40
"""Bins a decade that are drawn."""
_ROW = 74.0
_HILL = 52.0


class GapCounts:
    """Counts gaps by their size, so that millions of them take no room."""

    def __init__(self) -> None:
        self.zeros = 0
        """Events that came in one read with the one before."""
        self._counts: NDArray[Any] | None = None

    def add(self, gaps_ms: Sequence[float]) -> None:
        """Take the gaps of a round."""
        import numpy as np

        if not gaps_ms:
            return
        first, last = _DECADES
        values = np.asarray(gaps_ms, dtype=float)
        values = values[values > 0]
        self.zeros += len(gaps_ms) - len(values)
        places = ((np.log10(values) - first) * _FINE).astype(int)
        bins = (last - first) * _FINE
        found = np.bincount(places.clip(0, bins - 1), minlength=bins)
        self._counts = found if self._counts is None else self._counts + found

    @property
    def n(self) -> int:
        """All gaps, also those of 0."""
        return self.zeros + (0 if self._counts is None else int(self._counts.sum()))

    def percentile(self, percent: int) -> float | None:
        """Milliseconds, right to half a percent; None where there are too few gaps."""
        if self.n < SMALLEST_N[percent]:
            return None
        wanted = (self.n - 1) * percent / 100 - self.zeros
        if wanted < 0 or self._counts is None:
            return 0.0
        import numpy as np

        place = int(np.searchsorted(self._counts.cumsum(), wanted, side="right"))
        return float(10 ** (_DECADES[0] + (place + 0.5) / _FINE))

    def bins(self) -> list[tuple[float, float]]:
        """The lower edge of each drawn bin, and its share of the gaps above 0; the last has none
        and closes the one before. Empty where there is no gap above 0."""
        if self._counts is None or not self._counts.any():
            return []
        coarse = self._counts.reshape(-1, _FINE // _COARSE).sum(axis=1)
        filled = coarse.nonzero()[0]
        first, last = int(filled[0]), int(filled[-1])
        shares = coarse[first : last + 1] / coarse.sum()
        edges = [10 ** (_DECADES[0] + place / _COARSE) for place in range(first, last + 2)]
        return list(zip(edges, [*map(float, shares), 0.0], strict=True))


def gaps(channels: Mapping[str, GapCounts]) -> Chart | None:
    """How the gaps of each channel are spread, on a logarithmic axis; None where there are none.

    Args:
        channels: by name, in the order in which they are shown.
    """
    shown = {name: of for name, of in channels.items() if of.bins()}
    if not shown:
        return None
    ends = [edge for of in shown.values() for edge, _ in of.bins()]
    axis = logarithmic("between one token event and the next", ends, time_tick)
    frame = Frame(
        height=_ROW * len(shown), left=CHARACTER * max(map(len, shown)) + 12, right=104, top=4
    )
    layers = horizontal(axis, frame)
    said = []
    notes = ["Each hill is as high as its highest bin; the lines are median and p99."]
    for number, (name, of) in enumerate(shown.items()):
        base = _ROW * (number + 1) - 8
        layers += _hill(of, axis, base, PART_COLORS.get(name.replace(" ", "_"), A))
        layers += _words(name, of, base, frame)
        marks = [(p, of.percentile(p)) for p in (50, 90, 99)]
        told = ", ".join(f"p{p} {milliseconds(v)}" for p, v in marks if v is not None)
        said.append(f"{name}: {counted(of.n, 'gap')}, {told}")
    zeros = [f"{name} {percent(of.zeros / of.n)}" for name, of in shown.items() if of.zeros]
    if zeros:
        notes.append(
            f"Gaps of 0, of events that came in one read, aren't drawn: {', '.join(zeros)}."
        )
    title = "Gaps between token events"
    return Chart(title, draw(layers, frame, title), "; ".join(said) + ".", notes)


def _hill(of: GapCounts, axis: Any, base: float, color: str) -> list[Layer]:
    bins = of.bins()
    highest = max(share for _, share in bins)
    # one gap in thousands must be seen as well
    heights = [base - (share and max(1.5, _HILL * share / highest)) for _, share in bins]
    values = [{"x": edge, "y": y, "y2": base} for (edge, _), y in zip(bins, heights, strict=True)]
    up = {"y": {"field": "y", "type": "quantitative", "scale": None, "axis": None}}
    area = {"type": "area", "color": color, "opacity": 0.75, "interpolate": "step-after"}
    layers = [layer(area, values, x=axis.encoding("x"), y2={"field": "y2"}, **up)]
    for p, dash in ((50, []), (99, [3, 2])):
        at = of.percentile(p)
        if at:
            rule = {"type": "rule", "strokeWidth": 1.5, "strokeDash": dash}
            ends = {"y": {"value": base - _HILL - 6}, "y2": {"value": base}}
            layers.append(layer(rule, [{"x": axis.kept(at)}], x=axis.encoding("x"), **ends))
    return layers


def _words(name: str, of: GapCounts, base: float, frame: Frame) -> list[Layer]:
    small = {"fontSize": FONT - 1, "color": SOFT}
    layers = [
        word(name, -10, base - 34, align="right"),
        word(f"{of.n:,}", -10, base - 16, align="right", **small),
    ]
    place = base - 44
    for p in (50, 90, 99):
        at = of.percentile(p)
        if at is not None and math.isfinite(at):
            text = f"p{p} {milliseconds(at)}"
            layers.append(word(text, frame.width + 10, place, align="left", **small))
            place += 18
    return layers

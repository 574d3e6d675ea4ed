"""Joules of stretches of wall-clock time, from samples of power.

Public: `Sample`, `Window`, `merged`, `Taken`, `taken`, `idle_watts`.

Times are seconds since 1970 in UTC.
"""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

LONGEST_GAP_S = 5.0
"""Between samples further apart nothing is known of the power."""
MARGIN_S = 2.0
"""Around the windows, the card is not yet or no longer idle."""
LEAST_IDLE = 10
"""Samples outside of all windows that idle power is read from."""


class Sample(NamedTuple):
    """Power at one moment."""

    at: float
    watts: float
    joules: float | None = None
    """A counter of energy, where the card has one: only its rise means something."""


class Window(NamedTuple):
    """A stretch of time."""

    begin: float
    end: float


class Taken(NamedTuple):
    """What one device took during some windows."""

    joules: float
    covered_s: float
    """Seconds of the windows that samples cover."""
    by_counter: bool
    """The device's own counter of energy, not watts times seconds."""


def merged(windows: Iterable[Window]) -> list[Window]:
    """The same stretches without overlaps, in order: turns at once take one stretch of time."""
    whole: list[Window] = []
    for window in sorted(windows):
        if whole and window.begin <= whole[-1].end:
            whole[-1] = Window(whole[-1].begin, max(whole[-1].end, window.end))
        else:
            whole.append(window)
    return whole


def taken(samples: Sequence[Sample], windows: Sequence[Window]) -> Taken:
    """Energy of one device in windows that don't overlap.

    Between two samples power runs straight from one to the other (the trapezoid rule); where all
    samples have the counter, its rise is shared out evenly over the time between them.

    Args:
        samples: of one device, in the order of their times.
    """
    by_counter = bool(samples) and all(sample.joules is not None for sample in samples)
    times = [sample.at for sample in samples]
    joules = covered_s = 0.0
    for window in windows:
        first = max(0, bisect.bisect_right(times, window.begin) - 1)
        last = bisect.bisect_left(times, window.end) + 1
        for before, after in itertools.pairwise(samples[first:last]):
            length = after.at - before.at
            begin, end = max(before.at, window.begin), min(after.at, window.end)
            if end <= begin or length > LONGEST_GAP_S:
                continue
            rise = (after.joules or 0.0) - (before.joules or 0.0) if by_counter else 0.0
            if rise < 0:
                continue  # the counter began anew
            covered_s += end - begin
            if by_counter:
                joules += rise * (end - begin) / length
            else:
                slope = (after.watts - before.watts) / length
                middle = before.watts + slope * ((begin + end) / 2 - before.at)
                joules += middle * (end - begin)
    return Taken(joules, covered_s, by_counter)


def idle_watts(devices: Mapping[str, Sequence[Sample]], windows: Sequence[Window]) -> float | None:
    """Median power outside of all windows and their margins, summed over the devices.

    None where a device has too few samples there.
    """
    wide = merged(Window(begin - MARGIN_S, end + MARGIN_S) for begin, end in windows)
    ends = [window.end for window in wide]
    total = 0.0
    for samples in devices.values():
        idle = [sample.watts for sample in samples if not _inside(sample.at, wide, ends)]
        if len(idle) < LEAST_IDLE:
            return None
        total += statistics.median(idle)
    return total


def _inside(at: float, windows: Sequence[Window], ends: Sequence[float]) -> bool:
    place = bisect.bisect_left(ends, at)
    return place < len(windows) and windows[place].begin <= at

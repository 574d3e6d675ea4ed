"""How differences are written, beside `numbers`.

Public: `signed`, `between`, `points`, `points_between`, `p_value`.
"""

from __future__ import annotations

from collections.abc import Callable

from ragevalkit.report.numbers import MISSING

Written = Callable[[float], str]
"""Writes the size of a difference, as the functions of `numbers` do."""


def signed(written: Written, value: float | None) -> str:
    """`−2.74 ms`, `+9.92`; nothing has no sign."""
    if value is None:
        return MISSING
    size = written(abs(value))
    if not any(digit in size for digit in "123456789"):
        return size
    return f"{'−' if value < 0 else '+'}{size}"


def between(written: Written, low: float | None, high: float | None) -> str:
    """`−3.91 ms…−1.81 ms`."""
    if low is None or high is None:
        return MISSING
    return f"{signed(written, low)}…{signed(written, high)}"


def points(difference: float | None) -> str:
    """`+4.3`, in points."""
    return signed(_hundredfold, difference)


def points_between(low: float | None, high: float | None) -> str:
    """`−3.7…+14.5`, in points."""
    return between(_hundredfold, low, high)


def p_value(p: float | None) -> str:
    """`0.0385`, `<.0001`."""
    if p is None:
        return MISSING
    return "<.0001" if p < 0.0001 else f"{p:.4f}"


def _hundredfold(share: float) -> str:
    return f"{100 * share:.1f}"

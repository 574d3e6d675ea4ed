"""How numbers are written, in the terminal and on the page alike.

Public: `rate`, `interval`, `mean`, `mean_interval`, `percent`, `milliseconds`, `seconds`, `count`,
`counted`, `MISSING`.
"""

from __future__ import annotations

MISSING = "–"
"""What stands where a number is undefined."""


def percent(share: float | None) -> str:
    """`95.7 %`."""
    return MISSING if share is None else f"{100 * share:.1f} %"


def rate(k: int | None, n: int) -> str:
    """`67/70`."""
    return MISSING if k is None or not n else f"{k}/{n}"


def mean(value: float | None) -> str:
    """`0.112`."""
    return MISSING if value is None else f"{value:.3f}"


def mean_interval(low: float | None, high: float | None) -> str:
    """`0.052 – 0.181`."""
    return MISSING if low is None or high is None else f"{low:.3f} – {high:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """`88.1 – 98.5 %`."""
    if low is None or high is None:
        return MISSING
    return f"{100 * low:.1f} – {100 * high:.1f} %"


def milliseconds(ms: float | None) -> str:
    """`97.2 ms`, `18.3 s`: three digits or more."""
    if ms is None:
        return MISSING
    return f"{ms:.3g} ms" if ms < 100 else f"{ms:,.0f} ms" if ms < 10_000 else seconds(ms / 1000)


def counted(n: int, noun: str) -> str:
    """`1 turn`, `32 turns`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def seconds(s: float | None) -> str:
    """`0.31 s`, `10.4 s`, `1,204 s`."""
    if s is None:
        return MISSING
    return milliseconds(1000 * s) if s < 1 else f"{s:.3g} s" if s < 100 else f"{s:,.0f} s"


def count(value: float | None) -> str:
    """`4`, `4.6`, `1,200`."""
    return MISSING if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"

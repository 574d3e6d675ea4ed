"""Several metrics at once.

Public: `holm`, `holm_levels`.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p values, in the order they come: significant at α where at most α.

    None, a metric without a test, stays None and doesn't count.

    Source: Holm 1979, Scand. J. Stat. 6:65; as R's `p.adjust(method="holm")`.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for step, (p, place) in enumerate(ranked := _ranked(p_values)):
        highest = max(highest, min(1.0, p * (len(ranked) - step)))
        adjusted[place] = highest
    return adjusted


def holm_levels(p_values: Sequence[float | None], alpha: float = 0.05) -> list[float | None]:
    """The confidence level of each metric's Holm-adjusted interval, in the order they come.

    The smallest of m p values is held against α/m, so its interval has the level 1 - α/m; the next
    one's has 1 - α/(m - 1), and so on down to the first p that fails. There Holm stops: this and
    all later intervals have the level at which it stopped. An interval so excludes 0 exactly where
    the adjusted p is at most α, if interval and test are each other's inverse.

    They nearly are. With few discordant pairs Tango's interval is a little bolder than the exact
    McNemar test, the bootstrap's a little more careful than the sign-flip test. The levels follow
    the p values, a verdict follows its interval; where the two disagree, both are to be shown.

    Source: Holm 1979, Scand. J. Stat. 6:65; the levels are those of the tests. Simultaneous
    coverage they have for the metrics not rejected (Guilbaud 2008, Biom. J. 50:678); for the others
    it is only that they exclude 0 as the procedure does.
    """
    levels: list[float | None] = [None] * len(p_values)
    stopped = 0
    for step, (p, place) in enumerate(ranked := _ranked(p_values)):
        left = stopped or len(ranked) - step
        levels[place] = 1 - alpha / left
        if p * left > alpha:
            stopped = left
    return levels


def _ranked(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    return sorted((p, place) for place, p in enumerate(p_values) if p is not None)

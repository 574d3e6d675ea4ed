"""What a bank can detect, before anybody pays for a run.

Public: `Plan`, `Denominator`, `Case`, `plan_for`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragevalkit.stats import (
    non_inferiority_margin,
    pairs_needed_for_margin,
    pairs_needed_to_detect,
    repeats_interval_factor,
    smallest_detectable_difference,
    wilson,
)

DISCORDANT = (0.05, 0.10, 0.20)
RATE = 0.9
TARGET = 0.05
CORRELATION = 0.5
"""Assumed between two repeats of one question: half of what makes answers differ is the question.
There is no general value; it is printed wherever it is used."""


@dataclass(frozen=True)
class Denominator:
    """What a metric is taken over."""

    over: str
    n: int
    """Questions; repeats don't add to it."""
    half_width: float | None
    """Of Wilson's 95 % interval where the rate is `Plan.rate`; None without questions."""


@dataclass(frozen=True)
class Case:
    """One denominator with one share of discordant pairs."""

    over: str
    discordant: float
    detectable: float | None
    """Smallest difference found with 80 % power by exact McNemar at 5 %; None: nothing is."""
    more_to_detect: int | None
    """Questions that `Plan.target` would need beside those there are; None where it can't be."""
    margin: float | None
    """Smallest margin within which 'no worse' is shown with 80 % power, without a difference."""
    more_for_margin: int | None
    """Questions that a margin of `Plan.target` would need beside those there are."""


@dataclass(frozen=True)
class Plan:
    """What so many questions can tell."""

    denominators: list[Denominator]
    cases: list[Case]
    repeats: int
    rate: float
    target: float
    correlation: float
    interval_factor: float
    """By what factor the repeats narrow intervals, if repeats of a question so correlate."""

    @property
    def most_narrowed(self) -> float:
        """What that factor tends to with ever more repeats."""
        return math.sqrt(self.correlation)

    def as_dict(self) -> dict[str, Any]:
        """The `power` of `bank stats --json`.

        `rate`, `target`, `repeats`, `assumed_correlation`, `interval_factor`; `denominators`
        [{`over`, `n`, `half_width`}]; `cases` [{`over`, `discordant`, `detectable`,
        `more_to_detect`, `margin`, `more_for_margin`}]. Shares are from 0 to 1; null where there
        is none.
        """
        return {
            "rate": self.rate,
            "target": self.target,
            "repeats": self.repeats,
            "assumed_correlation": self.correlation,
            "interval_factor": self.interval_factor,
            "denominators": [asdict(row) for row in self.denominators],
            "cases": [asdict(case) for case in self.cases],
        }


def plan_for(
    denominators: Mapping[str, int],
    repeats: int = 1,
    discordant: Sequence[float] = DISCORDANT,
) -> Plan:
    """What can be told with so many questions in each denominator."""
    rows: list[Denominator] = []
    cases: list[Case] = []
    for over, n in denominators.items():
        interval = wilson(RATE * n, n)
        half_width = None if interval is None else (interval.high - interval.low) / 2
        rows.append(Denominator(over, n, half_width))
        cases += [_case(over, n, share) for share in discordant]
    factor = repeats_interval_factor(repeats, CORRELATION)
    return Plan(rows, cases, repeats, RATE, TARGET, CORRELATION, factor)


def _case(over: str, n: int, discordant: float) -> Case:
    return Case(
        over,
        discordant,
        smallest_detectable_difference(n, discordant),
        _more(pairs_needed_to_detect(TARGET, discordant), n),
        non_inferiority_margin(n, discordant),
        _more(pairs_needed_for_margin(TARGET, discordant), n),
    )


def _more(needed: int | None, n: int) -> int | None:
    return None if needed is None else max(0, needed - n)

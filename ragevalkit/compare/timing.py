"""Clocks and amounts of two runs, paired; they get no verdict.

Public: `compare_timing`, `compare_tokens`, `why_not_timed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragevalkit.compare.arm import TOKENS, WAITS, Arm
from ragevalkit.compare.difference import difference_of
from ragevalkit.compare.pairing import Pairs
from ragevalkit.compare.result import ClockResult, MeanResult, Middle, Timing
from ragevalkit.stats import cluster_bootstrap_median, percentiles
from ragevalkit.turn.composition import PARTS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

CLOCKS = ("ttft_ms", "first_answer_ms", "turn_s", "tpot_ms")
COUNTS = ("rounds", "tool_rounds")
LEVEL = 0.95
_NEVER = 1e15
"""Stands for the infinite wait while medians are taken; no clock comes near it."""


def why_not_timed(a: Arm, b: Arm) -> str | None:
    """Why the times of two runs can't be compared; None where they can."""
    at_once = [arm.concurrencies for arm in (a, b)]
    if at_once[0] == at_once[1] and len(at_once[0]) == 1:
        return None
    words = " and ".join(
        f"{name} {', then '.join(sorted(map(str, numbers)))}"
        for name, numbers in zip("ab", at_once, strict=True)
    )
    return f"turns at once: {words}; times compare only at one and the same number"


def compare_timing(pairs: Pairs, why_not: str | None) -> Timing:
    """All clocks, the rounds, and where the time went.

    Args:
        why_not: why differences say nothing; None where they do.
    """
    compared = why_not is None
    parts = [*PARTS, *(f"wait_{part}" for part in WAITS)]
    composition = {part: _means(pairs, part, compared) for part in parts}
    return Timing(
        compared=compared,
        why_not=why_not,
        clocks={name: _clock(pairs, name, compared) for name in CLOCKS},
        counts={name: _means(pairs, name, unit=1.0) for name in COUNTS},
        composition={part: of for part, of in composition.items() if of.n},
    )


def compare_tokens(pairs: Pairs) -> dict[str, MeanResult]:
    """Tokens a turn; kinds that no pair counts are left out."""
    found = {name: _means(pairs, name) for name in TOKENS}
    return {name: of for name, of in found.items() if of.n}


def _means(
    pairs: Pairs, measure: str, compared: bool = True, unit: float | None = None
) -> MeanResult:
    of = difference_of(*pairs.values(measure), pairs.questions, unit=unit)
    interval = of.interval(LEVEL) if compared else None
    return MeanResult(
        a=float(of.a.mean()) if of.n else None,
        b=float(of.b.mean()) if of.n else None,
        n=of.n,
        difference=of.estimate if compared else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
    )


def _clock(pairs: Pairs, measure: str, compared: bool) -> ClockResult:
    import numpy as np

    a, b = pairs.values(measure)
    defined = ~(np.isnan(a) | np.isnan(b))
    a, b = a[defined], b[defined]
    with np.errstate(invalid="ignore"):
        later = np.clip(b - a, -_NEVER, _NEVER)
    told = ~np.isnan(later)  # where it came on neither side, nothing is told of the difference
    questions = np.asarray(pairs.questions, dtype=np.int64)[defined][told]
    middles = _medians(later[told], questions)
    estimate = float(np.median(middles)) if len(middles) and compared else None
    interval = None
    if compared:
        interval = cluster_bootstrap_median(middles.tolist(), LEVEL)
    return ClockResult(
        a=_middle(a),
        b=_middle(b),
        difference=_came(estimate),
        low=_came(interval.low) if interval else None,
        high=_came(interval.high) if interval else None,
        questions=len(middles),
    )


def _medians(values: Array, questions: Any) -> Array:
    """The median of each question's values."""
    import numpy as np

    order = np.lexsort((values, questions))
    values, questions = values[order], questions[order]
    _, starts, sizes = np.unique(questions, return_index=True, return_counts=True)
    middles: Array = (values[starts + (sizes - 1) // 2] + values[starts + sizes // 2]) / 2
    return middles


def _middle(values: Array) -> Middle:
    found = percentiles(None if value == float("inf") else float(value) for value in values)
    return Middle(p50=found.p50, n=found.n, censored=found.censored)


def _came(value: float | None) -> float | None:
    """None where a median lies among what never came."""
    return None if value is None or abs(value) > _NEVER / 4 else value

"""The verdict on b for each metric.

Public: `DEFAULT_MARGINS`, `judge`, `compare_metrics`.

Tried in this order: better, no_worse, worse, inconclusive. That a difference isn't shown never
makes two sides equal: no_worse needs an interval inside a margin that was declared beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping

from ragevalkit.compare.difference import Difference, difference_of
from ragevalkit.compare.pairing import Pairs
from ragevalkit.compare.result import Bounds, Flips, MetricResult, Side, Verdict
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.stats import Interval, holm, holm_levels, non_inferiority

LEVEL = 0.95
ONE_SIDED = 0.90
"""Two-sided level of an interval each of whose ends is a one-sided test at 5 %."""

DEFAULT_MARGINS = {name: 0.05 for name, metric in METRICS.items() if not metric.descriptive}
"""By how much b may be worse and still be no worse: 5 points, and 0.05 defects a turn."""


def judge(
    adjusted: Interval | None,
    one_sided: Interval | None,
    margin: float,
    higher_is_better: bool = True,
) -> tuple[Verdict, bool]:
    """The verdict on b, and whether it is no worse although a small loss is established.

    Args:
        adjusted: of b - a, at the level at which Holm tests it.
        one_sided: the 90 % interval.
    """
    gains, loses = _beyond_zero(adjusted, higher_is_better)
    if gains:
        return "better", False
    if one_sided is not None and non_inferiority(one_sided, margin, higher_is_better):
        return "no_worse", loses
    return ("worse" if loses else "inconclusive"), False


def _beyond_zero(interval: Interval | None, higher_is_better: bool) -> tuple[bool, bool]:
    """Whether an interval lies on the good side of 0, and on the bad one."""
    if interval is None:
        return False, False
    above, below = interval.low > 0, interval.high < 0
    return (above, below) if higher_is_better else (below, above)


def compare_metrics(pairs: Pairs, margins: Mapping[str, float]) -> dict[str, MetricResult]:
    """Every metric over the pairs.

    Args:
        margins: those in force, by metric.
    """
    found = {
        name: difference_of(
            *pairs.values(name), pairs.questions, is_rate=not metric.is_mean, unit=1.0
        )
        for name, metric in METRICS.items()
    }
    judged = [n for n, d in found.items() if d.n and not METRICS[n].descriptive]
    p_values = [found[name].p for name in judged]
    levels = dict(zip(judged, holm_levels(p_values, 1 - LEVEL), strict=True))
    p_adjusted = dict(zip(judged, holm(p_values), strict=True))
    return {
        name: _result(name, of, margins.get(name), levels.get(name), p_adjusted.get(name))
        for name, of in found.items()
    }


def _result(
    name: str,
    of: Difference,
    margin: float | None,
    level: float | None,
    p_adjusted: float | None,
) -> MetricResult:
    """Args:
    level: at which Holm tests the metric; None: it gets no verdict.
    """
    plain = of.interval(LEVEL)
    verdict: Verdict | None = None
    small_loss = False
    adjusted = one_sided = more = None
    if level is not None and margin is not None:
        higher = METRICS[name].higher_is_better
        adjusted, one_sided = of.interval(level), of.interval(ONE_SIDED)
        verdict, small_loss = judge(adjusted, one_sided, margin, higher)
        if verdict == "inconclusive":
            more = of.more_questions(margin, higher, 1 - level)
    return MetricResult(
        a=side(of.k_a, of, of.a),
        b=side(of.k_b, of, of.b),
        difference=of.estimate,
        low=plain.low if plain else None,
        high=plain.high if plain else None,
        p=of.p,
        flips=flips(of),
        verdict=verdict,
        margin=None if METRICS[name].descriptive else margin,
        detectable=None if level is None else of.detectable(1 - level),
        questions=of.questions,
        method="tango" if of.is_paired_rate else "cluster_bootstrap",
        test="mcnemar_exact" if of.is_paired_rate else "sign_flip",
        p_adjusted=p_adjusted,
        adjusted=_bounds(adjusted, level),
        one_sided=_bounds(one_sided, ONE_SIDED),
        small_loss=small_loss,
        more_questions=more,
    )


def side(k: float, of: Difference, means: object) -> Side:
    """A rate or mean on one side."""
    value = float(means.mean()) if of.n else None  # type: ignore[attr-defined]
    return Side(k=round(k) if of.is_rate else None, n=of.n, value=value)


def flips(of: Difference) -> Flips:
    return Flips(a_only=of.a_only, b_only=of.b_only)


def _bounds(interval: Interval | None, level: float | None) -> Bounds | None:
    if interval is None or level is None:
        return None
    return Bounds(low=interval.low, high=interval.high, level=level)

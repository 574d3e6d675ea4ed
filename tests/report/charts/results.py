"""Results of runs and comparisons for charts to be drawn from."""

from __future__ import annotations

from typing import Any

from ragevalkit.compare.comparability import Shared
from ragevalkit.compare.result import (
    ArmResult,
    Bounds,
    ClockResult,
    Comparison,
    Flipped,
    Flips,
    GateResult,
    MeanResult,
    MetricResult,
    Middle,
    Side,
    Timing,
)
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.summary import Rate, Summary, Tally
from ragevalkit.stats import wilson


def rate(k: int, n: int) -> Rate:
    ends = wilson(k, n)
    low, high = (ends.low, ends.high) if ends else (None, None)
    return Rate(k=k, n=n, value=k / n if n else None, low=low, high=high)


def summary(run: str = "demo", **counts: int) -> Summary:
    """A run of 116 turns, 70 of them answerable.

    Args:
        counts: k of metrics; the rest have 60 of 70 or as fits.
    """
    metrics = {
        name: Rate(k=None, n=116, value=0.2, low=0.1, high=0.3)
        if metric.is_mean
        else rate(counts.get(name, 60), 70)
        for name, metric in METRICS.items()
    }
    metrics["abstention_precision"] = rate(0, 0)
    return (
        Tally()
        .summary(run, planned=116)
        .model_copy(
            update={
                "turns": 116,
                "scored": 116,
                "metrics": metrics,
                "outcomes": {
                    "answerable": {"answer": 61, "decline": 8, "hedge": 1, "infra_error": 0},
                    "unanswerable": {"answer": 8, "decline": 38, "hedge": 0, "infra_error": 0},
                },
                "defects": {"answer:should_have_declined": 8, "refusal:should_have_answered": 8},
            }
        )
    )


def metric_result(
    difference: float | None, verdict: str | None, flips: tuple[int, int] = (3, 5)
) -> MetricResult:
    at = difference or 0.0
    found = difference is not None
    return MetricResult(
        a=Side(k=40, n=46, value=40 / 46),
        b=Side(k=38, n=46, value=38 / 46),
        difference=difference,
        low=at - 0.06 if found else None,
        high=at + 0.06 if found else None,
        p=0.5,
        flips=Flips(a_only=flips[0], b_only=flips[1]),
        verdict=verdict,
        margin=0.05 if verdict else None,
        detectable=0.1,
        questions=46,
        method="tango",
        test="mcnemar_exact",
        p_adjusted=1.0,
        adjusted=Bounds(low=at - 0.08, high=at + 0.08, level=0.99) if verdict and found else None,
        one_sided=Bounds(low=at - 0.04, high=at + 0.04, level=0.9) if verdict and found else None,
        small_loss=False,
        more_questions=None,
    )


def clock(a: float | None, b: float | None, difference: float | None) -> ClockResult:
    reach = 0.2 * abs(difference or 0.0)
    found = difference is not None
    return ClockResult(
        a=Middle(p50=a, n=116, censored=0),
        b=Middle(p50=b, n=116, censored=2),
        difference=difference,
        low=(difference or 0.0) - reach if found else None,
        high=(difference or 0.0) + reach if found else None,
        questions=116,
    )


def mean(a: float, b: float) -> MeanResult:
    return MeanResult(a=a, b=b, n=116, difference=b - a, low=b - a - 1, high=b - a + 1)


def comparison(a: str = "bf16", b: str = "nvfp4", **more: Any) -> Comparison:
    metrics = {
        "cited_correct_page": metric_result(0.029, "no_worse", (0, 2)),
        "refused_correctly": metric_result(-0.043, "inconclusive", (2, 0)),
        "over_refused": metric_result(0.2, "worse", (1, 12)),
        "answered": metric_result(0.0, "no_worse", (0, 0)),
        "defects_per_turn": metric_result(-0.12, "better", (14, 0)),
        "citation_recall": metric_result(0.1, None),
        "correct_answer": metric_result(None, None, (0, 0)),
    }
    timing = Timing(
        compared=True,
        why_not=None,
        clocks={
            "ttft_ms": clock(62, 97, 35),
            "first_answer_ms": clock(7200, None, None),
            "turn_s": clock(4.1, 10.4, 6.2),
            "tpot_ms": clock(9.4, 4.7, -4.7),
        },
        counts={},
        composition={"wait": mean(900, 1500), "reasoning": mean(2500, 6200), "retries": mean(0, 0)},
    )
    found = Comparison(
        a=_arm(a),
        b=_arm(b),
        comparable=True,
        factors={},
        confounders={},
        not_comparable={},
        allowed={},
        shared=Shared(questions=116, of_a=116, of_b=116, share=1.0),
        pairs=116,
        questions=116,
        repeated=False,
        unpaired={},
        notes=[],
        metrics=metrics,
        defects={},
        timing=timing,
        tokens={},
        flipped=Flipped(questions=0, shown=[]),
        floor=None,
        gate=GateResult(verdict=None, file=None, hash=None, lines=[]),
    )
    return found.model_copy(update=more)


def _arm(run: str) -> ArmResult:
    return ArmResult(
        run=run,
        folder=run,
        planned=116,
        turns=116,
        scored=116,
        infra_errors=0,
        lost_to={},
        unfinished=False,
    )

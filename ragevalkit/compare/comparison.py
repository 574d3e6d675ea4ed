"""Comparing two runs.

Public: `compare_runs`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ragevalkit.compare.arm import Arm, read_arms
from ragevalkit.compare.comparability import Comparability, compare_manifests
from ragevalkit.compare.defects import compare_defects
from ragevalkit.compare.flips import find_flipped
from ragevalkit.compare.gate import Gate, decide
from ragevalkit.compare.pairing import left_over, pair
from ragevalkit.compare.result import (
    ArmResult,
    Comparison,
    Flipped,
    Floor,
    MetricResult,
)
from ragevalkit.compare.timing import compare_timing, compare_tokens, why_not_timed
from ragevalkit.compare.verdict import DEFAULT_MARGINS, compare_metrics
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import RunFolder

SHOWN = 10
"""Flipped questions that are shown with both replies."""


def compare_runs(
    a: RunFolder,
    b: RunFolder,
    *,
    gate: Gate | None,
    allow: Iterable[str] = (),
    floor: RunFolder | None = None,
    shown: int = SHOWN,
) -> Comparison:
    """Compare b with a.

    Args:
        gate: None decides nothing.
        allow: fields of run.json that may differ though they mustn't.
        floor: another run of a's endpoint, whose differences from a are the noise.
        shown: so many flipped questions are shown with both replies.

    Raises:
        InputError: a run can't be read, or `allow` or `floor` doesn't fit.
    """
    allow = list(allow)
    arms = read_arms([a, b, *([floor] if floor else [])])
    of_a, of_b = arms[:2]
    conditions = compare_manifests(of_a, of_b, allow)
    pairs = pair(of_a, of_b)
    comparable = conditions.comparable
    if comparable and not len(pairs):
        raise InputError(
            f"{a.path} and {b.path} have no scored turn in common; {left_over(pairs.unpaired)}"
        )
    why_not = why_not_timed(of_a, of_b)
    margins = gate.margins if gate else DEFAULT_MARGINS
    metrics = compare_metrics(pairs, margins) if comparable else {}
    timing = compare_timing(pairs, why_not) if comparable else None
    tokens = compare_tokens(pairs) if comparable else {}
    noise = None
    if floor and comparable:
        noise = _add_floor(metrics, of_a, arms[2], allow, margins)
    return Comparison(
        a=_arm(of_a),
        b=_arm(of_b),
        comparable=comparable,
        factors=conditions.factors,
        confounders=conditions.confounders,
        not_comparable=conditions.not_comparable,
        allowed=conditions.allowed,
        shared=conditions.shared,
        pairs=len(pairs),
        questions=len(pairs.hashes),
        repeated=pairs.repeated,
        unpaired=pairs.unpaired,
        notes=_notes(of_a, of_b, conditions, why_not) + _floor_notes(noise),
        metrics=metrics,
        defects=compare_defects(pairs) if comparable else {},
        timing=timing,
        tokens=tokens,
        flipped=find_flipped(pairs, shown) if comparable else Flipped(questions=0, shown=[]),
        floor=noise,
        gate=decide(gate, comparable, {"a": of_a, "b": of_b}, metrics, timing, tokens),
    )


def _arm(arm: Arm) -> ArmResult:
    return ArmResult(
        run=arm.name,
        folder=str(arm.path),
        planned=arm.planned,
        turns=arm.turns,
        scored=arm.turns - arm.infra_errors,
        infra_errors=arm.infra_errors,
        lost_to=dict(arm.lost_to.most_common(5)),
        unfinished=arm.unfinished,
    )


def _notes(a: Arm, b: Arm, conditions: Comparability, why_not: str | None) -> list[str]:
    notes = [
        f"{side} is half finished: {arm.turns} of {arm.planned} turns of {arm.name} are on record; "
        "what both have is compared, and the gate is inconclusive"
        for side, arm in (("a", a), ("b", b))
        if arm.unfinished
    ]
    if a.infra_errors or b.infra_errors:
        lost = f"a lost {a.infra_errors} of {a.turns}, b {b.infra_errors} of {b.turns}"
        uneven = a.infra_errors / a.turns != b.infra_errors / b.turns
        notes.append(
            f"turns lost to infrastructure errors: {lost}; their pairs drop out"
            + (", and what was lost may not be a fair sample" if uneven else "")
        )
    if conditions.allowed:
        names = ", ".join(conditions.allowed)
        notes.append(f"compared although these differ, as --allow says: {names}")
    if why_not:
        notes.append(f"times are not compared: {why_not}")
    notes += [
        f"the times of {side} say more of this client than of the server: {arm.client_limited}"
        for side, arm in (("a", a), ("b", b))
        if arm.client_limited
    ]
    return notes


def _floor_notes(floor: dict[str, Any] | None) -> list[str]:
    if not floor or not floor["factors"]:
        return []
    return [
        f"the floor's run differs from a in {', '.join(floor['factors'])}: what the two differ by "
        "is noise only if their endpoint is one and the same"
    ]


def _add_floor(
    metrics: dict[str, MetricResult],
    a: Arm,
    again: Arm,
    allow: list[str],
    margins: dict[str, float],
) -> dict[str, Any]:
    """Put what two runs of a's endpoint differ by beside what a and b do.

    Raises:
        InputError: the runs of the floor aren't comparable.
    """
    conditions = compare_manifests(a, again, allow)
    if not conditions.comparable:
        raise InputError(
            f"--floor {again.name}: not comparable with {a.name}, as these differ: "
            f"{', '.join(conditions.not_comparable)}"
        )
    pairs = pair(a, again)
    for name, of in compare_metrics(pairs, margins).items():
        metrics[name].floor = _floor(metrics[name], of)
    return {
        "run": again.name,
        "pairs": len(pairs),
        "questions": len(pairs.hashes),
        "factors": {name: values.model_dump() for name, values in conditions.factors.items()},
    }


def _floor(of: MetricResult, noise: MetricResult) -> Floor:
    inside = False
    if of.difference is not None and noise.difference is not None:
        reach = [abs(noise.difference), *(abs(end) for end in (noise.low, noise.high) if end)]
        inside = abs(of.difference) <= max(reach)
    return Floor(
        difference=noise.difference,
        low=noise.low,
        high=noise.high,
        flips=noise.flips,
        inside=inside,
    )

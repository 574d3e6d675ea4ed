"""Tables of `bench budget`.

Public: `budget_tables`, `curve_table`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragevalkit.report.numbers import (
    MISSING,
    count,
    interval,
    milliseconds,
    percent,
    rate,
    seconds,
)
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.bench.budget.curve import Curve, Point
    from ragevalkit.bench.budget.result import BudgetResult, Rung

_RUNGS = ["answered", "reasoning", "answer", "first token", "first answer", "before answer"]


def budget_tables(result: BudgetResult) -> list[Table]:
    """The ladder and, where there is thinking to control, the controls."""
    what = "turns with tools" if result.agent else "requests without tools"
    questions = f"{len(result.questions)} question{'s' if len(result.questions) > 1 else ''}"
    ladder = Table(
        f"Output budgets: {what}, {questions}",
        ["budget", *_RUNGS, "ended"],
        [[f"{rung.budget:,}", *_cells(rung), _finish(rung)] for rung in result.budgets],
        [f"{result.sentence[:1].upper()}{result.sentence[1:]}.", *_notes(result)],
        text_columns=0,
        remarks=True,
    )
    if not result.controls:
        return [ladder]
    controls = Table(
        f"Thinking controls, at an output budget of {result.controls[0].budget:,}",
        ["control", "verdict", *_RUNGS, "seen"],
        [[c.control, c.verdict.value, *_cells(c), c.evidence] for c in result.controls],
        text_columns=2,
        remarks=True,
    )
    return [ladder, controls]


def _notes(result: BudgetResult) -> list[str]:
    notes = [f"{note[:1].upper()}{note[1:]}." for note in result.notes]
    if result.lost:
        notes.append(
            f"{result.lost} of {result.planned} runs are missing, lost to infrastructure errors; "
            "the same command asks them again."
        )
    floor = result.floor
    if floor is not None and floor.ms is not None:
        notes.append(f"Differences below {milliseconds(floor.ms)} are under the floor.")
    if floor is not None and floor.instrument.client_limited:
        notes.append(f"Client-limited: {floor.instrument.client_limited}.")
    return notes


def _cells(rung: Rung) -> list[str]:
    return [
        rate(rung.answered, rung.runs),
        _tokens(rung.reasoning_tokens),
        _tokens(rung.answer_tokens),
        _median(rung.ttft_ms),
        _median(rung.first_answer_ms),
        percent(rung.before_answer_share),
    ]


def _tokens(counts: Sequence[int | None]) -> str:
    known = [tokens for tokens in counts if tokens is not None]
    if not known:
        return MISSING
    low, high = min(known), max(known)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _median(times: Sequence[float | None]) -> str:
    """The median, what never came counted as longer than all."""
    from ragevalkit.stats import percentiles

    if not times:
        return MISSING
    of = percentiles(times)
    if of.p50 is not None:
        return milliseconds(of.p50)
    return "never" if of.censored == of.n else f"{of.censored}/{of.n} never"


def _finish(rung: Rung) -> str:
    ends = Counter(rung.finish)
    return ", ".join(f"{n} {end}" if len(ends) > 1 else end for end, n in ends.most_common())


def curve_table(curve: Curve) -> Table:
    """Quality against output budget, a row a run."""
    from ragevalkit.scoring.correct import MEANING

    notes = [
        f"Correct: {MEANING}.",
        *(f"{note[:1].upper()}{note[1:]}." for note in curve.notes),
    ]
    return Table(
        f"Quality against output budget: {curve.bank}",
        [
            "budget",
            "run",
            "turns",
            "correct",
            "",
            "95 % interval",
            "refused correctly",
            "over-refused",
            "no output",
            "budget exhausted",
            "turn p50",
        ],
        [_point(point) for point in curve.points],
        notes,
        text_columns=2,
    )


def _point(point: Point) -> list[str]:
    correct = point.correct
    return [
        f"{point.budget:,}",
        point.run,
        count(point.scored),
        rate(correct.k, correct.n),
        percent(correct.value),
        interval(correct.low, correct.high),
        rate(point.refused_correctly.k, point.refused_correctly.n),
        rate(point.over_refused.k, point.over_refused.n),
        count(point.no_output),
        count(point.budget_exhausted),
        seconds(point.turn_s),
    ]

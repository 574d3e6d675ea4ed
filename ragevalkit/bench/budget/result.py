"""What a budget bench comes to: the JSON of `bench budget --json`.

Public: `BudgetResult`, `Rung`, `ControlRung`, `summarise`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from ragevalkit.bench.budget.controls import Judgement, Obedience, judge, judge_efforts
from ragevalkit.bench.budget.plan import Control, Ladder, Step
from ragevalkit.bench.budget.reading import Reading
from ragevalkit.bench.session import Floor

RESULT_VERSION = 1


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Rung(_Model):
    """All runs at one output budget; the lists have an entry a run, in the order of the runs."""

    budget: int
    runs: int
    """Runs that count: those lost to infrastructure errors don't."""
    lost: int
    answered: int
    """Runs in which visible text came."""
    answer_tokens: list[int | None]
    reasoning_tokens: list[int | None]
    ttft_ms: list[float | None]
    """Sent to the first token of any channel."""
    first_answer_ms: list[float | None]
    """Start to the first answer token; null where it never came."""
    wall_ms: list[float]
    finish: list[str]
    """The server's finish reasons, or what became of the request; of turns how they ended."""
    before_answer_share: float | None
    """Share of all the runs' time that had passed before a visible word; the whole of a run
    in which none came."""
    tokens_estimated: bool
    errors: list[str]
    """The server's own words, each once."""

    @classmethod
    def of(cls, budget: int, readings: Sequence[Reading], **more: Any) -> Self:
        kept = [reading for reading in readings if not reading.lost]
        wall_ms = sum(reading.wall_ms for reading in kept)
        before_ms = sum(reading.before_answer_ms for reading in kept)
        return cls(
            budget=budget,
            runs=len(kept),
            lost=len(readings) - len(kept),
            answered=sum(reading.answered for reading in kept),
            answer_tokens=[reading.answer_tokens for reading in kept],
            reasoning_tokens=[reading.reasoning_tokens for reading in kept],
            ttft_ms=[reading.ttft_ms for reading in kept],
            first_answer_ms=[reading.first_answer_ms for reading in kept],
            wall_ms=[reading.wall_ms for reading in kept],
            finish=[reading.finish for reading in kept],
            before_answer_share=round(before_ms / wall_ms, 4) if wall_ms else None,
            tokens_estimated=any(reading.estimated for reading in kept),
            errors=list(dict.fromkeys(r.error for r in readings if r.error)),
            **more,
        )


class ControlRung(Rung):
    """All runs at one setting of a thinking control, at the ladder's largest budget."""

    control: str
    fields: dict[str, Any]
    """What was added to the request."""
    asked: int | None
    """Reasoning tokens asked for; null for a level of effort."""
    verdict: Obedience
    evidence: str


class BudgetResult(_Model):
    """What `bench budget --json` prints."""

    version: int = RESULT_VERSION
    name: str
    endpoint: str
    model: str
    agent: bool
    """Whole turns with tools; else single requests without."""
    questions: list[str]
    """Ids; run number r asks question r, and the first again after the last."""
    seed: int
    planned: int
    """Runs of all rungs and controls."""
    lost: int
    """Runs lost to infrastructure errors, or not asked yet."""
    budgets: list[Rung]
    controls: list[ControlRung]
    smallest_that_answers: int | None
    """Smallest budget at which every run answers."""
    smallest_that_ends: int | None
    """Smallest budget at which every run answers, and none is cut off."""
    sentence: str
    notes: list[str]
    floor: Floor | None


Readings = Mapping[tuple[int, str | None], Sequence[Reading]]
"""The runs' readings, in their order, by budget and name of the control."""


def by_rung(pairs: Iterable[tuple[Step, Reading]]) -> Readings:
    """Readings in the order of the runs."""
    rungs: dict[tuple[int, str | None], list[tuple[int, Reading]]] = {}
    for step, reading in pairs:
        name = step.control.name if step.control else None
        rungs.setdefault((step.budget, name), []).append((step.run, reading))
    return {key: [r for _, r in sorted(runs, key=lambda p: p[0])] for key, runs in rungs.items()}


def summarise(
    ladder: Ladder,
    controls: Sequence[Control],
    readings: Readings,
    *,
    name: str,
    endpoint: str,
    model: str,
    context: int | None = None,
    floor: Floor | None = None,
) -> BudgetResult:
    """The result of what was read so far.

    Args:
        controls: those that were to be tried.
        context: tokens of the model's context, where the server tells.
    """
    rungs = [Rung.of(budget, readings.get((budget, None), ())) for budget in ladder.budgets]
    tried = list(_controls(ladder, controls, readings))
    planned = ladder.runs * (len(rungs) + sum(not c.refusal for c in controls))
    answers = _smallest(rungs, ladder.runs)
    cut = {b for b in ladder.budgets if any(r.cut_off for r in readings.get((b, None), ()))}
    ends = _smallest([rung for rung in rungs if rung.budget not in cut], ladder.runs)
    return BudgetResult(
        name=name,
        endpoint=endpoint,
        model=model,
        agent=ladder.agent,
        questions=[question.id for question in ladder.questions],
        seed=ladder.seed,
        planned=planned,
        lost=planned - sum(rung.runs for rung in (*rungs, *tried)),
        budgets=rungs,
        controls=tried,
        smallest_that_answers=answers,
        smallest_that_ends=ends,
        sentence=_sentence(rungs, answers, ends),
        notes=list(_notes(ladder, readings, context, tried)),
        floor=floor,
    )


def _controls(
    ladder: Ladder, controls: Sequence[Control], readings: Readings
) -> Iterator[ControlRung]:
    budget = ladder.budgets[-1]
    free = [r for r in readings.get((budget, None), ()) if not r.lost]
    runs = {c.name: readings.get((budget, c.name), ()) for c in controls}
    levels = {c.name: (c, runs[c.name]) for c in controls if c.kind == "effort"}
    efforts = judge_efforts(levels) if levels else None
    for control in controls:
        found: Judgement | None = efforts if control.kind == "effort" else None
        found = found or judge(control, [r for r in runs[control.name] if not r.lost], free)
        yield ControlRung.of(
            budget,
            runs[control.name],
            control=control.name,
            fields=control.fields,
            asked=control.asked,
            verdict=found.verdict,
            evidence=found.evidence,
        )


def _smallest(rungs: Iterable[Rung], runs: int) -> int | None:
    return next((rung.budget for rung in rungs if rung.answered == runs), None)


def _sentence(rungs: Sequence[Rung], answers: int | None, ends: int | None) -> str:
    asked = [rung for rung in rungs if rung.runs]
    if not asked:
        return "nothing was asked"
    parts = []
    below = [rung for rung in asked if answers is None or rung.budget < answers]
    if silent := [f"{rung.budget:,}" for rung in below if not rung.answered]:
        parts.append(f"no answer at {_and(silent)} tokens")
    parts += [
        f"{rung.answered} of {rung.runs} runs answer{'s' if rung.answered == 1 else ''} at "
        f"{rung.budget:,}"
        for rung in below
        if rung.answered
    ]
    if answers is None:
        parts.append("at no budget of the ladder does every run answer")
    else:
        parts.append(f"the smallest budget at which every run answers is {answers:,}")
        if ends is None:
            parts.append("at no budget do all answers come to their own end")
        elif ends != answers:
            parts.append(f"the smallest at which none is cut off, {ends:,}")
    return "; ".join(parts)


def _notes(
    ladder: Ladder, readings: Readings, context: int | None, tried: Sequence[ControlRung]
) -> Iterator[str]:
    if beyond := [f"{b:,}" for b in ladder.budgets if context is not None and b >= context]:
        yield f"{_and(beyond)} tokens are more than the context of {context:,} holds"
    for budget in ladder.budgets:
        runs = readings.get((budget, None), ())
        short = [
            r.output_tokens for r in runs if r.cut_off and (r.output_tokens or budget) < budget
        ]
        if short:
            yield (
                f"at {budget:,}: cut off after {_range(short)} tokens, before the budget ended: by "
                "the context, or by a limit of the server's own"
            )
        if over := [r.output_tokens for r in runs if (r.output_tokens or 0) > budget]:
            came = f"{_range(over)} tokens came"
            yield f"at {budget:,}: {came}: the server doesn't keep to the budget"
        if refused := [r for r in runs if r.rejected]:
            yield f"at {budget:,}: {len(refused)} of {len(runs)} rejected: {refused[0].error}"
    everything = [r for runs in readings.values() for r in runs]
    if any(r.thoughts_in_answer for r in everything):
        yield (
            "thoughts stand in the visible text: is the server's reasoning parser on? Their tokens "
            "are split off by characters, and when the answer began isn't known"
        )
    elif any(r.estimated for r in everything):
        yield "the server doesn't count every channel: some token counts are estimated"
    if not tried and not any(r.reasoning_tokens for r in everything):
        yield "no reasoning was seen: there is no thinking to control"


def _range(counts: Sequence[int | None]) -> str:
    known = [count for count in counts if count is not None]
    low, high = min(known), max(known)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _and(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last

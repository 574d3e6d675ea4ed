"""Whether a thinking control did what it was asked: tokens spent against tokens asked for.

Public: `Obedience`, `judge`, `judge_efforts`, `slack`.

A server that takes a field and ignores it answers as one that heeds it; only what was spent tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ragevalkit.bench.budget.plan import Control
from ragevalkit.bench.budget.reading import Reading


class Obedience(StrEnum):
    OBEYED = "obeyed"
    IGNORED = "ignored"
    """Taken without a word, and without effect."""
    EXCEEDED = "exceeded"
    """It had an effect, but more was spent than asked for."""
    NOT_SUPPORTED = "not_supported"
    """The server turned the request away; the evidence is in its own words."""
    UNKNOWN = "unknown"
    """What was spent doesn't tell."""


class Judgement(NamedTuple):
    verdict: Obedience
    evidence: str


def slack(asked: int) -> int:
    """Tokens by which a budget may be passed: engines end the thoughts with a phrase of theirs."""
    return 0 if asked == 0 else max(8, asked // 20)


def judge(control: Control, readings: Sequence[Reading], free: Sequence[Reading]) -> Judgement:
    """Judge a control that asks for a number of tokens, 0 where it switches thinking off.

    Args:
        readings: its runs.
        free: the same runs at the same output budget without any control.
    """
    if refused := _refused(control, readings):
        return refused
    spent, without = _spent(readings), _spent(free)
    if not spent:
        return Judgement(Obedience.UNKNOWN, "no run tells what it spent")
    asked = control.asked or 0
    most, limit = max(spent), asked + slack(asked)
    seen = f"asked for {_n(asked)}, spent {_listed(spent)}"
    if not without:
        return Judgement(Obedience.UNKNOWN, f"{seen}; no run without it to hold against it")
    seen += f"; {_listed(without)} without it"
    if most <= limit:
        if max(without) <= limit:
            return Judgement(Obedience.UNKNOWN, f"{seen}: no more is spent anyway")
        if not any(reading.answered for reading in readings):
            return Judgement(Obedience.UNKNOWN, f"{seen}, but no answer came")
        if asked == 0 and any(reading.thoughts_in_answer for reading in free):
            return Judgement(
                Obedience.UNKNOWN, f"{seen}, but without a parser thoughts look like an answer"
            )
        return Judgement(Obedience.OBEYED, seen)
    # all of its runs below all runs without it: by chance 1 in 20 with three of each
    if most < min(without):
        return Judgement(Obedience.EXCEEDED, seen)
    return Judgement(Obedience.IGNORED, seen)


def judge_efforts(levels: Mapping[str, tuple[Control, Sequence[Reading]]]) -> Judgement:
    """Judge levels of effort, lowest first, by whether more is spent at the highest one.

    Obeyed where every run of the lowest level spent less than every run of the highest one: with
    three runs each that happens by chance once in 20. Ignored where each run spent the same at
    all levels, as it does at a fixed seed; else it can't be told from chance.
    """
    for control, readings in levels.values():
        if refused := _refused(control, readings):
            return refused
    spent = {level: _spent(readings) for level, (_, readings) in levels.items()}
    if not all(spent.values()):
        return Judgement(Obedience.UNKNOWN, "no run tells what it spent")
    seen = "; ".join(f"{level}: {_listed(tokens)}" for level, tokens in spent.items())
    (lowest, *_, highest) = spent.values()
    if max(lowest) < min(highest) and min(len(lowest), len(highest)) >= 3:
        return Judgement(Obedience.OBEYED, seen)
    if max(map(max, spent.values())) == 0:
        return Judgement(Obedience.UNKNOWN, "nothing was spent at any level")
    if all(tokens == lowest for tokens in spent.values()):
        return Judgement(Obedience.IGNORED, f"the same at all levels: {_listed(lowest)}")
    return Judgement(Obedience.UNKNOWN, f"not to be told from chance: {seen}")


def _refused(control: Control, readings: Sequence[Reading]) -> Judgement | None:
    words = control.refusal
    if words is None and readings and all(reading.rejected for reading in readings):
        words = next((r.error for r in readings if r.error), "rejected")
    return None if words is None else Judgement(Obedience.NOT_SUPPORTED, words)


def _spent(readings: Sequence[Reading]) -> list[int]:
    """Reasoning tokens of each run: of the request that had most, as controls are a request's."""
    told = (r.most_reasoning for r in readings if not (r.rejected or r.lost))
    return [tokens for tokens in told if tokens is not None]


def _listed(tokens: Sequence[int]) -> str:
    low, high = min(tokens), max(tokens)
    return _n(low) if low == high else f"{_n(low)} to {_n(high)}"


def _n(tokens: int) -> str:
    return f"{tokens:,}"

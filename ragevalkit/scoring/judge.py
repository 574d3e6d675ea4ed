"""What a judging model is asked, and how its answer is read.

Public: `Verdict`, `Judgement`, `JudgeSummary`, `judge_messages`, `read_verdict`, `needs_judging`,
`summarise_judgements`.

A judge's verdicts are kept under its name, beside the metrics and never mixed into them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict

from ragevalkit.bank import Question
from ragevalkit.scoring.outcome import Outcome, read_outcome
from ragevalkit.stats import clustered_wilson
from ragevalkit.turn.record import Turn


class Verdict(StrEnum):
    CORRECT = "correct"
    PARTLY = "partly"
    INCORRECT = "incorrect"


class Judgement(BaseModel):
    """One judge's verdict on one turn. A line of judge-<name>.jsonl."""

    model_config = ConfigDict(extra="forbid")

    question_id: str
    question_hash: str
    repeat: int
    judge: str
    """Name of the judge's profile."""
    model: str
    prompt: str
    """Hash of the judge's prompt."""
    reply: str
    """Hash of the reply that was judged."""
    verdict: Verdict | None
    """None where the judge failed or answered nonsense."""
    reason: str | None = None
    error: str | None = None


class JudgeSummary(BaseModel):
    """What one judge said of a run."""

    model_config = ConfigDict(extra="forbid")

    model: str
    verdicts: dict[str, int]
    undefined: int
    """Turns on which the judge failed or answered nonsense."""
    k: int
    """Turns judged correct."""
    n: int
    """Turns with a verdict."""
    value: float | None
    low: float | None
    high: float | None


@cache
def judge_prompt() -> str:
    """The prompt's text."""
    return (files("ragevalkit.scoring") / "prompts" / "judge.md").read_text(encoding="utf-8")


def digest(text: str) -> str:
    """16 hex digits that tell texts apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def needs_judging(turn: Turn, question: Question) -> bool:
    """Whether there is something to judge: an answer, and references to hold it against."""
    if not (question.answerable and question.answers):
        return False
    return read_outcome(turn).outcome in (Outcome.ANSWER, Outcome.HEDGE)


def judge_messages(turn: Turn, question: Question) -> list[dict[str, str]]:
    """The request's messages; the reply stands in JSON, so that it can't end its own quotation."""
    asked = {
        "question": question.question,
        "references": question.answers,
        "reply": turn.reply,
    }
    return [
        {"role": "system", "content": judge_prompt()},
        {"role": "user", "content": json.dumps(asked, ensure_ascii=False, indent=1)},
    ]


def read_verdict(answer: str) -> tuple[Verdict | None, str | None]:
    """Verdict and reason from the judge's answer; None where it holds no JSON object with one."""
    decoder = json.JSONDecoder()
    start = answer.find("{")
    while start >= 0:
        try:
            value, _ = decoder.raw_decode(answer, start)
        except (json.JSONDecodeError, RecursionError):
            value = None
        if isinstance(value, dict) and (found := _verdict(value)):
            reason = value.get("reason")
            return found, reason if isinstance(reason, str) else None
        start = answer.find("{", start + 1)
    return None, None


def summarise_judgements(judgements: Iterable[Judgement]) -> JudgeSummary | None:
    """The verdicts of one judge; None without any."""
    judged = list(judgements)
    if not judged:
        return None
    counts = Counter(one.verdict for one in judged if one.verdict)
    clusters: dict[str, list[float]] = defaultdict(list)
    for one in judged:
        if one.verdict:
            clusters[one.question_hash].append(one.verdict is Verdict.CORRECT)
    k, n = counts[Verdict.CORRECT], counts.total()
    interval = clustered_wilson(clusters.values())
    return JudgeSummary(
        model=judged[-1].model,
        verdicts={verdict.value: counts[verdict] for verdict in Verdict},
        undefined=len(judged) - n,
        k=k,
        n=n,
        value=k / n if n else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
    )


def _verdict(value: dict[str, Any]) -> Verdict | None:
    try:
        return Verdict(str(value.get("verdict")).strip().lower())
    except ValueError:
        return None

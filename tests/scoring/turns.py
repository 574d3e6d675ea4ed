"""Builds small turns through the record classes, for the tests of scoring."""

from __future__ import annotations

from typing import Any

from ragevalkit.bank import Question
from ragevalkit.turn.composition import compose
from ragevalkit.turn.record import (
    Call,
    Channel,
    Citation,
    Ended,
    PageRef,
    Round,
    RoundClock,
    RoundState,
    Turn,
)

ANSWERABLE = {
    "id": "a",
    "question": "How loud is it?",
    "answerable": True,
    "evidence": [{"document": "guide", "page": 4}],
}
UNANSWERABLE = {"id": "u", "question": "How much is it?", "answerable": False}

ANSWER = "The pump runs at 42 dB."
DECLINE = "NOT IN DOCUMENTS"


def call(name: str = "search", *pages: str, **fields: Any) -> Call:
    """A call that was carried out; `pages` such as "guide:4" are what a search returned."""
    given = {"id": "call_1", "arguments": "{}", "result": "{}"} | fields
    return Call.model_construct(name=name, returned=[page(p) for p in pages], **given)


def page(place: str) -> PageRef:
    document, _, number = place.rpartition(":")
    return PageRef.model_construct(document=document, page=int(number))


def cited(place: str, *, exists: bool = True) -> Citation:
    document, _, number = place.rpartition(":")
    return Citation.model_construct(document=document, page=int(number), exists=exists)


def round_(
    *calls: Call,
    content: str = "",
    reasoning: str = "",
    finish: str | None = None,
    clock: dict[str, Any] | None = None,
    channels: dict[str, Channel] | None = None,
) -> Round:
    return Round.model_construct(
        state=RoundState.DONE,
        finish_reason=finish or ("tool_calls" if calls else "stop"),
        content=content,
        reasoning=reasoning,
        calls=list(calls),
        clock=RoundClock.model_construct(**({"sent_ms": 0.0, "ended_ms": 1.0} | (clock or {}))),
        **(channels or {}),
    )


def turn(
    *rounds: Round,
    reply: str | None = None,
    ended: Ended = Ended.REPLY,
    citations: tuple[Citation, ...] = (),
    question: dict[str, Any] = ANSWERABLE,
    repeat: int = 0,
    wall_ms: float = 1000.0,
) -> Turn:
    """A turn of these rounds; its reply is the last one's content, or that of a round to come."""
    if reply is not None:
        rounds = (*rounds, round_(content=reply))
    last = rounds[-1] if rounds else None
    asked = Question.model_validate(question)
    return Turn.model_construct(
        question_id=asked.id,
        question_hash=asked.hash,
        repeat=repeat,
        outcome="",
        ended=ended,
        reply=last.content if last and not last.calls and ended is not Ended.INFRA_ERROR else "",
        citations=list(citations),
        rounds=list(rounds),
        started_at="2026-01-01T00:00:00.000+00:00",
        wall_ms=wall_ms,
        composition_ms=compose(rounds, wall_ms),
        corpus="tarn",
        tools=["search", "cite"],
        bank_line=question,
    )

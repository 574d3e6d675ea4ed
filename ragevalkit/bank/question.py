"""A labelled question.

Public: `Question`, `Evidence`, `Message`, `REFERENCE_WORDS`.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict

REFERENCE_WORDS = 12
"""Longer references aren't looked for in a reply: their wording is one of many."""


class Evidence(BaseModel):
    """A page that holds the answer, or a part of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    document: str
    page: int
    quote: str | None = None
    group: int = 0
    """Pages of one group are alternatives; every group is needed."""


class Message(BaseModel):
    """An earlier message of the conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Literal["user", "assistant"]
    content: str


class Question(BaseModel):
    """One line of a bank; question_banks/question.schema.json says what each field means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    question: str
    answerable: bool
    evidence: list[Evidence] = []
    answers: list[str] = []
    history: list[Message] = []
    tags: list[str] = []
    unanswerable_because: str | None = None
    corpus: str | None = None

    @cached_property
    def hash(self) -> str:
        """16 hex digits over question, history, answerable, evidence and answers.

        Two runs are paired by it: a change to any of these makes another question, a change to id,
        tags or corpus doesn't.
        """
        content = self.model_dump(
            include={"question", "history", "answerable", "evidence", "answers"}
        )
        canonical = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(canonical).hexdigest()[:16]

    def line(self) -> dict[str, Any]:
        """The question as a bank line, without the fields that it leaves out."""
        return self.model_dump(exclude_defaults=True, exclude_none=True) | {
            "answerable": self.answerable
        }

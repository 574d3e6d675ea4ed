"""A server whose speeds are known: prefill by the token, a fixed gap, and so many slots."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from ragevalkit.standin.dialect import PRESETS, Dialect
from ragevalkit.standin.events import Event, Finish, Open, Respond, Silence, Text, Wait, Wire
from ragevalkit.standin.habits import Habits
from ragevalkit.standin.request import ChatRequest

WORDS = " blue"


@dataclass
class Known:
    """Answers as many tokens as it is asked for."""

    base_ms: float = 10.0
    ms_per_token: float = 0.0
    """From the prompt's tokens to the first token."""
    gap_ms: float = 2.0
    gap_ms_per_token: float = 0.0
    """What each token of the prompt adds to the gap."""
    slots: int = 10_000
    """Requests at once; the others wait until one of these is done."""
    per_event: int = 1
    context: int | None = None
    """Longer prompts are rejected; it isn't told."""
    cached: int = 0
    """Tokens of each prompt that are said to come from the cache."""
    lives: int | None = None
    """Replies until all fails."""
    counts: bool = True
    """Whether usage comes."""
    engine: Literal["vllm", "openrouter"] = "vllm"
    """Whose wire it speaks; the second counts nothing but in its usage."""
    habits: dict[str, Any] = field(default_factory=dict)
    wire: Wire = field(init=False)
    replies: int = 0
    """Given so far."""
    _free_at: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        preset = PRESETS[self.engine] | {"cached_tokens": "details"}
        dialect = Dialect.model_validate({"engine": self.engine, **preset})
        self.wire = Wire("known", dialect, Habits(**self.habits).over(self.engine))
        self._free_at = [0.0] * min(self.slots, 1000)

    def models(self) -> Respond | Silence | None:
        return None

    def reply(self, request: ChatRequest) -> Iterator[Event]:
        if self.lives is not None:
            self.lives -= 1
            if self.lives < 0:
                return iter([Respond(500, b'{"error": {"message": "out of memory"}}')])
        if self.context is not None and request.prompt_tokens > self.context:
            words = f"This model's maximum context length is {self.context} tokens."
            body = orjson.dumps({"error": {"message": words, "code": "context_length_exceeded"}})
            return iter([Respond(400, body)])
        self.replies += 1
        tokens = request.max_tokens or 16
        first_ms = self.base_ms + self.ms_per_token * request.prompt_tokens
        gap_ms = self.gap_ms + self.gap_ms_per_token * request.prompt_tokens
        events = -(-tokens // self.per_event)
        now = time.monotonic()
        begins = max(now, heapq.heappop(self._free_at))
        takes_ms = first_ms + (events - 1) * gap_ms
        heapq.heappush(self._free_at, begins + takes_ms / 1000)
        return self._events(1000 * (begins - now) + first_ms, gap_ms, tokens)

    def _events(self, first_ms: float, gap_ms: float, tokens: int) -> Iterator[Event]:
        yield Wait(first_ms)
        yield Open(cached_tokens=self.cached, usage_on=None if self.counts else "never")
        left = tokens
        while left:
            size = min(self.per_event, left)
            yield Text("answer", (WORDS,) * size)
            left -= size
            if left:
                yield Wait(gap_ms)
        yield Finish("length", self.counts)

"""Tokens and times of one reply, and how each dialect reports them.

Public: `Tally`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragevalkit.standin.dialect import Dialect
from ragevalkit.standin.events import Event, Open, Text, Together, tokens_of


class Tally:
    """What one reply has cost so far."""

    def __init__(self, dialect: Dialect, prompt_tokens: int) -> None:
        self._dialect = dialect
        self._prompt = prompt_tokens
        self._completion = 0
        self._reasoning = 0
        self._open = Open()
        self._prefill_ms = 0.0
        self._decode_ms = 0.0

    def add(self, event: Event) -> None:
        """Count one event's tokens; an `Open` brings the scripted figures."""
        if isinstance(event, Open):
            self._open = event
            return
        tokens = tokens_of(event)
        self._completion += tokens
        parts = event.parts if isinstance(event, Together) else (event,)
        for part in parts:
            if isinstance(part, Text) and part.channel == "reasoning":
                self._reasoning += len(part.pieces)

    def waited(self, ms: float) -> None:
        """Count scripted time, up to the first token and after it."""
        if self._completion:
            self._decode_ms += ms
        else:
            self._prefill_ms += ms

    @property
    def _cached(self) -> int:
        return min(self._open.cached_tokens, self._prompt)

    def usage(self) -> dict[str, Any]:
        """The `usage` object; reasoning is counted where there was any."""
        usage: dict[str, Any] = {
            "prompt_tokens": self._prompt,
            "completion_tokens": self._completion,
            "total_tokens": self._prompt + self._completion,
        }
        cached, reasoning = self._dialect.cached_tokens, self._dialect.reasoning_tokens
        if cached == "details":
            usage["prompt_tokens_details"] = {"cached_tokens": self._cached}
        elif cached == "top":
            usage["cached_tokens"] = self._cached
        if self._reasoning and reasoning in ("details", "both"):
            usage["completion_tokens_details"] = {"reasoning_tokens": self._reasoning}
        if self._reasoning and reasoning in ("top", "both"):
            usage["reasoning_tokens"] = self._reasoning
        return _laid_over(usage, self._open.usage) if self._open.usage else usage

    def timings(self) -> dict[str, Any]:
        """llama.cpp's block."""
        return {
            "cache_n": self._cached,
            "prompt_n": self._prompt - self._cached,
            "prompt_ms": self._prefill_ms,
            "predicted_n": self._completion,
            "predicted_ms": self._decode_ms,
        }

    def metrics(self) -> dict[str, Any]:
        """vLLM's block."""
        queue = min(self._open.queue_ms, self._prefill_ms)
        gaps = self._completion - 1
        seconds = (self._prefill_ms - queue + self._decode_ms) / 1000
        return {
            "queue_time_ms": queue,
            "time_to_first_token_ms": self._prefill_ms - queue,
            "generation_time_ms": self._decode_ms,
            "mean_itl_ms": self._decode_ms / gaps if gaps > 0 else None,
            "tokens_per_second": self._completion / seconds if seconds else None,
        }


def _laid_over(usage: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`usage` with the scripted counts, inner tables merged."""
    changed = dict(usage)
    for name, value in changes.items():
        if value == "absent":
            changed.pop(name, None)
        elif isinstance(value, Mapping):
            inner = changed.get(name)
            changed[name] = _laid_over(inner if isinstance(inner, Mapping) else {}, value)
        else:
            changed[name] = None if value == "null" else value
    return changed

"""What went wrong with a request, and whether to ask again.

Public: `Fault`, `status_fault`, `stream_fault`, `readable`, `shortened`, `RETRYABLE`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ragevalkit.turn.record import RoundState

RETRYABLE = frozenset(
    {
        RoundState.TRUNCATED,
        RoundState.CUT,
        RoundState.STALLED,
        RoundState.UNREACHABLE,
        RoundState.BUSY,
        RoundState.SERVER_ERROR,
    }
)

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|max_model_len"
    r"|context (?:length|window|size)|available context|too many tokens"
    r"|(?:prompt|input) (?:is )?too long|longer than the maximum model length",
    re.I,
)
_BUSY = re.compile(r"rate_?limit|overloaded|unavailable", re.I)
_REJECTED = re.compile(r"bad_?request|invalid_?request|unprocessable|not_?supported", re.I)
_LONGEST_MESSAGE = 500


@dataclass(eq=False)
class Fault(Exception):
    """A failed attempt."""

    state: RoundState
    message: str
    status: int | None = None
    retry_after_s: float | None = None
    """Seconds that the server asked to wait."""
    closed: bool = False
    """A connection that had been made was closed before any answer."""

    @property
    def retryable(self) -> bool:
        return self.state in RETRYABLE


def status_fault(status: int, body: str, retry_after: str | None = None) -> Fault:
    """The fault of an answer whose status is no success."""
    message = f"HTTP {status}: {readable(_said(body))}" if body.strip() else f"HTTP {status}"
    state = _state(status, body)
    retryable = state in (RoundState.BUSY, RoundState.SERVER_ERROR)
    return Fault(state, message, status, _seconds(retry_after) if retryable else None)


def stream_fault(error: dict[str, Any], status: int | None) -> Fault:
    """The fault of an error object inside a stream that began with a success.

    By the status that it names as its code, else by its code's or type's words.
    """
    message = readable(str(error.get("message") or error))
    code, kind = error.get("code"), error.get("type")
    words = f"{message} {code} {kind}"
    if _OVERFLOW.search(words):
        return Fault(RoundState.OVERFLOW, message, status)
    if re.fullmatch(r"[45]\d\d", str(code)):
        return Fault(_state(int(str(code)), words), message, status)
    if _BUSY.search(f"{code} {kind}"):
        return Fault(RoundState.BUSY, message, status)
    if _REJECTED.search(f"{code} {kind}"):
        return Fault(RoundState.REJECTED, message, status)
    return Fault(RoundState.SERVER_ERROR, message, status)


def _state(status: int, words: str) -> RoundState:
    if status in (408, 409, 429):
        return RoundState.BUSY
    if status >= 500:
        return RoundState.SERVER_ERROR
    if status in (401, 403, 404):
        return RoundState.REFUSED
    if 300 <= status < 400:
        return RoundState.NOT_AN_API
    overflow = status == 413 or _OVERFLOW.search(words)
    return RoundState.OVERFLOW if overflow else RoundState.REJECTED


def _said(body: str) -> str:
    """The message of an error object; any other body as it is."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(key):
            value = value[key]
    return value if isinstance(value, str) else body


def readable(body: str) -> str:
    """A server's words on one line, without markup."""
    text = re.sub(r"<(script|style)\b.*?</\1>|<[^<>]*>", " ", body, flags=re.S | re.I)
    return " ".join(text.split())


def shortened(text: str) -> str:
    """`text` cut at a length that fits a log, and without what no UTF-8 file can hold."""
    text = text.encode(errors="replace").decode()
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"


def _seconds(retry_after: str | None) -> float | None:
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None  # a date; our own pause serves as well
    return seconds if 0 <= seconds < float("inf") else None

"""Events as the bytes of an OpenAI chat completion, streamed or whole.

Public: `Tally`, `ChunkWriter`, `completion`, `error_body`, `DONE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import orjson

from ragevalkit.standin.events import Arguments, Call, Event, Finish, Text, Wire, tokens_of
from ragevalkit.standin.request import ChatRequest

DONE = b"data: [DONE]\n\n"


def error_body(
    message: str, kind: str, code: str | int | None = None, param: str | None = None
) -> bytes:
    """An OpenAI-style error object as JSON."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return orjson.dumps({"error": error})


@dataclass(slots=True)
class Tally:
    """Tokens of one request so far."""

    prompt: int
    completion: int = 0
    reasoning: int = 0

    def add(self, event: Event) -> None:
        """Count one event's tokens."""
        tokens = tokens_of(event)
        self.completion += tokens
        if isinstance(event, Text) and event.channel == "reasoning":
            self.reasoning += tokens

    def usage(self) -> dict[str, Any]:
        """The `usage` object; reasoning is counted where there was any."""
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
        }
        if self.reasoning:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.reasoning}
        return usage


class ChunkWriter:
    """Renders the events of one streamed reply, one server-sent event each."""

    def __init__(self, wire: Wire, request: ChatRequest, reply_id: str, created: int) -> None:
        """`created` is in seconds since 1970."""
        self._wire = wire
        self._head: dict[str, Any] = {
            "id": reply_id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": wire.model,
        }
        self._include_usage = request.include_usage
        self._continuous = (
            wire.continuous_usage and request.continuous_usage and request.include_usage
        )
        self._token_ids = wire.token_ids and request.token_ids
        self._tally = Tally(request.prompt_tokens)

    def role(self) -> bytes:
        """The first chunk: the role and no token."""
        return self._chunk({"role": "assistant", "content": ""})

    def delta(self, event: Text | Call | Arguments) -> bytes:
        """The chunk of one token-bearing event."""
        self._tally.add(event)
        ids = [crc32(piece.encode()) % 150_000 for piece in event.pieces]
        return self._chunk(_delta(event, self._wire), ids=ids if self._token_ids else None)

    def finish(self, event: Finish) -> list[bytes]:
        """The closing chunks: finish reason, usage where asked for, `[DONE]`."""
        chunks = [self._chunk({}, event.reason)]
        if event.usage and self._include_usage:
            chunks.append(_sse({**self._head, "choices": [], "usage": self._tally.usage()}))
        if event.done:
            chunks.append(DONE)
        return chunks

    def error(self, error: Mapping[str, Any]) -> list[bytes]:
        """An error object in the stream, and `[DONE]` as vLLM sends it."""
        return [_sse({"error": error}), DONE]

    def _chunk(
        self, delta: dict[str, Any], reason: str | None = None, ids: list[int] | None = None
    ) -> bytes:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": reason}
        if ids is not None:
            choice["token_ids"] = ids
        chunk = {**self._head, "choices": [choice]}
        if self._continuous:
            chunk["usage"] = self._tally.usage()
        return _sse(chunk)


def _sse(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _delta(event: Text | Call | Arguments, wire: Wire) -> dict[str, Any]:
    text = "".join(event.pieces)
    if isinstance(event, Text):
        return {"content" if event.channel == "answer" else wire.reasoning_field: text}
    if isinstance(event, Arguments):
        return {"tool_calls": [{"index": event.index, "function": {"arguments": text}}]}
    call: dict[str, Any] = {
        "index": event.index,
        "type": "function",
        "function": {"name": event.name, "arguments": text},
    }
    if event.id:
        call["id"] = event.id
    return {"tool_calls": [call]}


def completion(
    events: Iterable[Event], wire: Wire, request: ChatRequest, reply_id: str, created: int
) -> bytes:
    """The body of a reply that isn't streamed, from its token-bearing events and `Finish`.

    Without a `Finish` the finish reason is null and there is no usage.
    """
    tally = Tally(request.prompt_tokens)
    texts = {"answer": "", "reasoning": ""}
    calls: list[dict[str, Any]] = []
    reason, usage = None, False
    for event in events:
        tally.add(event)
        if isinstance(event, Text):
            texts[event.channel] += "".join(event.pieces)
        elif isinstance(event, Call):
            function = {"name": event.name, "arguments": "".join(event.pieces)}
            calls.append({"id": event.id, "type": "function", "function": function})
        elif isinstance(event, Arguments):
            calls[-1]["function"]["arguments"] += "".join(event.pieces)
        elif isinstance(event, Finish):
            reason, usage = event.reason, event.usage
    message: dict[str, Any] = {"role": "assistant", "content": texts["answer"]}
    if texts["reasoning"]:
        message[wire.reasoning_field] = texts["reasoning"]
    if calls:
        message["tool_calls"] = calls
        message["content"] = texts["answer"] or None
    body: dict[str, Any] = {
        "id": reply_id,
        "object": "chat.completion",
        "created": created,
        "model": wire.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    if usage:
        body["usage"] = tally.usage()
    return orjson.dumps(body)

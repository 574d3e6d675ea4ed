"""Events as the bytes of an OpenAI chat completion, streamed or whole.

Public: `ChunkWriter`, `completion`, `error_body`, `to_json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

import orjson

from ragevalkit.standin.dialect import Dialect, Spelling
from ragevalkit.standin.events import (
    Arguments,
    Call,
    Delta,
    Event,
    Finish,
    Open,
    Raw,
    StreamError,
    Text,
    Together,
    Wire,
    pieces,
)
from ragevalkit.standin.request import ChatRequest
from ragevalkit.standin.usage import Tally


def error_body(
    message: str, kind: str, code: str | int | None = None, param: str | None = None
) -> bytes:
    """An OpenAI-style error object as JSON."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return orjson.dumps({"error": error})


def to_json(value: Any, *, ascii: bool = False) -> bytes:
    """`value` as JSON without spaces; halves of surrogate pairs are escaped, TOML's dates texts."""
    if not ascii:
        try:
            return orjson.dumps(value, default=str)
        except orjson.JSONEncodeError:  # halves of surrogate pairs
            pass
    return json.dumps(value, separators=(",", ":"), default=str).encode()


class ChunkWriter:
    """Renders the events of one streamed reply in an endpoint's dialect."""

    def __init__(self, wire: Wire, request: ChatRequest, reply_id: str, created: int) -> None:
        """`created` is in seconds since 1970."""
        self._dialect = dialect = wire.dialect
        self._request = request
        self._head: dict[str, Any] = {
            "id": reply_id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": wire.model,
            **dialect.fields,
        }
        self._idle = _idle_delta(dialect)
        self._before, self._after = dialect.prefix.encode(), dialect.suffix.encode()
        self._role_is_due = dialect.role in ("headers", "first_token")
        self._prompt_ids_are_due = self._token_ids = dialect.token_ids and request.token_ids
        self._timings_run = dialect.server_times == "timings" and request.timings_per_token
        self._tally = Tally(dialect, request.prompt_tokens)
        self._account(Open())

    def _account(self, event: Open) -> None:
        """Settle where usage goes."""
        self._tally.add(event)
        self._usage_on = on = event.usage_on or self._dialect.usage_on
        asked = on == "asked" and self._request.include_usage
        self._usage_runs = on == "every" or (
            asked and self._dialect.continuous_usage and self._request.continuous_usage
        )
        self._usage_last = asked or on in ("last", "every")

    def waited(self, ms: float) -> None:
        """Take note of scripted time."""
        self._tally.waited(ms)

    def start(self, event: Event) -> list[bytes]:
        """What goes out with the headers, before `event`, which is the first."""
        if isinstance(event, Open):
            self._account(event)
        writes = [self._dialect.preamble.encode()] if self._dialect.preamble else []
        return [*writes, *(self._role() if self._dialect.role == "headers" else [])]

    def render(self, event: Event) -> list[bytes]:
        """The writes of one event, each a whole event of the stream."""
        match event:
            case Text() | Call() | Arguments() | Together():
                return [*self._role(), self._delta(event)]
            case Finish():
                return [*self._role(), *self._finish(event)]
            case StreamError():
                return [self._error(event.error), self._done()]
            case Raw():
                return [event.data]
            case _:
                return []

    def _role(self) -> list[bytes]:
        """The chunk of the role alone, where it is still to come."""
        if not self._role_is_due:
            return []
        self._role_is_due = False
        delta: dict[str, Any] = {"role": "assistant", **self._idle}
        delta.pop("content", None)
        delta |= _spelt("content", self._dialect.first_content, "")
        return [self._sse(self._chunk(delta))]

    def _delta(self, event: Delta) -> bytes:
        self._tally.add(event)
        parts = event.parts if isinstance(event, Together) else (event,)
        delta = dict(self._idle)
        calls = []
        for part in parts:
            if isinstance(part, Text):
                delta |= _text(part, self._dialect)
            else:
                calls.append(_call(part))
        if calls:
            delta["tool_calls"] = calls
        reason = event.reason if isinstance(event, Together) else None
        chunk = self._chunk(delta, reason)
        if self._token_ids:
            chunk["choices"][0]["token_ids"] = [i for part in parts for i in _token_ids(part)]
        if self._timings_run:
            chunk["timings"] = self._tally.timings()
        if reason is not None:
            self._end(chunk, usage=True)
        return self._sse(chunk)

    def _finish(self, event: Finish) -> list[bytes]:
        """The closing chunks: finish reason, usage, `[DONE]`."""
        writes = []
        if event.chunk:
            chunk = self._chunk(dict(self._idle), event.reason)
            self._end(chunk, usage=event.usage)
            writes.append(self._sse(chunk))
        if event.usage and self._usage_last:
            usage = {**self._head, "choices": [], "usage": self._tally.usage()}
            writes.append(self._sse(self._timed(usage)))
        if event.done:
            writes.append(self._done())
        return writes

    def _end(self, chunk: dict[str, Any], *, usage: bool) -> None:
        """Lay over the chunk with the finish reason what comes last, unless a usage chunk does."""
        if usage and self._usage_last:
            return
        if usage and self._usage_on == "finish":
            chunk["usage"] = self._tally.usage()
        self._timed(chunk)

    def _timed(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """The last chunk with the server's own times; vLLM's come only with usage."""
        if self._dialect.server_times == "timings":
            chunk["timings"] = self._tally.timings()
        elif self._dialect.server_times == "metrics" and chunk.get("usage"):
            chunk["metrics"] = self._tally.metrics()
        return chunk

    def _error(self, error: Mapping[str, Any]) -> bytes:
        match self._dialect.errors:
            case "beside":
                delta = {**self._idle, "content": ""}
                return self._sse({**self._chunk(delta, "error"), "error": error})
            case "event":
                return b"event: error\n" + self._sse(error)
            case _:
                return self._sse({"error": error})

    def _done(self) -> bytes:
        return self._before + b"[DONE]" + self._after.lstrip(b" ")

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        if self._dialect.choice_fields:
            choice |= self._dialect.choice_fields
        chunk = {**self._head, "choices": [choice]}
        if self._usage_runs:
            chunk["usage"] = self._tally.usage()
        elif self._dialect.empty_usage == "null":
            chunk["usage"] = None
        if self._prompt_ids_are_due:
            self._prompt_ids_are_due = False
            chunk["prompt_token_ids"] = list(range(self._request.prompt_tokens))
        return chunk

    def _sse(self, data: Mapping[str, Any]) -> bytes:
        return self._before + to_json(data, ascii=self._dialect.ascii) + self._after


def _spelt(name: str, spelling: Spelling, empty: Any) -> dict[str, Any]:
    """A field with nothing in it."""
    if spelling == "absent":
        return {}
    return {name: None if spelling == "null" else empty}


def _idle_delta(dialect: Dialect) -> dict[str, Any]:
    """What a delta holds before anything is put into it."""
    idle: dict[str, Any] = {"role": "assistant"} if dialect.role == "every" else {}
    idle |= _spelt("content", dialect.empty_content, "")
    for name in dialect.reasoning_fields:
        idle |= _spelt(name, dialect.empty_reasoning, [] if name == "reasoning_details" else "")
    return idle | _spelt("tool_calls", dialect.empty_calls, [])


def _text(event: Text, dialect: Dialect) -> dict[str, Any]:
    text = "".join(event.pieces)
    return {"content": text} if event.channel == "answer" else _reasoning(text, dialect)


def _reasoning(text: str, dialect: Dialect) -> dict[str, Any]:
    details = [{"type": "reasoning.text", "text": text, "format": None, "index": 0}]
    return {
        name: details if name == "reasoning_details" else text for name in dialect.reasoning_fields
    }


def _call(event: Call | Arguments) -> dict[str, Any]:
    call: dict[str, Any] = {} if event.index is None else {"index": event.index}
    if event.id:
        call["id"] = event.id
    if isinstance(event, Call):
        call["type"] = "function"
    name = {"name": event.name} if event.name or isinstance(event, Call) else {}
    call["function"] = {**name, "arguments": "".join(event.pieces)}
    return call


def _token_ids(part: Text | Call | Arguments) -> list[int]:
    name = pieces(part.name) if isinstance(part, Call) else ()
    tokens = (*name, *part.pieces)
    return [crc32(token.encode(errors="surrogatepass")) % 150_000 for token in tokens]


def completion(
    events: Iterable[Event], wire: Wire, request: ChatRequest, reply_id: str, created: int
) -> bytes:
    """The body of a reply that isn't streamed, from its token-bearing events and `Finish`.

    Without a `Finish` the finish reason is null and there is no usage.
    """
    tally = Tally(wire.dialect, request.prompt_tokens)
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
        message |= _reasoning(texts["reasoning"], wire.dialect)
    if calls:
        message["tool_calls"] = calls
        message["content"] = texts["answer"] or None
    body: dict[str, Any] = {
        "id": reply_id,
        "object": "chat.completion",
        "created": created,
        "model": wire.model,
        **wire.dialect.fields,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    if usage:
        body["usage"] = tally.usage()
    return to_json(body, ascii=wire.dialect.ascii)

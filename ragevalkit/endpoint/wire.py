"""From the bytes of a streamed completion to typed events.

Public: `EventStream`, `Delta`, `CallDelta`, `parse_event`, `DONE`.

Every variant of the field is read at once rather than one dialect per engine: events end at a blank
line of bytes (never at U+2028, which `splitlines` would split at), comments and unknown fields are
passed over, an event named `error` is an error whatever its data, `choices` may be absent, null or
empty, `content` may be null or a list of parts, reasoning has three names, and a call's index and
id may be missing or wrong.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import orjson

DONE = b"[DONE]"

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Names under which servers send reasoning, and sometimes the same text under two of them."""


class EventStream:
    """Splits a byte stream into the data of its events, however it was cut into reads."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._data: list[bytes] = []
        self._failed = False

    def feed(self, read: bytes) -> list[bytes]:
        """The data of every event that `read` completes."""
        if b"\n" not in read:
            self._unfinished.append(read)
            return []
        lines = b"".join((*self._unfinished, read)).split(b"\n")
        last = lines.pop()
        self._unfinished = [last] if last else []
        return self._events(lines)

    def close(self) -> list[bytes]:
        """The data of a last event that no blank line ended."""
        lines = b"".join(self._unfinished).split(b"\n")
        self._unfinished = []
        return self._events([*lines, b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events = []
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(b"data:"):
                self._data.append(line[5:])
            elif line.startswith(b"event:"):
                self._failed = line[6:].strip() == b"error"
            elif not line:
                if data := b"\n".join(self._data).strip():
                    events.append(_as_error(data) if self._failed else data)
                self._data.clear()
                self._failed = False
        return events


def _as_error(data: bytes) -> bytes:
    """The data of an event named `error`, with the `error` object that some servers leave out."""
    body = _loaded(data)
    if isinstance(body, dict):
        error = body if body.get("error") else {"error": body}
    else:
        error = {"error": {"message": data.decode(errors="replace")}}
    return json.dumps(error).encode()


@dataclass(slots=True)
class CallDelta:
    """A piece of a tool call."""

    index: int | None
    id: str | None
    name: str
    arguments: str


@dataclass(slots=True)
class Delta:
    """One event of the stream."""

    answer: str = ""
    reasoning: str = ""
    reasoning_field: str | None = None
    """The field that carried reasoning; history sends it back under the same name."""
    calls: list[CallDelta] = field(default_factory=list)
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    tokens: int | None = None
    """Tokens of this event, where it lists their ids."""
    model: str | None = None
    system_fingerprint: str | None = None
    error: dict[str, Any] | None = None
    malformed: bool = False
    """The event's data is no chunk of a completion."""


def parse_event(data: bytes) -> Delta:
    """Read one event's data; never raises."""
    body = _loaded(data)
    if not isinstance(body, dict) or body.keys().isdisjoint(("choices", "usage", "error")):
        return Delta(malformed=True)
    try:
        return _read_chunk(body)
    except RecursionError:
        return Delta(malformed=True)


def _loaded(data: bytes) -> Any:
    """The JSON of `data`; None where it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:  # takes NaN and halves of surrogate pairs
            return json.loads(data.decode(errors="replace"))
        except (ValueError, RecursionError):
            return None


def _read_chunk(body: dict[str, Any]) -> Delta:
    delta = Delta()
    if body.get("error"):
        delta.error = _error(body["error"])
    if isinstance(usage := body.get("usage"), dict):
        delta.usage = usage
    if isinstance(model := body.get("model"), str):
        delta.model = model
    if isinstance(fingerprint := body.get("system_fingerprint"), str):
        delta.system_fingerprint = fingerprint
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        _read_choice(choices[0], delta)
    return delta


def _read_choice(choice: dict[str, Any], delta: Delta) -> None:
    if isinstance(reason := choice.get("finish_reason"), str):
        delta.finish_reason = reason
    if isinstance(ids := choice.get("token_ids"), list):
        delta.tokens = len(ids)
    message = choice.get("delta")
    if message is None:
        message = choice.get("message")  # beside a delta it would repeat the whole text
    if not isinstance(message, dict):
        return
    content = message.get("content")
    delta.answer = content if isinstance(content, str) else _text(content)
    for name in _REASONING:
        # most events have none of them, and this is read for every token
        if name in message and (text := _text(message[name])):
            delta.reasoning = text
            delta.reasoning_field = None if name == "reasoning_details" else name
            break
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        delta.calls = [_call(c) for c in calls if isinstance(c, dict)]


def _call(call: dict[str, Any]) -> CallDelta:
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    index, id_, name = call.get("index"), call.get("id"), function.get("name")
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)  # some servers send the object itself
    return CallDelta(
        index if isinstance(index, int) else None,
        str(id_) if id_ not in (None, "") else None,
        name if isinstance(name, str) else "",
        arguments or "",
    )


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_text, value))
    if isinstance(value, dict):
        return _text(value.get("text") or value.get("summary") or value.get("content"))
    return ""


def _error(error: object) -> dict[str, Any]:
    return error if isinstance(error, dict) else {"message": str(error)}

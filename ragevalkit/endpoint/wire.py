"""From the bytes of a streamed completion to typed events.

Public: `EventStream`, `Delta`, `CallDelta`, `parse_event`, `DONE`.

Every variant of the field is read at once rather than one dialect per engine: events end at a blank
line of bytes (never at U+2028, which `splitlines` would split at), comments and unknown fields are
passed over, an event named `error` is an error whatever its data, `choices` may be absent, null or
empty, `content` may be null or a list of parts, reasoning has three names, and a call's index and
id may be missing or wrong.

This runs for every token of every stream, and what it costs makes other streams' stamps late.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

DONE = b"[DONE]"

_BOM = b"\xef\xbb\xbf"
_PLAIN = frozenset({"id", "object", "created", "model", "choices"})
"""The fields of most events."""
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Names under which servers send reasoning, and sometimes the same text under two of them."""


class EventStream:
    """Splits a byte stream into the data of its events, however it was cut into reads."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._data: list[bytes] = []
        self._failed = False
        self._begun = False
        self._between_events = True

    def feed(self, read: bytes) -> list[bytes]:
        """The data of every event that `read` completes."""
        if (
            self._between_events
            and read.endswith(b"\n\n")
            and read.startswith(b"data:")
            and read.count(b"\n") == 2
        ):
            self._begun = True
            data = read[5:].strip()  # nearly every read is one event, and nothing else
            return [data] if data else []
        if b"\n" not in read:
            if read:
                self._unfinished.append(read)
                self._between_events = False
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
        if not self._begun:
            self._begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if line.startswith(b"data:"):
                self._data.append(line[5:])
            elif line.startswith(b"event:"):
                self._failed = line[6:].strip() == b"error"
            elif line.startswith(b"error:"):  # llama.cpp's former name of the field
                self._data.append(line[6:])
                self._failed = True
            elif not line:
                if data := b"\n".join(self._data).strip():
                    events.append(_as_error(data) if self._failed else data)
                self._data.clear()
                self._failed = False
        self._between_events = not (self._unfinished or self._data or self._failed)
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


class Delta:
    """One event of the stream. What it doesn't carry stays as it stands here."""

    answer: str = ""
    reasoning: str = ""
    reasoning_field: str | None = None
    """The field that carried reasoning; history sends it back under the same name."""
    calls: Sequence[CallDelta] = ()
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    tokens: int | None = None
    """Tokens of this event, where it lists their ids."""
    all_tokens: int | None = None
    """Tokens of the whole reply, where it lists all their ids at once (SGLang)."""
    prompt_tokens: int | None = None
    """Tokens of the prompt, where it lists their ids."""
    timings: dict[str, Any] | None = None
    """llama.cpp's figures."""
    metrics: dict[str, Any] | None = None
    """vLLM's figures."""
    model: str | None = None
    system_fingerprint: str | None = None
    error: dict[str, Any] | None = None
    malformed: bool = False
    """The event's data is no chunk of a completion."""
    choice: bool = False
    """With `more`: whether it has a choice, as a usage block at the end hasn't."""
    more: bool = False
    """It carries more than text, calls and the model's name, as few events do."""


def parse_event(data: bytes) -> Delta:
    """Read one event's data; never raises."""
    body = _loaded(data)
    delta = Delta()
    if not isinstance(body, dict):
        delta.malformed = True
        return delta
    try:
        choices = body.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            _read_choice(choices[0], delta)
        if not body.keys() <= _PLAIN:
            _read_more(body, delta)
        elif "choices" not in body:
            delta.malformed = True
        if isinstance(model := body.get("model"), str):
            delta.model = model
    except RecursionError:
        delta = Delta()
        delta.malformed = True
    return delta


def _loaded(data: bytes) -> Any:
    """The JSON of `data`; None where it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:  # takes NaN and halves of surrogate pairs
            return json.loads(data.decode(errors="replace"))
        except (ValueError, RecursionError):
            return None


def _read_more(body: dict[str, Any], delta: Delta) -> None:
    delta.malformed = body.keys().isdisjoint(("choices", "usage", "error"))
    delta.more = True
    delta.choice = bool(body.get("choices"))
    if body.get("error"):
        delta.error = _error(body["error"])
    if isinstance(usage := body.get("usage"), dict):
        delta.usage = usage
    if isinstance(fingerprint := body.get("system_fingerprint"), str):
        delta.system_fingerprint = fingerprint
    if isinstance(timings := body.get("timings"), dict):
        delta.timings = timings
    if isinstance(metrics := body.get("metrics"), dict):
        delta.metrics = metrics
    if isinstance(prompt := body.get("prompt_token_ids"), list):
        delta.prompt_tokens = len(prompt)
    if isinstance(extension := body.get("sglext"), dict):
        delta.all_tokens = _listed(extension.get("output_ids"))
        delta.prompt_tokens = _listed(extension.get("input_ids"))


def _read_choice(choice: dict[str, Any], delta: Delta) -> None:
    if isinstance(reason := choice.get("finish_reason"), str):
        delta.finish_reason = reason
        delta.more = True
    if isinstance(ids := choice.get("token_ids"), list):
        delta.tokens = len(ids)
    message = choice.get("delta")
    if message is None:
        message = choice.get("message")  # beside a delta it would repeat the whole text
    if not isinstance(message, dict):
        return
    content = message.get("content")
    if content:
        delta.answer = content if isinstance(content, str) else _text(content)
        if len(message) == 1:
            return
    for name in _REASONING:
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


def _listed(ids: object) -> int | None:
    """How many ids are listed, for one choice or in a list of its own for each."""
    if not isinstance(ids, list) or not ids:
        return None
    return len(ids[0]) if isinstance(ids[0], list) else len(ids)


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

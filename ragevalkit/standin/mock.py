"""The `mock` endpoint: says what a scenario tells it, when it tells it, and fails on cue.

Public: `Mock`. The scenario format is documented in `ragevalkit.standin.scenario`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import orjson

from ragevalkit.standin.events import (
    Arguments,
    Call,
    Cut,
    End,
    Event,
    Finish,
    Open,
    Respond,
    Silence,
    StreamError,
    Text,
    Wait,
    Wire,
    pieces,
)
from ragevalkit.standin.request import ChatRequest, Conversation, read_conversation
from ragevalkit.standin.scenario import (
    CutFault,
    EofFault,
    ErrorEventFault,
    Fault,
    HtmlFault,
    Reply,
    Rule,
    Scenario,
    ScriptedCall,
    SilenceFault,
    StatusFault,
    Timing,
)
from ragevalkit.standin.sentences import split_sentences
from ragevalkit.standin.wire import error_body

_PLACEHOLDER = re.compile(r"\{(question|document|page|quote)\}")
_FILLER = (" so", " then", " the", " next", " step", " is", " to", " look", " again", " here")
_HTML = b"<!doctype html><html><head><title>Welcome</title></head><body>It works.</body></html>"
_LONGEST_QUOTE = 300

Delta = Text | Call | Arguments


class Mock:
    """A brain that follows a scenario; it remembers only how often its rules were used."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._used: Counter[tuple[int, bytes]] = Counter()
        self.wire = Wire(model=scenario.model, **scenario.wire.model_dump())

    def models(self) -> Respond | Silence | None:
        """What `GET /v1/models` does instead of listing the model; None: it lists it."""
        fault = self._scenario.models
        return None if fault is None else _replacement(fault)

    def reply(self, request: ChatRequest) -> Iterator[Event]:
        """The events of the first rule that matches, with the fault and timing laid over it."""
        now = read_conversation(request.messages)
        timing, reply, fault = self._choose(request, now)
        return _timed(_broken(list(_deltas(reply, request, now)), reply, fault), timing)

    def _choose(
        self, request: ChatRequest, now: Conversation
    ) -> tuple[Timing, Reply, Fault | None]:
        timing: Timing | None = None
        fault: Fault | None = None
        for number, rule in enumerate(self._scenario.rules):
            if not self._matches(number, rule, request, now):
                continue
            timing = timing or rule.timing
            fault = fault or rule.fault
            if rule.reply is not None:
                return timing or self._scenario.timing, rule.reply, fault
        return timing or self._scenario.timing, Reply(), fault

    def _matches(self, number: int, rule: Rule, request: ChatRequest, now: Conversation) -> bool:
        rounds = [rule.round] if isinstance(rule.round, int) else rule.round
        share = _share(self._scenario.seed, number, now.question)
        holds = (
            (rounds is None or now.round in rounds)
            and (rule.question is None or re.search(rule.question, now.question) is not None)
            and (rule.results is None or rule.results == _results(now))
            and (rule.tools is None or rule.tools == bool(request.tools))
            and (rule.every is None or share * rule.every < 1)
            and (rule.probability is None or share < rule.probability)
        )
        if not holds or rule.times is None:
            return holds
        key = (number, _turn_key(request.messages) if rule.per == "turn" else b"")
        if self._used[key] >= rule.times:
            return False
        self._used[key] += 1
        return True


def _results(now: Conversation) -> str:
    """Whether the last search found `some`, came back `empty`, or there was `none` yet."""
    if not now.searches:
        return "none"
    return "some" if now.searches[-1] else "empty"


def _share(seed: int, rule: int, question: str) -> float:
    """A number in [0, 1) that depends on these three alone."""
    digest = blake2b(f"{seed}/{rule}/{question}".encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48


def _turn_key(messages: Sequence[Mapping[str, Any]]) -> bytes:
    last = max((at for at, m in enumerate(messages) if m.get("role") == "user"), default=0)
    return blake2b(orjson.dumps(messages[: last + 1]), digest_size=16).digest()


def _placeholders(now: Conversation) -> dict[str, str]:
    values = {"question": now.question, "document": "", "page": "1", "quote": ""}
    if now.searches and now.searches[-1]:
        first = now.searches[-1][0]
        quote = next(iter(split_sentences(first.text[:5000])), "")[:_LONGEST_QUOTE]
        values |= {"document": first.document, "page": str(first.page), "quote": quote}
    return values


def _fill(text: str, values: Mapping[str, str], *, escape: bool = False) -> str:
    def value(match: re.Match[str]) -> str:
        plain = values[match[1]]
        return orjson.dumps(plain).decode()[1:-1] if escape else plain

    return _PLACEHOLDER.sub(value, text)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """A TOML value with its strings filled."""
    if value == "{page}":
        return int(values["page"])
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    return value


def _deltas(reply: Reply, request: ChatRequest, now: Conversation) -> Iterator[Delta]:
    """The token-bearing events of a reply, in the order of the wire."""
    values = _placeholders(now)
    size = reply.tokens_per_event
    for part in _groups(_tokens(reply.reasoning, values), size):
        yield Text("reasoning", part)
    for part in _groups(_tokens(reply.answer, values), size):
        yield Text("answer", part)
    for number, call in enumerate(reply.calls):
        yield from _call(call, number, size, len(request.messages), values)


def _call(
    call: ScriptedCall, number: int, size: int, messages: int, values: Mapping[str, str]
) -> Iterator[Delta]:
    index = number if call.index is None else call.index
    made_up = f"call_{messages}_{number}"
    call_id = made_up if call.id is None else call.id
    if isinstance(call.arguments, str):
        text = _fill(call.arguments, values, escape=True)
    else:
        text = orjson.dumps(_filled(call.arguments, values), default=str).decode()
    tokens = pieces(text)
    if call.pieces == 0:
        yield Call(index, call_id, call.name, tokens)
        return
    yield Call(index, call_id, call.name)
    if call.pieces is not None:
        size = max(1, -(-len(tokens) // call.pieces))
    for part in _groups(tokens, size):
        yield Arguments(index, part)


def _tokens(text: str | int, values: Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(text, int):
        return tuple(_FILLER[at % len(_FILLER)] for at in range(text))
    return pieces(_fill(text, values))


def _groups(tokens: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    rest = iter(tokens)
    while group := tuple(islice(rest, size)):
        yield group


def _broken(deltas: list[Delta], reply: Reply, fault: Fault | None) -> Iterator[Event]:
    """The deltas and the end that the fault gives them."""
    reason = reply.finish or ("tool_calls" if reply.calls else "stop")
    finish = Finish(None if reason == "none" else reason, usage=reply.usage, done=reply.done)
    if isinstance(fault, StatusFault | HtmlFault):
        yield _replacement(fault)
        return
    after = len(deltas) if fault is None or fault.after is None else fault.after
    if fault is None or after > 0 or isinstance(fault, EofFault | ErrorEventFault):
        yield Open()
    yield from deltas[:after]
    match fault:
        case SilenceFault():
            yield Silence()
        case CutFault():
            yield Cut(halfway=fault.how == "half")
        case EofFault():
            yield End()
        case ErrorEventFault():
            yield StreamError(fault.error)
        case _:
            yield finish


def _replacement(fault: StatusFault | HtmlFault | SilenceFault) -> Respond | Silence:
    """The response of a fault that takes the place of a whole reply."""
    if isinstance(fault, SilenceFault):
        return Silence()
    if isinstance(fault, HtmlFault):
        return Respond(200, _HTML, "text/html; charset=utf-8")
    if isinstance(fault.body, str):
        return Respond(fault.status, fault.body.encode(), "text/plain", fault.headers)
    if fault.body is None:
        kind = "server_error" if fault.status >= 500 else "invalid_request_error"
        body = error_body(f"scripted status {fault.status}", kind, fault.status)
    else:
        body = orjson.dumps(fault.body, default=str)
    return Respond(fault.status, body, headers=fault.headers)


def _timed(events: Iterator[Event], timing: Timing) -> Iterator[Event]:
    """The events with the waits between them: headers, first token, and a gap for each channel."""
    gaps = {
        "reasoning": _or(timing.reasoning_gap_ms, timing.gap_ms),
        "answer": _or(timing.answer_gap_ms, timing.gap_ms),
        "arguments": _or(timing.arguments_gap_ms, timing.gap_ms),
    }
    first = max(0.0, _or(timing.first_token_ms, timing.headers_ms) - timing.headers_ms)
    said = False
    if timing.headers_ms:
        yield Wait(timing.headers_ms)
    for event in events:
        if isinstance(event, Text | Call | Arguments):
            channel = event.channel if isinstance(event, Text) else "arguments"
            wait = gaps[channel] if said else first
            said = True
            if wait:
                yield Wait(wait)
        yield event


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value

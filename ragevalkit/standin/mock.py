"""The `mock` endpoint: says what a scenario tells it, when it tells it, and fails on cue.

Public: `Mock`. The scenario format is documented in `ragevalkit.standin.scenario`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ragevalkit.standin.costs import Meter
from ragevalkit.standin.dialect import Dialect
from ragevalkit.standin.events import (
    Arguments,
    Call,
    Cut,
    End,
    Event,
    Finish,
    Open,
    Raw,
    Respond,
    Silence,
    StreamError,
    Text,
    Together,
    Wait,
    Wire,
)
from ragevalkit.standin.heeding import PrefixCache, heeded
from ragevalkit.standin.request import ChatRequest, read_conversation
from ragevalkit.standin.rulebook import Chosen, Rulebook
from ragevalkit.standin.scenario import Scenario
from ragevalkit.standin.script import (
    CutFault,
    EofFault,
    ErrorEventFault,
    HtmlFault,
    Insert,
    Reply,
    SilenceFault,
    StatusFault,
    Timing,
)
from ragevalkit.standin.shape import Step, steps, with_reason
from ragevalkit.standin.wire import error_body, to_json

_HTML = b"<!doctype html><html><head><title>Welcome</title></head><body>It works.</body></html>"
_AS_DELTAS = {"calls": "deltas", "finish_chunk": True, "ping_ms": 0.0}
"""Keys of the wire that mean nothing where nothing is streamed."""


class Mock:
    """A brain that follows a scenario.

    It remembers how often its rules were used and, with a prefix cache, which prompts it saw.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._rules = Rulebook(scenario)
        self._models = scenario.models
        self._habits = scenario.habits.over(scenario.wire.engine)
        self._prefixes = PrefixCache()
        self._meter = Meter(scenario.costs, self._habits)
        self.wire = Wire(scenario.model, scenario.wire, self._habits)
        self._unstreamed = scenario.wire.model_copy(update=_AS_DELTAS)

    def models(self) -> Respond | Silence | None:
        """What `GET /v1/models` does instead of listing the model; None: it lists it."""
        return None if self._models is None else _replacement(self._models)

    def reply(self, request: ChatRequest) -> Iterator[Event]:
        """The events of the first rule that matches, with the fault and timing laid over it."""
        now = read_conversation(request.messages)
        chosen = self._rules.choose(request, now)
        cached = self._prefixes.take(request) if self._habits.prefix_cache else 0
        reply = heeded(chosen.reply, request.wishes, self._habits)
        if cached and not reply.cached_tokens:
            reply = reply.model_copy(update={"cached_tokens": cached})
        timing = self._meter.timing(request, chosen.timing, cached)
        chosen = replace(chosen, reply=reply, timing=timing)
        dialect = self.wire.dialect if request.stream else self._unstreamed
        said = steps(chosen.reply, dialect, now, len(request.messages))
        return _timed(_broken(said, chosen, dialect), chosen.timing, dialect)


def _broken(said: list[Step], chosen: Chosen, dialect: Dialect) -> Iterator[Step | Event]:
    """The steps, what is inserted between them, and the end that the fault gives them."""
    reply, fault = chosen.reply, chosen.fault
    if isinstance(fault, StatusFault | HtmlFault):
        yield _replacement(fault)
        return
    finish = _finish(reply)
    if said and not dialect.finish_chunk:
        said = with_reason(said, finish.reason)
        finish = Finish(None, finish.usage, finish.done, chunk=False)
    after = len(said) if fault is None or fault.after is None else min(fault.after, len(said))
    if fault is None or after > 0 or isinstance(fault, EofFault | ErrorEventFault):
        yield _open(reply, chosen.timing)
        yield from _with_inserts(said, reply.inserts, after)
    match fault:
        case SilenceFault():
            yield Silence(dialect.ping.encode(), dialect.ping_ms)
        case CutFault():
            yield Cut(halfway=fault.how == "half")
        case EofFault():
            yield End()
        case ErrorEventFault():
            yield StreamError(fault.error)
        case _:
            yield finish
            yield from (_raw(insert) for insert in reply.inserts if insert.after == "done")


def _open(reply: Reply, timing: Timing) -> Open:
    return Open(
        usage_on="never" if reply.usage is False else reply.usage_on,
        usage=reply.usage if isinstance(reply.usage, dict) else {},
        cached_tokens=reply.cached_tokens,
        queue_ms=timing.queue_ms,
    )


def _finish(reply: Reply) -> Finish:
    reason = reply.finish
    if reason is None:
        reason = "tool_calls" if reply.calls else "stop"
    return Finish(None if reason == "none" else reason, reply.usage is not False, reply.done)


def _with_inserts(
    said: Sequence[Step], inserts: Iterable[Insert], after: int
) -> Iterator[Step | Event]:
    """The first `after` steps with the inserts that lie before, between and right after them."""
    due = sorted(
        ((insert.after, insert) for insert in inserts if insert.after != "done"),
        key=lambda placed: placed[0],
    )
    for place in range(after + 1):
        while due and (due[0][0] <= place or place == len(said)):
            yield _raw(due.pop(0)[1])
        if place < after:
            yield said[place]


def _raw(insert: Insert) -> Raw:
    return Raw(insert.raw.encode() + bytes.fromhex(insert.hex))


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
        body = to_json(fault.body)
    return Respond(fault.status, body, headers=fault.headers)


def _timed(steps: Iterator[Step | Event], timing: Timing, dialect: Dialect) -> Iterator[Event]:
    """The events with the waits between them: headers, first token, and a gap for each channel."""
    gaps = {
        "reasoning": _or(timing.reasoning_gap_ms, timing.gap_ms),
        "answer": _or(timing.answer_gap_ms, timing.gap_ms),
        "arguments": _or(timing.arguments_gap_ms, timing.gap_ms),
    }
    wait = max(0.0, _or(timing.first_token_ms, timing.headers_ms) - timing.headers_ms)
    said = False
    if timing.headers_ms:
        yield Wait(timing.headers_ms)
    for step in steps:
        if not isinstance(step, Step):
            yield step
            continue
        gap = gaps[_channel(step.event)]
        wait = gap * step.gaps if said else wait + gap * (step.gaps - 1)
        said = True
        yield from _pause(wait, dialect)
        yield step.event


def _channel(event: Text | Call | Arguments | Together) -> str:
    first = event.parts[0] if isinstance(event, Together) else event
    return first.channel if isinstance(first, Text) else "arguments"


def _pause(ms: float, dialect: Dialect) -> Iterator[Event]:
    """A wait inside the stream, with the pings that fall into it."""
    while dialect.ping_ms and ms > dialect.ping_ms:
        ms -= dialect.ping_ms
        yield Wait(dialect.ping_ms)
        yield Raw(dialect.ping.encode())
    if ms:
        yield Wait(ms)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value

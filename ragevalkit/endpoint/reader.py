"""Accumulates one streamed completion into texts, calls, token counts and clocks.

Public: `StreamReader`, `FAILED_FINISHES`.
"""

from __future__ import annotations

from typing import Any

from ragevalkit.endpoint.channels import ANSWER, REASONING, TokenMarks, Totals
from ragevalkit.endpoint.pieces import CallPieces
from ragevalkit.endpoint.tokens import as_count, estimate_tokens
from ragevalkit.endpoint.wire import DONE, Delta, EventStream, parse_event
from ragevalkit.turn.record import Call, Channel

FAILED_FINISHES = frozenset({"abort", "error"})
"""Finish reasons by which an engine says that it gave up, with HTTP 200."""


class StreamReader:
    """Takes reads as they come, each with the time when it was read.

    Every token-bearing event of a read gets that read's time: a gap of 0 means that the events came
    together. Role-only, usage and `[DONE]` events bear no token. Feeding never raises, whatever the
    bytes.
    """

    def __init__(self) -> None:
        self._stream = EventStream()
        self._answer: list[str] = []
        self._reasoning: list[str] = []
        self._tool: list[str] = []
        self._calls = CallPieces()
        self.marks = TokenMarks()
        self.first_event_ns: int | None = None
        self.last_event_ns: int | None = None
        self.finish_reason: str | None = None
        self.reasoning_field: str | None = None
        self.usage: dict[str, Any] | None = None
        """The last one: some servers send a running total with every event."""
        self.timings: dict[str, Any] | None = None
        self.metrics: dict[str, Any] | None = None
        self.model: str | None = None
        self.system_fingerprint: str | None = None
        self.error: dict[str, Any] | None = None
        self.malformed_events = 0
        self.events = 0
        self.done = False
        """Whether `[DONE]` or a whole completion came."""
        self.usage_is_final = False
        """Whether usage came with the finish reason or after it."""
        self._running: int | None = None
        """The server's running total, while every text comes with one."""
        self._ids: int | None = None
        """Tokens by the ids of all events."""
        self._prompt_ids: int | None = None

    def feed(self, read: bytes, now_ns: int) -> None:
        """Take one read from the socket."""
        for data in self._stream.feed(read):
            self._take(data, now_ns)

    def close(self, now_ns: int) -> None:
        """Take what is left when the stream has ended."""
        for data in self._stream.close():
            self._take(data, now_ns)

    def take_whole(self, body: bytes, now_ns: int) -> None:
        """Take a completion that was not streamed: all its tokens in one event."""
        self._take(body, now_ns)
        self.done = not self.malformed_events

    @property
    def ending(self) -> bool:
        """Whether all that can still come is the end: usage, `[DONE]`, or nothing."""
        return self.done or self.finish_reason is not None or self.error is not None

    @property
    def content(self) -> str:
        return _joined(self._answer)

    @property
    def reasoning_text(self) -> str:
        return _joined(self._reasoning)

    @property
    def characters(self) -> int:
        return sum(self.marks.characters)

    @property
    def first_token_ns(self) -> int | None:
        return self.marks.at_ns[0] if self.marks.at_ns else None

    @property
    def last_token_ns(self) -> int | None:
        return self.marks.at_ns[-1] if self.marks.at_ns else None

    @property
    def first_event_tokens(self) -> int | None:
        """Tokens of the first token-bearing event: all of them where it was the only one."""
        events = self.marks.event_tokens(self.completion_tokens)
        if len(events) == 1 and events[0] is None and self.completion_tokens is not None:
            return sum(channel.tokens or 0 for channel in self.channels().values())
        return events[0] if events else None

    @property
    def completion_tokens(self) -> int | None:
        """By usage, by the ids that were listed, or by llama.cpp's timings."""
        counts = (
            self.usage_count("completion_tokens"),
            self._ids,
            as_count(self.timings and self.timings.get("predicted_n")),
        )
        return next((count for count in counts if count is not None), None)

    @property
    def prompt_tokens(self) -> int | None:
        """By usage, or by the prompt's ids."""
        by_usage = self.usage_count("prompt_tokens")
        return self._prompt_ids if by_usage is None else by_usage

    @property
    def cached_tokens(self) -> int | None:
        """Tokens of the prompt that came from the server's cache."""
        detailed = self.usage_count("prompt_tokens_details", "cached_tokens")
        return self.usage_count("cached_tokens") if detailed is None else detailed

    def tool_calls(self) -> list[Call]:
        """The calls in the order in which they began."""
        return [
            Call(id=id_ and _joined([id_]), name=_joined([name]), arguments=_joined(arguments))
            for id_, name, arguments in self._calls.calls()
        ]

    def channels(self) -> dict[str, Channel]:
        """The channels in which something came: `reasoning`, `tool`, `answer`."""
        totals = Totals(self.completion_tokens, self._reasoning_tokens())
        estimates = [0, 0, 0]
        if totals.completion is None:
            texts = (self._reasoning, self._tool, self._answer)
            estimates = [estimate_tokens(_joined(parts)) for parts in texts]
        return self.marks.channels(totals, estimates)

    def usage_count(self, *path: str) -> int | None:
        """A count from the server's usage block, or None."""
        value: Any = self.usage
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return as_count(value)

    def _reasoning_tokens(self) -> int | None:
        detailed = self.usage_count("completion_tokens_details", "reasoning_tokens")
        return self.usage_count("reasoning_tokens") if detailed is None else detailed  # SGLang

    def _take(self, data: bytes, now_ns: int) -> None:
        self.events += 1
        self.last_event_ns = now_ns
        if self.first_event_ns is None:
            self.first_event_ns = now_ns
        if data == DONE:
            self.done = True
            return
        delta = parse_event(data)
        if delta.malformed:
            self.malformed_events += 1
            return
        if delta.more:
            self._take_more(delta)
        if self.model is None:
            self.model = delta.model
        if delta.tokens is not None:
            self._ids = (self._ids or 0) + delta.tokens
        if delta.calls or (delta.answer and delta.reasoning):
            self._take_channels(delta, now_ns)
        elif delta.answer:
            self._answer.append(delta.answer)
            self.marks.add(ANSWER, len(delta.answer), now_ns, delta.tokens, self._total(delta))
        elif delta.reasoning:
            self._take_reasoning(delta)
            size = len(delta.reasoning)
            self.marks.add(REASONING, size, now_ns, delta.tokens, self._total(delta))
        else:
            self._take_textless(delta, now_ns)

    def _take_more(self, delta: Delta) -> None:
        self.error = self.error or delta.error
        self.finish_reason = delta.finish_reason or self.finish_reason
        self.system_fingerprint = delta.system_fingerprint or self.system_fingerprint
        self.timings = delta.timings or self.timings
        self.metrics = delta.metrics or self.metrics
        if delta.usage is not None:
            self.usage = delta.usage
            self.usage_is_final = self.finish_reason is not None
        if delta.prompt_tokens is not None:
            self._prompt_ids = delta.prompt_tokens
        if delta.all_tokens is not None:
            self._ids = delta.all_tokens

    def _take_channels(self, delta: Delta, now_ns: int) -> None:
        """Take an event of tool calls, or of several channels."""
        said = "".join([self._calls.take(call) for call in delta.calls])
        sizes = (len(delta.reasoning), len(said), len(delta.answer))
        if delta.reasoning:
            self._take_reasoning(delta)
        if said:
            self._tool.append(said)
        if delta.answer:
            self._answer.append(delta.answer)
        if sum(map(bool, sizes)) > 1:
            self.marks.add_shared(sizes, now_ns, delta.tokens, self._total(delta))
        elif any(sizes):
            channel = max(range(3), key=sizes.__getitem__)
            self.marks.add(channel, sizes[channel], now_ns, delta.tokens, self._total(delta))
        else:
            self._take_textless(delta, now_ns)

    def _take_textless(self, delta: Delta, now_ns: int) -> None:
        """Take an event without text, which bore tokens where their ids or the total say so."""
        total = _running_total(delta) if delta.choice else None
        rose = total is not None and self._running is not None and total > self._running
        if rose or delta.tokens:
            self.marks.add_textless(now_ns, delta.tokens, total)
        if total is not None:
            self._running = total

    def _take_reasoning(self, delta: Delta) -> None:
        self._reasoning.append(delta.reasoning)
        self.reasoning_field = delta.reasoning_field or self.reasoning_field

    def _total(self, delta: Delta) -> int | None:
        """The running total of an event with text."""
        self._running = _running_total(delta) if delta.more else None
        return self._running


def _running_total(delta: Delta) -> int | None:
    """The server's count of completion tokens up to and with this event."""
    if delta.usage is not None:
        return as_count(delta.usage.get("completion_tokens"))
    return as_count(delta.timings.get("predicted_n")) if delta.timings is not None else None


def _joined(parts: list[str]) -> str:
    """The text of `parts`; surrogate pairs that were cut in two are whole again."""
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

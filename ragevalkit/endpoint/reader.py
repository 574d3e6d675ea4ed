"""Accumulates one streamed completion into texts, calls, token counts and clocks.

Public: `StreamReader`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import orjson

from ragevalkit.endpoint.tokens import estimate_tokens
from ragevalkit.endpoint.wire import DONE, CallDelta, Delta, EventStream, parse_event
from ragevalkit.turn.record import Call, Channel, milliseconds

FAILED_FINISHES = frozenset({"abort", "error"})
"""Finish reasons by which an engine says that it gave up, with HTTP 200."""

_MOST_TOKENS = 2**53
"""A larger count is none."""


@dataclass(slots=True)
class _ChannelReader:
    first_ns: int | None = None
    parts: list[str] = field(default_factory=list)
    gaps_ns: list[int] = field(default_factory=list)
    gap_tokens: list[int | None] = field(default_factory=list)
    tokens: int | None = 0
    """Tokens of all its events; None once an event doesn't say."""
    characters: int = 0


@dataclass(slots=True)
class _CallReader:
    index: int | None
    id: str | None
    name: str
    arguments: list[str]


class StreamReader:
    """Takes reads as they come, each with the time when it was read.

    Every token-bearing event of a read gets that read's time: a gap of 0 means that the events came
    together. Role-only, usage and `[DONE]` events bear no token. Feeding never raises, whatever the
    bytes.
    """

    def __init__(self) -> None:
        self._stream = EventStream()
        self.answer, self.reasoning, self.tool = (
            _ChannelReader(),
            _ChannelReader(),
            _ChannelReader(),
        )
        self.calls: list[_CallReader] = []
        self.first_event_ns: int | None = None
        self.first_token_ns: int | None = None
        self.last_token_ns: int | None = None
        self.first_event_tokens: int | None = None
        self.finish_reason: str | None = None
        self.reasoning_field: str | None = None
        self.usage: dict[str, Any] | None = None
        self.model: str | None = None
        self.system_fingerprint: str | None = None
        self.error: dict[str, Any] | None = None
        self.malformed_events = 0
        self.events = 0
        self.done_ns: int | None = None
        """When `[DONE]` or a whole completion came."""
        self._unclaimed = 0
        """Tokens by the ids of events without text, such as markup that a parser swallowed."""
        self._usage_tokens = 0
        self._usage_runs = True
        """Whether every token-bearing event so far came with usage."""

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
        if not self.malformed_events:
            self.done_ns = now_ns

    @property
    def done(self) -> bool:
        return self.done_ns is not None

    @property
    def content(self) -> str:
        return _joined(self.answer.parts)

    @property
    def reasoning_text(self) -> str:
        return _joined(self.reasoning.parts)

    @property
    def characters(self) -> int:
        return self.answer.characters + self.reasoning.characters + self.tool.characters

    def tool_calls(self) -> list[Call]:
        """The calls in the order in which they began."""
        return [
            Call(
                id=c.id and _joined([c.id]), name=_joined([c.name]), arguments=_joined(c.arguments)
            )
            for c in self.calls
        ]

    def channels(self) -> dict[str, Channel]:
        """The channels in which something came: `reasoning`, `tool`, `answer`.

        Tokens are exact where every event says how many it carried, or where one channel got all of
        the server's total; else the total is split by characters and marked estimated.
        """
        used = {
            name: channel
            for name, channel in (
                ("reasoning", self.reasoning),
                ("tool", self.tool),
                ("answer", self.answer),
            )
            if channel.first_ns is not None
        }
        counts = self._token_counts(used)
        return {
            name: Channel.model_construct(
                tokens=counts[name][0],
                estimated=counts[name][1],
                characters=channel.characters,
                gaps_ms=list(map(milliseconds, channel.gaps_ns)),
                event_tokens=channel.gap_tokens,
            )
            for name, channel in used.items()
        }

    def usage_count(self, *path: str) -> int | None:
        """A count from the server's usage block, or None."""
        value: Any = self.usage
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        is_count = isinstance(value, int) and not isinstance(value, bool)
        return value if is_count and 0 <= value <= _MOST_TOKENS else None

    def _take(self, data: bytes, now_ns: int) -> None:
        self.events += 1
        if self.first_event_ns is None:
            self.first_event_ns = now_ns
        if data == DONE:
            self.done_ns = now_ns
            return
        delta = parse_event(data)
        if delta.malformed:
            self.malformed_events += 1
            return
        self.error = self.error or delta.error
        self.finish_reason = delta.finish_reason or self.finish_reason
        self.model = delta.model or self.model
        self.system_fingerprint = delta.system_fingerprint or self.system_fingerprint
        if delta.usage is not None:
            self.usage = delta.usage
        bearing = []
        if delta.reasoning:
            bearing.append((self.reasoning, delta.reasoning))
        if delta.calls and (said := "".join([self._take_call(call) for call in delta.calls])):
            bearing.append((self.tool, said))
        if delta.answer:
            bearing.append((self.answer, delta.answer))
        self._unclaimed += delta.tokens or 0
        if bearing:
            self.reasoning_field = delta.reasoning_field or self.reasoning_field
            self._take_tokens(bearing, self._event_tokens(delta), now_ns)

    def _event_tokens(self, delta: Delta) -> int | None:
        """Tokens since the last token-bearing event, up to and with this one.

        By listed ids, or by usage where that has run along since the first token.
        """
        if delta.tokens is not None:
            tokens, self._unclaimed = self._unclaimed, 0
            return tokens
        total = self.usage_count("completion_tokens") if delta.usage is not None else None
        if total is None or not self._usage_runs or total < self._usage_tokens:
            self._usage_runs = False
            return None
        since, self._usage_tokens = total - self._usage_tokens, total
        return since

    def _take_tokens(
        self, bearing: list[tuple[_ChannelReader, str]], tokens: int | None, now_ns: int
    ) -> None:
        for channel, text in bearing:
            if channel.first_ns is None:
                channel.first_ns = now_ns
            channel.parts.append(text)
            channel.characters += len(text)
            if tokens is None or channel.tokens is None or len(bearing) > 1:
                channel.tokens = None  # nobody says how many of an event's tokens are whose
            else:
                channel.tokens += tokens
        if self.first_token_ns is None:
            self.first_token_ns = now_ns
            self.first_event_tokens = tokens
        else:
            channel.gaps_ns.append(now_ns - (self.last_token_ns or now_ns))
            channel.gap_tokens.append(tokens)
        self.last_token_ns = now_ns

    def _take_call(self, delta: CallDelta) -> str:
        """Take a piece of a call; the text that it adds, without a name that is only repeated."""
        call = self._open_call(delta)
        if call is None:
            self.calls.append(_CallReader(delta.index, delta.id, delta.name, [delta.arguments]))
            return delta.name + delta.arguments
        call.id = call.id or delta.id
        name = "" if delta.name == call.name else delta.name
        call.name += name
        call.arguments.append(delta.arguments)
        return name + delta.arguments

    def _open_call(self, delta: CallDelta) -> _CallReader | None:
        """The call that `delta` goes on with; None where it begins one.

        By index first, since later pieces often carry it alone; by id where there is none; else the
        last call. Servers that give every parallel call index 0 are recognised by a new id, or by a
        name: another one once arguments have begun, or the same after complete arguments.
        """
        if delta.index is not None:
            same = [c for c in self.calls if c.index == delta.index]
        elif delta.id is not None:
            same = [c for c in self.calls if c.id == delta.id]
        else:
            same = self.calls
        if not same:
            begins = delta.id or delta.name or not self.calls
            return None if begins else self.calls[-1]
        if delta.id:
            same = [c for c in same if c.id in (None, delta.id)]
        if not same:
            return None
        call = same[-1]
        arguments = "".join(call.arguments)
        if delta.name and call.name and delta.name != call.name and arguments:
            return None  # another name once arguments have begun
        again = delta.name and delta.name == call.name and delta.arguments
        return None if again and _complete(arguments) else call

    def _token_counts(self, used: dict[str, _ChannelReader]) -> dict[str, tuple[int | None, bool]]:
        if all(channel.tokens is not None for channel in used.values()):
            return {name: (channel.tokens, False) for name, channel in used.items()}
        total = self.usage_count("completion_tokens")
        if total is None:
            return {
                name: (estimate_tokens(_joined(channel.parts)), True)
                for name, channel in used.items()
            }
        counts: dict[str, tuple[int | None, bool]] = {}
        reasoning = self.usage_count("completion_tokens_details", "reasoning_tokens")
        if reasoning is None:
            reasoning = self.usage_count("reasoning_tokens")  # SGLang
        if reasoning and reasoning <= total:
            total -= reasoning  # also where the server keeps the reasoning's text to itself
            if "reasoning" in used:
                counts["reasoning"] = (reasoning, False)
        rest = {name: channel for name, channel in used.items() if name not in counts}
        if len(rest) == 1:
            return {**counts, **dict.fromkeys(rest, (total, False))}
        shares = _split(total, [channel.characters for channel in rest.values()])
        return {**counts, **{name: (n, True) for name, n in zip(rest, shares, strict=True)}}


def _split(total: int, weights: list[int]) -> list[int]:
    """`total` in parts proportional to `weights`, adding up to it."""
    ends = [
        round(total * reached / max(1, sum(weights))) for reached in itertools.accumulate(weights)
    ]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _complete(arguments: str) -> bool:
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return True


def _joined(parts: list[str]) -> str:
    """The text of `parts`; surrogate pairs that were cut in two are whole again."""
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

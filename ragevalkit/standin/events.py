"""What a brain says: the events of one reply, and the pieces of text that count as tokens.

Public: `Brain`, `Wire`, the events (`Wait`, `Open`, `Text`, `Call`, `Arguments`, `Together`, `Raw`,
`Finish`, `Respond`, `Silence`, `Cut`, `End`, `StreamError`), `Event`, `Delta`, `Channel`, `pieces`,
`words`, `count_tokens`, `tokens_of`, `within_budget`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ragevalkit.standin.dialect import Dialect, UsageOn
from ragevalkit.standin.habits import Habits

if TYPE_CHECKING:
    from ragevalkit.standin.request import ChatRequest

Channel = Literal["reasoning", "answer"]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing until `ms` milliseconds after the previous deadline (the first: the arrival)."""

    ms: float


@dataclass(frozen=True, slots=True)
class Open:
    """Response headers, and the role's chunk if the dialect has one; any later event implies it.

    With it comes what the server will say about the cost of this reply.
    """

    usage_on: UsageOn | None = None
    """None: as the dialect has it."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Laid over every usage object."""
    cached_tokens: int = 0
    queue_ms: float = 0


@dataclass(frozen=True, slots=True)
class Text:
    """One delta of reasoning or answer text; each piece is a token."""

    channel: Channel
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """Start of a tool call: its id (left out where empty) and name, and arguments if at once."""

    index: int | None
    """Left out where None."""
    id: str
    name: str
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arguments:
    """One delta of the arguments of the call at `index`; each piece is a token."""

    index: int | None
    pieces: tuple[str, ...]
    id: str = ""
    """The call's id and name once more; left out where empty."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Together:
    """Several deltas in one event, perhaps with the finish reason."""

    parts: tuple[Text | Call | Arguments, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes in the stream that are no chunk."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Finish:
    """End of the reply: the finish reason, usage where the client asked for it, `[DONE]`."""

    reason: str | None
    usage: bool = True
    done: bool = True
    chunk: bool = True
    """False: the last `Together` has brought the reason."""


@dataclass(frozen=True, slots=True)
class Respond:
    """A whole HTTP response in place of a completion; only before headers were sent."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Silence:
    """No event any more, with the connection held open until the client leaves."""

    ping: bytes = b""
    ping_ms: float = 0
    """Between pings, once headers were sent; 0: none."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks: reset at once, or `halfway` through the bytes of a next event."""

    halfway: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The body ends cleanly here, without finish reason, usage or `[DONE]`."""


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error object inside a stream that began with 200."""

    error: Mapping[str, Any]


Delta = Text | Call | Arguments | Together
"""The events that bear tokens."""

Event = Wait | Open | Delta | Raw | Finish | Respond | Silence | Cut | End | StreamError


@dataclass(frozen=True, slots=True)
class Wire:
    """What an endpoint calls itself, how it spells its chunks, and what it does with requests."""

    model: str
    """Name in `/v1/models` and in every chunk."""
    dialect: Dialect = field(default_factory=Dialect)
    habits: Habits = field(default_factory=Habits)


class Brain(Protocol):
    """Maps a request to the events of its reply."""

    wire: Wire

    def reply(self, request: ChatRequest) -> Iterable[Event]:
        """The events in order; the last is `Finish` or a fault. May not raise."""
        ...

    def models(self) -> Respond | Silence | None:
        """What `GET /v1/models` does instead of listing the one model; None: it lists it."""
        ...


_PIECE = re.compile(r"\s*(?:[^\W\d_]{1,6}|\d{1,3}|_|[^\w\s])|\s+")
_WORD = re.compile(r"\s*\S+|\s+")


def pieces(text: str) -> tuple[str, ...]:
    """`text` cut into the stand-ins' tokens: up to 6 letters, 3 digits or one sign each.

    Joined again they give `text`.
    """
    return tuple(_PIECE.findall(text))


def words(text: str) -> Iterator[tuple[str, ...]]:
    """The pieces of `text`, a word with the space before it at a time."""
    for word in _WORD.findall(text):
        yield pieces(word)


@lru_cache(maxsize=256)
def count_tokens(text: str) -> int:
    """Number of `pieces(text)`; remembered, as each round sends the earlier rounds again."""
    return len(_PIECE.findall(text))


def tokens_of(event: Event) -> int:
    """Tokens that the event carries; a call's name counts as well."""
    match event:
        case Text() | Arguments():
            return len(event.pieces)
        case Call():
            return count_tokens(event.name) + len(event.pieces)
        case Together():
            return sum(map(tokens_of, event.parts))
        case _:
            return 0


def within_budget(events: Iterable[Event], limit: int | None) -> Iterator[Event]:
    """`events`, ended with finish reason `length` after `limit` tokens; None: no limit."""
    if limit is None:
        yield from events
        return
    left = limit
    rest = iter(events)
    for event in rest:
        tokens = tokens_of(event)
        if tokens <= left:
            left -= tokens
            yield event
            continue
        if left and isinstance(event, Text | Arguments):
            yield replace(event, pieces=event.pieces[:left])
        end = next((later for later in rest if isinstance(later, Finish)), Finish(None))
        yield replace(end, reason="length", chunk=True)
        return

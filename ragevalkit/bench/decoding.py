"""What one reply says of decoding: when its tokens came, how fast, and where they stopped.

Public: `Decoding`, `decoding`, `wait_ms`, `arrivals`, `Arrival`, `channels`, `all_gaps_ms`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

from ragevalkit.turn.record import Channel, Round

CHANNELS = ("reasoning", "tool", "answer")


class Arrival(NamedTuple):
    """A token-bearing event."""

    at_ms: float
    """By the clock of the round's record."""
    tokens: float
    """That it carried; an equal share of the reply's where nobody says."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """The tokens of one reply."""

    tokens: int
    """All of them, reasoning included."""
    first_tokens: int
    """Of the first event; 1 where the server doesn't say."""
    span_ms: float
    """First token to the last; 0 where all came at once."""
    whole_ms: float
    """Sent to the last token."""
    estimated: bool
    """Whether `tokens` is guessed rather than counted by the server."""

    @property
    def timed(self) -> int:
        """Tokens that came in `span_ms`."""
        return self.tokens - self.first_tokens

    @property
    def rate(self) -> float | None:
        """Tokens a second after the first event; None where all came at once."""
        return 1000 * self.timed / self.span_ms if self.timed > 0 and self.span_ms > 0 else None


def channels(round_: Round) -> dict[str, Channel]:
    """The channels in which something came, by `CHANNELS`."""
    found = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    return {name: c for name, c in zip(CHANNELS, found, strict=True) if c is not None}


def decoding(round_: Round) -> Decoding | None:
    """The tokens of a reply; None where there were none."""
    clock, counts = round_.clock, channels(round_).values()
    if clock.first_token_ms is None or clock.last_token_ms is None:
        return None
    counted = round_.completion_tokens
    tokens = sum(c.tokens or 0 for c in counts) if counted is None else counted
    return Decoding(
        tokens=tokens,
        first_tokens=1 if clock.first_event_tokens is None else clock.first_event_tokens,
        span_ms=clock.last_token_ms - clock.first_token_ms,
        whole_ms=clock.last_token_ms - clock.sent_ms,
        estimated=counted is None and any(c.estimated for c in counts),
    )


def wait_ms(round_: Round) -> float | None:
    """Sent to the first token of any channel: queue, prefill and network. None: none came."""
    first_ms = round_.clock.first_token_ms
    return None if first_ms is None else first_ms - round_.clock.sent_ms


def all_gaps_ms(round_: Round) -> list[float]:
    """Between the token-bearing events of a reply, whatever their channels."""
    return [gap for channel in channels(round_).values() for gap in channel.gaps_ms]


def arrivals(round_: Round) -> list[Arrival]:
    """The token-bearing events in their order.

    The record keeps gaps by channel; a channel that is taken up again counts as if it had gone on.
    """
    clock, reply = round_.clock, decoding(round_)
    if clock.first_token_ms is None or reply is None:
        return []
    begun_ms = {
        "reasoning": clock.first_reasoning_ms,
        "tool": clock.first_tool_argument_ms,
        "answer": clock.first_answer_ms,
    }
    ordered = sorted(channels(round_).items(), key=lambda item: begun_ms[item[0]] or 0.0)
    gaps = [gap for _, channel in ordered for gap in channel.gaps_ms]
    said = [clock.first_event_tokens, *(n for _, c in ordered for n in c.event_tokens)]
    known = [n for n in said if n is not None]
    share = reply.tokens / len(said)
    counts = [float(n) for n in known] if len(known) == len(said) else [share] * len(said)
    stamps = itertools.accumulate(gaps, initial=clock.first_token_ms)
    return [Arrival(at_ms, tokens) for at_ms, tokens in zip(stamps, counts, strict=True)]

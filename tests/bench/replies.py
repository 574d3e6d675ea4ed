"""Replies made by hand, and those of a server in virtual time."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from ragevalkit.turn.record import (
    Attempt,
    Channel,
    Round,
    RoundClock,
    RoundState,
    ServerTimes,
)


def reply(
    *,
    sent_ms: float = 0.0,
    wait_ms: float = 100.0,
    gaps_ms: Sequence[float] = (10.0,) * 9,
    per_event: int | None = 1,
    tokens: int | None = None,
    prompt_tokens: int | None = 100,
    cached_tokens: int | None = 0,
    server: ServerTimes | None = None,
    content: str = "blue",
    **more: Any,
) -> Round:
    """A reply of one channel.

    Args:
        tokens: None: as many as the events carry.
    """
    first, last = sent_ms + wait_ms, sent_ms + wait_ms + sum(gaps_ms)
    counted = (per_event or 1) * (len(gaps_ms) + 1) if tokens is None else tokens
    channel = Channel(
        tokens=counted,
        characters=len(content),
        gaps_ms=list(gaps_ms),
        event_tokens=[per_event] * len(gaps_ms),
    )
    attempt = Attempt(number=1, state=RoundState.DONE, sent_ms=sent_ms, ended_ms=last)
    return Round(
        state=RoundState.DONE,
        finish_reason="length",
        content=content,
        attempts=[attempt],
        clock=RoundClock(
            sent_ms=sent_ms,
            first_token_ms=first,
            first_answer_ms=first,
            last_token_ms=last,
            ended_ms=last,
            first_event_tokens=per_event,
        ),
        answer_channel=channel,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        completion_tokens=counted,
        server=server,
    ).model_copy(update=more)


def failed(state: RoundState, error: str = "broken", sent_ms: float = 0.0) -> Round:
    """A request to which nothing came."""
    clock = RoundClock(sent_ms=sent_ms, ended_ms=sent_ms + 1.0)
    return Round(state=state, error=error, clock=clock)


def closed_loop(
    streams: int, each: int, *, slots: int, wait_ms: float, gap_ms: float, tokens: int
) -> list[Round]:
    """What `streams` that ask `each` times get of a server that answers `slots` at once."""
    asks = [(0.0, number) for number in range(streams)]
    free = [0.0] * slots
    rounds: list[Round] = []
    left = streams * each
    while left:
        sent, number = heapq.heappop(asks)
        begins = max(sent, heapq.heappop(free))
        done = reply(
            sent_ms=sent,
            wait_ms=begins - sent + wait_ms,
            gaps_ms=(gap_ms,) * (tokens - 1),
        )
        heapq.heappush(free, done.clock.ended_ms)
        heapq.heappush(asks, (done.clock.ended_ms, number))
        rounds.append(done)
        left -= 1
    return rounds

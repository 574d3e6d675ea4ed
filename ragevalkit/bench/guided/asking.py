"""Asking, and putting each request on record; a server that is gone ends it.

Public: `Asker`, `Stopped`, `REJECTED`, `ttft`, `gap`.
"""

from __future__ import annotations

import time
from typing import Any

from ragevalkit.bench.folder import BenchFolder, Record
from ragevalkit.bench.session import Session
from ragevalkit.turn.record import Round, RoundState

_MOST_FAILURES = 3
"""In a row, each with all its retries."""
REJECTED = frozenset({RoundState.REJECTED, RoundState.REFUSED, RoundState.OVERFLOW})
"""The server doesn't take such a request."""


class Stopped(Exception):
    """Requests fail one after the other; the text is the last one's error."""


class Asker:
    """Asks one endpoint, one request at a time."""

    def __init__(self, session: Session, folder: BenchFolder, sitting: int) -> None:
        """
        Args:
            sitting: how often the bench was begun or continued before.
        """
        self.session = session
        self.sitting = sitting
        self.records: list[Record] = []
        """All that were asked for in this sitting."""
        self._folder = folder
        self._failures = 0

    async def ask(self, body: dict[str, Any], **place: Any) -> Round:
        """The reply to one request, failed or not; it is on record.

        Args:
            place: where it stands in the plan, without the sitting.

        Raises:
            Stopped: three requests in a row failed, rejected ones not counted.
            EndpointUnusable: the first request ever failed in a way that the next would, too.
            RunFolderError: the disk is full, or the folder can't be written.
        """
        round_ = await self.session.client.complete(body, [], time.perf_counter_ns())
        record = Record.now({"sitting": self.sitting, **place}, round_)
        self._folder.add(record)
        self.records.append(record)
        failed = round_.state is not RoundState.DONE and round_.state not in REJECTED
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= _MOST_FAILURES:
            raise Stopped(round_.error or round_.state.value)
        return round_


def ttft(round_: Round, streams: bool = True) -> float | None:
    """Milliseconds from sent to the first token of any channel; None: none came.

    Args:
        streams: False where replies come whole, of one token: its arrival is the reply's end.
    """
    if round_.state is not RoundState.DONE:
        return None
    first = round_.clock.first_token_ms
    if first is None and not streams and round_.completion_tokens:
        first = round_.clock.ended_ms
    return None if first is None else first - round_.clock.sent_ms


def gap(round_: Round) -> float | None:
    """Milliseconds per token after the first event's: (last - first token) / (tokens - tokens of
    the first event). None where that isn't known, or where no further token came.

    After reasoning, of the answer and the calls alone: grammars leave reasoning free.
    """
    if round_.reasoning_channel is not None and round_.reasoning_channel.tokens:
        return _gap_after_reasoning(round_)
    clock, tokens = round_.clock, round_.completion_tokens
    if clock.first_token_ms is None or clock.last_token_ms is None or tokens is None:
        return None
    later = tokens - (clock.first_event_tokens or 1)
    if round_.state is not RoundState.DONE or later < 1:
        return None
    span = clock.last_token_ms - clock.first_token_ms
    return span / later if span > 0 else None


def _gap_after_reasoning(round_: Round) -> float | None:
    found = (round_.answer_channel, round_.tool_channel)
    visible = [channel for channel in found if channel is not None and channel.gaps_ms]
    tokens = sum(channel.tokens or 0 for channel in visible)
    span = sum(sum(channel.gaps_ms) for channel in visible)
    return span / tokens if round_.state is RoundState.DONE and tokens and span > 0 else None

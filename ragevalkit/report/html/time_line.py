"""When things happened in a turn, as bars on a line of milliseconds.

Public: `Bar`, `bars`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ragevalkit.report.numbers import milliseconds
from ragevalkit.turn.record import Round, Turn


class Bar(NamedTuple):
    """A stretch of a round."""

    round: int
    """From 1."""
    part: str
    """A part of the turn's composition."""
    begin_ms: float
    end_ms: float
    took: str
    """Its length, as it is written."""


def bars(turn: Turn) -> list[Bar]:
    """The stretches of all rounds, in order; what no bar covers is the harness's own time."""
    return [
        Bar(number, part, round(begin, 3), round(end, 3), milliseconds(end - begin))
        for number, round_ in enumerate(turn.rounds, 1)
        for part, begin, end in _stretches(round_)
        if end > begin
    ]


def _stretches(round_: Round) -> Iterator[tuple[str, float, float]]:
    clock = round_.clock
    if round_.attempts and round_.attempts[0].sent_ms < clock.sent_ms:
        yield "retries", round_.attempts[0].sent_ms, clock.sent_ms
    starts = sorted(
        (at, part)
        for part, at in (
            ("reasoning", clock.first_reasoning_ms),
            ("tool_arguments", clock.first_tool_argument_ms),
            ("answer", clock.first_answer_ms),
        )
        if at is not None
    )
    last = clock.last_token_ms
    if clock.first_token_ms is None or last is None:
        yield "wait", clock.sent_ms, clock.ended_ms
    else:
        yield "wait", clock.sent_ms, clock.first_token_ms
        ends = [*(at for at, _ in starts[1:]), last]
        for (at, part), end in zip(starts, ends, strict=True):
            yield part, at, end
        yield "wait", last, clock.ended_ms
    for call in round_.calls:
        if call.started_ms is not None and call.ended_ms is not None:
            yield "tools", call.started_ms, call.ended_ms

"""The clocks of one turn, as the summary takes them.

Public: `TurnTiming`, `turn_timing`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragevalkit.scoring.calls import without_leaked_calls
from ragevalkit.scoring.server import Served, served_rounds
from ragevalkit.turn.composition import split_wait
from ragevalkit.turn.record import Channel, Ended, Round, RoundState, Turn


@dataclass(frozen=True, slots=True)
class TurnTiming:
    """None is a time that never came, or can't be told."""

    ttft_ms: float | None
    """First round: sent to the first token of any channel."""
    first_answer_ms: float | None
    """Start of the turn to the first answer token of the final reply."""
    turn_s: float | None
    """The whole turn; None where its time limit cut it off."""
    tpot_ms: float | None
    """Time per output token after the first event's, over all rounds of the turn."""
    tokens_estimated: bool
    rounds: int
    tool_rounds: int
    composition_ms: dict[str, float]
    wait_ms: dict[str, float] | None = None
    """The waiting of the rounds with the server's own figures, by `split_wait`."""
    served: tuple[Served, ...] = ()
    """The rounds of which the server said something."""


def turn_timing(turn: Turn) -> TurnTiming:
    """Take the clocks of a turn."""
    return TurnTiming(
        ttft_ms=_ttft(turn.rounds[0]) if turn.rounds else None,
        first_answer_ms=_first_answer(turn),
        turn_s=None if turn.ended is Ended.TURN_TIMEOUT else turn.wall_ms / 1000,
        tpot_ms=_tpot(turn.rounds),
        tokens_estimated=any(c.estimated for r in turn.rounds for c in _channels(r)),
        rounds=len(turn.rounds),
        tool_rounds=sum(bool(r.calls) and r.state is RoundState.DONE for r in turn.rounds),
        composition_ms=turn.composition_ms,
        wait_ms=split_wait(turn.rounds),
        served=tuple(served_rounds(turn.rounds)),
    )


def _ttft(round_: Round) -> float | None:
    clock = round_.clock
    return None if clock.first_token_ms is None else clock.first_token_ms - clock.sent_ms


def _first_answer(turn: Turn) -> float | None:
    replied = turn.rounds and without_leaked_calls(turn.reply, turn.tools).strip()
    return turn.rounds[-1].clock.first_answer_ms if replied else None


def _tpot(rounds: list[Round]) -> float | None:
    """Sum of (last - first token) over sum of (tokens - tokens of the first event).

    The first event counts as one token where the server doesn't say how many it carried. Then
    rounds with calls are left out: parsers hold back a call's markup and beginning, so that its
    first event carried several.
    """
    span, tokens = 0.0, 0
    for round_ in rounds:
        clock, counts = round_.clock, [c.tokens for c in _channels(round_)]
        if clock.first_token_ms is None or clock.last_token_ms is None or None in counts:
            continue
        if clock.first_token_ms == clock.last_token_ms:
            continue  # all its tokens came at once
        if clock.first_event_tokens is None and round_.calls:
            continue
        span += clock.last_token_ms - clock.first_token_ms
        first = 1 if clock.first_event_tokens is None else clock.first_event_tokens
        tokens += max(0, sum(filter(None, counts)) - first)
    return span / tokens if tokens else None


def _channels(round_: Round) -> list[Channel]:
    channels = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    return [channel for channel in channels if channel is not None]

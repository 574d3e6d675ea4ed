"""What came of one request or turn of a budget bench.

Public: `Reading`, `read`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from ragevalkit.bench.folder import Record
from ragevalkit.scoring.markup import without_thoughts
from ragevalkit.scoring.outcome import Outcome, read_outcome
from ragevalkit.scoring.timing import turn_timing
from ragevalkit.turn.record import Channel, Ended, Round, RoundState, Turn

_OURS = frozenset({RoundState.DONE, RoundState.OVERFLOW, RoundState.REJECTED, RoundState.DEADLINE})
"""Ends of a request that say something of budget and control; any other is an infrastructure
error."""


@dataclass(frozen=True)
class Reading:
    """None is a time that never came, or a count that nobody gives."""

    answered: bool
    """Visible text came, thoughts left out."""
    lost: bool
    """An infrastructure error: it says nothing, and is asked again."""
    finish: str
    """The server's finish reason, or what became of the request; of a turn how it ended."""
    answer_tokens: int | None
    reasoning_tokens: int | None
    most_reasoning: int | None
    """Reasoning tokens of the request that had most of them."""
    ttft_ms: float | None
    first_answer_ms: float | None
    wall_ms: float
    gap_ms: float | None
    """Median gap between token-bearing events."""
    output_tokens: int | None
    """Of the last request, which the budget ended or not."""
    cut_off: bool
    """The last request ended with the finish reason `length`."""
    rejected: bool
    """The server turned the request away."""
    error: str | None
    estimated: bool
    """Whether a count was split or guessed."""
    thoughts_in_answer: bool
    """Reasoning stood in the visible text: no parser took it out."""

    @property
    def before_answer_ms(self) -> float:
        """Time before the first visible word; all of it where none came."""
        return self.wall_ms if self.first_answer_ms is None else self.first_answer_ms


def read(record: Record) -> Reading:
    """Read one record."""
    if record.turn is not None:
        return _read_turn(record.turn)
    assert record.round is not None, "a record holds a round or a turn"
    return _read_round(record.round)


def _read_round(round_: Round) -> Reading:
    clock, visible = round_.clock, without_thoughts(round_.content)
    answered, mixed = bool(visible.strip()), visible != round_.content
    answer, reasoning, estimated = _tokens(round_, visible)
    return Reading(
        answered=answered,
        lost=round_.state not in _OURS,
        finish=_finish(round_),
        answer_tokens=answer,
        reasoning_tokens=reasoning,
        most_reasoning=reasoning,
        ttft_ms=_since(clock.sent_ms, clock.first_token_ms),
        # where thoughts come first in the same text, nothing tells when the answer began
        first_answer_ms=_since(clock.sent_ms, clock.first_answer_ms)
        if answered and not mixed
        else None,
        wall_ms=round(clock.ended_ms - clock.sent_ms, 3),
        gap_ms=_gap([round_]),
        output_tokens=round_.completion_tokens,
        cut_off=round_.finish_reason == "length",
        rejected=round_.state in (RoundState.REJECTED, RoundState.OVERFLOW),
        error=round_.error,
        estimated=estimated,
        thoughts_in_answer=mixed,
    )


def _read_turn(turn: Turn) -> Reading:
    """A turn's counts are over all its rounds; its answer is the final reply."""
    timing, outcome = turn_timing(turn), read_outcome(turn).outcome
    answered = outcome not in (Outcome.NO_OUTPUT, Outcome.INFRA_ERROR)
    visible = without_thoughts(turn.reply)
    counts = [_tokens(round_, without_thoughts(round_.content)) for round_ in turn.rounds]
    reasoning = [spent for _, spent, _ in counts]
    last = turn.rounds[-1] if turn.rounds else None
    mixed = visible != turn.reply
    return Reading(
        answered=answered,
        lost=turn.ended is Ended.INFRA_ERROR,
        finish=turn.ended.value,
        answer_tokens=counts[-1][0] if answered and counts else 0,
        reasoning_tokens=_sum(reasoning),
        most_reasoning=None
        if None in reasoning
        else max(map(int, filter(None, reasoning)), default=0),
        ttft_ms=_rounded(timing.ttft_ms),
        first_answer_ms=_rounded(timing.first_answer_ms) if answered and not mixed else None,
        wall_ms=turn.wall_ms,
        gap_ms=_gap(turn.rounds),
        output_tokens=last.completion_tokens if last else None,
        cut_off=last is not None and last.finish_reason == "length",
        rejected=turn.ended in (Ended.SERVER_REJECTED, Ended.CONTEXT_OVERFLOW),
        error=turn.error,
        estimated=any(estimated for _, _, estimated in counts),
        thoughts_in_answer=mixed,
    )


def _tokens(round_: Round, visible: str) -> tuple[int | None, int | None, bool]:
    """Tokens of the answer, tokens of the reasoning, and whether they are estimated."""
    answer, reasoning = _count(round_.answer_channel), _count(round_.reasoning_channel)
    if reasoning == 0:
        reasoning = _unseen(round_)
    channels = (round_.answer_channel, round_.reasoning_channel)
    estimated = any(channel.estimated for channel in channels if channel)
    if visible != round_.content and answer is not None:
        # thoughts in the text: split by characters
        kept = round(answer * len(visible) / len(round_.content))
        return kept, None if reasoning is None else reasoning + answer - kept, True
    return answer, reasoning, estimated


def _count(channel: Channel | None) -> int | None:
    return channel.tokens if channel else 0


def _unseen(round_: Round) -> int:
    """Reasoning that the server counts and keeps to itself."""
    usage = round_.usage or {}
    details = usage.get("completion_tokens_details")
    for place in (details, usage):
        count = place.get("reasoning_tokens") if isinstance(place, dict) else None
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            return count
    return 0


def _gap(rounds: Iterable[Round]) -> float | None:
    channels = (c for r in rounds for c in (r.reasoning_channel, r.tool_channel, r.answer_channel))
    gaps = [gap for channel in channels if channel for gap in channel.gaps_ms]
    return median(gaps) if gaps else None


def _finish(round_: Round) -> str:
    if round_.state is RoundState.DONE:
        return round_.finish_reason or "none"
    return round_.state.value


def _since(sent_ms: float, at_ms: float | None) -> float | None:
    return None if at_ms is None else round(at_ms - sent_ms, 3)


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 3)


def _sum(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(filter(None, counts))

"""Where a turn's time went: the parts add up to its wall time.

Public: `PARTS`, `compose`, `split_wait`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ragevalkit.turn.record import Call, Channel, Round, RoundState

PARTS = ("wait", "reasoning", "tool_arguments", "answer", "tools", "retries", "harness")
"""wait: sent to first token (queue, network, prefill), and last token to the end of the stream;
reasoning, tool_arguments, answer: from token to token, by the channel of the later one; tools: in
the tools; retries: failed attempts, the pauses after them, and the control request that tells whose
failure it was; harness: all the rest, which is this
tool's own time."""


def compose(rounds: Iterable[Round], wall_ms: float) -> dict[str, float]:
    """Milliseconds of each of `PARTS`; they sum to `wall_ms`, to a microsecond a part.

    Tool calls of one round run one after the other, so their times add up.
    """
    parts = dict.fromkeys(PARTS, 0.0)
    for round_ in rounds:
        clock = round_.clock
        decoding = {
            "reasoning": _decoding(round_.reasoning_channel),
            "tool_arguments": _decoding(round_.tool_channel),
            "answer": _decoding(round_.answer_channel),
        }
        for part, spent_ms in decoding.items():
            parts[part] += spent_ms
        parts["wait"] += _waiting(round_)
        parts["tools"] += sum(map(_running, round_.calls))
        if round_.attempts:
            parts["retries"] += clock.sent_ms - round_.attempts[0].sent_ms
            if round_.attempts[-1].waited_s is not None or round_.state is RoundState.SERVER_ERROR:
                # the turn ended in the pause before the next attempt, or with a control request
                parts["retries"] += wall_ms - clock.ended_ms
    parts["harness"] = wall_ms - sum(parts.values())
    return {part: round(ms, 3) for part, ms in parts.items()}


def split_wait(rounds: Iterable[Round]) -> dict[str, float] | None:
    """Milliseconds of `wait` by the server's own figures: `queue`, `prefill` and `rest`.

    Over the rounds whose server gives any; None where none does. A part that it doesn't give is
    left out, and lies in `rest` (network, templating, tokenising, and the end of the stream), which
    two clocks can make slightly negative.
    """
    parts: dict[str, float] = {}
    rest = 0.0
    for round_ in rounds:
        server = round_.server
        if server is None or (server.queue_ms is None and server.prefill_ms is None):
            continue
        rest += _waiting(round_)
        for part, spent_ms in (("queue", server.queue_ms), ("prefill", server.prefill_ms)):
            if spent_ms is not None:
                parts[part] = parts.get(part, 0.0) + spent_ms
                rest -= spent_ms
    return {part: round(ms, 3) for part, ms in (*parts.items(), ("rest", rest))} if parts else None


def _waiting(round_: Round) -> float:
    """From sent to the end of the stream, without the time from token to token."""
    channels = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    return round_.clock.ended_ms - round_.clock.sent_ms - sum(map(_decoding, channels))


def _decoding(channel: Channel | None) -> float:
    return sum(channel.gaps_ms) if channel else 0.0


def _running(call: Call) -> float:
    if call.started_ms is None or call.ended_ms is None:
        return 0.0
    return call.ended_ms - call.started_ms

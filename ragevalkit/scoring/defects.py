"""The defects that are found so far: how a turn failed to come to a reply, and malformed calls.

Public: `DEFECTS`, `find_defects`.
"""

from __future__ import annotations

from ragevalkit.scoring.calls import call_defects, leak
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.turn.record import Ended, Turn

DEFECTS = {
    "answer:budget_exhausted": "the output budget ended before anything visible came",
    "answer:truncated": "the output budget ended inside the reply",
    "answer:empty": "the turn ended with a reply that shows nothing",
    "answer:round_limit": "the turn ended at its limit of rounds or tool results",
    "answer:turn_timeout": "the turn ended at its time limit",
    "answer:context_overflow": "the conversation outgrew the model's context",
    "answer:server_rejected": "the server rejected, or failed at, this turn's request alone",
    "call:not_json": "arguments that are no JSON",
    "call:truncated": "arguments that were cut off by the output budget",
    "call:unknown_tool": "a call of a tool that there isn't",
    "call:schema": "arguments that don't fit the tool's schema",
    "call:in_content": "a call left in the visible text",
    "call:in_reasoning": "a call left in the reasoning",
    "call:duplicate_id": "a call with an id that an earlier call had",
}
"""Name and meaning; the name is `family:kind`."""

_BY_END = {
    Ended.BUDGET_EXHAUSTED: "answer:budget_exhausted",
    Ended.TRUNCATED: "answer:truncated",
    Ended.ROUND_LIMIT: "answer:round_limit",
    Ended.TOOL_RESULT_LIMIT: "answer:round_limit",
    Ended.TURN_TIMEOUT: "answer:turn_timeout",
    Ended.CONTEXT_OVERFLOW: "answer:context_overflow",
    Ended.SERVER_REJECTED: "answer:server_rejected",
}


def find_defects(turn: Turn, outcome: Outcome) -> list[str]:
    """A turn's defects, each class once, in the order of `DEFECTS`."""
    if outcome is Outcome.INFRA_ERROR:
        return []
    found = {f"call:{kind}" for kind in call_defects(turn)}
    if end := _BY_END.get(turn.ended):
        found.add(end)
    elif outcome is Outcome.NO_OUTPUT and not (turn.rounds and leak(turn.rounds[-1])):
        # a last round that yields nothing but a leaked call has that one cause
        found.add("answer:empty")
    return [name for name in DEFECTS if name in found]

"""What a turn came to.

Public: `Outcome`, `Reading`, `read_outcome`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ragevalkit.scoring.calls import without_leaked_calls
from ragevalkit.scoring.markup import without_thoughts
from ragevalkit.scoring.replies import Reply, answers_after_declining, classify_reply
from ragevalkit.turn.protocol import split_marker
from ragevalkit.turn.record import Ended, Turn


class Outcome(StrEnum):
    """Exactly one a turn."""

    ANSWER = "answer"
    DECLINE = "decline"
    HEDGE = "hedge"
    """Says that it isn't in the documents and answers all the same."""
    ASK_BACK = "ask_back"
    """Asks for clarification instead."""
    NO_OUTPUT = "no_output"
    """Nothing that a reader could see."""
    INFRA_ERROR = "infra_error"
    """Not the model's doing; not scored."""


class Reading(NamedTuple):
    """An outcome and how it was found."""

    outcome: Outcome
    marker: bool
    """The reply starts with the marker of a refusal."""
    text: Reply
    """What the text detector reads in the reply, the marker left out."""
    visible: str = ""
    """The reply as a reader sees it, without calls that were left in it."""

    @property
    def disagree(self) -> bool:
        """The marker says that the reply declines, or that it doesn't, and the text otherwise."""
        return self.marker != (self.text in (Reply.DECLINE, Reply.HEDGE))


_WITHOUT_REPLY = frozenset(
    {Ended.TURN_TIMEOUT, Ended.CONTEXT_OVERFLOW, Ended.SERVER_REJECTED, Ended.BUDGET_EXHAUSTED}
)


def read_outcome(turn: Turn) -> Reading:
    """Read a turn's outcome from how it ended and what it replied."""
    if turn.ended is Ended.INFRA_ERROR:
        return Reading(Outcome.INFRA_ERROR, False, Reply.NO_OUTPUT)
    visible = "" if turn.ended in _WITHOUT_REPLY else without_leaked_calls(turn.reply, turn.tools)
    said = without_thoughts(visible)
    text = classify_reply(said)
    marker, rest = split_marker(said)
    if not marker:
        return Reading(Outcome(text), False, text, visible)
    outcome = Outcome.HEDGE if answers_after_declining(rest) else Outcome.DECLINE
    return Reading(outcome, True, text, visible)

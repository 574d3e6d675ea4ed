"""The tokens of a run's turns, as a table.

Public: `Tokens`, `tokens_table`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from ragevalkit.report.numbers import count
from ragevalkit.report.tables import Table
from ragevalkit.stats import percentiles
from ragevalkit.turn.record import Channel, Turn

_TITLES = {
    "prompt": "prompts",
    "cached": "of them from the cache",
    "output": "output",
    "reasoning": "reasoning",
    "tool_arguments": "tool arguments",
    "answer": "answer",
}


class Tokens:
    """Takes turns one by one and keeps a number of each kind of token."""

    def __init__(self) -> None:
        self._known = {name: array("d") for name in _TITLES}
        self.turns = 0
        self.estimated = 0
        """Turns of which some count is estimated."""

    def add(self, turn: Turn) -> None:
        rounds = turn.rounds
        channels = {
            "reasoning": [r.reasoning_channel for r in rounds],
            "tool_arguments": [r.tool_channel for r in rounds],
            "answer": [r.answer_channel for r in rounds],
        }
        self.turns += 1
        self.estimated += any(c.estimated for of in channels.values() for c in of if c)
        self._take("prompt", [r.prompt_tokens for r in rounds])
        self._take("cached", [r.cached_tokens for r in rounds])
        self._take("output", [r.completion_tokens for r in rounds])
        for name, of in channels.items():
            self._take(name, _carried(of))

    def _take(self, name: str, counts: Iterable[int | None]) -> None:
        """A turn counts only where all its rounds tell."""
        known = list(counts)
        if None not in known:
            self._known[name].append(sum(filter(None, known)))

    def rows(self) -> list[list[str]]:
        """For each kind that some turn tells: in all, p50, p90, and over how many turns."""
        rows = []
        for name, title in _TITLES.items():
            if known := self._known[name]:
                of = percentiles(known)
                rows.append(
                    [title, count(sum(known)), count(of.p50), count(of.p90), str(len(known))]
                )
        return rows


def _carried(channels: Iterable[Channel | None]) -> list[int | None]:
    return [channel.tokens if channel else 0 for channel in channels]


def tokens_table(of: Tokens) -> Table:
    """Tokens in all and a turn."""
    notes = ["p90 needs 29 turns. A turn counts where all of its rounds tell."]
    if of.estimated:
        notes.append(f"Of {of.estimated} turns the counts are estimated in part.")
    columns = ["tokens of", "in all", "p50 a turn", "p90 a turn", "turns"]
    return Table("Tokens", columns, of.rows(), notes)

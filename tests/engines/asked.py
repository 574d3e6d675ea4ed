"""A run against a real engine, as it is on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragevalkit.scoring.summary import Summary
from ragevalkit.turn.record import Channel, Round, RoundState, Turn

BUDGET = 192
"""Output tokens of a round, at most."""
ROUNDS = 6
QUESTIONS = 12


@dataclass(frozen=True)
class Engine:
    name: str
    """As the probe names it."""
    base_url: str


@dataclass(frozen=True)
class Asked:
    """A run against an engine, as it is on record."""

    engine: Engine
    summary: Summary
    manifest: dict[str, Any]
    turns: list[Turn]

    @property
    def rounds(self) -> list[Round]:
        """Those that came to an end."""
        return [r for turn in self.turns for r in turn.rounds if r.state is RoundState.DONE]

    def verdict(self, check: str) -> str:
        return str(self.manifest["probe"]["findings"][check]["verdict"])

    def value(self, check: str) -> str:
        return str(self.manifest["probe"]["findings"][check]["value"])


def channels(round_: Round) -> list[Channel]:
    """Those in which something came."""
    named = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    return [channel for channel in named if channel is not None]

"""What a run's page needs of every turn, taken while the turns go by.

Public: `RunFigures`.
"""

from __future__ import annotations

from ragevalkit.report.charts.gaps import GapCounts
from ragevalkit.report.tokens import Tokens
from ragevalkit.report.transcript import round_channels
from ragevalkit.report.turns import ScoredTurn
from ragevalkit.scoring.timing import turn_timing


class RunFigures:
    """Takes turns one by one and keeps numbers alone, of the scored ones."""

    def __init__(self) -> None:
        self.tokens = Tokens()
        self.gaps = {name: GapCounts() for name in ("reasoning", "tool arguments", "answer")}
        self.ttft_ms: list[float | None] = []
        self.first_answer_ms: list[float | None] = []
        self.unscored = 0
        """Turns on record without scores."""

    def add(self, shown: ScoredTurn) -> None:
        if shown.score is None:
            self.unscored += 1
            return
        if shown.outcome == "infra_error":
            return
        self.tokens.add(shown.turn)
        timing = turn_timing(shown.turn)
        self.ttft_ms.append(timing.ttft_ms)
        self.first_answer_ms.append(timing.first_answer_ms)
        for round_ in shown.turn.rounds:
            for name, channel in round_channels(round_).items():
                self.gaps[name].add(channel.gaps_ms)

"""What the tools are of the turns of a run.

Public: `turn_share`.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, median

from ragevalkit.bench.guided.result import GuidedResult, TurnShare
from ragevalkit.turn.record import Turn


def turn_share(result: GuidedResult, run: str, turns: Iterable[Turn]) -> TurnShare | None:
    """The cost of tools in each turn over its wall time: T1-P once, for the first round, and its
    warm counterpart for each later one, whose prefix is cached.

    None where one of the two isn't known, or no turn has rounds.
    """
    cold, warm = result.contrasts.get("T1-P"), result.warm_prefix
    if cold is None or warm is None:
        return None
    cold_ms, warm_ms = cold.ttft_ms.median, warm.ttft_ms.median
    if cold_ms is None or warm_ms is None:
        return None
    counted = [(len(turn.rounds), turn.wall_ms) for turn in turns if turn.rounds and turn.wall_ms]
    if not counted:
        return None
    costs = [cold_ms + warm_ms * (rounds - 1) for rounds, _ in counted]
    return TurnShare(
        run=run,
        turns=len(counted),
        rounds=round(mean(rounds for rounds, _ in counted), 2),
        turn_s=round(median(wall for _, wall in counted) / 1000, 3),
        cold_ms=cold_ms,
        warm_ms=warm_ms,
        cost_ms=round(median(costs), 3),
        share=round(median(c / wall for c, (_, wall) in zip(costs, counted, strict=True)), 5),
    )

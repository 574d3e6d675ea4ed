"""The turns of two runs side by side, read once and together.

Public: `PairedTurns`, `read_paired_turns`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from ragevalkit.report.scored_turns import read_scored_turns
from ragevalkit.report.turns import ScoredTurn
from ragevalkit.runs.folder import RunFolder
from ragevalkit.scoring.metrics import METRICS

_JUDGED = [name for name, metric in METRICS.items() if not metric.descriptive]
"""Metrics whose change is a flip."""


class PairedTurns(NamedTuple):
    """The same question and repeat on both sides; None where one side has no such turn."""

    a: ScoredTurn | None
    b: ScoredTurn | None

    @property
    def flipped(self) -> list[str]:
        """Metrics that both sides define, and that differ."""
        of_a, of_b = (side.score.metrics if side and side.score else {} for side in self)
        both = [name for name in _JUDGED if None not in (of_a.get(name), of_b.get(name))]
        return [name for name in both if of_a[name] != of_b[name]]


def read_paired_turns(a: RunFolder, b: RunFolder, left_out: list[str]) -> Iterator[PairedTurns]:
    """All turns of both runs, paired as `compare` pairs them, in about the order of their files.

    Turns wait in memory until their partner comes; runs of one bank have nearly the same order, so
    few do.

    Args:
        left_out: takes a sentence for every line that can't be read.
    """
    waiting: tuple[dict[object, ScoredTurn], dict[object, ScoredTurn]] = ({}, {})
    for both in zip_longest(read_scored_turns(a, left_out), read_scored_turns(b, left_out)):
        for side, shown in enumerate(both):
            if shown is None:
                continue
            key = (shown.turn.question_id, *_asked(shown))
            if (partner := waiting[1 - side].pop(key, None)) is not None:
                yield PairedTurns(partner, shown) if side else PairedTurns(shown, partner)
            else:
                waiting[side][key] = shown
    yield from _left_over(list(waiting[0].values()), list(waiting[1].values()))


def _left_over(of_a: list[ScoredTurn], of_b: list[ScoredTurn]) -> Iterator[PairedTurns]:
    """Pairs that ask the same under two ids, and turns without a partner."""
    waiting: dict[tuple[str, int], list[ScoredTurn]] = {}
    for shown in sorted(of_b, key=lambda shown: shown.turn.question_id):
        waiting.setdefault(_asked(shown), []).append(shown)
    for shown in sorted(of_a, key=lambda shown: shown.turn.question_id):
        partners = waiting.get(_asked(shown))
        yield PairedTurns(shown, partners.pop(0) if partners else None)
    for alone in waiting.values():
        for shown in alone:
            yield PairedTurns(None, shown)


def _asked(shown: ScoredTurn) -> tuple[str, int]:
    """What makes two turns a pair: the hash that they were scored by, and the repeat."""
    question_hash = shown.score.question_hash if shown.score else shown.turn.question_hash
    return question_hash, shown.turn.repeat

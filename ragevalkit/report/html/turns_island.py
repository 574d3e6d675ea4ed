"""The turns behind a page's numbers: a small index of all, and whole turns as far as there is room.

Public: `TurnsIsland`, `TurnsIslandBuilder`.

    turns = TurnsIslandBuilder([run])
    for shown in read_scored_turns(folder, left_out):
        turns.add([shown])
    page = Page(..., turns=turns.island())

A comparison gives two names and adds pairs, with the metrics on which they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragevalkit.report.html.chunks import Island, Shelf, deflated
from ragevalkit.report.html.shared_texts import SharedTexts
from ragevalkit.report.html.turn_body import turn_body
from ragevalkit.report.numbers import MISSING, counted, seconds
from ragevalkit.report.tables import Table
from ragevalkit.report.turns import ScoredTurn, first_words, visible, went_badly
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.outcome import Outcome

_ALL_BYTES = 5_300_000
"""Of all islands, unless whole turns alone take more; charts and tables come on top."""
_TURNS_BYTES = 3_000_000
"""Of whole turns without long reasoning, as long as clean ones are among them."""
_FAULTY_TURNS_BYTES = 12_000_000
"""Of those with something wrong alone: thousands of them, and still to be mailed."""
_WORDS_CHARACTERS = 4_000_000
"""Of questions and replies that the text filter reads."""
_WORDS_OF_A_TURN = 800
_QUESTION_CHARACTERS = 120
_FIRST = 40
"""Turns in the table that is there without JavaScript."""


@dataclass(frozen=True)
class TurnsIsland:
    """What the page's turns section needs."""

    islands: list[Island]
    """`turns-index`, `turns-words`, and chunks of whole turns, search results and reasoning."""
    first: Table
    """The first turns with something wrong, for readers without JavaScript and for print."""
    notes: list[str]
    """What is left out to keep the file small."""
    turns: int
    """All in the table; in a comparison pairs."""
    whole_turns: int
    """Those of them that can be opened."""


class TurnsIslandBuilder:
    """Takes turns one by one and keeps of each what the page shows."""

    def __init__(self, arms: Sequence[str]) -> None:
        """
        Args:
            arms: names of the runs, one for the page of a run, a's and b's for a comparison.
        """
        self._arms = list(arms)
        self._texts = SharedTexts(_ALL_BYTES)
        self._bodies = Shelf("turns", _TURNS_BYTES, _FAULTY_TURNS_BYTES)
        self._rows: list[list[Any]] = []
        self._words: list[str] = []
        self._first: dict[bool, list[list[str]]] = {True: [], False: []}
        self._urgent = 0
        self._words_most: int | None = None
        self._tags: dict[str, int] = {}

    def add(self, sides: Sequence[ScoredTurn | None], flipped: Sequence[str] = ()) -> None:
        """Take a turn, or the turns of both arms to the same question.

        Args:
            sides: as many as there are arms; None where an arm has no such turn.
            flipped: metrics whose values differ between the arms.
        """
        shown = next(side for side in sides if side is not None)
        urgent = bool(flipped) if len(self._arms) > 1 else _is_faulty(shown)
        self._urgent += urgent
        self._rows.append(
            [
                visible(shown.turn.question_id),
                shown.turn.repeat,
                int(shown.answerable),
                visible(first_words(shown.question.question, _QUESTION_CHARACTERS)),
                [self._tags.setdefault(tag, len(self._tags)) for tag in shown.question.tags],
                [_METRIC_NUMBERS[name] for name in flipped if name in _METRIC_NUMBERS],
                [_side(side) if side else None for side in sides],
                self._body(sides, urgent),
            ]
        )
        replies = (side.turn.reply[:_WORDS_OF_A_TURN] for side in sides if side)
        self._words.append(
            "\n".join(visible(" ".join(t.split())) for t in (shown.question.question, *replies))
        )
        if len(self._first[urgent]) < _FIRST:
            self._first[urgent].append(_first_row(sides, flipped))

    def island(self) -> TurnsIsland:
        """All that was taken, within the page's budget; can be called once."""
        self._bodies.finish()
        results, places = self._texts.results()
        words = self._words_island()
        index = deflated(
            "turns-index",
            {
                "arms": list(map(visible, self._arms)),
                "outcomes": _OUTCOMES,
                "defects": {name: defect.meaning for name, defect in DEFECTS.items()},
                "metrics": {
                    name: [metric.counts, metric.higher_is_better]
                    for name, metric in METRICS.items()
                },
                "tags": list(map(visible, self._tags)),
                "rows": self._rows,
                "results": places,
            },
        )
        used = sum(island.size for island in (index, words, *results)) + self._bodies.size
        self._texts.leave_to_reasonings(_ALL_BYTES - used)
        reasonings, whole = self._texts.reasonings()
        return TurnsIsland(
            islands=[index, words, *self._bodies.islands, *results, *reasonings],
            first=self._first_table(),
            notes=self._notes(whole),
            turns=len(self._rows),
            whole_turns=self._bodies.kept,
        )

    def _first_table(self) -> Table:
        rows = self._first[True] or self._first[False]
        turns, columns = len(self._rows), ["id", "repeat", "answerable"]
        if len(self._arms) == 1:
            noun = "turn"
            what = f"{self._urgent:,} with something wrong" if self._urgent else "all of them clean"
            columns += ["outcome", "defects", "rounds", "time", "question"]
        else:
            noun = "pair"
            what = f"{self._urgent:,} of which differ"
            columns += [*self._arms, "differs in", "question"]
        note = f"The first {len(rows):,} of {counted(turns, noun)}, {what}."
        texts = columns.index("rounds") if "rounds" in columns else len(columns)
        return Table("Turns", columns, rows, [note], text_columns=texts, remarks=True)

    def _body(self, sides: Sequence[ScoredTurn | None], urgent: bool) -> Any:
        if not self._bodies.takes(urgent):
            return None
        self._texts.urgent = urgent
        bodies = [turn_body(side, self._texts) if side else None for side in sides]
        place = self._bodies.add(bodies, urgent=urgent)
        self._texts.leave_to_reasonings(_ALL_BYTES - self._bodies.size)
        return place

    def _words_island(self) -> Island:
        most = max(100, _WORDS_CHARACTERS // max(1, len(self._words)))
        self._words_most = most if any(len(words) > most for words in self._words) else None
        return deflated("turns-words", [words[:most] for words in self._words])

    def _notes(self, whole_reasonings: int) -> list[str]:
        alone = len(self._arms) == 1
        turns = counted(len(self._rows), "turn" if alone else "pair")
        notes = []
        if self._bodies.kept < len(self._rows):
            urgent, others = self._bodies.urgent.kept, self._bodies.others.kept
            of = "all" if urgent == self._urgent else f"{urgent:,} of the"
            rest = f", and {others:,} others" if others else ""
            notes.append(
                f"To keep this file small, not all of the {turns} are in it whole: {of} "
                f"{self._urgent:,} {'with something wrong' if alone else 'that differ'}{rest}. The "
                "table has all of them; `ragevalkit show` prints every turn whole."
            )
        if missing := self._texts.reasonings_asked - whole_reasonings:
            notes.append(
                f"Of {missing:,} long reasonings only beginning and end are here, to keep this "
                "file small; `ragevalkit show --full` prints them whole."
            )
        if self._texts.results_cut:
            notes.append(
                f"Of {self._texts.results_cut:,} search results only the first words are here."
            )
        if self._words_most:
            notes.append(
                f"The text filter reads the first {self._words_most:,} characters of question and "
                "reply."
            )
        return notes


_OUTCOMES = [str(outcome) for outcome in Outcome]
_OUTCOME_NUMBERS = {name: number for number, name in enumerate(_OUTCOMES)}
_DEFECT_NUMBERS = {name: number for number, name in enumerate(DEFECTS)}
_METRIC_NUMBERS = {name: number for number, name in enumerate(METRICS)}


def _is_faulty(shown: ScoredTurn) -> bool:
    """Whether a turn is one that readers look for: a defect, a lost one, or one without scores."""
    return shown.score is None or bool(shown.score.defects) or shown.outcome == "infra_error"


def _side(shown: ScoredTurn) -> list[Any]:
    """Outcome, defects (null: not scored), metrics that went badly, rounds, and its time."""
    score = shown.score
    defects = [_DEFECT_NUMBERS[d] for d in score.defects if d in _DEFECT_NUMBERS] if score else None
    values = score.metrics if score else {}
    return [
        _OUTCOME_NUMBERS.get(shown.outcome, -1),
        defects,
        [_METRIC_NUMBERS[name] for name in METRICS if went_badly(name, values.get(name))],
        len(shown.turn.rounds),
        seconds(shown.turn.wall_ms / 1000),
        round(shown.turn.wall_ms, 1),
    ]


def _first_row(sides: Sequence[ScoredTurn | None], flipped: Sequence[str]) -> list[str]:
    shown = next(side for side in sides if side is not None)
    row = [shown.turn.question_id, str(shown.turn.repeat), "yes" if shown.answerable else "no"]
    if len(sides) == 1:
        defects = "not scored" if shown.score is None else ", ".join(shown.score.defects) or "none"
        time = seconds(shown.turn.wall_ms / 1000)
        row += [shown.outcome, defects, str(len(shown.turn.rounds)), time]
    else:
        row += [side.outcome if side else MISSING for side in sides]
        row.append(", ".join(flipped) or "nothing")
    return [*row, first_words(shown.question.question, _QUESTION_CHARACTERS)]

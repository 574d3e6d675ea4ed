"""Turns as a list: what each came to, picked by outcome, defect, tag, metric or words.

Public: `ScoredTurn`, `TurnRow`, `Filter`, `make_filter`, `turn_row`, `went_badly`, `turns_table`,
`first_words`, `visible`, `visible_table`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from ragevalkit.bank import Question
from ragevalkit.errors import InputError
from ragevalkit.report.numbers import seconds
from ragevalkit.report.tables import Table
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.score import Score
from ragevalkit.turn.record import Turn

FAMILIES = tuple(dict.fromkeys(name.partition(":")[0] for name in DEFECTS))
"""What stands before the colon of a defect's name."""

_FIRST_WORDS = 60
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that would drive a terminal or reorder what it shows."""


@dataclass(frozen=True)
class ScoredTurn:
    """A turn beside the question that it asked and its line of scores.jsonl."""

    turn: Turn
    question: Question
    score: Score | None
    """None where scores.jsonl has no readable line for it."""
    score_line: bytes | None = None
    """That line as it stands."""

    @property
    def answerable(self) -> bool:
        """By the labels that it was scored by, which may be corrected ones."""
        return self.score.answerable if self.score else self.question.answerable

    @property
    def outcome(self) -> str:
        return str(self.score.outcome) if self.score else self.turn.outcome


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn in the list; with these names it is written as JSON."""

    question_id: str
    repeat: int
    answerable: bool
    outcome: str
    defects: list[str] | None
    """None where the turn isn't scored."""
    rounds: int
    turn_s: float
    question: str


@dataclass(frozen=True)
class Filter:
    """Which turns are wanted: those that satisfy every field, by any of its names.

    An empty field takes all turns.
    """

    outcomes: Collection[str] = ()
    defects: Collection[str] = ()
    """Full names."""
    tags: Collection[str] = ()
    metrics: Collection[str] = ()
    """Taken where the metric went badly."""
    answerable: bool | None = None
    words: str = ""
    """Stand in the question or in the reply, whatever their case."""

    def takes(self, shown: ScoredTurn) -> bool:
        """Whether a turn is wanted; one without scores has no defects and no metrics."""
        score = shown.score
        metrics = score.metrics if score else {}
        return (
            (not self.outcomes or shown.outcome in self.outcomes)
            and (
                not self.defects or not set(self.defects).isdisjoint(score.defects if score else ())
            )
            and (not self.tags or not set(self.tags).isdisjoint(shown.question.tags))
            and (not self.metrics or any(went_badly(m, metrics.get(m)) for m in self.metrics))
            and self.answerable in (None, shown.answerable)
            and self._has_words(shown)
        )

    def _has_words(self, shown: ScoredTurn) -> bool:
        words = _folded(self.words)
        texts = (shown.question.question, shown.turn.reply)
        return not words or any(words in _folded(text) for text in texts)


def make_filter(
    *,
    outcomes: Iterable[str] = (),
    defects: Iterable[str] = (),
    tags: Iterable[str] = (),
    metrics: Iterable[str] = (),
    answerable: bool | None = None,
    words: str = "",
) -> Filter:
    """A filter by names as people give them; a family stands for all of its defects.

    Raises:
        InputError: there is no such outcome, defect or metric.
    """
    wanted: list[str] = []
    for name in defects:
        _check("defect", name, (*FAMILIES, *DEFECTS))
        wanted += [known for known in DEFECTS if name in (known, known.partition(":")[0])]
    outcomes, metrics = list(outcomes), list(metrics)
    for name in outcomes:
        _check("outcome", name, map(str, Outcome))
    for name in metrics:
        _check("metric", name, METRICS)
    return Filter(outcomes, wanted, list(tags), metrics, answerable, words)


def _check(what: str, name: str, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        raise InputError(f"there is no {what} '{name}'; known are {', '.join(known)}")


def went_badly(metric: str, value: bool | float | None) -> bool:
    """Whether a metric's value for one turn is less than the best there is; undefined is not."""
    if value is None:
        return False
    return value < 1 if METRICS[metric].higher_is_better else value > 0


def turn_row(shown: ScoredTurn) -> TurnRow:
    """A turn's row in the list."""
    return TurnRow(
        question_id=shown.turn.question_id,
        repeat=shown.turn.repeat,
        answerable=shown.answerable,
        outcome=shown.outcome,
        defects=list(shown.score.defects) if shown.score else None,
        rounds=len(shown.turn.rounds),
        turn_s=shown.turn.wall_ms / 1000,
        question=shown.question.question,
    )


def turns_table(rows: Iterable[TurnRow], matching: int, turns: int) -> Table:
    """The list of turns.

    Args:
        matching: how many turns the filter takes, of which `rows` may be the first few.
        turns: how many turns the run has on record.
    """
    cells = [
        [
            row.question_id,
            str(row.repeat),
            "yes" if row.answerable else "no",
            row.outcome,
            "not scored" if row.defects is None else ", ".join(row.defects) or "none",
            str(row.rounds),
            seconds(row.turn_s),
            first_words(row.question),
        ]
        for row in rows
    ]
    columns = ["id", "repeat", "answerable", "outcome", "defects", "rounds", "time", "question"]
    cut = f", the first of {matching} that match" if len(cells) < matching else ""
    notes = [f"{len(cells)} of {turns} turns{cut}"]
    return Table("Turns", columns, cells, notes, text_columns=len(columns))


def first_words(text: str, characters: int = _FIRST_WORDS) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 8 * characters].split())
    if len(line) <= characters and len(text) <= 8 * characters:
        return line
    return line[:characters].rstrip() + "…"


def visible(text: str) -> str:
    r"""A text that can't drive a terminal: control characters as `\x1b`, line ends as they are."""
    return _INVISIBLE.sub(_escape, text.replace("\r\n", "\n"))


def visible_table(table: Table) -> Table:
    """The same for a table, each cell on one line."""
    rows = [[visible(" ".join(cell.splitlines())) for cell in row] for row in table.rows]
    return replace(
        table, title=visible(table.title), rows=rows, notes=list(map(visible, table.notes))
    )


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())

"""A run's turns beside their scores, one after the other.

Public: `read_scored_turns`.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson
from pydantic import ValidationError

from ragevalkit.bank import Question
from ragevalkit.report.turns import ScoredTurn
from ragevalkit.runs.folder import RunFolder
from ragevalkit.scoring.score import Score

Key = tuple[str, int]


def read_scored_turns(folder: RunFolder, left_out: list[str]) -> Iterator[ScoredTurn]:
    """The turns on record in the order of turns.jsonl, one in memory at a time.

    Args:
        left_out: takes a sentence for every line that can't be read.
    """
    lines = _score_lines(folder, left_out)
    for turn in folder.read_turns(left_out):
        number, line = lines.get((turn.question_id, turn.repeat), (0, None))
        score = _score(line)
        if line is not None and score is None:
            left_out.append(f"{folder.scores}, line {number} {_DAMAGED}")
        labels = score.labels if score and score.labels else turn.bank_line
        yield ScoredTurn(turn, Question.model_validate(labels), score, line)


_DAMAGED = "is damaged; it is no score"


def _score_lines(folder: RunFolder, left_out: list[str]) -> dict[Key, tuple[int, bytes]]:
    lines: dict[Key, tuple[int, bytes]] = {}
    if not folder.scores.exists():
        return lines
    with folder.scores.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = orjson.loads(line)
                lines[record["question_id"], record["repeat"]] = number, line
            except (ValueError, TypeError, KeyError):
                left_out.append(f"{folder.scores}, line {number} {_DAMAGED}")
    return lines


def _score(line: bytes | None) -> Score | None:
    """A score; fields that this version doesn't know are passed over, a damaged one is none."""
    if line is None:
        return None
    record = orjson.loads(line)
    try:
        return Score.model_validate({n: record[n] for n in Score.model_fields if n in record})
    except ValidationError:
        return None

"""Reads a run's turns beside their scores.

Public: `scored_turns`.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from ragevalkit.errors import InputError
from ragevalkit.runs.folder import RunFolder
from ragevalkit.scoring.score import SCORER_VERSION, Score
from ragevalkit.turn.record import Turn


def scored_turns(folder: RunFolder) -> Iterator[tuple[Turn, Score]]:
    """The turns of a run with their scores, in the order of turns.jsonl.

    Raises:
        InputError: a turn has no score, or a file is damaged, or other scorers wrote the scores.
    """
    again = f"`ragevalkit score {folder.path}` scores it again"
    scores: dict[tuple[str, int], Score] = {}
    if folder.scores.exists():
        for number, line in enumerate(folder.scores.read_bytes().splitlines(), 1):
            try:
                score = Score.model_validate(orjson.loads(line))
            except ValueError as error:
                raise InputError(f"{folder.scores}, line {number} is damaged; {again}") from error
            if score.scorer != SCORER_VERSION:
                raise InputError(
                    f"{folder.scores} was written by version {score.scorer} of the scorers; {again}"
                )
            scores[score.question_id, score.repeat] = score
    for turn in folder.read_turns():
        key = turn.question_id, turn.repeat
        if key not in scores:
            raise InputError(
                f"{folder.scores} has no score for '{key[0]}', repeat {key[1]}; {again}"
            )
        yield turn, scores[key]

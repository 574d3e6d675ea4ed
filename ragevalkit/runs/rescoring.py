"""Scoring a run again from its folder, without an endpoint.

Public: `Rescored`, `Change`, `rescore`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from ragevalkit.bank import Bank, Question
from ragevalkit.corpus import Corpus
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.judging import corrected_label
from ragevalkit.runs.results import write_results
from ragevalkit.scoring.score import score_turn
from ragevalkit.scoring.summary import Rate, Summary, Tally
from ragevalkit.scoring.timing import turn_timing

Key = tuple[str, int]


@dataclass(frozen=True)
class Change:
    """A turn that scores otherwise than before."""

    question_id: str
    repeat: int
    what: dict[str, tuple[Any, Any]]
    """Old and new value of `outcome`, of a metric, or of `defects`."""


@dataclass
class Rescored:
    """What scoring again came to."""

    summary: Summary
    changes: list[Change]
    unreadable: list[str] = field(default_factory=list)
    """Lines of turns.jsonl that were left out, and why."""
    relabelled: int = 0
    """Turns scored by a corrected bank line."""
    tags: dict[str, dict[str, Rate]] = field(default_factory=dict)
    """Every metric over the turns whose question has a tag."""
    unmatched: int = 0
    """Turns whose question the corrected bank doesn't have, or asks in other words."""


def rescore(
    folder: RunFolder, corpora: Mapping[str, Corpus | None], bank: Bank | None = None
) -> Rescored:
    """Score all turns of a run again and write scores.jsonl and summary.json.

    Args:
        corpora: by the name that the turns give; None where it isn't at hand.
        bank: corrected labels, taken by question id where question and history are the same.

    Raises:
        InputError: the folder holds no run, or none of its turns can be read.
        RunFolderError: it can't be written.
    """
    if folder.read_manifest() is None:
        raise InputError(f"{folder.path} holds no run")
    before = dict(_old_scores(folder))
    planned = _planned(folder)
    corrected = {question.id: question for question in bank.questions} if bank else {}
    tally, scores = Tally(), []
    by_tag: defaultdict[str, Tally] = defaultdict(Tally)
    result = Rescored(tally.summary(folder.name, 0), [])
    for turn in folder.read_turns(result.unreadable):
        question = corrected_label(turn, corrected)
        if bank is not None:
            result.relabelled += question is not None
            result.unmatched += question is None
        score = score_turn(turn, corpora.get(turn.corpus), question)
        timing = turn_timing(turn)
        tally.add(score, timing)
        for tag in (question or Question.model_validate(turn.bank_line)).tags:
            by_tag[tag].add(score, timing)
        scores.append(score)
        old = before.get((turn.question_id, turn.repeat))
        if old and (what := dict(_differences(old, score.model_dump(mode="json")))):
            result.changes.append(Change(turn.question_id, turn.repeat, what))
    if not tally.turns:
        left_out = f"; {result.unreadable[0]}" if result.unreadable else ""
        raise InputError(f"{folder.turns} holds no turn that can be read{left_out}")
    result.tags = {tag: by_tag[tag].rates() for tag in sorted(by_tag)}
    result.summary = write_results(folder, tally, scores, max(planned, tally.turns), bank)
    return result


def _old_scores(folder: RunFolder) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Earlier scores; a line that can't be read is as if it weren't there."""
    if not folder.scores.exists():
        return
    for line in folder.scores.read_bytes().splitlines():
        try:
            score = orjson.loads(line)
            key = str(score["question_id"]), int(score["repeat"])
            readable = isinstance(score.setdefault("metrics", {}), dict)
        except (KeyError, TypeError, ValueError):
            continue
        if readable:
            yield key, score


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name in ("outcome", "defects"):
        if old.get(name) != new[name]:
            yield name, (old.get(name), new[name])
    before = old["metrics"]
    for name, value in new["metrics"].items():
        # a metric that the earlier scorer didn't know is no change of this turn
        if name in before and before[name] != value:
            yield name, (before[name], value)


def _planned(folder: RunFolder) -> int:
    """How many turns the run was to have, by its last summary; 0 where there is none."""
    try:
        return int(orjson.loads(folder.summary.read_bytes())["planned"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return 0

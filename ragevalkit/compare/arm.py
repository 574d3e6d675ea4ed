"""One side of a comparison: a run's scores and clocks, a column a measure.

Public: `Arm`, `Key`, `read_arm`, `read_arms`, `read_turn_at`, `TIMINGS`, `WAITS`, `TOKENS`.

A run of 100,000 turns has more than a gigabyte of turns, so a line is read, its figures are taken,
and it is dropped; where it stands in its file is kept for the few turns that are shown.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from ragevalkit.errors import InputError
from ragevalkit.runs.folder import RunFolder
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.score import SCORER_VERSION
from ragevalkit.scoring.timing import turn_timing
from ragevalkit.turn.composition import PARTS
from ragevalkit.turn.record import RECORD_VERSION, Channel, Round, Turn

Key = tuple[str, int, int]
"""Question hash, repeat, and which of the questions with this hash: a bank may hold the same
question twice, under two ids."""

TIMINGS = ("ttft_ms", "first_answer_ms", "turn_s", "tpot_ms", "rounds", "tool_rounds")
WAITS = ("queue", "prefill", "rest")
"""Parts of `wait`, where the server gives its own figures."""
TOKENS = (
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "tool_argument_tokens",
    "answer_tokens",
)
_CENSORED = {"ttft_ms", "first_answer_ms", "turn_s"}
"""Clocks whose absence says that something never came; of the others, that there is none."""
_OUTCOMES = {outcome.value: outcome.value for outcome in Outcome}
_CHANNELS = ("reasoning_channel", "tool_channel", "answer_channel")
_LARGE = 1 << 26
"""Bytes of turns from which on each arm is read in a process of its own."""


@dataclass
class Arm:
    """The turns of a run, in the order of its scores. Row numbers are positions in each column."""

    name: str
    path: Path
    manifest: dict[str, Any]
    planned: int
    """Turns that the run was to have."""
    rows: dict[Key, int] = field(default_factory=dict)
    question_ids: list[str] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    defects: list[tuple[str, ...]] = field(default_factory=list)
    undefined_defects: list[tuple[str, ...]] = field(default_factory=list)
    values: dict[str, array[float]] = field(default_factory=dict)
    """By the name of a metric, of `TIMINGS`, `PARTS` or `TOKENS`, and `wait_` with one of `WAITS`:
    NaN where it is undefined, infinite where it never came."""
    offsets: array[int] = field(default_factory=lambda: array("q"))
    """Where a turn's line begins in turns.jsonl."""
    lost_to: Counter[str] = field(default_factory=Counter)
    """Infrastructure errors in their own words."""
    client_limited: str | None = None
    """Why its times say more of the client than of the server."""

    @property
    def turns(self) -> int:
        return len(self.outcomes)

    @property
    def infra_errors(self) -> int:
        return self.lost_to.total()

    @property
    def unfinished(self) -> bool:
        """Whether the run was broken off before all of its turns were asked."""
        return self.turns < self.planned

    @property
    def concurrencies(self) -> set[int | None]:
        """At how many turns at once it was asked; several where that was changed on the way."""
        before = [earlier.get("concurrency") for earlier in self.manifest.get("earlier", [])]
        return {self.manifest.get("concurrency"), *before}


def read_arms(folders: list[RunFolder]) -> list[Arm]:
    """The arms of several runs; large ones are read side by side.

    Raises:
        InputError: as `read_arm`.
    """
    sizes = (folder.turns.stat().st_size for folder in folders if folder.turns.exists())
    if sum(sizes) < _LARGE:
        return list(map(read_arm, folders))
    # forked, as a started process would run the script again that calls this
    with ProcessPoolExecutor(len(folders), get_context("fork")) as pool:
        return list(pool.map(read_arm, folders))


def read_arm(folder: RunFolder) -> Arm:
    """Read a run's manifest, scores and clocks.

    Raises:
        InputError: a file is missing or damaged, or other scorers wrote the scores.
    """
    manifest = folder.read_manifest()
    if manifest is None:
        raise InputError(f"{folder.path} holds no run: {folder.manifest} is missing")
    arm = Arm(folder.name, folder.path, manifest, 0)
    names = [*METRICS, *TIMINGS, *PARTS, *(f"wait_{part}" for part in WAITS), *TOKENS]
    arm.values = {name: array("d") for name in names}
    by_id = _take_scores(arm, folder)
    undefined = array("d", [math.nan]) * arm.turns
    for name in names:
        if name not in METRICS:
            arm.values[name] = array("d", undefined)
    arm.offsets = array("q", [-1]) * arm.turns
    _take_turns(arm, folder, by_id)
    summary = _summary(folder)
    arm.planned = max(_planned(summary, manifest), arm.turns)
    arm.client_limited = _client_limited(summary)
    _index(arm)
    return arm


def read_turn_at(arm: Arm, row: int) -> Turn:
    """The whole turn of a row."""
    with (arm.path / "turns.jsonl").open("rb") as file:
        file.seek(arm.offsets[row])
        return Turn.model_validate_json(file.readline())


def _take_scores(arm: Arm, folder: RunFolder) -> dict[tuple[str, int], int]:
    """Take all lines of scores.jsonl; gives the row of each question id and repeat."""
    again = f"`ragevalkit score {folder.path}` writes it anew"
    if not folder.scores.exists():
        raise InputError(f"{folder.scores} is missing; {again}")
    by_id: dict[tuple[str, int], int] = {}
    with folder.scores.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                score = orjson.loads(line)
                scorer = score["scorer"]
                if scorer == SCORER_VERSION:
                    row = by_id.setdefault((score["question_id"], score["repeat"]), arm.turns)
                    if row != arm.turns:
                        raise ValueError(f"it repeats the score of line {row + 1}")
                    _take_score(arm, score)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"{folder.scores}, line {number} is damaged ({error}); {again}"
                ) from error
            if scorer != SCORER_VERSION:
                raise InputError(
                    f"{folder.path} was scored by version {scorer} of the scorers, this is version "
                    f"{SCORER_VERSION}, so its scores can't be held against others; `ragevalkit "
                    f"score {folder.path}` scores it again"
                )
    if not by_id:
        raise InputError(f"{folder.scores} holds no scores")
    return by_id


def _take_score(arm: Arm, score: Mapping[str, Any]) -> None:
    outcome, metrics = _OUTCOMES[score["outcome"]], score["metrics"]
    arm.question_ids.append(score["question_id"])
    arm.hashes.append(sys.intern(score["question_hash"]))
    arm.repeats.append(int(score["repeat"]))
    arm.outcomes.append(outcome)
    arm.defects.append(tuple(map(sys.intern, score["defects"])))
    arm.undefined_defects.append(tuple(map(sys.intern, score["undefined_defects"])))
    for name in METRICS:
        value = metrics.get(name)
        arm.values[name].append(math.nan if value is None else value)
    if outcome == Outcome.INFRA_ERROR:
        arm.lost_to[score.get("lost_to") or ""] += 1


def _take_turns(arm: Arm, folder: RunFolder, by_id: Mapping[tuple[str, int], int]) -> None:
    """Take the clocks of all lines of turns.jsonl."""
    again = f"`ragevalkit score {folder.path}` brings them together"
    values = arm.values
    for number, offset, line in _lines(folder.turns):
        try:
            turn = _read_turn(line)
            timing = turn_timing(turn)
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise InputError(
                f"{folder.turns}, line {number} is damaged ({_first_line(error)}); delete the "
                f"line, and {again.replace('them together', 'the scores into line')}"
            ) from error
        row = by_id.get((turn.question_id, turn.repeat))
        if row is None:
            raise InputError(
                f"{folder.scores} has no score for the turn in line {number} of {folder.turns}; "
                f"{again}"
            )
        arm.offsets[row] = offset
        if arm.outcomes[row] == Outcome.INFRA_ERROR:
            continue
        for name in TIMINGS:
            figure = getattr(timing, name)
            never = math.inf if name in _CENSORED else math.nan
            values[name][row] = never if figure is None else figure
        for part in PARTS:
            values[part][row] = timing.composition_ms[part]
        for part, spent_ms in (timing.wait_ms or {}).items():
            values[f"wait_{part}"][row] = spent_ms
        for name, tokens in zip(TOKENS, _tokens(turn.rounds), strict=True):
            values[name][row] = tokens
    if -1 in arm.offsets:
        missing = arm.question_ids[arm.offsets.index(-1)]
        raise InputError(
            f"{folder.scores} has a score for '{missing}', of which {folder.turns} has no turn; "
            f"{again}"
        )


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, place and content of every whole line; what a crash cut off at the end is left."""
    if not path.exists():
        raise InputError(f"{path} is missing")
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield number, offset, line
            offset += len(line)


def _read_turn(line: bytes) -> Turn:
    record = orjson.loads(line)
    version = record.get("version", 0)
    if isinstance(version, int) and version > RECORD_VERSION:
        raise ValueError(f"written by a newer ragevalkit, version {version} of the record")
    # nothing here needs these, and checking them takes time
    record["bank_line"], record["citations"] = {}, []
    for round_ in record["rounds"]:
        round_["attempts"] = []
        for call in round_["calls"]:
            call["returned"] = []
        for name in () if round_.get("server") else _CHANNELS:
            if channel := round_.get(name):
                channel["gaps_ms"] = channel["event_tokens"] = []
    return Turn.model_validate(record)


def _tokens(rounds: list[Round]) -> tuple[float, ...]:
    """Tokens of a turn, over its rounds, as `TOKENS`; NaN where one round doesn't say."""
    prompt = cached = completion = reasoning = tool_arguments = answer = 0.0
    for round_ in rounds:
        prompt += _figure(round_.prompt_tokens)
        cached += _figure(round_.cached_tokens)
        completion += _figure(round_.completion_tokens)
        reasoning += _carried(round_.reasoning_channel)
        tool_arguments += _carried(round_.tool_channel)
        answer += _carried(round_.answer_channel)
    return prompt, cached, completion, reasoning, tool_arguments, answer


def _carried(channel: Channel | None) -> float:
    return _figure(channel.tokens) if channel else 0.0


def _figure(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _summary(folder: RunFolder) -> dict[str, Any]:
    """summary.json as it stands; a run that was killed has none."""
    try:
        summary = orjson.loads(folder.summary.read_bytes())
    except (OSError, ValueError):
        return {}
    return summary if isinstance(summary, dict) else {}


def _planned(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> int:
    """Turns that the run was to have: by its last summary, and by its settings.

    The settings of a run that asks for tags don't tell.
    """
    planned = summary.get("planned")
    by_summary = planned if isinstance(planned, int) else 0
    settings = manifest["settings"]
    questions, repeats = settings["bank"].get("questions"), settings.get("repeats", 1)
    if settings.get("tags") or not isinstance(questions, int) or not isinstance(repeats, int):
        return by_summary
    limit = manifest.get("limit")
    return max(by_summary, min(questions, limit or questions) * repeats)


def _client_limited(summary: Mapping[str, Any]) -> str | None:
    timing = summary.get("timing")
    reason = timing.get("client_limited") if isinstance(timing, dict) else None
    return reason if isinstance(reason, str) else None


def _index(arm: Arm) -> None:
    """Give every turn its key; questions of one hash are told apart by the order of their ids."""
    order = sorted(range(arm.turns), key=lambda row: (arm.question_ids[row], row))
    for row in order:
        twin = 0
        while (key := (arm.hashes[row], arm.repeats[row], twin)) in arm.rows:
            twin += 1
        arm.rows[key] = row


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).partition("\n")[0] or type(error).__name__

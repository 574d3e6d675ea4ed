"""Writing what a run came to: scores.jsonl, summary.json, and in run.json what it was scored by.

Public: `read_summary`, `write_results`.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from pydantic import ValidationError

from ragevalkit.bank import Bank
from ragevalkit.runs.folder import RunFolder, replace_file
from ragevalkit.runs.judging import read_judgements
from ragevalkit.runs.sittings import read_sittings, worst_instrument
from ragevalkit.scoring.judge import Judgement, summarise_judgements
from ragevalkit.scoring.score import SCORER_VERSION, Score
from ragevalkit.scoring.summary import Summary, Tally


def read_summary(folder: RunFolder) -> Summary | None:
    """The summary on record; None where there is none, or other scorers wrote it."""
    try:
        summary = Summary.model_validate_json(folder.summary.read_bytes())
    except (OSError, ValidationError):
        return None
    return summary if summary.scorer == SCORER_VERSION else None


def write_results(
    folder: RunFolder,
    tally: Tally,
    scores: Sequence[Score],
    planned: int,
    labels: Bank | None = None,
) -> Summary:
    """Write scores and summary, with the verdicts of judges and the server's own figures that are
    on record.

    Args:
        labels: the corrected labels that the scores go by, if any.

    Raises:
        InputError: server.json is damaged.
        RunFolderError: the disk is full, or the folder can't be written.
    """
    hashes = {(score.question_id, score.repeat): score.question_hash for score in scores}

    def holds(judgement: Judgement) -> bool:
        """A verdict on labels that were corrected since says nothing any more."""
        key = (judgement.question_id, judgement.repeat)
        return hashes.get(key) == judgement.question_hash

    judges = {
        judge: judged
        for judge, judgements in read_judgements(folder).items()
        if (judged := summarise_judgements(filter(holds, judgements)))
    }
    sittings = read_sittings(folder)
    summary = tally.summary(folder.name, planned, judges, sittings, worst_instrument(sittings))
    replace_file(folder.scores, (s.model_dump_json().encode() + b"\n" for s in scores))
    replace_file(folder.summary, [summary.model_dump_json(indent=2).encode(), b"\n"])
    scored_with = {"bank": str(labels.path), "hash": labels.hash} if labels else None
    manifest = folder.read_manifest() or {}
    now = manifest | {"scorer": SCORER_VERSION, "scored_with": scored_with}
    if manifest and now != manifest:
        replace_file(folder.manifest, [orjson.dumps(now, option=orjson.OPT_INDENT_2), b"\n"])
    return summary

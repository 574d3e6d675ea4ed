"""Builds the sides of a comparison in memory, for the tests of pairing, verdicts and gates."""

from __future__ import annotations

import copy
import math
from array import array
from pathlib import Path
from typing import Any

from ragevalkit.compare.arm import TIMINGS, TOKENS, Arm
from ragevalkit.compare.pairing import Pairs, pair
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.turn.composition import PARTS

MANIFEST: dict[str, Any] = {
    "settings": {
        "bank": {"name": "tarn", "hash": "b1", "questions": 2},
        "corpora": {"tarn": "c1"},
        "endpoint": {
            "name": "spark",
            "base_url": "http://spark/v1",
            "model": "qwen",
            "precision": "nvfp4",
            "hardware": "DGX Spark",
            "sampling": {"temperature": 0.0},
            "extra_body": {},
            "strict": None,
        },
        "agent": {"prompt": "p1", "tools": "t1", "rounds": 16, "budget": 12000},
        "seed": 0,
        "repeats": 1,
        "tags": [],
    },
    "concurrency": 1,
    "requests": {"stall_s": 120.0},
    "fingerprint": {"model": {"id": "qwen", "created": 5}, "version": {"version": "0.11"}},
    "ragevalkit": "0.1.0",
    "record": 2,
    "client": {"python": "3.11"},
}


def changed(field: str, value: Any, manifest: dict[str, Any] = MANIFEST) -> dict[str, Any]:
    """A manifest with another value in a field, by its full name."""
    new = copy.deepcopy(manifest)
    *groups, last = field.split(".")
    table = new
    for group in groups:
        table = table.setdefault(group, {})
    table[last] = value
    return new


def arm(
    columns: dict[str, list[float | None]],
    *,
    repeats: int = 1,
    manifest: dict[str, Any] | None = None,
    planned: int | None = None,
    hashes: list[str] | None = None,
    ids: list[str] | None = None,
    outcomes: dict[int, str] | None = None,
    defects: list[tuple[str, ...]] | None = None,
) -> Arm:
    """A run of as many turns as the columns are long; all repeats of a question stand together.

    Args:
        columns: values by the name of a metric or clock; None where undefined. What isn't given
            is undefined everywhere.
        outcomes: those that aren't `answer`, by row.
    """
    turns = len(next(iter(columns.values())))
    made = Arm("run", Path("reports/run"), manifest or MANIFEST, planned or turns)
    nothing: list[float | None] = [None] * turns
    for name in (*METRICS, *TIMINGS, *PARTS, "wait_queue", "wait_prefill", "wait_rest", *TOKENS):
        values = columns.get(name, nothing)
        made.values[name] = array("d", (math.nan if v is None else v for v in values))
    for row in range(turns):
        question = row // repeats
        made.hashes.append(hashes[question] if hashes else f"h{question}")
        made.question_ids.append(ids[question] if ids else f"q{question}")
        made.repeats.append(row % repeats)
        made.outcomes.append((outcomes or {}).get(row, "answer"))
        made.defects.append(defects[row] if defects else ())
        made.undefined_defects.append(())
        made.rows[made.hashes[-1], made.repeats[-1], 0] = row
        if made.outcomes[-1] == "infra_error":
            made.lost_to["busy"] += 1
    return made


def table(n: int, both: int, a_only: int, b_only: int) -> tuple[list[float], list[float]]:
    """The values of n pairs, of which so many are true on both sides, and on one alone."""
    neither = n - both - a_only - b_only
    a = [1.0] * (both + a_only) + [0.0] * (b_only + neither)
    b = [1.0] * both + [0.0] * a_only + [1.0] * b_only + [0.0] * neither
    return a, b


def rates(metric: str, n: int, both: int, a_only: int, b_only: int) -> Pairs:
    """The pairs of two runs that differ in one metric alone."""
    a, b = table(n, both, a_only, b_only)
    return pair(arm({metric: list(a)}), arm({metric: list(b)}))

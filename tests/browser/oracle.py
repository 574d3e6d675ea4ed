"""What a filter should find, from the files of a run or of two.

Public: `Oracle`.
"""

from __future__ import annotations

from typing import Any

from browser.made import Folder

from ragevalkit.report.turns import went_badly
from ragevalkit.scoring.metrics import METRICS

Wanted = dict[str, str]
"""A filter, as addresses write it."""
_JUDGING = [name for name, metric in METRICS.items() if not metric.descriptive]


class Oracle:
    """The turns of one run, or the pairs of two of the same questions."""

    def __init__(self, reports: Folder, *runs: str) -> None:
        self._rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for run in runs:
            scores = {key(line): line for line in reports.lines(run, "scores.jsonl")}
            for turn in reports.lines(run, "turns.jsonl"):
                side = {"turn": turn, "score": scores[key(turn)]}
                self._rows.setdefault(key(turn), []).append(side)

    def __len__(self) -> int:
        return len(self._rows)

    def values(self, field: str) -> set[str]:
        """All values of a field that at least one turn has."""
        sides = [side for row in self._rows.values() for side in row]
        if field == "outcome":
            return {side["turn"]["outcome"] for side in sides}
        if field == "defect":
            names = {name for side in sides for name in side["score"]["defects"]}
            return names | {name.partition(":")[0] for name in names} | {"none"}
        if field == "metric":
            return {metric for metric in METRICS if any(badly(side, metric) for side in sides)}
        if field == "tag":
            return {tag for side in sides for tag in side["turn"]["bank_line"]["tags"]}
        if field == "flipped":
            return {"1"}
        return {"0", "1"}

    def count(self, wanted: Wanted) -> int:
        """How many turns, or pairs, a filter finds."""
        return sum(self._takes(row, wanted) for row in self._rows.values())

    def _takes(self, row: list[dict[str, Any]], wanted: Wanted) -> bool:
        line = row[0]["turn"]["bank_line"]
        if "answerable" in wanted and line["answerable"] != (wanted["answerable"] == "1"):
            return False
        if "tag" in wanted and wanted["tag"] not in line["tags"]:
            return False
        texts = [line["question"], *(side["turn"]["reply"] for side in row)]
        if "text" in wanted and not any(wanted["text"].lower() in t.lower() for t in texts):
            return False
        if "flipped" in wanted:
            named = wanted["flipped"] if wanted["flipped"] != "1" else wanted.get("metric")
            of = flipped(row)
            if not of or (named and named not in of):
                return False
        return any(self._side(side, wanted) for side in row)

    def _side(self, side: dict[str, Any], wanted: Wanted) -> bool:
        """All that is asked of one arm must be true of the same arm."""
        if wanted.get("outcome", side["turn"]["outcome"]) != side["turn"]["outcome"]:
            return False
        metric = None if "flipped" in wanted else wanted.get("metric")
        if metric and not badly(side, metric):
            return False
        defects, defect = side["score"]["defects"], wanted.get("defect")
        if defect == "none":
            return not defects
        return defect is None or any(d == defect or d.startswith(f"{defect}:") for d in defects)


def key(line: dict[str, Any]) -> tuple[str, int]:
    return line["question_id"], line["repeat"]


def badly(side: dict[str, Any], metric: str) -> bool:
    return went_badly(metric, side["score"]["metrics"].get(metric))


def flipped(row: list[dict[str, Any]]) -> list[str]:
    """The metrics that both arms define and in which they differ."""
    if len(row) < 2:
        return []
    a, b = (side["score"]["metrics"] for side in row)
    return [
        name
        for name in _JUDGING
        if a.get(name) is not None and b.get(name) is not None and a[name] != b[name]
    ]

"""Quality against output budget, from finished runs of one bank that differ in `--budget`.

Public: `Curve`, `Point`, `curve_of`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from ragevalkit.bench.scored import scored_turns
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.manifest import changed_settings
from ragevalkit.scoring.correct import is_correct
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.summary import Rate, Tally
from ragevalkit.scoring.timing import turn_timing
from ragevalkit.stats import clustered_wilson

_VARIES = frozenset({"agent.budget"})
_WHERE = frozenset({"endpoint.base_url"})
"""The same server may be reached otherwise."""


class Point(BaseModel):
    """One run."""

    model_config = ConfigDict(extra="forbid")

    budget: int
    """Output budget of each request."""
    run: str
    scored: int
    infra_errors: int
    correct: Rate
    """By `scoring.correct`."""
    cited_correct_page: Rate
    refused_correctly: Rate
    over_refused: Rate
    no_output: int
    """Scored turns without anything visible."""
    budget_exhausted: int
    """Scored turns with the defect `answer:budget_exhausted`."""
    turn_s: float | None
    """Median of the turns' times."""


class Curve(BaseModel):
    """What `bench budget --from-runs --json` prints."""

    model_config = ConfigDict(extra="forbid")

    bank: str
    points: list[Point]
    """Rising by budget."""
    notes: list[str]


def curve_of(folders: Sequence[RunFolder]) -> Curve:
    """The curve of these runs.

    Raises:
        InputError: a run is damaged, or isn't scored, or asks another bank.
    """
    manifests = [folder.read_manifest() or {} for folder in folders]
    first = manifests[0].get("settings", {})
    for folder, manifest in zip(folders, manifests, strict=True):
        if manifest.get("settings", {}).get("bank") != first.get("bank"):
            raise InputError(
                f"{folder.path} asks another bank than {folders[0].path}; a curve is over one bank"
            )
    points = [_point(folder, m) for folder, m in zip(folders, manifests, strict=True)]
    return Curve(
        bank=str(first.get("bank", {}).get("name", "")),
        points=sorted(points, key=lambda point: point.budget),
        notes=list(_notes(folders, manifests, points)),
    )


def _point(folder: RunFolder, manifest: Mapping[str, Any]) -> Point:
    budget = manifest["settings"]["agent"].get("budget")
    if not isinstance(budget, int):
        raise InputError(f"{folder.manifest} doesn't tell the run's output budget")
    tally, correct = Tally(), defaultdict[str, list[float]](list)
    for turn, score in scored_turns(folder):
        tally.add(score, turn_timing(turn))
        if score.outcome is not Outcome.INFRA_ERROR:
            correct[score.question_hash].append(is_correct(score))
    counts = tally.outcomes[True] + tally.outcomes[False]
    return Point(
        budget=budget,
        run=folder.name,
        scored=tally.scored,
        infra_errors=tally.infra_errors,
        correct=_rate(list(correct.values())),
        cited_correct_page=tally.rate("cited_correct_page"),
        refused_correctly=tally.rate("refused_correctly"),
        over_refused=tally.rate("over_refused"),
        no_output=counts[Outcome.NO_OUTPUT],
        budget_exhausted=tally.defects["answer:budget_exhausted"],
        turn_s=tally.summary(folder.name, tally.turns).timing.turn_s.p50,
    )


def _rate(clusters: Sequence[Sequence[float]]) -> Rate:
    n, k = sum(map(len, clusters)), int(sum(map(sum, clusters)))
    interval = clustered_wilson(clusters)
    return Rate(
        k=k,
        n=n,
        value=k / n if n else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
    )


def _notes(
    folders: Sequence[RunFolder], manifests: Sequence[Mapping[str, Any]], points: Sequence[Point]
) -> Iterator[str]:
    for folder, manifest in zip(folders[1:], manifests[1:], strict=True):
        differs = changed_settings(manifests[0]["settings"], manifest["settings"])
        names = [name for name, _, _ in differs if name not in _VARIES | _WHERE]
        if names:
            yield f"{folder.name} differs from {folders[0].name} in {', '.join(names)} as well"
    if len({point.scored for point in points}) > 1:
        yield "the runs have different numbers of scored turns: some are unfinished or limited"

"""What tools, their grammars and JSON schemas cost in first-token time and time per token.

Public: `guided`, `Plan`, `Observer`, `GuidedResult`.

Arms are requests that differ in one thing (`arms`); they are asked in mirrored blocks (`measure`),
each is shown to be what it should be (`ready`), and their differences are taken within blocks
(`analysis`, `estimate`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from ragevalkit.bench.guided.measure import measure
from ragevalkit.bench.guided.plan import Observer, Plan
from ragevalkit.bench.guided.result import GuidedResult
from ragevalkit.bench.guided.sentences import sentences
from ragevalkit.bench.guided.share import turn_share
from ragevalkit.errors import InputError
from ragevalkit.runs.loop import run_to_end
from ragevalkit.turn.record import Turn

__all__ = ["GuidedResult", "Observer", "Plan", "guided"]


def guided(
    plan: Plan, observer: Observer, run: str | None = None, turns: Iterable[Turn] = ()
) -> GuidedResult:
    """Begin or continue a bench; one that is finished asks nothing more.

    Args:
        run: name of a run whose turns say what the cost is of a turn.
        turns: its turns.

    Raises:
        InputError: the folder holds another bench, or a damaged one.
        EndpointUnusable: the endpoint can't be used.
        RunFolderError: the disk is full, or the folder can't be written.
    """
    result = _finished(plan) or run_to_end(measure(plan, observer))
    if run is not None:
        result.of_run = turn_share(result, run, turns)
        if result.of_run is None:
            observer.warns(f"what tools cost in the turns of {run} can't be said")
    result.says = sentences(result)
    plan.folder.write_result(result)
    return result


def _finished(plan: Plan) -> GuidedResult | None:
    """The result on record, where the bench is over."""
    folder = plan.folder
    manifest = folder.read_manifest()
    if manifest is None:
        return None
    model = plan.profile.model or manifest["settings"].get("endpoint", {}).get("model")
    folder.check(plan.settings(model))
    result = _read(folder.result)
    if result is None or result.stopped or not result.planned or result.blocks < result.planned:
        return None
    return result


def _read(path: Path) -> GuidedResult | None:
    try:
        return GuidedResult.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise InputError(f"{path} is damaged; move it away") from error

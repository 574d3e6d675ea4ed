"""A run, or two that alternate: from plans to finished folders, also when interrupted.

Public: `execute`, `execute_against`, `alternating`, `RunResult`, `Plan`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from typing import Any

from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError, Interrupted
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.live import LiveRun, Observer, Stopped
from ragevalkit.runs.loop import run_to_end
from ragevalkit.runs.plan import Against, Plan
from ragevalkit.runs.schedule import Item, mirrored
from ragevalkit.scoring.summary import Summary

__all__ = ["Plan", "RunResult", "alternating", "execute", "execute_against"]

TURNS_A_BLOCK = 4
"""Questions of a block, for each turn that is asked at once: the last of a block are asked fewer
at a time, and the server that waits meanwhile must get warm again, so it isn't one."""

Leg = tuple[LiveRun, Sequence[Item]]
"""What is asked of one run before it is the next one's turn."""


@dataclass(frozen=True)
class RunResult:
    """How a run came out."""

    summary: Summary
    interrupted: bool = False
    stopped: str | None = None
    """Why it was stopped before its end: the last of ten infrastructure errors in a row."""
    judge_failed: bool = False
    """The judge that was asked for can't be used."""
    against: RunResult | None = None
    """How the run came out that this one alternated with."""

    @property
    def broken_off(self) -> bool:
        """Whether one of the runs didn't come to its end."""
        before_end = self.interrupted or self.stopped is not None
        return before_end or (self.against is not None and self.against.broken_off)

    @property
    def exit_code(self) -> int:
        """0 done, 3 with infrastructure errors, 130 interrupted; of two runs the larger one."""
        if self.interrupted:
            return 130
        failed = self.stopped is not None or self.judge_failed or self.summary.infra_errors
        return max(3 if failed else 0, self.against.exit_code if self.against else 0)


def execute(plan: Plan, observer: Observer) -> RunResult:
    """Begin a run, or continue it where its folder holds one, and write its results.

    Raises:
        InputError: the folder holds a run with other settings, or nothing is left to ask of.
        EndpointUnusable: the endpoint can't be used; no turn was asked.
        RunFolderError: the disk is full, or the folder can't be written.
    """
    (result,) = _execute([plan], observer)
    return result


def execute_against(a: Plan, b: Plan, observer: Observer) -> RunResult:
    """Begin or continue two runs of the same questions, alternating as `alternating` says.

    Gives the result of b, with that of a as its `against`.

    Raises:
        InputError: a folder holds a run with other settings or of another order.
        EndpointUnusable: an endpoint can't be used; its name is in the message. No turn was asked,
            or, without a probe, none of that endpoint.
        RunFolderError: the disk is full, or a folder can't be written.
    """
    of_a, of_b = _execute([a, b], observer)
    return replace(of_b, against=of_a)


def alternating(a: Plan, b: Plan) -> tuple[Plan, Plan]:
    """Two plans of the same questions, to be asked in mirrored blocks.

    Runs that are continued keep the size of their blocks, whatever the concurrency is now.

    Raises:
        InputError: a block would hold fewer questions than are asked at once.
    """
    block = _block_on_record([a.folder, b.folder]) or TURNS_A_BLOCK * a.concurrency
    if block < a.concurrency:
        raise InputError(
            f"{a.folder.path} was begun in blocks of {block} questions, so at most {block} can be "
            f"asked at once, not {a.concurrency}"
        )
    return (
        replace(a, against=Against(b.folder.name, "a", block, a.seed)),
        replace(b, against=Against(a.folder.name, "b", block, b.seed)),
    )


def _block_on_record(folders: Iterable[RunFolder]) -> int | None:
    for folder in folders:
        against: Any = (folder.read_manifest() or {}).get("against")
        if isinstance(against, dict) and isinstance(against.get("block"), int):
            return int(against["block"])
    return None


def _execute(plans: Sequence[Plan], observer: Observer) -> list[RunResult]:
    with ExitStack() as stack:
        for plan in plans:
            observer.plans(plan)
        for plan in plans:
            plan.folder.open()
            stack.callback(plan.folder.release)
        runs = [LiveRun(plan, observer) for plan in plans]
        interrupted, stop = False, None
        try:
            _ask([run for run in runs if run.waiting], list(_legs(runs)))
        except Stopped as stopped:
            stop = stopped
        except KeyboardInterrupt as interrupt:
            if not any(run.tally.turns for run in runs):
                message = "interrupted before the first turn was finished; nothing was kept"
                raise Interrupted(message) from interrupt
            interrupted = True
        return [
            RunResult(run.results(), interrupted, str(stop) if stop and stop.run is run else None)
            for run in runs
        ]


def _legs(runs: Sequence[LiveRun]) -> Iterable[Leg]:
    """Who is asked what, one after the other."""
    first = runs[0]
    if first.plan.against is None:
        return [(first, first.items)]
    order = mirrored(first.items, first.plan.against.block, first.plan.against.seed)
    return ((runs[side], items) for side, items in order)


def _ask(runs: Sequence[LiveRun], legs: Iterable[Leg]) -> None:
    """Ask the runs that have turns waiting."""
    if not runs:
        return
    with ExitStack() as stack:
        profiles = []
        for run in runs:
            with run.naming_it():
                profiles.append(stack.enter_context(run.plan.connect(run.plan.profile)))
        run_to_end(_ask_legs(runs, profiles, legs))


async def _ask_legs(
    runs: Sequence[LiveRun], profiles: Sequence[Profile], legs: Iterable[Leg]
) -> None:
    async with AsyncExitStack() as stack:
        for run, profile in zip(runs, profiles, strict=True):
            await stack.enter_async_context(run.ready(profile))
        for run in runs:
            await stack.enter_async_context(run.sitting())
        for run, items in legs:
            if run in runs:
                await run.ask(items)

"""`ragevalkit run --against`: what two runs that alternate need besides the runs.

Public: `check_options`, `run_names`, `check_alike`, `conclude`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ragevalkit.cli.wiring import REPORTS
from ragevalkit.errors import InputError, NotComparable

if TYPE_CHECKING:
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.runs.plan import Plan
    from ragevalkit.runs.run import RunResult


def check_options(
    against: str | None, allow: Sequence[str], gate: str | None, no_gate: bool
) -> None:
    """Find what is wrong with the gate before anything is asked.

    Raises:
        InputError: the options don't fit together, or the gate can't be read.
    """
    from ragevalkit.compare.gate import load_gate

    if against is None and (allow or gate is not None or no_gate):
        raise InputError(
            "--allow, --gate and --no-gate say how two runs are compared, so they need --against"
        )
    if gate is not None and no_gate:
        raise InputError("--gate and --no-gate exclude each other")
    if gate is not None:
        load_gate(Path(gate))


def run_names(bank: str, endpoints: Sequence[str], name: str | None) -> list[str]:
    """Names of the runs of one or two endpoints, in their order.

    One run has the name that was given, or `<bank>-<endpoint>`; two have `<name>-<endpoint>`, the
    second of one and the same endpoint with `-again`.

    Raises:
        InputError: a name can't be that of a folder.
    """
    from ragevalkit.runs.folder import check_run_name

    if name is not None:
        check_run_name(name)
        if len(endpoints) == 1:
            return [name]
    names: list[str] = []
    for endpoint in endpoints:
        run = f"{bank if name is None else name}-{_slug(endpoint)}"
        names.append(check_run_name(f"{run}-again" if run in names else run))
    check_run_name("-vs-".join(names))
    return names


def check_alike(a: Plan, b: Plan, allow: Sequence[str]) -> None:
    """Find before anything is asked that two runs would not be comparable.

    Args:
        allow: fields that may differ though they mustn't.

    Raises:
        NotComparable: fields differ that mustn't.
        InputError: `allow` names no field.
    """
    from ragevalkit.compare.arm import Arm
    from ragevalkit.compare.comparability import compare_manifests

    arms = []
    for plan in (a, b):
        arm = Arm(plan.folder.name, plan.folder.path, {"settings": plan.settings(None)}, planned=0)
        arm.hashes = [item.question.hash for item in plan.items()]
        arms.append(arm)
    if fields := compare_manifests(arms[0], arms[1], allow).not_comparable:
        raise NotComparable(
            f"{b.profile.name} can't be compared with {a.profile.name}, as they would be asked "
            f"with different {', '.join(fields)}; --allow FIELD compares them all the same"
        )


def conclude(
    result: RunResult,
    allow: Sequence[str],
    gate: str | None,
    no_gate: bool,
    as_json: bool,
    announcer: Announcer,
    *,
    report: bool = True,
) -> int:
    """Compare two runs that alternated, print it, and write it to reports/<a>-vs-<b>/.

    With `report` its page is written there, too. Gives the exit code. Where they were broken off,
    or every turn of one was lost, nothing is compared, and what there is of each is printed.
    """
    from ragevalkit.cli import compare
    from ragevalkit.cli.output import print_json
    from ragevalkit.report.terminal import print_run
    from ragevalkit.runs.folder import replace_file

    assert result.against is not None
    summaries = [result.against.summary, result.summary]
    a, b = (summary.run for summary in summaries)
    if result.broken_off or not all(summary.scored for summary in summaries):
        if not as_json:
            for summary in summaries:
                print_run(summary, REPORTS / summary.run)
        announcer.ends(result)
        announcer.warns(f"nothing is compared; `ragevalkit compare {a} {b}` takes what there is")
        return result.exit_code
    typer.echo(f"comparing {b} with {a}", err=True)
    folder = REPORTS / f"{a}-vs-{b}"
    folder.mkdir(parents=True, exist_ok=True)
    comparison = compare.compare(
        a,
        b,
        allow=allow,
        gate=gate,
        no_gate=no_gate,
        markdown=folder / "comparison.md",
        junit=folder / "junit.xml",
    )
    written = comparison.model_dump_json(indent=2).encode()
    replace_file(folder / "comparison.json", [written, b"\n"])
    if report:
        compare.write_page(comparison)
    if as_json:
        print_json(comparison.model_dump(mode="json"))
    else:
        compare.print_comparison(comparison)
        typer.echo(f"\nThe runs are in {REPORTS / a}/ and {REPORTS / b}/, this in {folder}/")
    judge_failed = result.judge_failed or result.against.judge_failed
    return comparison.exit_code or (3 if judge_failed else 0)


def _slug(endpoint: str) -> str:
    """A name for a run's folder from an endpoint's name, which may be a host and port."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", endpoint).strip("-.") or "endpoint"

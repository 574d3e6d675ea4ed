"""`ragevalkit report`: write the page of a run, a comparison or a bench."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.wiring import REPORTS
from ragevalkit.errors import InputError

if TYPE_CHECKING:
    from ragevalkit.report.html.write import Written
    from ragevalkit.runs.folder import RunFolder
    from ragevalkit.scoring.summary import Summary


def command(
    what: Annotated[
        list[str],
        typer.Argument(metavar="RUN | A B | BENCH", help="A run, two runs, or a bench."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file. [default: report.html in its folder, of two runs in "
            "reports/<a>-vs-<b>/]"
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Of two runs: compare though this field differs; may be repeated."),
    ] = None,
    gate: Annotated[
        str | None,
        typer.Option(help="Of two runs: a gate file. [default: no metric may be worse]"),
    ] = None,
    floor: Annotated[
        str | None,
        typer.Option(help="Of two runs: another run of a's endpoint, which shows what is noise."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Write a page for a browser: one file that needs nothing else, and can be mailed.

    It shows the tables that the terminal does, charts, and the turns behind every number.
    """
    from ragevalkit.cli.output import print_json

    if len(what) > 2:
        raise InputError("a page is of one run, of two runs, or of one bench")
    if len(what) == 1 and (allow or gate is not None or floor is not None):
        raise InputError("--allow, --gate and --floor say how two runs are compared: name both")
    if len(what) == 2:
        written = _of_two(what[0], what[1], out, allow or (), gate, floor)
    else:
        written = _of_one(what[0], out)
    if as_json:
        counts = {"turns": written.turns, "whole_turns": written.whole_turns}
        print_json({"report": str(written.path), "bytes": written.bytes, **counts})
    else:
        typer.echo(written.path)


def _of_one(name: str, out: Path | None) -> Written:
    """The page of a run or a bench."""
    from ragevalkit.cli.waiting import waiting
    from ragevalkit.report.html.write import write_bench, write_run

    found = _find(name)
    if isinstance(found, Path):
        return write_bench(found, out)
    summary = _summary(found)
    if summary.turns < summary.planned:
        typer.echo(
            f"ragevalkit: {found.name} is unfinished: {summary.turns} of {summary.planned} turns "
            "are on record, and the page says so",
            err=True,
        )
    with waiting(f"writing {out or found.report}", [found]):
        return write_run(found, summary, out)


def _of_two(
    a: str, b: str, out: Path | None, allow: Sequence[str], gate: str | None, floor: str | None
) -> Written:
    """The page of a comparison."""
    from ragevalkit.cli.compare import compare, page_of
    from ragevalkit.cli.waiting import waiting
    from ragevalkit.report.html.write import write_comparison

    arms = _run(a), _run(b)
    with waiting("reading the runs", arms):
        paths = (arm.path for arm in arms)
        comparison = compare(*paths, allow=allow, gate=gate, floor=floor)
        return write_comparison(comparison, *arms, out or page_of(comparison))


def _find(name: str) -> RunFolder | Path:
    """A run's folder, or a path to that of a bench: by what lies in it.

    Raises:
        InputError: there is neither.
    """
    from ragevalkit.runs.folder import RunFolder

    paths = [REPORTS / name, Path(name)]
    for path in paths:
        if (path / "run.json").is_file():
            return RunFolder(path)
        if any((path / file).is_file() for file in ("bench.json", "calibration.json")):
            return path
    if any((path / "comparison.json").is_file() for path in paths):
        raise InputError(f"'{name}' holds a comparison; `ragevalkit report A B` writes its page")
    raise InputError(
        f"there is no run and no bench '{name}', neither under {REPORTS}/ nor as a folder"
    )


def _run(name: str) -> RunFolder:
    found = _find(name)
    if isinstance(found, Path):
        raise InputError(f"'{name}' is a bench; a page of two is one of two runs")
    return found


def _summary(folder: RunFolder) -> Summary:
    from ragevalkit.runs.results import read_summary

    summary = read_summary(folder)
    if summary is None:
        raise InputError(
            f"{folder.path} isn't scored by this version's scorers; `ragevalkit score "
            f"{folder.path}` does it"
        )
    return summary

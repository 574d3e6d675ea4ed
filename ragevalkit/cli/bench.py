"""`ragevalkit bench`: measure what the machinery costs, and how well it measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli import bench_budget, bench_guided, bench_stream, bench_sweep
from ragevalkit.cli.wiring import REPORTS

if TYPE_CHECKING:
    from ragevalkit.bench.calibrate import Calibration, Load, Streams

app = typer.Typer(
    help="Benches: measure what the machinery costs.", no_args_is_help=True, rich_markup_mode=None
)

_MOST_STREAMS = 1024
_MOST_TOKENS = 1_000_000
"""All are kept until the end, so that writing them disturbs nothing."""


@app.callback()
def _group() -> None:
    """Benches: measure what the machinery costs."""


app.command("budget")(bench_budget.command)
app.command("guided")(bench_guided.command)
app.command("stream")(bench_stream.command)
app.command("sweep")(bench_sweep.command)


@app.command("calibrate")
def calibrate(
    streams: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=_MOST_STREAMS,
            help="Streams at once; may be given several times. [default: 1]",
        ),
    ] = None,
    rate: Annotated[
        float, typer.Option(min=1, max=10_000, help="Tokens a second of each stream.")
    ] = 50.0,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=3600, help="How long each number of streams runs.")
    ] = 6.0,
    lockstep: Annotated[
        bool, typer.Option("--lockstep", help="All streams send at the same moments.")
    ] = False,
    name: Annotated[str, typer.Option(help="The folder in reports/.")] = "calibration",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Measure how late this client stamps tokens, at the number of streams that a run will have.

    A server on this machine says in each token when it sent it. Differences below the floor that is
    printed are the instrument's.
    """
    import asyncio
    import math

    from ragevalkit.bench.calibrate import Load
    from ragevalkit.bench.calibrate import calibrate as measure
    from ragevalkit.cli.output import print_json
    from ragevalkit.errors import InputError
    from ragevalkit.report.benches import calibration_tables
    from ragevalkit.report.terminal import print_table
    from ragevalkit.runs.folder import check_run_name

    folder = REPORTS / check_run_name(name)
    if (folder / "run.json").exists():
        raise InputError(f"{folder} holds a run; choose another --name")
    if math.isnan(rate * seconds):
        raise InputError("--rate and --seconds must be numbers")
    loads = [Load(n, rate, seconds, lockstep) for n in dict.fromkeys(streams or [1])]
    total = sum(load.streams * load.tokens for load in loads)
    if total > _MOST_TOKENS:
        raise InputError(
            f"{total:,} tokens are too many, at most {_MOST_TOKENS:,}; take fewer --seconds"
        )
    _allow_connections(max(load.streams for load in loads))
    calibration, raw = asyncio.run(measure(name, loads, lambda line: typer.echo(line, err=True)))
    _write(folder, calibration, raw)
    if as_json:
        print_json(calibration.model_dump(mode="json"))
        return
    for table in calibration_tables(calibration):
        print_table(table)
    typer.echo(f"\nResults are in {folder}/: report.html, calibration.json, tokens.jsonl")


def _write(folder: Path, calibration: Calibration, raw: list[tuple[Load, Streams]]) -> None:
    """calibration.json, tokens.jsonl and report.html.

    Raises:
        RunFolderError: the disk is full, or the folder can't be written.
    """
    import orjson

    from ragevalkit.bench.calibrate import lines
    from ragevalkit.errors import RunFolderError
    from ragevalkit.report.html.write import write_bench
    from ragevalkit.runs.folder import replace_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"can't write to {folder}: {error.strerror}") from error
    replace_file(folder / "tokens.jsonl", (orjson.dumps(line) + b"\n" for line in lines(raw)))
    replace_file(
        folder / "calibration.json", [calibration.model_dump_json(indent=2).encode() + b"\n"]
    )
    write_bench(folder)


def _allow_connections(streams: int) -> None:
    """Raise the limit on open files, which the server inherits, where it is too low.

    Raises:
        InputError: the system doesn't allow as many.
    """
    import resource

    from ragevalkit.errors import InputError

    needed = streams + 128
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise InputError(f"{streams} streams need {needed} open files, and {hard} are allowed")
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))

"""`ragevalkit compare`: hold one run against another."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.wiring import REPORTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragevalkit.compare.result import Comparison

SHOWN = 10
_WIDE_TERMINAL = 110
"""Columns from which on a metric's row holds its flips, too."""


def compare(
    a: str | Path,
    b: str | Path,
    *,
    allow: Sequence[str] = (),
    gate: str | Path | None = None,
    no_gate: bool = False,
    floor: str | Path | None = None,
    flips: int = SHOWN,
    markdown: str | Path | None = None,
    junit: str | Path | None = None,
    html: bool = False,
) -> Comparison:
    """Compare two runs; the command's options under their names.

    The result's fields are those of the command's JSON, `exit_code` is the command's. With `html`
    a page is written to reports/<a>-vs-<b>/report.html.

    Raises:
        RagevalkitError: a run or the gate can't be read, or a file can't be written.
    """
    from ragevalkit.cli.wiring import find_run
    from ragevalkit.compare.comparison import compare_runs
    from ragevalkit.compare.gate import built_in_gate, load_gate
    from ragevalkit.errors import InputError
    from ragevalkit.report.junit import comparison_junit
    from ragevalkit.report.markdown import comparison_markdown
    from ragevalkit.runs.folder import replace_file

    if gate is not None and no_gate:
        raise InputError("--gate and --no-gate exclude each other")
    if flips < 0:
        raise InputError(f"flips must be a number from 0, not {flips}")
    rules = None if no_gate else load_gate(Path(gate)) if gate else built_in_gate()
    result = compare_runs(
        find_run(str(a)),
        find_run(str(b)),
        gate=rules,
        allow=allow,
        floor=find_run(str(floor)) if floor else None,
        shown=flips,
    )
    if markdown is not None:
        replace_file(Path(markdown), [comparison_markdown(result).encode()])
    if junit is not None:
        replace_file(Path(junit), [comparison_junit(result)])
    if html:
        write_page(result)
    return result


def write_page(of: Comparison) -> Path:
    """Write the page of a comparison to reports/<a>-vs-<b>/report.html.

    Raises:
        RunFolderError: it can't be written.
    """
    from ragevalkit.report.html.write import write_comparison
    from ragevalkit.runs.folder import RunFolder

    a, b = (RunFolder(Path(arm.folder)) for arm in (of.a, of.b))
    return write_comparison(of, a, b, page_of(of)).path


def page_of(of: Comparison) -> Path:
    """Where the page of a comparison lies by default; its folder is made.

    Raises:
        RunFolderError: it can't be made.
    """
    from ragevalkit.errors import RunFolderError
    from ragevalkit.runs.folder import check_run_name

    folder = REPORTS / check_run_name(f"{of.a.run}-vs-{of.b.run}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"can't write to {folder}: {error.strerror}") from error
    return folder / "report.html"


def command(
    a: Annotated[str, typer.Argument(help="The run to compare with: a name or a folder.")],
    b: Annotated[str, typer.Argument(help="The run that the verdicts are on.")],
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Compare though this field differs; may be repeated."),
    ] = None,
    gate: Annotated[
        str | None, typer.Option(help="A gate file. [default: no metric may be worse]")
    ] = None,
    no_gate: Annotated[
        bool, typer.Option("--no-gate", help="Decide nothing; exit with 0.")
    ] = False,
    floor: Annotated[
        str | None, typer.Option(help="Another run of a's endpoint: shows what is noise.")
    ] = None,
    flips: Annotated[
        int, typer.Option(min=0, help="Show so many of the flipped questions, worst first.")
    ] = SHOWN,
    markdown: Annotated[str | None, typer.Option(help="Write the tables to this file.")] = None,
    junit: Annotated[
        str | None, typer.Option(help="Write the gate's lines to this file, as JUnit XML.")
    ] = None,
    html: Annotated[
        bool, typer.Option("--html", help="Write a page to reports/<a>-vs-<b>/report.html.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON and nothing else.")
    ] = False,
) -> int:
    """Compare two runs of the same questions, pair by pair.

    Exits with 0, 3 (turns were lost to infrastructure errors), 10 (regression), 11 (inconclusive,
    where no_worse was asked for) or 12 (not comparable).
    """
    from ragevalkit.cli.output import print_json
    from ragevalkit.cli.waiting import waiting
    from ragevalkit.cli.wiring import find_run

    with waiting("reading the runs", map(find_run, (a, b))):
        result = compare(
            a,
            b,
            allow=allow or (),
            gate=gate,
            no_gate=no_gate,
            floor=floor,
            flips=flips,
            markdown=markdown,
            junit=junit,
            html=html,
        )
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        print_comparison(result)
        if html:
            typer.echo(f"\nThe page is {page_of(result)}")
    return result.exit_code


def print_comparison(result: Comparison) -> None:
    from ragevalkit.report.comparison import (
        comparison_tables,
        flipped_blocks,
        gate_sentence,
        headline,
    )
    from ragevalkit.report.terminal import print_table
    from ragevalkit.report.turns import visible, visible_table

    for line in headline(result):
        typer.echo(visible(line))
    narrow = sys.stdout.isatty() and get_terminal_size().columns < _WIDE_TERMINAL
    for table in comparison_tables(result, narrow):
        print_table(visible_table(table))
    if result.flipped.shown:
        shown, of = len(result.flipped.shown), result.flipped.questions
        typer.echo(f"\n{shown} of {of} flipped questions, worst regressions first")
    for title, lines in flipped_blocks(result):
        typer.echo("\n" + visible(title))
        for line in lines:
            typer.echo("  " + visible(line))
    typer.echo("\n" + visible(gate_sentence(result)))

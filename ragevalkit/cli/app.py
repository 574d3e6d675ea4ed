"""The command tree. Every command imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from ragevalkit import __version__
from ragevalkit.cli import bank, bench, compare, corpus, endpoint, report, run, score, show

app = typer.Typer(
    name="ragevalkit",
    help="Evaluate an OpenAI-compatible endpoint as an assistant over documents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("run")(run.command)
app.command("score")(score.command)
app.command("compare")(compare.command)
app.command("report")(report.command)
app.command("show")(show.command)
app.add_typer(bank.app, name="bank")
app.add_typer(bench.app, name="bench")
app.add_typer(corpus.app, name="corpus")
app.add_typer(endpoint.app, name="endpoint")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragevalkit {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass

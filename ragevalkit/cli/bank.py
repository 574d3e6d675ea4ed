"""`ragevalkit bank`: check a bank of your own, and say what it can detect.

`lint` and `stats` are here; `import` registers itself on `app` from its own file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli import bank_import
from ragevalkit.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragevalkit.bank import Bank
    from ragevalkit.corpus import Corpus

app = typer.Typer(
    help="Banks of questions: find faults, see what the questions can detect, import others.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("import")(bank_import.command)

ERRORS_FOUND = 2

BANK = Annotated[str, typer.Argument(help="A name under question_banks/, or a .jsonl file.")]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@app.command()
def lint(
    bank: BANK,
    corpus: Annotated[
        str | None,
        typer.Option(help="Corpus for all questions: a name under corpora/, a folder, or a file."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show more than ten of a kind.")] = False,
    as_json: JSON = False,
) -> None:
    """Find labels that the corpus contradicts, and questions that tell little.

    Exits with 2 where there are errors, with 0 where there is advice alone. The tag
    `lint-ok:FINDING` in a line silences a finding there; one about the whole bank is silenced by
    the tag in any line.
    """
    from ragevalkit.bank import load_bank
    from ragevalkit.bank.lint import lint_bank
    from ragevalkit.report.banks import findings_table
    from ragevalkit.report.numbers import counted
    from ragevalkit.report.terminal import print_table

    loaded = load_bank(bank)
    linted = lint_bank(loaded, _corpora(loaded, corpus))
    if as_json:
        print_json(linted.as_dict())
    elif linted.findings:
        print_table(findings_table(linted, every))
    if not as_json:
        advice = len(linted.findings) - linted.errors
        silenced = f", {linted.silenced} silenced" if linted.silenced else ""
        typer.echo(
            f"{counted(len(loaded.questions), 'question')}: {counted(linted.errors, 'error')}, "
            f"{advice} advice{silenced}"
        )
    if linted.errors:
        raise typer.Exit(ERRORS_FOUND)


@app.command()
def stats(
    bank: BANK,
    repeats: Annotated[int, typer.Option(min=1, help="How often each question will be asked.")] = 1,
    as_json: JSON = False,
) -> None:
    """Say what is in a bank, and what so many questions can detect before a run is paid for.

    JSON: `bank` (its file), `hash`, `mix` (see `Mix.as_dict`), `power` (see `Plan.as_dict`).
    """
    from ragevalkit.bank import load_bank
    from ragevalkit.bank.mix import Mix
    from ragevalkit.bank.planning import plan_for
    from ragevalkit.report.banks import mix_tables, power_tables
    from ragevalkit.report.terminal import print_table

    loaded = load_bank(bank)
    mix = Mix.of(loaded.questions)
    plan = plan_for(mix.denominators, repeats)
    if as_json:
        print_json(
            {
                "bank": str(loaded.path),
                "hash": loaded.hash,
                "mix": mix.as_dict(),
                "power": plan.as_dict(),
            }
        )
        return
    for table in [*mix_tables(loaded.name, mix), *power_tables(plan)]:
        print_table(table)


def _corpora(bank: Bank, override: str | None) -> Mapping[str, Corpus]:
    """The bank's corpora; that evidence isn't in them is for lint to say, of all lines at once."""
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.cli.wiring import open_corpora

    bare = [question.model_copy(update={"evidence": []}) for question in bank.questions]
    with Announcer() as announcer:
        return open_corpora(replace(bank, questions=bare), override, announcer.reads_corpus)

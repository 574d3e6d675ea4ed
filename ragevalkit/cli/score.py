"""`ragevalkit score`: score a run again from its folder."""

from __future__ import annotations

from typing import Annotated

import typer

from ragevalkit.cli.output import print_json


def command(
    run: Annotated[str, typer.Argument(help="A run's name or folder.")],
    bank: Annotated[
        str | None, typer.Option(help="Corrected labels, taken by question id.")
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="Where the run's corpus lies, if it isn't found by itself.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="An endpoint that judges answers against their references."),
    ] = None,
    by_tag: Annotated[
        bool, typer.Option("--by-tag", help="Show the metrics of each tag's questions, too.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
) -> None:
    """Score a run again, without an endpoint, and say which turns changed."""
    from ragevalkit.bank import load_bank
    from ragevalkit.cli import wiring
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.cli.waiting import waiting
    from ragevalkit.report.html.write import write_run
    from ragevalkit.report.tables import changes_table, tags_table
    from ragevalkit.report.terminal import print_run, print_table
    from ragevalkit.runs.rescoring import rescore

    folder = wiring.find_run(run)
    labels = load_bank(bank) if bank else None
    corpora = wiring.recorded_corpora(folder, corpus)
    if labels:
        wiring.check_labels(labels, corpora)
    with Announcer() as announcer:
        say = announcer.warns
        if judge:
            wiring.judge(folder, judge, labels, announcer)
    for name in (name for name, opened in corpora.items() if opened is None):
        say(
            f"the corpus '{name or 'of this run'}' isn't at hand as it was; defects that need its "
            "pages are left undefined (--corpus names it)"
        )
    result = rescore(folder, corpora, labels)
    if folder.report.exists():
        with waiting(f"writing {folder.report}", [folder]):
            write_run(folder, result.summary)
    for message in result.unreadable:
        say(f"left out: {message}")
    if bank:
        say(
            f"{result.relabelled} turns scored by {bank}; {result.unmatched} kept their labels, as "
            "it doesn't ask their question"
        )
    if as_json:
        changes = [
            {"question_id": c.question_id, "repeat": c.repeat, "what": c.what}
            for c in result.changes
        ]
        tags = {
            tag: {name: rate.model_dump() for name, rate in rates.items()}
            for tag, rates in result.tags.items()
        }
        summary = result.summary.model_dump(mode="json")
        print_json({**summary, "changes": changes, "tags": tags})
        return
    print_run(result.summary, folder.path)
    if by_tag:
        print_table(tags_table(result.tags))
    if result.changes:
        print_table(changes_table(result.changes))
    typer.echo(f"{len(result.changes)} of {result.summary.turns} turns score otherwise than before")

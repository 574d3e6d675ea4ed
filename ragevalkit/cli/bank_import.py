"""`ragevalkit bank import`: a bank from a table, or from a public data set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragevalkit.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragevalkit.bank.importing import Imported
    from ragevalkit.report.tables import Table

_PROGRESS_S = 5.0
"""Between two progress lines."""

_ROWS_A_STEP = 200


def command(
    source: Annotated[
        list[str],
        typer.Argument(
            help="CSV, TSV, Parquet, JSON or JSONL files, a folder, or hf:NAME[:CONFIG]."
        ),
    ],
    into: Annotated[Path, typer.Option(help="Folder to write the bank and its corpus into.")],
    layout: Annotated[
        str | None,
        typer.Option(
            help="A known data set: clapnq, mtrag, squad2, qasper, financebench, mmlongbench, uda."
        ),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="FIELD=COLUMN", help="Which column a field is in; again for each."
        ),
    ] = None,
    page_base: Annotated[
        int | None,
        typer.Option(min=0, max=1, help="Number of a document's first page in the source."),
    ] = None,
    documents: Annotated[
        Path | None, typer.Option(help="Folder of the documents that the source refers to.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="The part of a data set to take.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many questions.")] = None,
    keep_partial: Annotated[
        bool, typer.Option("--keep-partial", help="Keep mtrag's PARTIAL ones, tagged.")
    ] = False,
    separator: Annotated[
        str, typer.Option(help="Between several answers, pages or tags in one cell.")
    ] = ";",
    name: Annotated[str | None, typer.Option(help="Name of the bank.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a bank and corpus of that name.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Make a bank of a table or of a public data set, and count what is wrong with its labels."""
    from ragevalkit.bank.importing import Request, import_bank, parse_mapping
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.report.terminal import print_table

    request = Request(
        sources=source,
        into=into,
        layout=layout,
        mapping=parse_mapping(mapping or [], separator),
        page_base=page_base,
        split=split,
        limit=limit,
        documents=documents,
        keep_partial=keep_partial,
        name=name,
        overwrite=overwrite,
    )
    with Announcer() as announcer:
        imported = import_bank(request, _rows_read(), announcer.reads_corpus)
    if as_json:
        print_json(_as_json(imported))
        return
    print_table(_table(imported))


def _rows_read() -> Callable[[int], None]:
    """Says on standard error how many rows are read, now and then."""
    last = time.monotonic()

    def say(rows: int) -> None:
        nonlocal last
        if rows % _ROWS_A_STEP == 0 and time.monotonic() - last >= _PROGRESS_S:
            last = time.monotonic()
            typer.echo(f"{rows:,} rows read", err=True)

    return say


def _table(imported: Imported) -> Table:
    from ragevalkit.bank.importing import LEFT_OUT, REMARKS
    from ragevalkit.report.tables import Table

    tally = imported.tally
    rows = [
        ["questions read", "", str(tally.read)],
        ["written: answerable", "", str(tally.answerable)],
        ["written: unanswerable", "", str(tally.written - tally.answerable)],
    ]
    for meanings, counts in ((LEFT_OUT, tally.left_out), (REMARKS, tally.remarks)):
        before = "left out: " if counts is tally.left_out else ""
        for what, times in counts.items():
            examples = _shortened(tally.examples.get(what, []))
            rows.append([before + meanings[what], examples, str(times)])
    base = f"the source's first page is {imported.page_base}"
    rows.append(["pages renumbered", base, str(tally.shifted)])
    columns = ["", "for example", "count"]
    notes = list(_notes(imported))
    return Table(f"Bank {imported.bank}", columns, rows, notes, text_columns=2)


def _shortened(places: list[str]) -> str:
    """Rows without the folder of their file, and its name once."""
    named = [place.rpartition(", ") for place in places]
    files = [file.replace("\\", "/").rpartition("/")[2] for file, _, _ in named]
    return "; ".join(
        row if number and file == files[number - 1] else f"{file}, {row}"
        for number, (file, (_, _, row)) in enumerate(zip(files, named, strict=True))
    )


def _notes(imported: Imported) -> Iterator[str]:
    if imported.corpus is None:
        yield "Pages weren't checked: --documents names the folder of the documents."
    else:
        yield (
            f"Every evidence page is in {imported.corpus} ({imported.documents:,} documents, "
            f"{imported.pages:,} pages)."
        )
    if imported.page_base == 1 and imported.tally.remarks["page_below_first"]:
        yield "A page 0 may mean that the source counts from 0: --page-base 0."


def _as_json(imported: Imported) -> dict[str, Any]:
    tally = imported.tally
    return {
        "bank": str(imported.bank),
        "corpus": str(imported.corpus) if imported.corpus else None,
        "documents": imported.documents,
        "pages": imported.pages,
        "checked": imported.corpus is not None,
        "read": tally.read,
        "written": tally.written,
        "answerable": tally.answerable,
        "unanswerable": tally.written - tally.answerable,
        "left_out": tally.left_out,
        "remarks": tally.remarks,
        "examples": {what: places for what, places in tally.examples.items() if places},
        "page_base": imported.page_base,
        "pages_renumbered": tally.shifted,
    }

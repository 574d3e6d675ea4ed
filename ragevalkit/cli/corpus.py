"""`ragevalkit corpus`: build, search and list the pages of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragevalkit.cli.output import print_json

if TYPE_CHECKING:
    from ragevalkit.corpus import Corpus

app = typer.Typer(
    help="Documents: read and index them, search them, list their pages.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

CORPUS = Annotated[str, typer.Argument(help="A name under corpora/, a folder, or one file.")]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def _open(corpus: str) -> Corpus:
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.cli.wiring import find_corpus
    from ragevalkit.corpus import open_corpus

    with Announcer() as announcer:
        return open_corpus(find_corpus(corpus), announcer.reads_corpus)


def _resolve(corpus: Corpus, document: str) -> str:
    from ragevalkit.errors import InputError

    name = corpus.resolve(document)
    if name is None:
        known = ", ".join(list(corpus.documents)[:20])
        raise InputError(f"there is no document '{document}' in {corpus.path}; it has {known}")
    return name


@app.command()
def build(corpus: CORPUS, as_json: JSON = False) -> None:
    """Read and index a corpus, where its documents have changed, and say what is in it."""
    from ragevalkit.report.tables import corpus_table
    from ragevalkit.report.terminal import print_table

    opened = _open(corpus)
    if as_json:
        documents = [_document(info) for info in opened.documents.values()]
        print_json(
            {
                "corpus": str(opened.path),
                "hash": opened.hash,
                "pages": opened.page_count,
                "documents": documents,
                "skipped": opened.skipped,
            }
        )
        return
    print_table(corpus_table(opened))
    if opened.skipped:
        shown = ", ".join(opened.skipped[:5]) + (", …" if len(opened.skipped) > 5 else "")
        typer.echo(f"skipped, as they are no documents: {len(opened.skipped)} ({shown})", err=True)


@app.command()
def search(
    corpus: CORPUS,
    query: Annotated[str, typer.Argument(help="What to look for; any text.")],
    document: Annotated[str | None, typer.Option(help="Only search in this document.")] = None,
    as_json: JSON = False,
) -> None:
    """Search a corpus as the agent does."""
    opened = _open(corpus)
    if document is not None:
        document = _resolve(opened, document)
    results = opened.search(query, document)
    if as_json:
        print_json({"results": [result.as_dict() for result in results]})
        return
    if not results:
        typer.echo("nothing found", err=True)
    for result in results:
        label = f" (printed {result.label})" if result.label else ""
        typer.secho(
            f"{result.document} p. {result.page}{label}  score {result.score:.2f}", bold=True
        )
        typer.echo(f"    {' '.join(result.text.split())[:300]}\n")


@app.command()
def pages(
    corpus: CORPUS,
    document: Annotated[
        str | None, typer.Option(help="Only this document, with the text of its pages.")
    ] = None,
    page: Annotated[
        int | None, typer.Option(min=1, help="Only this page, by its index, with its text.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """List documents and pages: index, printed label, length, and pages without text."""
    from ragevalkit.errors import InputError
    from ragevalkit.report.tables import pages_table
    from ragevalkit.report.terminal import print_table

    opened = _open(corpus)
    infos = list(opened.documents.values())
    if document is not None:
        infos = [opened.documents[_resolve(opened, document)]]
    elif page is not None:
        raise InputError("--page needs --document")
    if page is not None and page > infos[0].pages:
        raise InputError(f"'{infos[0].name}' has {infos[0].pages} pages")
    listed = [
        (info, opened.page(info.name, index))
        for info in infos
        for index in ([page] if page is not None else range(1, info.pages + 1))
    ]
    if as_json:
        print_json(
            [
                {
                    "document": info.name,
                    "page": one.index,
                    "label": one.label,
                    "characters": len(one.text),
                    **({"text": one.text} if document is not None else {}),
                }
                for info, one in listed
            ]
        )
        return
    print_table(pages_table(listed))
    if document is not None:
        for _, one in listed:
            typer.secho(
                f"\n--- page {one.index}" + (f" ({one.label})" if one.label else ""), bold=True
            )
            typer.echo(one.text)


def _document(info: Any) -> dict[str, Any]:
    return {
        "document": info.name,
        "file": info.file,
        "pages": info.pages,
        "pagination": info.pagination,
        "labels": info.labels,
        "pages_without_text": info.pages_without_text,
    }

"""`ragevalkit show`: list a run's turns, or print one turn as a whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ragevalkit.report.tables import Table
    from ragevalkit.report.transcript import Block, Line
    from ragevalkit.report.turns import Filter, ScoredTurn
    from ragevalkit.runs.folder import RunFolder

_NAMES = 5
"""Most question ids that a complaint names."""


def command(
    run: Annotated[str, typer.Argument(help="A run's name or folder.")],
    question: Annotated[
        str | None, typer.Argument(help="A question's id, or how it begins: prints the whole turn.")
    ] = None,
    outcome: Annotated[
        list[str] | None, typer.Option(help="Only turns with this outcome; may be repeated.")
    ] = None,
    defect: Annotated[
        list[str] | None,
        typer.Option(help="Only with this defect, or one of this family; may be repeated."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only questions with this tag; may be repeated.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Only where this metric went badly; may be repeated."),
    ] = None,
    answerable: Annotated[
        bool | None, typer.Option("--answerable/--unanswerable", help="Only such questions.")
    ] = None,
    text: Annotated[
        str, typer.Option(help="Only with these words in question or reply, in any case.")
    ] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many turns.")] = None,
    repeat: Annotated[
        int | None, typer.Option(min=0, help="Which turn of QUESTION, from 0. [default: the first]")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The whole reasoning and search results of QUESTION.")
    ] = False,
    costs: Annotated[
        bool,
        typer.Option(
            "--costs",
            help="Where the median turn's time goes, and seconds, tokens and joules a correct one.",
        ),
    ] = False,
    power_log: Annotated[
        str | None, typer.Option(help="With --costs: a CSV of times and watts.")
    ] = None,
    power_zone: Annotated[
        str | None,
        typer.Option(help="Zone of the log's times without one. [default: this machine's]"),
    ] = None,
    power_device: Annotated[
        str | None, typer.Option(help="Take one device of the log. [default: all, added up]")
    ] = None,
    power_scope: Annotated[
        str | None, typer.Option(help="What the power covers, such as module or board.")
    ] = None,
    idle_watts: Annotated[
        float | None,
        typer.Option(min=0, help="Idle power. [default: the log's, outside of the turns]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List a run's turns, print one turn as a whole, or say what the run's turns cost.

    Several filters take the turns that satisfy all of them; the same one repeated takes either.
    """
    from ragevalkit.cli.show_costs import PowerOptions, show_costs
    from ragevalkit.cli.wiring import find_run
    from ragevalkit.errors import InputError
    from ragevalkit.report.turns import Filter, make_filter

    folder = find_run(run)
    wanted = make_filter(
        outcomes=outcome or (),
        defects=defect or (),
        tags=tag or (),
        metrics=metric or (),
        answerable=answerable,
        words=text,
    )
    power = PowerOptions(power_log, power_zone, power_device, power_scope, idle_watts)
    if costs:
        all_turns = wanted == Filter([], [], [], []) and limit is None and repeat is None
        if question is not None or full or not all_turns:
            raise InputError("--costs are over all turns of a run; leave filters and QUESTION out")
        show_costs(folder, power, as_json)
        return
    if power != PowerOptions():
        raise InputError("options on power go with --costs")
    if question is None:
        if full or repeat is not None:
            raise InputError("--full and --repeat need a question")
        _list(folder, wanted, limit, as_json)
    else:
        if wanted != Filter([], [], [], []) or limit is not None:
            raise InputError("one question's turn is shown as a whole; filters are for the list")
        _show(folder, question, repeat, full, as_json)


def _list(folder: RunFolder, wanted: Filter, limit: int | None, as_json: bool) -> None:
    from ragevalkit.errors import InputError
    from ragevalkit.report.scored_turns import read_scored_turns
    from ragevalkit.report.turns import turn_row, turns_table

    left_out: list[str] = []
    rows, tags = [], set[str]()
    turns = matching = unscored = 0
    for shown in read_scored_turns(folder, left_out):
        turns += 1
        unscored += shown.score is None
        tags.update(shown.question.tags)
        if wanted.takes(shown):
            matching += 1
            if limit is None or matching <= limit:
                rows.append(turn_row(shown))
    _say_left_out(left_out)
    if unscored:
        _say(
            f"{unscored} of {turns} turns have no scores, so no defects and metrics to go by; "
            "`ragevalkit score` makes them"
        )
    if unknown := [tag for tag in wanted.tags if tag not in tags]:
        known = f"tags are {', '.join(sorted(tags))}" if tags else "none has any"
        raise InputError(_visible(f"no turn of {folder.path} has the tag '{unknown[0]}'; {known}"))
    if as_json:
        _print_json([asdict(row) for row in rows])
    else:
        _print([turns_table(rows, matching, turns)])


def _show(folder: RunFolder, asked: str, repeat: int | None, full: bool, as_json: bool) -> None:
    import orjson

    from ragevalkit.report.scored_turns import read_scored_turns
    from ragevalkit.report.transcript import transcript

    left_out: list[str] = []
    ids: dict[str, None] = {}
    kept: list[ScoredTurn] = []
    for shown in read_scored_turns(folder, left_out):
        ids[shown.turn.question_id] = None
        if shown.turn.question_id.startswith(asked):
            kept.append(shown)
    _say_left_out(left_out)
    question_id = _resolve(asked, list(ids), folder)
    turns = {one.turn.repeat: one for one in kept if one.turn.question_id == question_id}
    shown = _one_of(turns, repeat, question_id)
    if as_json:
        if repeat is None and len(turns) > 1:
            _say(f"{len(turns)} repeats are on record; this is {shown.turn.repeat}")
        line = shown.score_line if shown.score else None
        score = orjson.loads(line) if line else None
        _print_json({"turn": shown.turn.model_dump(mode="json"), "score": score})
    else:
        _print(transcript(shown, full=full, repeats=len(turns)))


def _resolve(asked: str, ids: list[str], folder: RunFolder) -> str:
    """The question id that `asked` is, or begins.

    Raises:
        InputError: it is none, or begins several.
    """
    from difflib import get_close_matches

    from ragevalkit.errors import InputError

    if asked in ids:
        return asked
    found = [id_ for id_ in ids if id_.startswith(asked)]
    if len(found) == 1:
        return found[0]
    if found:
        message = f"'{asked}' begins {len(found)} question ids: {_some(found)}"
    elif ids:
        near = get_close_matches(asked, ids, n=_NAMES, cutoff=0.3) or ids
        message = f"no turn of {folder.path} asks '{asked}'; the nearest ids are {_some(near)}"
    else:
        message = f"{folder.path} has no turns that can be read"
    raise InputError(_visible(message))


def _one_of(turns: dict[int, ScoredTurn], repeat: int | None, question_id: str) -> ScoredTurn:
    from ragevalkit.errors import InputError

    wanted = min(turns) if repeat is None else repeat
    if wanted not in turns:
        known = ", ".join(map(str, sorted(turns)))
        raise InputError(
            _visible(f"repeat {repeat} of '{question_id}' isn't on record; there is {known}")
        )
    return turns[wanted]


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMES]) + (", …" if len(names) > _NAMES else "")


def _say_left_out(messages: Iterable[str]) -> None:
    for message in messages:
        _say(f"left out: {message}")


def _say(message: str) -> None:
    from ragevalkit.cli.progress import Announcer

    Announcer().warns(_visible(message))


def _visible(text: str) -> str:
    from ragevalkit.report.turns import visible

    return visible(text)


def _print_json(value: Any) -> None:
    """JSON escapes ESC by itself, and here also what else drives a terminal."""
    import re

    import orjson

    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    special = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
    typer.echo(special.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _print(blocks: Iterable[Block]) -> None:
    """Through the pager in a terminal, else as plain text with no line wrapped."""
    if sys.stdout.isatty():
        _page(blocks)
    else:
        sys.stdout.write("".join(f"{line}\n" for block in blocks for line in _plain(block)))
        sys.stdout.flush()  # here, where a broken pipe is still noticed


def _page(blocks: Iterable[Block]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from ragevalkit.report.tables import Table
    from ragevalkit.report.terminal import print_table
    from ragevalkit.report.turns import visible_table

    os.environ.setdefault("LESS", "-FRX")  # colours, and no paging of what fits one screen
    console = Console(highlight=False)
    with console.pager(styles=True):
        for block in blocks:
            if isinstance(block, Table):
                console.print()
                print_table(visible_table(block), console)
            elif block.raw:
                for line in _indented(block):
                    console.print(Text(line, style=block.style), soft_wrap=True)
            else:
                text = Text(_visible(block.text), style=block.style)
                console.print(Padding(text, (0, 0, 0, block.indent), expand=False))


def _plain(block: Block) -> Iterator[str]:
    from ragevalkit.report.tables import Table

    return _plain_table(block) if isinstance(block, Table) else _indented(block)


def _indented(line: Line) -> Iterator[str]:
    for part in _visible(line.text).split("\n"):
        yield f"{' ' * line.indent}{part}" if part else ""


def _plain_table(table: Table) -> Iterator[str]:
    """A row a line, whatever its length."""
    from rich.cells import cell_len

    from ragevalkit.report.turns import visible_table

    table = visible_table(table)
    widths = [max(map(cell_len, cells)) for cells in zip(table.columns, *table.rows, strict=True)]
    yield f"\n{table.title}"
    for row in chain([table.columns], table.rows):
        cells = []
        for position, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - cell_len(cell))
            cells.append(cell + space if table.is_text(position) else space + cell)
        yield "  ".join(cells).rstrip()
    yield from table.notes

"""What a user sees while he waits: something that moves, or a line before runs take long to read.

Public: `waiting`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ragevalkit.runs.folder import RunFolder

LONG_WAIT = 30_000_000
"""Bytes of turns that take seconds to read."""


def waiting(what: str, folders: Iterable[RunFolder] = ()) -> AbstractContextManager[object]:
    """Says on standard error what is done, where it takes long or somebody looks on.

    Args:
        what: such as `reading the runs`.
        folders: the runs that are read, if it is that.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        return console.status(what)
    files = [folder.turns for folder in folders]
    size = sum(file.stat().st_size for file in files if file.exists())
    if size > LONG_WAIT:
        typer.echo(f"{what}, {size / 1e6:,.0f} MB of turns", err=True)
    return nullcontext()

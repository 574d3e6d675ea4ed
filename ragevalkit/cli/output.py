"""What commands print for programs.

Public: `print_json`.
"""

from __future__ import annotations

from typing import Any

import typer


def print_json(value: Any) -> None:
    """Print a value as indented JSON, alone on standard output."""
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))

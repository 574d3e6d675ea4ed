"""Rows of JSON and JSON Lines files.

Public: `read_json`, `read_json_lines`.

A bare NaN, which other tools write, is read as null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragevalkit.bank.importing.draft import Row
from ragevalkit.errors import InputError


def read_json_lines(path: Path) -> Iterator[Row]:
    """An object a line."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                where = f"{path}, line {number}"
                yield _row(_parsed(line, where), where)


def read_json(path: Path) -> Iterator[Row]:
    """The objects of a JSON file: an array's, or those of an object that holds them.

    `{"data": [{…}, …]}` gives the array's, `{"a": {…}, "b": {…}}` and `{"a": [{…}, …], …}` give all
    of them, each with the name it stands under as its key. A .json file with an object a line is
    read as JSON Lines.
    """
    data = path.read_bytes()
    head, _, rest = data.strip().partition(b"\n")
    if rest and head.startswith(b"{") and _is_object(head):
        yield from read_json_lines(path)
        return
    whole = _parsed(data, str(path))
    if isinstance(whole, list):
        for number, item in enumerate(whole, 1):
            where = f"{path}, item {number}"
            yield _row(item, where)
    elif isinstance(whole, dict):
        yield from _inside(whole, path)
    else:
        raise InputError(f"{path}: an array of objects is needed")


def _inside(whole: dict[str, Any], path: Path) -> Iterator[Row]:
    lists = {name: value for name, value in whole.items() if _is_objects(value)}
    if (len(lists) == 1 and len(whole) > 1) or list(lists) == ["data"]:
        for name, value in lists.items():
            for number, item in enumerate(value, 1):
                yield Row(f"{path}, {name} {number}", item)
        return
    if whole and all(isinstance(value, dict) for value in whole.values()):
        for name, value in whole.items():
            yield Row(f"{path}, '{name}'", value, name)
        return
    if lists and len(lists) == len(whole):
        for name, value in lists.items():
            for number, item in enumerate(value, 1):
                yield Row(f"{path}, '{name}' {number}", item, name)
        return
    raise InputError(f"{path}: an array of objects is needed, or an object that holds one")


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _row(value: Any, where: str) -> Row:
    if not isinstance(value, dict):
        raise InputError(f"{where}: a row is a JSON object, not {json.dumps(value)[:60]}")
    return Row(where, value)


def _parsed(data: bytes, where: str) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=lambda name: None)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 ({error.reason})") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise InputError(f"{where}: not JSON ({place}column {error.colno}: {error.msg})") from error
    except RecursionError as error:
        raise InputError(f"{where}: not JSON that can be read (nested too deep)") from error

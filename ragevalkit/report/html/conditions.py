"""Under which conditions something was measured: the fields of its manifests, side by side.

Public: `conditions_table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from ragevalkit.report.numbers import MISSING
from ragevalkit.report.tables import Table

_LEFT_OUT = frozenset({"probe", "earlier", "version", "name", "record", "scorer"})
"""Long, or known from elsewhere on the page."""


def conditions_table(manifests: Mapping[str, Mapping[str, Any]]) -> Table:
    """The manifests of one run or bench, or of several: a column each, under its name."""
    columns = [dict(_fields(manifest)) for manifest in manifests.values()]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [[name, *(_written(column.get(name)) for column in columns)] for name in names]
    heads = ["value"] if len(columns) == 1 else list(manifests)
    said = [row for row in rows if set(row[1:]) != {MISSING}]
    return Table("Conditions", ["setting", *heads], said, text_columns=1 + len(columns))


def _fields(manifest: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every field by its full name, without `settings.`."""
    for name, value in manifest.items():
        if not prefix and name in _LEFT_OUT:
            continue
        if isinstance(value, Mapping) and value:
            yield from _fields(value, "" if name == "settings" else f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}".rstrip("."), value


def _written(value: Any) -> str:
    if value is None or value in ({}, [], ""):
        return MISSING
    return value if isinstance(value, str) else orjson.dumps(value).decode()

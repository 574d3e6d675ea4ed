"""Rows of CSV, TSV and Parquet files as plain Python values.

Public: `read_separated`, `read_parquet`.

CSV goes through the standard library's reader and Parquet through pyarrow: both give Python's own
text, numbers, lists and None. A data frame would turn None into NaN, `007` into 7 and lists into
arrays, and pads a row that is too short.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from ragevalkit.bank.importing.draft import Row
from ragevalkit.errors import InputError

_SEPARATORS = ",;\t|"
_BATCH = 1000


def read_separated(path: Path) -> Iterator[Row]:
    """Rows of a text table with a head; all values are text.

    The separator is a tab in .tsv, else the one of `,` `;` tab and `|` that cuts the head into most
    columns. Raises `InputError` where a row has more or fewer columns than the head.
    """
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    separator = "\t" if path.suffix.lower() == ".tsv" else _separator(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            table = csv.reader(stream, delimiter=separator, strict=True)
            head = [name.strip() for name in next(table, [])]
            _check(head, path)
            begin = table.line_num + 1
            for cells in table:
                where, begin = f"{path}, line {begin}", table.line_num + 1
                if not any(cell.strip() for cell in cells):
                    continue
                if len(cells) != len(head):
                    raise InputError(
                        f"{where}: {len(cells)} columns, where the head has {len(head)} "
                        f"({', '.join(head)}); quote cells that hold {separator!r}"
                    )
                yield Row(where, dict(zip(head, cells, strict=True)))
    except csv.Error as error:
        raise InputError(f"{path}, line {table.line_num}: not a table ({error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error


def read_parquet(path: Path) -> Iterator[Row]:
    """Rows of a Parquet file, a batch at a time."""
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as table:
            for batch in table.iter_batches(_BATCH):
                for fields in batch.to_pylist():
                    number += 1
                    yield Row(f"{path}, row {number}", fields)
    except pyarrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}, row {number + 1}: not readable as Parquet ({reason})") from error


def _separator(path: Path) -> str:
    """The separator that cuts the first line into most columns; a comma where none does."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error
    return max(_SEPARATORS, key=lambda separator: _columns(first, separator))


def _columns(line: str, separator: str) -> int:
    return len(next(csv.reader([line], delimiter=separator), []))


def _check(head: list[str], path: Path) -> None:
    if not any(head):
        raise InputError(f"{path} is empty; its first line names the columns")
    named = [name for name in head if name]
    if twice := next((name for name in named if named.count(name) > 1), None):
        raise InputError(f"{path}, line 1, column '{twice}': the head has it twice")

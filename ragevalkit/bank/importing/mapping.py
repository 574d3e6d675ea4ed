"""A table of one's own: which column is which field of a bank.

Public: `FIELDS`, `Mapping`, `parse_mapping`, `read_mapped`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ragevalkit.bank.importing import values
from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows
from ragevalkit.errors import InputError

T = TypeVar("T")

FIELDS = (
    *("id", "question", "answerable", "document", "page", "quote", "group", "evidence"),
    *("answers", "history", "tags", "unanswerable_because"),
)
"""What a column can be; `evidence` is a list of objects as a bank line has it."""

SEPARATOR = ";"
"""Between several values in one cell, unless another one is given."""


@dataclass(frozen=True)
class Mapping:
    """Which column holds which field."""

    columns: dict[str, str] = field(default_factory=dict)
    """By field. A field that isn't here is read from the column of its own name, if there is one.

    `!COLUMN` for `answerable` reads it the other way round; `a.b.0` looks into nested values.
    """

    separator: str = SEPARATOR
    document: str | None = None
    """The document of rows that name none, for example the only one that there is."""


def parse_mapping(given: Iterable[str], separator: str = SEPARATOR) -> Mapping:
    """The mapping of `field=column` words. Raises `InputError` where one isn't of that form."""
    columns: dict[str, str] = {}
    for word in given:
        field, equals, column = word.partition("=")
        field = field.strip()
        if not equals or not column.strip():
            raise InputError(f"--map takes field=column, not '{word}'")
        if field not in FIELDS:
            raise InputError(f"--map {word}: no field '{field}'; fields are {', '.join(FIELDS)}")
        if field in columns:
            raise InputError(f"--map names the field '{field}' twice")
        columns[field] = column.strip()
    return Mapping(columns, separator)


def read_mapped(rows: Rows, mapping: Mapping) -> Iterator[Draft]:
    """A draft a row.

    Raises `InputError` where no row has a column that is mapped; single rows of JSON may lack it.
    """
    unseen = set(mapping.columns.values())
    row = None
    for row in rows:
        cells = _Cells(row, mapping)
        unseen -= cells.found
        yield _draft(cells)
    if unseen and row is not None:
        known = ", ".join(row.fields)
        raise row.fault(min(unseen), f"there is no such column in any row; this one has {known}")


class _Cells:
    """The values of a row by field."""

    def __init__(self, row: Row, mapping: Mapping) -> None:
        self.row = row
        self.mapping = mapping
        self.found: set[str] = set()
        """The mapped columns that the row has."""
        fields = {field: self._value(field) for field in FIELDS}
        self._columns = {field: mapping.columns.get(field, field) for field in FIELDS}
        self._cells = Row(row.where, {self._columns[f]: fields[f] for f in FIELDS})

    def read(self, field: str, *separators: str) -> Any:
        readers = {
            "answerable": values.boolean,
            "history": values.messages,
            "page": lambda value: values.integers(value, "".join(separators)),
            "group": lambda value: values.integers(value, "".join(separators)),
        }
        plain = values.text if not separators else self._split(separators)
        return self._cells.read(self._columns[field], readers.get(field, plain))

    def has(self, field: str) -> bool:
        """Whether the row has a column for it, whatever is in it."""
        column = self.mapping.columns.get(field, field).removeprefix("!")
        return field in self.mapping.columns or column in self.row.fields

    def raw(self, field: str) -> Any:
        return self._cells.fields[self._columns[field]]

    def fault(self, field: str, message: str) -> InputError:
        return self.row.fault(self._columns[field], message)

    def _split(self, separators: tuple[str, ...]) -> Any:
        return lambda value: values.texts(value, "".join(separators))

    def _value(self, field: str) -> Any:
        column = self.mapping.columns.get(field)
        if column is None:
            return self.row.fields.get(field)
        name = column.removeprefix("!") if field == "answerable" else column
        value: Any = self.row.fields
        for step in [name] if name in self.row.fields else name.split("."):
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                return None
        self.found.add(column)
        return value


def _draft(cells: _Cells) -> Draft:
    separator = cells.mapping.separator
    if not cells.has("question"):  # mapped to a column that isn't there: found at the end
        known = ", ".join(cells.row.fields)
        raise cells.row.fault(
            "question", f"there is no such column; --map question=… names one of {known}"
        )
    evidence, remarks = _evidence(cells)
    answers = cells.read("answers", separator)
    if isinstance(written := cells.raw("answers"), str) and len(answers) > 1:
        remarks += ("answers_cut",) if written[:1] != "[" else ()
    return Draft(
        cells.row.where,
        cells.read("question"),
        _answerable(cells, evidence),
        id=cells.read("id"),
        evidence=evidence,
        answers=answers,
        history=cells.read("history"),
        tags=cells.read("tags", separator, ","),
        because=cells.read("unanswerable_because") or None,
        remarks=remarks,
    )


def _answerable(cells: _Cells, evidence: list[Gold]) -> bool | None:
    if not cells.has("answerable"):
        return bool(evidence)
    said: bool | None = cells.read("answerable")
    turned = cells.mapping.columns.get("answerable", "").startswith("!")
    return not said if turned and said is not None else said


def _evidence(cells: _Cells) -> tuple[list[Gold], tuple[str, ...]]:
    if cells.raw("evidence") not in (None, "", []):
        return [_gold(cells, item) for item in _objects(cells)], ()
    separator = cells.mapping.separator
    pages: list[int] = cells.read("page", separator, ",")
    if not pages:
        return [], ()
    documents = _aligned(cells, "document", len(pages)) or [cells.mapping.document or ""]
    groups: list[int] = cells.read("group", separator, ",") or [0]
    quotes: list[str | None] = [*_aligned(cells, "quote", len(pages))]
    remarks: tuple[str, ...] = ()
    if len(quotes) == 1 < len(pages):
        quotes, remarks = [], ("quote_for_several_pages",)
    if not documents[0]:
        raise cells.fault("document", "names no document, though the row has a page")
    documents = _spread(cells, "document", documents, len(pages))
    quotes = _spread(cells, "quote", quotes or [None], len(pages))
    groups = _spread(cells, "group", groups, len(pages))
    every = zip(documents, pages, quotes, groups, strict=True)
    return [Gold(document, page, quote, group) for document, page, quote, group in every], remarks


def _spread(cells: _Cells, field: str, given: list[T], pages: int) -> list[T]:
    """One for each page: one that holds for all, or as many as there are pages."""
    if len(given) not in (1, pages):
        raise cells.fault(field, f"holds {len(given)} values for {pages} pages")
    return given * pages if len(given) == 1 else given


def _aligned(cells: _Cells, field: str, pages: int) -> list[str]:
    """Texts of a cell: several where it is a list, or where it has as many parts as pages.

    A name or a quote may hold the separator itself.
    """
    value = cells.raw(field)
    whole = cells.read(field)
    if isinstance(value, (list, tuple)) or whole[:1] + whole[-1:] == "[]":
        return [values.text(item) for item in values.items(value)]
    parts = [part.strip() for part in whole.split(cells.mapping.separator)]
    if pages > 1 and len(parts) == pages and all(parts):
        return parts
    return [whole] if whole else []


def _objects(cells: _Cells) -> list[dict[str, Any]]:
    value = cells.raw("evidence")
    try:
        listed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise cells.fault("evidence", "is neither JSON nor a list of objects") from None
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise cells.fault("evidence", "is no list of objects with document and page")
    return listed


def _gold(cells: _Cells, item: dict[str, Any]) -> Gold:
    try:
        pages = values.integers(item.get("page"))
        groups = values.integers(item.get("group")) or [0]
    except ValueError as error:
        raise cells.fault("evidence", str(error)) from error
    document = values.text(item.get("document")) or cells.mapping.document or ""
    if len(pages) != 1 or not document:
        raise cells.fault("evidence", "each needs a document and one page")
    return Gold(document, pages[0], values.text(item.get("quote")) or None, groups[0])

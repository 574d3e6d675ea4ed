"""What passes between a source, an importer and the writer.

Public: `Row`, `Rows`, `Draft`, `Gold`, `each`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ragevalkit.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, a line of JSON, or an object of a larger one; plain Python values."""

    where: str
    """File and row, as errors name it."""

    fields: dict[str, Any]
    key: str = ""
    """The name under which the object stands in a larger one, if it does."""

    def fault(self, column: str, message: str) -> InputError:
        """An error that names file, row and column."""
        return InputError(f"{self.where}, column '{column}': {message}")

    def read(self, column: str, reader: Callable[[Any], T]) -> T:
        """The value of `column` (None where it is missing) as `reader` takes it.

        Raises `InputError` with the message of the `ValueError` that `reader` raises.
        """
        try:
            return reader(self.fields.get(column))
        except ValueError as error:
            raise self.fault(column, str(error)) from error

    def need(self, column: str) -> Any:
        """The value of `column`. Raises `InputError` where the row doesn't have it."""
        if column not in self.fields:
            known = ", ".join(list(self.fields)[:12]) or "none"
            raise self.fault(column, f"is missing; the row has {known}")
        return self.fields[column]


Rows: TypeAlias = Iterable[Row]


@dataclass(frozen=True, slots=True)
class Gold:
    """A page that a source names as evidence, numbered as the source does."""

    document: str
    page: int
    quote: str | None = None
    group: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A question as a source gives it, before anything about it is checked."""

    where: str
    """File and row that it comes from."""

    question: str
    answerable: bool | None
    """None where the source doesn't say, or says neither."""

    id: str = ""
    """Empty where the source has none; the writer makes one."""

    evidence: list[Gold] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    history: list[tuple[str, str]] = field(default_factory=list)
    """(role, content) of earlier messages; roles are `user` and `assistant`."""

    tags: list[str] = field(default_factory=list)
    because: str | None = None
    """Why it can't be answered."""

    left_out: str | None = None
    """Why an importer leaves it out: a name of `tally.LEFT_OUT`."""

    remarks: tuple[str, ...] = ()
    """What an importer found in it: names of `tally.REMARKS`."""


def each(rows: Rows, read: Callable[[Row], Iterable[Draft]]) -> Iterator[Draft]:
    """The drafts of every row; a row of another shape than `read` expects is the user's error."""
    for row in rows:
        try:
            drafts = list(read(row))
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(
                f"{row.where}: isn't laid out as this layout is ({what}); without --layout, "
                "--map says which column is what"
            ) from error
        yield from drafts

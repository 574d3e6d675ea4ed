"""Deflated chunks of JSON, within a budget of bytes: what the page's script unpacks when asked.

Public: `Island`, `Chunks`, `Shelf`, `deflated`, `json_bytes`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from ragevalkit.report.turns import visible

Place = tuple[str, int]
"""Id of an island and the position in its list."""

_CHUNK_CHARACTERS = 96_000
"""JSON from which on a chunk is closed: some dozen turns, unpacked in a few milliseconds."""
_LEVEL = 4
_BASE64 = 4 / 3


@dataclass(frozen=True)
class Island:
    """Data that lies in the page as base64."""

    id: str
    data: bytes
    """Zlib's format, which browsers call `deflate`."""

    @property
    def size(self) -> int:
        """Bytes in the page."""
        return int(len(self.data) * _BASE64)


def json_bytes(value: Any) -> bytes:
    """Compact JSON; half surrogates, which UTF-8 can't hold, are spelled out."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_spelled(value))


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_spelled(key): _spelled(of) for key, of in value.items()}
    return [_spelled(of) for of in value] if isinstance(value, list | tuple) else value


def deflated(name: str, value: Any) -> Island:
    """A value as an island of its own."""
    return Island(name, zlib.compress(json_bytes(value), _LEVEL))


@dataclass
class Chunks:
    """Values in the order in which they came, packed by the dozen."""

    name: str
    islands: list[Island] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    """How many values lie in each island."""
    size: int = 0
    """Bytes of the islands in the page."""
    closed: bool = False
    """Takes no more: some that came were dropped already."""
    _open: list[bytes] = field(default_factory=list)
    _open_size: int = 0

    def add(self, value: Any) -> Place:
        """Take a value and say where it will lie."""
        place = f"{self.name}-{len(self.islands)}", len(self._open)
        self._open.append(json_bytes(value))
        self._open_size += len(self._open[-1])
        if self._open_size >= _CHUNK_CHARACTERS:
            self.pack()
        return place

    def pack(self) -> None:
        """Close the chunk that is being filled."""
        if not self._open:
            return
        packed = zlib.compress(b"[" + b",".join(self._open) + b"]", _LEVEL)
        self.islands.append(Island(f"{self.name}-{len(self.islands)}", packed))
        self.counts.append(len(self._open))
        self.size += self.islands[-1].size
        self._open, self._open_size = [], 0

    def drop_last(self) -> None:
        """Give up the last island; nothing is taken after that."""
        self.size -= self.islands.pop().size
        self.counts.pop()
        self._open, self._open_size, self.closed = [], 0, True

    @property
    def kept(self) -> int:
        return sum(self.counts)


class Shelf:
    """Two kinds of values in one budget: the urgent ones push the others out.

    The page's script takes a place whose island isn't there as dropped.
    """

    def __init__(self, name: str, limit: int, urgent_limit: int | None = None) -> None:
        """
        Args:
            limit: bytes of all islands, as long as others are among them.
            urgent_limit: bytes of the urgent ones when they have pushed out the others; None: the
                same.
        """
        self.urgent = Chunks(f"{name}-urgent")
        self.others = Chunks(f"{name}-others")
        self._limit = limit
        self._urgent_limit = limit if urgent_limit is None else urgent_limit

    @property
    def size(self) -> int:
        return self.urgent.size + self.others.size

    @property
    def kept(self) -> int:
        return self.urgent.kept + self.others.kept

    @property
    def islands(self) -> Iterator[Island]:
        yield from self.urgent.islands
        yield from self.others.islands

    def takes(self, urgent: bool) -> bool:
        """Whether there is room for more of a kind."""
        return not (self.urgent if urgent else self.others).closed

    def add(self, value: Any, *, urgent: bool) -> Place | None:
        """Take a value; None where there is no room."""
        if not self.takes(urgent):
            return None
        place = (self.urgent if urgent else self.others).add(value)
        self._fit()
        return place

    def shrink(self, limit: int) -> None:
        """Make do with less from here on."""
        self._limit = self._urgent_limit = limit
        self._fit()

    def finish(self) -> None:
        """Pack what is left."""
        for chunks in (self.urgent, self.others):
            chunks.pack()
        self._fit()

    def _fit(self) -> None:
        while self.others.islands and self.size > self._limit:
            self.others.drop_last()
        while self.urgent.size > self._urgent_limit:
            self.urgent.drop_last()

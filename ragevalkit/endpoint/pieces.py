"""Puts the pieces of a round's tool calls together.

Public: `CallPieces`.

Arguments stay the raw string that came. Servers differ in what they say of a piece: its index, its
id, its name, each of them once, always, or never, and some give every parallel call index 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from ragevalkit.endpoint.wire import CallDelta


@dataclass(slots=True)
class _OpenCall:
    index: int | None
    id: str | None
    name: str
    arguments: list[str]
    named_again: bool = False
    """Its name came once more after its arguments were complete."""


class CallPieces:
    """The calls of one round, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []

    def take(self, delta: CallDelta) -> str:
        """Add a piece; the text that it brings, without a name that is only repeated."""
        if self._calls:
            last = self._calls[-1]
            if not (delta.id or delta.name or last.named_again) and delta.index in (
                None,
                last.index,
            ):
                last.arguments.append(delta.arguments)  # as nearly every piece
                return delta.arguments
        call = self._open_call(delta)
        if call is None or self._begins_another(call, delta):
            name = delta.name or (call.name if call else "")
            self._calls.append(_OpenCall(delta.index, delta.id, name, [delta.arguments]))
            return delta.name + delta.arguments
        name = "" if delta.name == call.name else delta.name
        call.id = call.id or delta.id
        call.name += name
        call.arguments.append(delta.arguments)
        return name + delta.arguments

    def calls(self) -> list[tuple[str | None, str, list[str]]]:
        """Id, name and the pieces of the arguments of each."""
        return [(c.id, c.name, c.arguments) for c in self._calls]

    def _open_call(self, delta: CallDelta) -> _OpenCall | None:
        """The call that `delta` may go on with; None where it begins one.

        By index first, since later pieces often carry it alone; by id where there is none; else the
        last call.
        """
        if delta.index is not None:
            same = [c for c in self._calls if c.index == delta.index]
        elif delta.id is not None:
            same = [c for c in self._calls if c.id == delta.id]
        else:
            same = self._calls
        # an id on a piece of arguments alone may be one of those that are made up for each piece
        begins = delta.name or (delta.id and not delta.arguments)
        if not same:
            begins = begins or (delta.id and delta.index is not None)
            return None if begins or not self._calls else self._calls[-1]
        if delta.id:
            same = [c for c in same if c.id in (None, delta.id)] or ([] if begins else same)
        return same[-1] if same else None

    def _begins_another(self, call: _OpenCall, delta: CallDelta) -> bool:
        """Whether `delta` begins a call though its index and id are those of `call`.

        Another name does, once arguments have come. The same name does where complete arguments are
        followed by more, unless the id says that it is the same call.
        """
        began = any(map(str.strip, call.arguments))
        if delta.name and call.name and delta.name != call.name and began:
            return True
        if delta.name and began and delta.name == call.name:
            call.named_again = call.named_again or _complete(call.arguments)
        if not call.named_again or not delta.arguments.lstrip().startswith("{"):
            return False
        return not call.id or (call.id == delta.id and "".join(call.arguments).strip() != "{}")


def _complete(pieces: list[str]) -> bool:
    last = next((piece for piece in reversed(pieces) if piece.strip()), "")
    if not last.rstrip().endswith("}"):
        return False  # joining them for every piece would take the square of their number
    try:
        orjson.loads("".join(pieces))
    except orjson.JSONDecodeError:
        return False
    return True

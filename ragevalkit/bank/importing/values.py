"""Cells read as what a bank's field needs: every reader takes what tables and JSON really hold.

Public: `text`, `boolean`, `items`, `texts`, `integers`, `messages`.

Each raises `ValueError` with words for the user where a value can't be read.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable
from typing import Any

_TRUE = {"true", "t", "1", "1.0", "yes", "y", "ja", "answerable"}
_FALSE = {"false", "f", "0", "0.0", "no", "n", "nein", "unanswerable", "not answerable"}
_ROLES = {
    **dict.fromkeys(("user", "human", "question"), "user"),
    **dict.fromkeys(("assistant", "agent", "model", "bot", "gpt", "ai", "answer"), "assistant"),
}
_RANGE = re.compile(r"(\d+)\s*[-–]\s*(\d+)")
_NUMBER = re.compile(r"[+-]?\d+(?:\.0+)?")
_LONGEST_RANGE = 100
_SHOWN = 60


def text(value: Any) -> str:
    """Text without blanks around it; nothing, null and NaN are empty, 3.0 is `3`."""
    match value:
        case None:
            return ""
        case str():
            return value.encode("utf-8", "replace").decode().strip()
        case bool():
            return str(value).lower()
        case float():
            if math.isnan(value):
                return ""
            return str(int(value)) if value.is_integer() else str(value)
        case bytes():
            return value.decode("utf-8", "replace").strip()
    return text(str(value))


def boolean(value: Any) -> bool | None:
    """True or false from a bool, 1/0, or words; None for anything else: the writer counts it."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    word = text(value).casefold()
    return True if word in _TRUE else False if word in _FALSE else None


def items(value: Any, separators: str = "") -> list[Any]:
    """A list from a list, from one written in JSON or Python, or from text at separators.

    A line end always separates; a single value is a list of one, nothing is an empty list.
    """
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, str):
        return [] if text(value) == "" else [value]
    whole = text(value)
    if whole[:1] + whole[-1:] in ("[]", "()"):
        written = _literal(whole)
        if isinstance(written, (list, tuple)):
            return list(written)
    parts = re.split(f"[\n{re.escape(separators)}]", whole)
    return [part.strip() for part in parts if part.strip()]


def texts(value: Any, separators: str = "") -> list[str]:
    """Texts of a list, without empty ones and without repeats."""
    return list(dict.fromkeys(filter(None, map(text, items(value, separators)))))


def integers(value: Any, separators: str = ",;") -> list[int]:
    """Whole numbers of a list; `3-5` is 3, 4, 5."""
    return [number for item in items(value, separators) for number in _integers(item)]


def messages(value: Any) -> list[tuple[str, str]]:
    """(role, content) of a conversation: objects in any usual spelling, or texts in turn.

    Texts alternate, the first one is the user's. Messages without text are left out.
    """
    listed = items(value)
    if listed and all(isinstance(item, str) for item in listed):
        return [
            ("assistant" if place % 2 else "user", text(item))
            for place, item in enumerate(listed)
            if text(item)
        ]
    spoken = [_message(item) for item in listed]
    return [(role, content) for role, content in spoken if content]


def _message(item: Any) -> tuple[str, str]:
    if not isinstance(item, dict):
        raise ValueError(  # noqa: TRY004 (what readers raise)
            f"a message is an object with role and content, not {_shown(item)}"
        )
    given = text(_first(item, ("role", "speaker", "from")))
    role = _ROLES.get(given.casefold())
    if role is None:
        raise ValueError(f"a message's role is user or assistant, not '{given[:_SHOWN]}'")
    return role, text(_first(item, ("content", "text", "value")))


def _first(item: dict[str, Any], names: Iterable[str]) -> Any:
    return next((item[name] for name in names if name in item), None)


def _integers(item: Any) -> list[int]:
    written = text(item)
    if between := _RANGE.fullmatch(written):
        first, last = int(between[1]), int(between[2])
        if not first <= last < first + _LONGEST_RANGE:
            raise ValueError(f"{_shown(item)} is no range of pages")
        return list(range(first, last + 1))
    if not _NUMBER.fullmatch(written):
        raise ValueError(f"{_shown(item)} is no whole number")
    return [int(written.partition(".")[0])]


def _literal(whole: str) -> Any:
    try:
        return json.loads(whole)
    except ValueError:
        pass
    try:
        return ast.literal_eval(whole)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"

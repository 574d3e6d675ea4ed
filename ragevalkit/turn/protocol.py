"""What agent, stand-ins and scoring agree on: the marker of a refusal, the form of tool results.

Public: `DECLINE_MARKER`, `SEARCH_RESULTS`, `RESULT_TEXT_CHARS`, `split_marker`, `search_result`,
`cite_result`, `tool_error`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

DECLINE_MARKER = "NOT IN DOCUMENTS"
"""A reply that declines starts with this; the system prompt asks for it."""

SEARCH_RESULTS = 5
"""Most results that one search answers."""

RESULT_TEXT_CHARS = 1500
"""Most characters of a page's text in one search result."""

_CLOSERS = "[*_\"'`\\])]*"
_MARKER = re.compile(
    rf"\A[\s*_\"'`>\[(#\u200b\ufeff]*{re.escape(DECLINE_MARKER)}(?![^\W_])"
    rf"{_CLOSERS}(?:\s*[:.,;!–—-]+{_CLOSERS})?\s*",
    re.I,
)


def split_marker(reply: str) -> tuple[bool, str]:
    """Whether `reply` starts with the marker, and what follows it (all of it where it doesn't).

    Emphasis, quotes and brackets around the marker are allowed, and any case; they go with it, and
    so does the punctuation after it.
    """
    found = _MARKER.match(reply)
    return (True, reply[found.end() :]) if found else (False, reply)


def search_result(results: Iterable[Mapping[str, Any]]) -> str:
    """The tool message of a search: `{"results": [{document, page, label, score, text}]}`."""
    return orjson.dumps({"results": list(results)}).decode()


def cite_result(document: str, page: int, label: str | None) -> str:
    """The tool message of a citation that was taken down."""
    return orjson.dumps({"cited": {"document": document, "page": page, "label": label}}).decode()


def tool_error(message: str) -> str:
    """The tool message of a call that was not carried out, in words the model can act on."""
    return orjson.dumps({"error": message}).decode()

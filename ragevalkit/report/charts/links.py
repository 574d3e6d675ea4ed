"""Addresses inside a page: from a chart to the turns behind it.

Public: `turns`, `turn`.
"""

from __future__ import annotations

from urllib.parse import quote


def turns(**wanted: str | int) -> str:
    """`#turns?outcome=decline&answerable=0`: the filter that takes these turns."""
    return "#turns?" + "&".join(f"{key}={_quoted(str(value))}" for key, value in wanted.items())


def turn(question_id: str, repeat: int) -> str:
    """`#turn=q17~0`: one turn."""
    return f"#turn={_quoted(question_id)}~{repeat}"


def _quoted(value: str) -> str:
    """As `encodeURIComponent` does; half surrogates can't be encoded and become �."""
    return quote(value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), safe="!~*'()")

"""Faults of a reply's text: markup that belongs to the server, and loops.

Public: `leaks_markup`, `without_thoughts`, `ends_in_a_loop`.
"""

from __future__ import annotations

import re

_MARKUP = re.compile(
    r"<\|[a-z0-9_▁]{2,40}\|>|<｜[^｜\s]{2,40}｜>"  # special tokens of chat templates
    r"|</?(?:think|thinking|reasoning|tool_response|tool_result|tools|scratchpad)>"
    r"|</?(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</?s>",
    re.I,
)
_THOUGHTS = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)|\A(?:(?!<think|<reasoning).)*</(?:think|thinking)>",
    re.S | re.I,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.S)

_TAIL = 2000
"""Characters at the end of a reply that are looked at for a loop."""
_LOOP = 120
"""A loop is at least so long …"""
_TURNS = 4
"""… and at least so many times the same."""
_BLANKS = 64
"""So many blanks at the end are a loop as well."""


def leaks_markup(text: str) -> bool:
    """Whether a visible reply holds markup that the server should have taken out.

    Code is left out: a reply may quote it.
    """
    return bool(_MARKUP.search(_CODE.sub(" ", text)))


def without_thoughts(text: str) -> str:
    """What a reply says once reasoning that the server left in it is taken out.

    A closing tag alone ends reasoning that began in the prompt's template.
    """
    return _THOUGHTS.sub("", text)


def ends_in_a_loop(text: str) -> bool:
    """Whether `text` ends in one piece said over and over, as degenerate sampling does.

    The end is a loop where at least `_LOOP` characters are at least `_TURNS` times the same piece.
    Lines drawn with one character, as in tables, are no loop unless they are that long.
    """
    if len(text) - len(text.rstrip()) >= _BLANKS:
        return True
    backwards = text[-_TAIL:].rstrip()[::-1]
    # border[i]: length of the longest border of the first i+1 characters (Knuth, Morris, Pratt
    # 1977); i + 1 - border[i] is their smallest period
    border = [0] * len(backwards)
    for i in range(1, len(backwards)):
        length = border[i - 1]
        while length and backwards[i] != backwards[length]:
            length = border[length - 1]
        border[i] = length + (backwards[i] == backwards[length])
        if i + 1 >= _LOOP and (i + 1) >= _TURNS * (i + 1 - border[i]):
            return True
    return False

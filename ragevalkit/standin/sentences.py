"""Sentences, table rows and headings of a page's text, each an exact part of it.

Public: `split_sentences`, `read_units`, `plain`, `Unit`, `MOST_WORDS`.

Text from a PDF has line ends inside sentences and none but line ends between table rows, so where a
line stops short of the page's width without a full stop, something other than prose is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

MOST_WORDS = 60
"""Words of the longest unit; a longer one is cut."""

_LONGEST_WORD = 80
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_MARKED = re.compile(r"[-*•·‣–]\s|\d{1,3}[.)]\s")
_BULLET = re.compile(r"^[-*•·‣]\s+")
_FOOTNOTES = re.compile(r"\[\d{1,3}\]|\[[a-z]\]")
_ENDED = re.compile(r"[.!?:;…]['\"”’)\]*_]*(?:\s*\[\d{1,3}\])*$")
_UNFINISHED = re.compile(
    r"(?:[,(\u2013-]|\b(?:a|an|and|as|at|by|for|from|in|is|of|on|or|than|that|the|to|was|which|with))$"
)
_END = re.compile(
    r"(?<=[.!?])['\"”’)\]]*(?:\s*\[\d{1,3}\])*\s+(?=['\"“‘`(\[]*[A-Z0-9])|(?<=[.!?])\s+(?=•)"
)
_ABBREVIATED = re.compile(
    r"(?:(?<!\d )\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|St|No|vs|v|Inc|Fig|Sec|ca|e\.g|i\.e))\.$"
)
_RULE = re.compile(r"[|\s:+=-]*$")
_CHUNK = re.compile(rf"\S{{1,{_LONGEST_WORD}}}(?:\s+\S{{1,{_LONGEST_WORD}}}){{0,{MOST_WORDS - 1}}}")
_DIGIT = re.compile(r"\d")
_FULL_LINE = 0.75
_NARROWEST = 60
_HEADING_WORDS = 10


@dataclass(frozen=True, slots=True)
class Unit:
    """What may be given as an answer, or a heading, which may not."""

    text: str
    context: str
    """What it can't be understood without: the heading, a table's column heads, a list's lead."""
    heading: bool


def split_sentences(text: str) -> list[str]:
    """Sentences, list items, table rows and headings of `text`: exact parts of it, stripped.

    Together they are the whole text but for blanks.
    """
    return [unit.text for unit in read_units(text)]


def read_units(text: str) -> list[Unit]:
    """The units of `text` in order, none longer than `MOST_WORDS` words."""
    found: list[Unit] = []
    heading = ""
    for are_rows, run in groupby(_blocks(text), _is_row):
        if not are_rows:
            found += _prose(run, heading)
            continue
        rows = list(run)
        while rows and _is_heading(rows):
            heading = rows.pop(0)
            found += _units([heading], heading, heading=True)
        context = " ".join([heading, *rows[:2]])
        for at, row in enumerate(rows):
            head = (at == 0 and len(rows) > 1 and _is_bare(row)) or _RULE.match(row) is not None
            found += _units([row], context, heading=head)
    return found


def plain(sentence: str) -> str:
    """The sentence on one line, without the marks of a list item or a table row."""
    if sentence.startswith("|"):
        sentence = ", ".join(cell for part in sentence.split("|") if (cell := part.strip()))
    return " ".join(_BULLET.sub("", sentence).split())


def _prose(blocks: Iterable[str], heading: str) -> list[Unit]:
    """Sentences; one that ends in a colon is a heading, of the list items after it."""
    found: list[Unit] = []
    intro = ""
    for block in blocks:
        context = f"{heading} {intro}" if _MARKED.match(block) else heading
        for sentence in _sentences(block):
            leads = sentence.endswith(":")
            found += _units([sentence], context, heading=leads)
            if leads:
                intro = sentence
            elif context == heading:
                intro = ""
    return found


def _units(texts: list[str], context: str, *, heading: bool = False) -> list[Unit]:
    found = []
    for text in texts:
        parts = [text] if len(text) <= _LONGEST_WORD else _CHUNK.findall(text)
        found += [Unit(part, context, heading) for part in parts]
    return found


def _is_bare(row: str) -> bool:
    """Whether a row by itself says nothing: column heads, a caption."""
    return row.startswith("|") or (not _DIGIT.search(row) and len(row.split()) <= _HEADING_WORDS)


def _is_heading(rows: Sequence[str]) -> bool:
    """Whether the first of `rows` stands alone, or above the column heads of the others."""
    if rows[0].startswith(("#", "|")):
        return rows[0].startswith("#")
    bare = [_is_bare(row) for row in rows[:3]]
    if len(rows) > 1 and rows[1].startswith("|"):
        return bare[0]
    return bare in ([True], [True, True, False])


def _is_row(block: str) -> bool:
    """Whether a block is no prose: a table row, a heading, a caption."""
    if block.startswith(("|", "#")):
        return True
    return "\n" not in block and not _ENDED.search(block) and not _MARKED.match(block)


def _blocks(text: str) -> list[str]:
    """Runs of lines that belong together."""
    spans = [match.span() for match in _LINE.finditer(text)]
    width = max((end - start for start, end in spans), default=0)
    full = max(_NARROWEST, _FULL_LINE * width)
    found = []
    begin = 0
    for at, (start, end) in enumerate(spans):
        if at + 1 < len(spans):
            after = spans[at + 1][0]
            if text.count("\n", end, after) < 2 and _runs_on(
                text[start:end], text[after : spans[at + 1][1]], full
            ):
                continue
        found.append(text[spans[begin][0] : end])
        begin = at + 1
    return found


def _runs_on(line: str, following: str, full: float) -> bool:
    """Whether a sentence goes on from `line` into the line after it."""
    if line.startswith(("|", "#")) or following.startswith(("|", "#")) or _MARKED.match(following):
        return False
    if _FOOTNOTES.match(following):
        return True
    if len(line) >= full:
        return True
    if _ENDED.search(line):
        return False
    return following[0].islower() or _UNFINISHED.search(line) is not None


def _sentences(block: str) -> list[str]:
    found = []
    start = 0
    for match in _END.finditer(block):
        if _ABBREVIATED.search(block, max(start, match.start() - 6), match.start()):
            continue
        if not _MARKED.fullmatch(block[start : match.start() + 1]):
            found.append(block[start : match.end()].strip())
            start = match.end()
    return [*found, block[start:].strip()]

"""Texts as lint compares them: words in their stems, numbers as they stand, sentences.

Public: `read_words`, `content`, `is_telling`, `sentences`, `holds`, `short_references`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import tantivy

from ragevalkit.bank.question import REFERENCE_WORDS
from ragevalkit.corpus.index import analyzer

_WORD = re.compile(r"\d+(?:[.,:]\d+)*[^\W_]*|[^\W\d_]+\d*|[^\W_]+")
_DIGIT = re.compile(r"\d")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[^\W_a-z])")
_WRAPPED = 0.75
"""A line of at least this share of its page's longest may go on in the next one."""
_LONGEST_CUT = 200
"""Lines are only cut to lengths up to this; longer ones are whole paragraphs."""

_STOP_WORDS = """
    a about after again all also am an and any are as at be been before being both but by can could
    did do does doing done each else ever every few for from get gets give given go goes got had has
    have having he her here him his how i if in into is isn it its just know let like ll m made make
    many may me mean means might mine more most much must my need needs no nor not now of off on
    once one ones only or other our out over own per please re s same say says see she should so
    some someone something still such t take takes tell than that the their them then there these
    they thing things this those through to too under until up upon us use used using ve very want
    was way we were what when where whether which while who whom whose why will with would you your
"""
"""Words that say nothing of what a question is about."""
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())}


@lru_cache(maxsize=1 << 17)
def _normal(word: str) -> str:
    if word in _NUMBERS:
        return _NUMBERS[word]
    if _DIGIT.search(word):
        return word.replace(",", "")
    stems = _stemmer().analyze(word)
    return stems[0] if stems else word


@cache
def _stemmer() -> tantivy.TextAnalyzer:
    return analyzer()


def read_words(text: str) -> list[str]:
    """The words of `text` in order: English stems in lower case, numbers up to twelve as digits."""
    return [_normal(word) for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower())]


_STOP_STEMS = frozenset(w for w in map(_normal, _STOP_WORDS.split()) if not w.isdigit())


def content(text: str) -> frozenset[str]:
    """The words that say what `text` is about."""
    return frozenset(read_words(text)) - _STOP_STEMS


def is_telling(word: str) -> bool:
    """Whether a word can't be told in others: a number, a version, a model, a code."""
    return _DIGIT.search(word) is not None


def sentences(text: str) -> list[str]:
    """The sentences and the rows of tables of a page.

    A line's end is one of a sentence's, unless the line is about as long as the lines of its page
    were cut to and says that it goes on.
    """
    lines = [line.strip() for line in text.split("\n")]
    longest = max(map(len, lines), default=0)
    found: list[str] = []
    block: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        block.append(line)
        cut = following and _WRAPPED * longest <= len(line) <= longest <= _LONGEST_CUT
        if not (cut and "|" not in line and line[-1] not in ".!?:"):
            found += [part for part in _SENTENCE_END.split(" ".join(block)) if part]
            block = []
    return found


def holds(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether `wanted` stands in `words`, one after another."""
    if not wanted or wanted[0] not in words:
        return False
    size = len(wanted)
    return any(
        word == wanted[0] and tuple(words[at : at + size]) == tuple(wanted)
        for at, word in enumerate(words)
    )


def short_references(answers: Iterable[str]) -> list[tuple[str, ...]]:
    """The words of each reference that `correct_answer` compares and that isn't yes or no."""
    short = [tuple(read_words(a)) for a in answers if len(a.split()) <= REFERENCE_WORDS]
    return [words for words in short if words and words not in (("yes",), ("no",))]

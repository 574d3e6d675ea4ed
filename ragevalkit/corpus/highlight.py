"""Where the terms of a query stand in a text, fast enough to ask at every search.

Public: `Highlighter`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import tantivy

from ragevalkit.corpus.excerpt import Hit

_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_TO_BLANK = bytes(
    byte if byte >= 0x80 or bytes([byte]) in _LETTERS else ord(" ") for byte in range(256)
)
_PUNCTUATION = tuple(mark.encode() for mark in "\u00a0«»–—‘’“”…、。，")
"""What commonly stands right before a word beside ASCII; marks left out hide that word alone."""

_WORDS_KEPT = 1 << 16
_EXACT = 2
"""Terms up to this length are words as they stand: as beginnings they would be everywhere."""

_CHANGED = "eil"
"""Last letters of a stem that may differ in the word: compani, company; hope, hoping; possibl,
possibility."""


class Highlighter:
    """Finds words by the beginning of their stem, then has the index's analysis confirm each.

    Analysing every word of every page shown would be most of a search's time. What the short cut
    misses are the few words that don't begin like their stem, such as skies (sky).
    """

    def __init__(self, stems: tantivy.TextAnalyzer) -> None:
        @lru_cache(maxsize=_WORDS_KEPT)
        def stems_of(word: bytes) -> tuple[str, ...]:
            return tuple(stems.analyze(word.decode("utf-8", "replace")))

        self._stems_of = stems_of

    def hits(self, text: str, terms: Iterable[str]) -> list[Hit]:
        """Occurrences of `terms` in `text` in order, places counted in characters."""
        # The one character that gets longer in lower case would shift all places behind it.
        lowered = text.replace("İ", "I").lower()
        written = b" " + lowered.encode() + b" "
        words = written.translate(_TO_BLANK)
        if len(words) != len(text) + 2:
            for mark in _PUNCTUATION:
                words = words.replace(mark, b" " * len(mark))
        found = sorted(
            (start, end, term) for term in terms for start, end in self._occurrences(words, term)
        )
        if len(words) == len(text) + 2:
            return [(start - 1, end - 1, term) for start, end, term in found]
        return _in_characters(written, found)

    def _occurrences(self, words: bytes, term: str) -> list[tuple[int, int]]:
        """(start, end) in bytes of each word of `words` that is analysed to `term`."""
        if len(term) <= _EXACT:
            needle = f" {term} ".encode()
        else:
            needle = b" " + (term[:-1] if term[-1] in _CHANGED else term).encode()
        found = []
        at = words.find(needle)
        while at >= 0:
            end = words.find(b" ", at + 1)
            if len(term) <= _EXACT or term in self._stems_of(words[at + 1 : end]):
                found.append((at + 1, end))
            at = words.find(needle, end)
        return found


def _in_characters(written: bytes, found: list[tuple[int, int, str]]) -> list[Hit]:
    """The same hits, counted in characters of the text, which `written` has a blank before."""
    hits: list[Hit] = []
    byte, place = 1, 0
    for start, end, term in found:
        place += len(written[byte:start].decode())
        hits.append((place, place + len(written[start:end].decode()), term))
        byte = start
    return hits

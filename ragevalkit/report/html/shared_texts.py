"""Texts that lie in the page once, however many turns show them.

Public: `SharedTexts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragevalkit.report.html.chunks import Chunks, Island, Place, Shelf
from ragevalkit.report.turns import first_words, visible

_RESULTS_CHARACTERS = 2_000_000
"""Characters of search results that are kept; then only marked ones, up to twice as many."""
_FIRST_WORDS = 200


class SharedTexts:
    """Search results by document, page and text; whole reasonings by their turn."""

    def __init__(self, reasoning_limit: int) -> None:
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._characters = 0
        self._reasonings = Shelf("reasoning", reasoning_limit)
        self.urgent = False
        """Whether the turn whose texts come next is one to be kept whole first."""
        self.results_cut = 0
        self.reasonings_asked = 0

    def result(self, document: str, page: Any, text: str, *, marked: bool) -> int | str:
        key = document, str(page), text
        number = self._numbers.get(key)
        if number is not None:
            return number
        if self._characters >= _RESULTS_CHARACTERS * (1 + marked):
            self.results_cut += 1
            return visible(first_words(text, _FIRST_WORDS))
        self._characters += len(text)
        return self._numbers.setdefault(key, len(self._numbers))

    def reasoning(self, text: str) -> Place | None:
        self.reasonings_asked += 1
        return self._reasonings.add(text, urgent=self.urgent)

    def results(self) -> tuple[list[Island], list[Place]]:
        """The islands of the results, and where each number lies.

        Excerpts of one page stand side by side, so that what they share is deflated away.
        """
        chunks = Chunks("results")
        places: list[Place] = [("", 0)] * len(self._numbers)
        for key in sorted(self._numbers):
            places[self._numbers[key]] = chunks.add(visible(key[2]))
        chunks.pack()
        return chunks.islands, places

    def leave_to_reasonings(self, limit: int) -> None:
        """How many bytes the reasonings may take; less and less, as the turns come."""
        self._reasonings.shrink(max(0, limit))

    def reasonings(self) -> tuple[Iterator[Island], int]:
        """The islands of the reasonings, and how many of them are kept."""
        self._reasonings.finish()
        return self._reasonings.islands, self._reasonings.kept

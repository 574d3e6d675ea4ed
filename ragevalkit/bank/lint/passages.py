"""How well the sentences of a corpus cover a question.

Public: `Passages`, `Passage`, `Place`, `Asked`, `NAME`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragevalkit.bank.lint.words import content, read_words, sentences
from ragevalkit.bank.question import Question
from ragevalkit.corpus import Corpus
from ragevalkit.turn.folding import fold

Place = tuple[str, int]
"""A document's name and the index of a page in it."""

_ASKING = re.compile(r"\bhow (often|long|far|soon|old|big|large|fast|quickly)\b", re.IGNORECASE)
"""Words that ask for a quantity, and that its statement seldom holds."""

_PAGES_COUNTED = 5_000
"""Pages that the rarity of words is counted on; of more, so many are taken evenly."""
_PAGES_KEPT = 4096
_IN_CONTEXT, _ON_PAGE = 0.8, 0.3
"""Worth of a word that isn't in the sentence but in what it is read with, or elsewhere on its
page."""
_ON_HALF_OF_ALL = math.log(3)
"""The rarity of a word that half of all pages hold."""
NAME = re.compile(r"(?<=[^.?!] )[A-Z][\w-]+")
"""Words with a capital inside a sentence."""
_FULL_STOP = (".", "!", "?", ":", ";")


@dataclass(frozen=True)
class Passage:
    """A sentence or a table's row, and what it is read with."""

    text: str
    words: tuple[str, ...]
    context: frozenset[str]
    """Words of the document's name and of the page's first line; of the sentence before, for a
    row of the head of its table and of the sentence before that."""

    @cached_property
    def own(self) -> frozenset[str]:
        return frozenset(self.words)


@dataclass(frozen=True)
class _Page:
    passages: list[Passage]
    words: frozenset[str]


class Asked:
    """What a question looks for: its words, with those of what was asked before it."""

    def __init__(self, question: Question) -> None:
        self.question = question.question
        earlier = [message.content for message in question.history if message.role == "user"]
        self.text = " ".join([*earlier[-1:], question.question])
        """With the last question before it, which a follow-up can't be understood without."""
        asking = content(" ".join(_ASKING.findall(self.text)))
        self.words = content(self.text) - asking
        self.names = content(" ".join(NAME.findall(self.text)))


class Passages:
    """A corpus as lint reads it; every form of a page is made when it is first needed."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._page = lru_cache(_PAGES_KEPT)(self._read)
        self._folded = lru_cache(_PAGES_KEPT)(self._fold)

    def text(self, place: Place) -> str:
        """The text of a page."""
        return self.corpus.page(*place).text

    def folded(self, place: Place) -> str:
        """Its letters and digits alone, as quotes are compared."""
        return self._folded(place)

    def of(self, place: Place) -> list[Passage]:
        """The passages of a page."""
        return self._page(place).passages

    def found(self, query: str, limit: int) -> list[Place]:
        """Pages that a search finds, best first."""
        return [(hit.document, hit.page) for hit in self.corpus.search(query, limit=limit)]

    def coverage(self, words: frozenset[str], passage: Passage, place: Place) -> float:
        """The share of `words`, each weighed by its rarity, that the passage covers: 0 to 1."""
        on_page = self._page(place).words
        total = covered = 0.0
        for word in sorted(words):
            weight = self.rarity(word)
            total += weight
            if word in passage.own:
                covered += weight
            elif word in passage.context:
                covered += _IN_CONTEXT * weight
            elif word in on_page:
                covered += _ON_PAGE * weight
        return covered / total if total else 0.0

    def tells_apart(self, name: str, passage: Passage, place: Place) -> bool:
        """Whether a page says a name of other passages than this one, and few pages say it."""
        if name in passage.own or name in passage.context:
            return False
        return name in self._page(place).words and self.rarity(name) > _ON_HALF_OF_ALL

    def rarity(self, word: str) -> float:
        """The weight of a word: 0.7 where every page holds it, more the fewer do."""
        pages, of = self._pages_with
        return math.log(1 + (1 + of) / (1 + pages.get(word, 0)))

    @cached_property
    def _pages_with(self) -> tuple[Mapping[str, int], int]:
        places = list(self._places())
        step = max(1, math.ceil(len(places) / _PAGES_COUNTED))
        counted = places[::step]
        counts: Counter[str] = Counter()
        for place in counted:
            counts.update(set(read_words(self.text(place))))
        return counts, len(counted)

    def _places(self) -> Iterator[Place]:
        for info in self.corpus.documents.values():
            for index in range(1, info.pages + 1):
                yield info.name, index

    def _fold(self, place: Place) -> str:
        return fold(self.text(place))

    def _read(self, place: Place) -> _Page:
        parts = sentences(self.text(place))
        words = [tuple(read_words(part)) for part in parts]
        always = frozenset(read_words(place[0])).union(words[0] if words else ())
        passages = []
        head = 0
        for at, part in enumerate(parts):
            is_row = not part.endswith(_FULL_STOP)
            if not (is_row and at and not parts[at - 1].endswith(_FULL_STOP)):
                head = at  # the first row of a table, or a sentence
            near = {head, max(0, head - 1)} if is_row else {max(0, at - 1)}
            context = always.union(*(words[n] for n in near))
            passages.append(Passage(part, words[at], context))
        return _Page(passages, always.union(*words))

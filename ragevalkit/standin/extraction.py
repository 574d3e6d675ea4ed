"""How well the sentences of search results fit a question: the baseline's whole wit.

Public: `content_terms`, `related_terms`, `Candidate`, `best_candidate`.

The weights were chosen by hand on one half of CLAPnq, of UDA's Wikipedia PDFs and of MTRAG-UN; none
of them is sharp.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragevalkit.standin.request import Passage
from ragevalkit.standin.sentences import Unit, read_units

_LONGEST_TEXT = 20_000
"""Characters of one passage that are read."""

_MOST_PASSAGES = 50
"""Passages of one turn that are read, in the order of the results."""

_WORD = re.compile(r"[a-z]{1,3}-\d+[a-z]*|\d+(?:[.,]\d+)*[^\W_]*|[^\W_]+")
_STOP_WORDS = """
    a about above actually after again all already also am an and any are aren as at be because
    been before being between both but by can cannot come comes could couldn currently d describe
    did didn do does doesn doing don during each else ever every exactly explain few find for from
    get give go had happen happens has hasn have haven having he help her here hers him his how i
    if in into is isn it its itself just know let like list ll m make many may me mean means might
    mine more most much must my name need needs no nor not now of off often ok okay on once one
    ones only or other our out over own please possible re really s same say see she should
    shouldn so some someone something still such t take tell than that the their them then there
    these they thing things think this those through to too under until up us use used using ve
    very want wants was wasn way we were weren what when where which while who whom whose why will
    with won work would wouldn you your
"""
_STOP = frozenset(_STOP_WORDS.split())
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z]\w*")

_IN_CONTEXT, _IN_TITLE, _ON_PAGE = 0.8, 0.8, 0.3
"""Worth of a question word that isn't in the sentence but in its heading or column heads, in the
document's name, elsewhere in the passage."""
_PAGE_SHARE = 0.4
"""Share of the passage's coverage in the score; the rest is the sentence's."""
_NAMED, _ABSENT, _EARLIER = 1.3, 0.75, 0.35
"""Weight of a name or a word with digits, of any other that no result has, and of one from an
earlier question; their rarity comes on top."""
_RIGHT_KIND, _WRONG_KIND = 0.05, -0.05
"""Added where the question wants a number, date, name or place, and the sentence has one or not."""
_HEADING, _SHORT = -0.3, -0.2
"""Added to a heading, and to a sentence of fewer than three words."""
_RANK = 0.13
"""Taken off for each place in the results, in choosing alone: search knows all pages' words."""

_NUMBER = r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|once|twice)\b)"
_SPAN = rf"{_NUMBER}[^.;|]{{0,12}}\b(?:s|ms|min|h|(?:second|minute|hour|day|week|month|year)s?)\b"
_DATE = (
    r"\b(?:1\d{3}|20\d\d|January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b"
)
_KINDS = tuple(
    (re.compile(rf"\b(?:{asked})\b"), re.compile(sign), tuple(related.split()))
    for asked, sign, related in (
        ("how (?:long|old|soon)", rf"{_SPAN}|{_DATE}", "time age"),
        ("how often", rf"{_NUMBER}|\b(?:every|each|daily|weekly|monthly|yearly)\b", "interval"),
        ("how heavy|weighs?", r"\d ?(?:k?g|lb|oz|tons?|pounds?)\b", "weight"),
        ("how (?:tall|high|wide|deep|far|thick)", _NUMBER, "height width depth distance"),
        ("how (?:hot|cold|warm)", r"\d ?°|\bdegrees\b", "temperature"),
        ("how (?:loud|noisy|quiet)", r"\d ?dB", "noise sound"),
        ("how (?:fast|quick|quickly|slow)", _NUMBER, "speed rate time"),
        ("how (?:many|much|large|big|small)|(?:percentage|number|amount) of", _NUMBER, ""),
        ("cost|price|population|voltage|capacity|rating|size", _NUMBER, ""),
        ("when|what (?:year|date|day|month|time)", rf"{_DATE}|{_SPAN}", ""),
        ("who(?:se|m)?", r"\w\W+[A-Z][a-z]+", ""),
        (
            "where|(?:which|what) (?:city|country|state)",
            r"\b(?:in|at|near|from|on|to)\W+(?:the\W+)?[A-Z]",
            "",
        ),
    )
)
"""What a question asks for, how a sentence shows that it has that, and what else it is called."""


def content_terms(text: str) -> list[str]:
    """The words of `text` that carry meaning, as written but in lower case, each once."""
    return list(dict.fromkeys(_content(text)))


def _content(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


def related_terms(question: str) -> tuple[str, ...]:
    """Other words for the quantity that is asked for: `weight` where one asks how heavy."""
    kind = _kind(question)
    return kind[2] if kind else ()


def _kind(question: str) -> tuple[re.Pattern[str], re.Pattern[str], tuple[str, ...]] | None:
    return next((kind for kind in _KINDS if kind[0].search(question.lower())), None)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """A lower-case word without its commonest English endings, at most 7 characters."""
    if not word.isalpha():
        return word.replace(",", "").replace("-", "")
    if len(word) > 3:
        for ending in ("ies", "ing", "ed", "es", "ly", "s"):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word[: -len(ending)]
                break
    return (word.rstrip("eiy") if len(word) > 4 else word)[:7]


def _terms(text: str) -> list[str]:
    return [_stem(word) for word in _content(text)]


_ASKING = frozenset(
    _terms(
        "long old soon heavy tall high wide deep far hot cold warm loud noisy fast quick quickly"
    )
)
"""What `related_terms` takes the place of."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, where it stands and how well it fits the question."""

    sentence: str
    passage: Passage
    score: float
    """About 1 where every word of the question is in the sentence; 0 where none is near."""


_Read = tuple[Unit, frozenset[str], frozenset[str], int]
"""A unit with its terms, its context's, and how many words it has."""


@lru_cache(maxsize=256)
def _read(text: str) -> list[_Read]:
    """The units of a passage; remembered, as each round sends the earlier results again."""
    found = []
    contexts: dict[str, frozenset[str]] = {}
    for unit in read_units(text[:_LONGEST_TEXT]):
        if unit.context not in contexts:
            contexts[unit.context] = frozenset(_terms(unit.context))
        terms = _terms(unit.text)
        found.append((unit, frozenset(terms), contexts[unit.context], len(terms)))
    return found


def best_candidate(
    question: str, searches: Sequence[Sequence[Passage]], earlier: str = ""
) -> Candidate | None:
    """The sentence that fits best in the results of some searches; None where there is none.

    Question words weigh by their rarity among all sentences, those of an `earlier` question less.
    The passage counts beside the sentence, and of equals the first is chosen. A question without
    content words fits nothing: score 0.
    """
    ranks: dict[Passage, int] = {}
    for found in searches:
        for rank, passage in enumerate(found):
            ranks[passage] = min(rank, ranks.get(passage, rank))
    pages = [(passage, _read(passage.text)) for passage in list(ranks)[:_MOST_PASSAGES]]
    weights = _weights(question, earlier, pages)
    wanted = weights.keys()
    total = math.fsum(weights.values()) or 1.0
    kind = _kind(question)
    best, most = None, -math.inf
    for passage, units in pages:
        title = wanted & _terms(passage.document)
        on_page = title.union(*(wanted & terms for _, terms, _, _ in units))
        page_score = _PAGE_SHARE * _sum(weights, on_page) / total
        for unit, terms, context, length in units:
            score = page_score + (1 - _PAGE_SHARE) / total * (
                _sum(weights, on_page & terms)
                + _IN_CONTEXT * _sum(weights, (on_page & context) - terms)
                + _IN_TITLE * _sum(weights, title - context - terms)
                + _ON_PAGE * _sum(weights, on_page - title - context - terms)
            )
            if wanted:
                score += _HEADING if unit.heading else 0.0
                score += _SHORT if length < 3 else 0.0
                if kind is not None:
                    score += _RIGHT_KIND if kind[1].search(unit.text) else _WRONG_KIND
            if score - _RANK * ranks[passage] > most:
                best, most = Candidate(unit.text, passage, score), score - _RANK * ranks[passage]
    return best


def _weights(
    question: str, earlier: str, pages: Sequence[tuple[Passage, list[_Read]]]
) -> dict[str, float]:
    """How much each word that is looked for counts."""
    own = set(_terms(question))
    related = {_stem(word) for word in related_terms(question)}
    names = set(_terms(" ".join(_NAME.findall(question))))
    wanted = own.union(related, _terms(earlier))
    counts = Counter(
        term for _, units in pages for _, terms, _, _ in units for term in wanted & terms
    )
    in_titles = {term for passage, _ in pages for term in _terms(passage.document)}
    related &= counts.keys()
    if related:
        own -= _ASKING
    sentences = sum(len(units) for _, units in pages)
    weights = {}
    for term in own.union(related, _terms(earlier)):
        weight = math.log(1 + (1 + sentences) / (0.5 + max(1, counts[term])))
        if term in names or _DIGIT.search(term):
            weight *= _NAMED
        elif not counts[term] and term not in in_titles:
            weight *= _ABSENT
        weights[term] = weight * (1.0 if term in own else _EARLIER)
    return weights


def _sum(weights: Mapping[str, float], terms: Iterable[str]) -> float:
    return math.fsum(weights[term] for term in terms)

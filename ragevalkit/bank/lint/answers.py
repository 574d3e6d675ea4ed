"""Answers where the bank says there are none: on other pages, and to unanswerable questions.

Public: `answer_findings`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from ragevalkit.bank.lint.finding import Finding
from ragevalkit.bank.lint.passages import Asked, Passage, Passages, Place
from ragevalkit.bank.lint.quantities import asks_for
from ragevalkit.bank.lint.reading import Reading, page_name, page_names, shown
from ragevalkit.bank.lint.words import holds, is_telling, short_references
from ragevalkit.bank.question import Question
from ragevalkit.turn.folding import fold, holds_quote

ELSEWHERE = 0.45
"""Share of the question's content words, weighed by rarity, that a passage with the reference must
cover."""
ELSEWHERE_BY_ONE_WORD = 0.6
"""The same where the reference is a single word or number, which stands in many places. In the
repo's bank, which lists every page that answers and is worded unlike its pages, both together find
7 of 50 pages that are left out one at a time, and nothing else."""
ANSWERED = 0.7
"""Share that a passage must cover to look like an answer to an unanswerable question. Of CLAPnq's
300 answerable questions it finds 149 if they are labelled unanswerable, and 42 of the 300 that
are, whose passages are close; in the repo's bank 7 of 70, and none of 46."""

_ELSEWHERE_PAGES = 10
_QUOTED_PAGES = 5
_QUOTE_CHARS = 25
"""Letters and digits of a quote that can't stand on another page by chance."""
_TOP_RESULTS = 5
_LEAST_WORDS = 2
"""Content words that a passage has to share with the question."""


def answer_findings(reading: Reading, doubtful: Container[int] = ()) -> Iterator[Finding]:
    """`answer_elsewhere` and `unanswerable_found`.

    Args:
        doubtful: places of questions whose pages are wrong: what is found elsewhere is the right
            one then.
    """
    for position, question in reading.questions():
        texts, asked = reading.passages(question), reading.asked[position]
        if question.answerable:
            if position in doubtful:
                continue
            listed = set(reading.evidence(question))
            found = _elsewhere(question, asked, texts, listed)
            found |= _by_quote(question, texts, listed)
            if found:
                places = sorted(found, key=lambda place: -found[place][0])
                verb = "says" if len(places) == 1 else "hold it as well, the first says"
                message = f"{page_names(places)} {verb} {shown(found[places[0]][1])}"
                yield Finding("answer_elsewhere", message, (position,), places)
        elif (answer := _best(asked, texts)) is not None:
            place, passage = answer
            yield Finding(
                "unanswerable_found",
                f"{page_name(place)} says {shown(passage, 160)}",
                (position,),
                [place],
            )


_Found = dict[Place, tuple[float, str]]
"""Pages, each with the coverage of its best passage and the passage."""


def _by_quote(question: Question, texts: Passages, listed: set[Place]) -> _Found:
    """Pages that hold a quote of the evidence word by word."""
    found: _Found = {}
    for quote in {e.quote for e in question.evidence if e.quote}:
        if len(fold(quote)) < _QUOTE_CHARS:
            continue
        for place in texts.found(quote, _QUOTED_PAGES):
            if place not in listed and holds_quote(texts.folded(place), quote):
                found[place] = (1.0, quote)
    return found


def _elsewhere(question: Question, asked: Asked, texts: Passages, listed: set[Place]) -> _Found:
    """Pages with a passage that holds a short reference and most of what the question asks."""
    references = short_references(question.answers)
    if not references:
        return {}
    query = " ".join([asked.text, *question.answers])
    found: _Found = {}
    for place in texts.found(query, _ELSEWHERE_PAGES + len(listed)):
        if place in listed:
            continue
        for passage in texts.of(place):
            for reference in references:
                words = asked.words.difference(reference)
                needed = ELSEWHERE if len(reference) > 1 else ELSEWHERE_BY_ONE_WORD
                if not holds(passage.words, reference):
                    continue
                if not _fits(words, asked.names, texts, passage, place):
                    continue
                coverage = texts.coverage(words, passage, place)
                if coverage >= max(needed, found.get(place, (0.0, ""))[0]):
                    found[place] = (coverage, passage.text)
    return found


def _best(asked: Asked, texts: Passages) -> tuple[Place, str] | None:
    """The passage of the top results that looks most like an answer, if one does."""
    wanted = asks_for(asked.question)
    best, most = None, ANSWERED
    for place in texts.found(asked.text, _TOP_RESULTS):
        for passage in texts.of(place):
            if not _fits(asked.words, asked.names, texts, passage, place):
                continue
            if wanted is not None and not wanted.is_in(passage.text, asked.text):
                continue
            coverage = texts.coverage(asked.words, passage, place)
            if coverage >= most:
                best, most = (place, passage.text), coverage + 1e-9
    return best


def _fits(
    words: frozenset[str], names: frozenset[str], texts: Passages, passage: Passage, place: Place
) -> bool:
    """Whether a passage shares enough words, and is about these models, versions and names.

    Where one of them stands in other sentences or rows of its page, those are the ones about it.
    """
    if len(words & passage.own) < min(_LEAST_WORDS, len(words)) or not words:
        return False
    if any(is_telling(w) and w not in passage.own and w not in passage.context for w in words):
        return False
    return not any(texts.tells_apart(name, passage, place) for name in names & words)

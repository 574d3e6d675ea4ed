"""How questions are worded: twice the same, or with their answer in them.

Public: `wording_findings`, `alike_pairs`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ragevalkit.bank.lint.finding import Finding
from ragevalkit.bank.lint.passages import NAME
from ragevalkit.bank.lint.reading import Reading, shown
from ragevalkit.bank.lint.words import holds, is_telling, read_words, short_references
from ragevalkit.bank.question import Question

ALIKE = 0.8
"""Share of words, or of runs of three letters, that two questions have in common (Jaccard)."""

_POINTING = re.compile(
    r"\b(?:on|at|see) (?:page|p\.|pp\.) ?\d+|\bpages? \d+"
    r"|\b(?:according to|as (?:stated|described|mentioned|shown) (?:in|on)|based on)"
    r" (?:the |this )?(?:(?:above|given|following) )?"
    r"(?:page|document|text|passage|table|figure|report|manual|excerpt|context|chart)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
"""Questions that offer a choice hold their answer by nature."""
_KINDS_OF_DOCUMENT = frozenset(
    read_words(
        "agreement article book booklet brochure catalogue contract datasheet document faq file"
        " guide handbook instructions manual notes notice paper policy presentation report rules"
        " sheet slides specification standard statement study supplement terms"
    )
)
"""Last words of names that only mean the document: others are what it is about."""
_HARMLESS = 2
"""A reference that is a number of fewer digits may stand in a question by chance."""


def wording_findings(reading: Reading) -> Iterator[Finding]:
    """`near_duplicate` and `gives_itself_away`."""
    yield from _duplicates(reading)
    for position, question in reading.questions():
        if (why := _given_away(question, reading)) is not None:
            yield Finding("gives_itself_away", why, (position,))


def _duplicates(reading: Reading) -> Iterator[Finding]:
    questions = reading.bank.questions
    words = [frozenset(read_words(q.question)) for q in questions]
    letters = [_runs(q.question) for q in questions]
    pairs = {*alike_pairs(words, ALIKE), *alike_pairs(letters, ALIKE)}
    for first, second in sorted(pairs):
        one, other = questions[first], questions[second]
        if one.history == other.history and _telling(one) == _telling(other):
            line = reading.bank.lines[first]
            yield Finding(
                "near_duplicate",
                f"it is nearly the question of line {line}: {shown(one.question)}",
                (second, first),
            )


def alike_pairs(sets: Sequence[frozenset[str]], least: float) -> Iterator[tuple[int, int]]:
    """Pairs of places whose sets have a Jaccard index of at least `least`; empty ones never.

    Only pairs that share one of their rarest members are compared: sets so alike can't differ in
    all of the first len - ceil(least * len) + 1 members in any common order. Source: Bayardo, Ma
    and Srikant 2007, Scaling up all pairs similarity search, WWW 2007.
    """
    counts = Counter(member for one in sets for member in one)
    by_member: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(sets):
        ordered = sorted(one, key=lambda member: (counts[member], member))
        prefix = ordered[: len(ordered) - math.ceil(least * len(ordered) - 1e-9) + 1]
        for other in sorted({other for member in prefix for other in by_member[member]}):
            common = len(one & sets[other])
            if common >= least * (len(one) + len(sets[other]) - common) - 1e-9:
                yield other, place
        for member in prefix:
            by_member[member].append(place)


def _runs(text: str) -> frozenset[str]:
    line = f" {' '.join(text.lower().split())} "
    return frozenset(line[at : at + 3] for at in range(len(line) - 2))


def _telling(question: Question) -> tuple[frozenset[str], frozenset[str]]:
    """What makes two questions differ however alike they sound: numbers, and names."""
    numbers = frozenset(filter(is_telling, read_words(question.question)))
    return numbers, frozenset(name.casefold() for name in NAME.findall(question.question))


def _given_away(question: Question, reading: Reading) -> str | None:
    if (pointing := _POINTING.search(question.question)) is not None:
        return f"it says {shown(pointing[0])}"
    words = read_words(question.question)
    corpus = reading.passages(question).corpus
    for name in sorted({name for name, _ in reading.evidence(question)}):
        info = corpus.documents[name]
        if _is_named(question.question, words, info.name, info.file):
            return f"it names its document, {name}"
    if not question.answerable or _CHOICE.search(question.question):
        return None
    for answer in question.answers:
        for reference in short_references([answer]):
            number = reference[0] if len(reference) == 1 and reference[0].isdigit() else None
            if (number is None or len(number) >= _HARMLESS) and holds(words, reference):
                return f"it holds its own answer, {shown(answer)}"
    return None


def _is_named(question: str, words: Sequence[str], name: str, file: str) -> bool:
    """Whether a question names a document as only somebody does who has seen its file or title."""
    last = name.rpartition("/")[2]
    spellings = [file.rpartition("/")[2], *([last] if "_" in last else [])]
    if any(spelling.casefold() in question.casefold() for spelling in spellings):
        return True
    title = read_words(last)
    return len(title) > 1 and title[-1] in _KINDS_OF_DOCUMENT and holds(words, title)

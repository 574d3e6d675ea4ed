"""A bank with its corpora, as the checks read them.

Public: `Reading`, `page_name`, `page_names`, `shown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragevalkit.bank.lint.passages import Asked, Passages, Place
from ragevalkit.bank.loading import Bank
from ragevalkit.bank.mix import SILENCER
from ragevalkit.bank.question import Question
from ragevalkit.corpus import Corpus


class Reading:
    """A bank and the texts that its questions are about."""

    def __init__(self, bank: Bank, corpora: Mapping[str, Corpus]) -> None:
        self.bank = bank
        self.asked = [Asked(question) for question in bank.questions]
        by_hash = {corpus.hash: Passages(corpus) for corpus in corpora.values()}
        self._passages = {name: by_hash[corpus.hash] for name, corpus in corpora.items()}

    def questions(self, answerable: bool | None = None) -> Iterator[tuple[int, Question]]:
        """Questions with their places in the bank."""
        for position, question in enumerate(self.bank.questions):
            if answerable is None or question.answerable == answerable:
                yield position, question

    def passages(self, question: Question) -> Passages:
        """The corpus that a question is about."""
        return self._passages[question.corpus or ""]

    def evidence(self, question: Question) -> list[Place]:
        """The evidence pages that are there."""
        corpus = self.passages(question).corpus
        return [
            (name, evidence.page)
            for evidence in question.evidence
            if (name := corpus.resolve(evidence.document)) is not None
            and evidence.page <= corpus.documents[name].pages
        ]

    def silences(self, positions: Sequence[int], finding: str) -> bool:
        """Whether one of these lines, or of all lines where none is given, silences a finding."""
        tag = SILENCER + finding
        lines = positions or range(len(self.bank.questions))
        return any(tag in self.bank.questions[position].tags for position in lines)


def page_name(place: Place) -> str:
    """A page as messages name it."""
    return f"{place[0]} p. {place[1]}"


def page_names(places: Sequence[Place], most: int = 3) -> str:
    """Some pages, and how many more."""
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return ", ".join(map(page_name, places[:most])) + more


def shown(text: str, most: int = 90) -> str:
    """A text in quotes on one line."""
    line = " ".join(text.split())
    return f'"{line if len(line) <= most else line[: most - 1].rstrip() + "…"}"'

"""Drafts become questions here, and everything that is wrong with them is counted.

Public: `Checker`, `Find`.

A question stays only where its label can be trusted: a page that its document doesn't have is
dropped, and the question with it if a group of evidence is left without a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from ragevalkit.bank.importing.draft import Draft, Gold
from ragevalkit.bank.importing.tally import Tally
from ragevalkit.bank.question import REFERENCE_WORDS, Evidence, Message, Question

Find: TypeAlias = Callable[[str], tuple[str, int] | None]
"""A document's name in the corpus and its number of pages; None where there is no such document."""


class Checker:
    """Turns drafts into questions."""

    def __init__(self, name: str, corpus: str | None, find: Find | None, page_base: int) -> None:
        """
        Args:
            name: what made-up ids begin with.
            corpus: what the questions name as their corpus.
            find: the documents; None where they aren't at hand, and pages can't be checked.
            page_base: the number of a document's first page in the source.
        """
        self.tally = Tally()
        self._name = name
        self._corpus = corpus
        self._find = find
        self._shift = 1 - page_base
        self._ids: set[str] = set()
        self._asked: set[tuple[str, tuple[tuple[str, str], ...]]] = set()

    def questions(self, drafts: Iterable[Draft]) -> Iterator[Question]:
        """The questions that stay."""
        for draft in drafts:
            self.tally.read += 1
            question = self._question(draft)
            if question is not None:
                self.tally.written += 1
                self.tally.answerable += question.answerable
                yield question

    def _question(self, draft: Draft) -> Question | None:
        evidence = self._evidence(draft)
        if why := self._reason(draft, evidence):
            self.tally.leave_out(why, draft)
            return None
        assert draft.answerable is not None
        for remark in draft.remarks:
            self.tally.remark(remark, draft)
        if long := sum(len(answer.split()) > REFERENCE_WORDS for answer in draft.answers):
            self.tally.remark("long_reference", draft, long)
        asked = (" ".join(draft.question.casefold().split()), tuple(draft.history))
        if asked in self._asked:
            self.tally.remark("duplicate_question", draft)
        self._asked.add(asked)
        return Question.model_validate(
            {
                "id": self._id(draft),
                "question": draft.question,
                "answerable": draft.answerable,
                "evidence": evidence if draft.answerable else [],
                "answers": draft.answers,
                "history": [
                    Message.model_validate({"role": r, "content": c}) for r, c in draft.history
                ],
                "tags": draft.tags,
                "unanswerable_because": None if draft.answerable else draft.because,
                "corpus": self._corpus,
            }
        )

    def _reason(self, draft: Draft, evidence: list[Evidence]) -> str | None:
        """Why a draft is left out, if it is."""
        if draft.left_out is not None:
            return draft.left_out
        if not draft.question.strip():
            return "empty_question"
        if draft.answerable is None:
            return "unknown_answerability"
        if not draft.answerable:
            return None
        if not draft.evidence:
            return "answerable_without_evidence"
        groups = {gold.group for gold in draft.evidence}
        return "evidence_not_in_documents" if groups - {kept.group for kept in evidence} else None

    def _evidence(self, draft: Draft) -> list[Evidence]:
        if draft.left_out is None and draft.answerable is False and draft.evidence:
            self.tally.remark("unanswerable_with_evidence", draft)
        if draft.left_out is not None or not draft.answerable:
            return []
        kept = [self._page(gold, draft) for gold in draft.evidence]
        return list(dict.fromkeys(page for page in kept if page is not None))

    def _page(self, gold: Gold, draft: Draft) -> Evidence | None:
        page = gold.page + self._shift
        if page < 1:
            self.tally.remark("page_below_first", draft)
            return None
        name = gold.document
        if self._find is not None:
            found = self._find(name)
            if found is None:
                self.tally.remark("document_missing", draft)
                return None
            name, pages = found
            if page > pages:
                self.tally.remark("page_beyond_document", draft)
                return None
        self.tally.shifted += self._shift != 0
        return Evidence(document=name, page=page, quote=gold.quote, group=gold.group)

    def _id(self, draft: Draft) -> str:
        wanted = draft.id
        if not wanted:
            self.tally.remark("missing_id", draft)
            wanted = f"{self._name}-{self.tally.read}"
        elif wanted in self._ids:
            self.tally.remark("duplicate_id", draft)
        made, number = wanted, 1
        while made in self._ids:
            number += 1
            made = f"{wanted}-{number}"
        self._ids.add(made)
        return made

"""What is wrong with a citation: one class for each cited page, by its root cause.

Public: `CitationKind`, `citation_kind`.
"""

from __future__ import annotations

from enum import StrEnum

from ragevalkit.corpus import Corpus
from ragevalkit.scoring.documents import same_document
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.view import Cited, TurnView
from ragevalkit.turn.folding import fold, holds_quote


class CitationKind(StrEnum):
    """Faults of a citation, the first that holds."""

    NO_SUCH_PAGE = "no_such_page"
    PAGE_LABEL = "page_label"
    NEVER_RETRIEVED = "never_retrieved"
    WRONG_PAGE = "wrong_page"
    QUOTE_NOT_ON_PAGE = "quote_not_on_page"


NEEDS_PAGES = frozenset({CitationKind.PAGE_LABEL, CitationKind.QUOTE_NOT_ON_PAGE})
"""Kinds that can't be told without the corpus."""


def citation_kind(cited: Cited, view: TurnView) -> CitationKind | None:
    """The fault of one citation, or None.

    A page is wrong only where there is a right one: an answer to an unanswerable question has
    another root cause. Beside a citation of the right page, another page is no fault but counts in
    citation_precision.
    """
    is_evidence = view.is_evidence(cited)
    if not is_evidence and _is_missing(cited, view):
        return CitationKind.NO_SUCH_PAGE
    can_be_wrong = view.question.answerable and view.outcome in (Outcome.ANSWER, Outcome.HEDGE)
    is_wrong = can_be_wrong and not is_evidence and not view.cited_correct_page
    if is_wrong and view.corpus is not None and _is_label_of_evidence(cited, view, view.corpus):
        return CitationKind.PAGE_LABEL
    if not view.was_retrieved(cited):
        return CitationKind.NEVER_RETRIEVED
    if is_wrong:
        return CitationKind.WRONG_PAGE
    if view.corpus is not None and cited.quote and not _is_on_page(cited, view.corpus):
        return CitationKind.QUOTE_NOT_ON_PAGE
    return None


def _is_missing(cited: Cited, view: TurnView) -> bool:
    recorded = [c for c in view.turn.citations if c.page == cited.page]
    if not cited.in_text and recorded:
        return any(same_document(c.document, cited.document) and not c.exists for c in recorded)
    if view.corpus is None:
        return False
    name = view.corpus.resolve(cited.document)
    return name is None or not 1 <= cited.page <= view.corpus.documents[name].pages


def _is_label_of_evidence(cited: Cited, view: TurnView, corpus: Corpus) -> bool:
    """Whether an evidence page of the same document carries the cited number as its label."""
    for evidence in view.question.evidence:
        name = corpus.resolve(evidence.document)
        if name is None or not same_document(evidence.document, cited.document):
            continue
        labels = corpus.documents[name].labels
        if evidence.page <= len(labels) and labels[evidence.page - 1] == str(cited.page):
            return True
    return False


def _is_on_page(cited: Cited, corpus: Corpus) -> bool:
    """Whether the quote stands on the cited page; where that can't be told, it does."""
    name = corpus.resolve(cited.document)
    if name is None or not cited.quote:
        return True
    return holds_quote(fold(corpus.page(name, cited.page).text), cited.quote)

"""What an import counts: why questions are left out, and what their labels may suffer from.

Public: `LEFT_OUT`, `REMARKS`, `Tally`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ragevalkit.bank.importing.draft import Draft

LEFT_OUT = {
    "empty_question": "the question is empty",
    "unknown_answerability": "the source doesn't say whether it can be answered",
    "answerable_without_evidence": "answerable, and no page is named",
    "evidence_not_in_documents": "answerable, and its pages aren't in the documents",
    "partial": "the documents hold only a part of the answer",
    "underspecified": "the question leaves open what is asked",
    "annotators_disagree": "as many annotators answered it as found it unanswerable",
    "evidence_not_in_text": "its evidence is a figure or table that the text doesn't have",
}
"""Why a question isn't in the bank: name and meaning."""

REMARKS = {
    "unanswerable_with_evidence": "unanswerable, and pages are named: they are dropped",
    "page_below_first": "a page before the first: it is dropped",
    "page_beyond_document": "a page after the document's last: it is dropped",
    "document_missing": "a document that isn't there: the evidence is dropped",
    "duplicate_id": "an id that stands twice: made unique",
    "missing_id": "no id: made from the row's number",
    "duplicate_question": "a question that stands twice, with the same history: kept",
    "long_reference": "a reference over 12 words: kept, never matched word by word",
    "quote_for_several_pages": "one quote for several pages: it is dropped",
    "answers_cut": "several answers in one cell: cut at the separator",
}
"""What was found in questions that may be in the bank all the same: name and meaning."""

_SELDOM = {*list(LEFT_OUT)[4:], *list(REMARKS)[8:]}
"""What only some sources can have: reported where it occurs."""

_EXAMPLES = 3


def _zeros(names: dict[str, str]) -> dict[str, int]:
    return {name: 0 for name in names if name not in _SELDOM}


@dataclass
class Tally:
    """What came of the rows."""

    read: int = 0
    """Questions that the source has, or that were read of it under a limit."""

    written: int = 0
    answerable: int = 0
    """Of those written."""

    left_out: dict[str, int] = field(default_factory=lambda: _zeros(LEFT_OUT))
    remarks: dict[str, int] = field(default_factory=lambda: _zeros(REMARKS))
    """How often; one question may have several."""

    examples: dict[str, list[str]] = field(default_factory=dict)
    """The first rows of each."""

    shifted: int = 0
    """Evidence pages that were renumbered to count from 1."""

    def leave_out(self, why: str, draft: Draft) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + 1
        self._example(why, draft)

    def remark(self, what: str, draft: Draft, times: int = 1) -> None:
        self.remarks[what] = self.remarks.get(what, 0) + times
        self._example(what, draft)

    def _example(self, what: str, draft: Draft) -> None:
        examples = self.examples.setdefault(what, [])
        if len(examples) < _EXAMPLES and draft.where not in examples:
            examples.append(draft.where)

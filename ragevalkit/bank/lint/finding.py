"""What lint can find: one table.

Public: `Finding`, `Kind`, `KINDS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ragevalkit.bank.lint.passages import Place

Severity = Literal["error", "advice"]


@dataclass(frozen=True)
class Kind:
    """A fault that lint looks for."""

    name: str
    severity: Severity
    meaning: str
    todo: str
    """What to do about it."""


@dataclass(frozen=True)
class Finding:
    """A fault that lint found."""

    name: str
    message: str
    """One sentence on this very case."""
    positions: tuple[int, ...] = ()
    """Places of the questions in the bank, the one to change first; none for the whole bank."""
    pages: list[Place] = field(default_factory=list)
    """Pages of the corpus that the message speaks of."""
    severity: Severity = "advice"

    @property
    def todo(self) -> str:
        """What to do about it."""
        return KINDS[self.name].todo

    def as_dict(self, lines: list[int], ids: list[str]) -> dict[str, Any]:
        """The finding as `bank lint --json` gives it.

        `name`, `severity` (error, advice), `line` and `id` of the question (null for the whole
        bank), `other_lines` (of the questions that it is compared with), `message`, `todo`,
        `pages` [{`document`, `page`}].
        """
        return {
            "name": self.name,
            "severity": self.severity,
            "line": lines[self.positions[0]] if self.positions else None,
            "id": ids[self.positions[0]] if self.positions else None,
            "other_lines": [lines[position] for position in self.positions[1:]],
            "message": self.message,
            "todo": self.todo,
            "pages": [{"document": document, "page": page} for document, page in self.pages],
        }


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "no_such_page",
            "error",
            "evidence names a document or a page that the corpus doesn't have",
            "look the page up with `ragevalkit corpus pages`; pages count from 1 in the file",
        ),
        Kind(
            "evidence_page_base",
            "error",
            "most quotes stand one page before or after the page given",
            "shift all pages of the bank by one: here the first page of a file is 1",
        ),
        Kind(
            "page_is_printed_label",
            "error",
            "the page given is the number printed on the right page, not its place in the file",
            "give the place in the file, which `ragevalkit corpus pages` lists beside the label",
        ),
        Kind(
            "quote_not_on_page",
            "error",
            "the quote doesn't stand on the page given",
            "correct the page or the quote; spaces, case and punctuation don't matter, and … "
            "stands for what is left out",
        ),
        Kind(
            "evidence_without_text",
            "error",
            "the evidence is on a page without text, which no search can find",
            "run the document through OCR, or ask of another page",
        ),
        Kind(
            "answer_elsewhere",
            "advice",
            "a page that isn't listed as evidence seems to hold the answer as well",
            "if it does, list it as evidence: citing it would count as wrong",
        ),
        Kind(
            "unanswerable_found",
            "advice",
            "a search seems to find an answer to an unanswerable question",
            "read the page; if it answers the question, label it answerable",
        ),
        Kind(
            "near_duplicate",
            "advice",
            "two questions are nearly the same",
            "drop one or make them differ: they count as two although they test one thing",
        ),
        Kind(
            "gives_itself_away",
            "advice",
            "the question holds its own answer, or tells where it stands",
            "ask as somebody would who hasn't seen the document",
        ),
        Kind(
            "one_sided",
            "advice",
            "answerable and unanswerable questions are far from balanced",
            "add questions of the rarer sort: without them, always answering (or never) looks "
            "perfect",
        ),
        Kind(
            "no_reference",
            "advice",
            "answerable questions without a reference answer",
            "give a short one where there is one: without it correct_answer is undefined",
        ),
        Kind(
            "long_reference",
            "advice",
            "all references are too long to be compared",
            "add one of at most 12 words, such as the number with its unit",
        ),
        Kind(
            "no_quote",
            "advice",
            "evidence without a quote",
            "quote the words that hold the answer: only then can the page be checked",
        ),
        Kind(
            "unanswerable_without_reason",
            "advice",
            "an unanswerable question doesn't say why it is",
            "say in `unanswerable_because` what is missing, for whoever doubts the label",
        ),
        Kind(
            "unknown_silencer",
            "advice",
            "a tag silences a finding that doesn't exist",
            "correct the name",
        ),
    )
}
"""By name, in the order of a report's explanations."""

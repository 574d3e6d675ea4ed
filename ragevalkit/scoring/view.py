"""What metrics and defects are read from: a turn beside its question, its outcome and its pages.

Public: `TurnView`, `Cited`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ragevalkit.bank import Evidence, Question
from ragevalkit.corpus import Corpus
from ragevalkit.scoring.answers import matches_reference
from ragevalkit.scoring.calls import call_defects
from ragevalkit.scoring.documents import same_document
from ragevalkit.scoring.markup import ends_in_a_loop, without_thoughts
from ragevalkit.scoring.outcome import Outcome, Reading, read_outcome
from ragevalkit.scoring.text_citations import citations_in_text
from ragevalkit.turn.record import Call, PageRef, Round, RoundState, Turn


@dataclass(frozen=True)
class Cited:
    """A page that the agent named as support."""

    document: str
    page: int
    quote: str | None = None
    in_text: bool = False
    """Read from the reply of an agent that has no `cite` tool."""


@dataclass
class TurnView:
    """One turn as scoring sees it."""

    turn: Turn
    question: Question
    corpus: Corpus | None
    """None where it isn't at hand: what needs its pages is then undefined."""
    defects: list[str] = field(default_factory=list)
    """Found by `score_turn` before it reads the metrics, some of which count them."""

    @cached_property
    def reading(self) -> Reading:
        return read_outcome(self.turn)

    @property
    def outcome(self) -> Outcome:
        return self.reading.outcome

    @property
    def answered(self) -> bool:
        """Whether a visible reply came."""
        return self.outcome not in (Outcome.NO_OUTPUT, Outcome.INFRA_ERROR)

    @cached_property
    def good_calls(self) -> list[Call]:
        """The calls that were carried out, in their order."""
        calls = (call for round_ in self.turn.rounds for call in round_.calls)
        return [call for call in calls if call.defect is None and call.result is not None]

    @cached_property
    def loops(self) -> bool:
        """Whether the reply ends in one piece said over and over."""
        return ends_in_a_loop(self.turn.reply)

    @property
    def searched(self) -> bool:
        return any(call.name == "search" for call in self.good_calls)

    @cached_property
    def call_defects(self) -> set[str]:
        return call_defects(self.turn)

    @cached_property
    def retrieved(self) -> list[PageRef]:
        """Pages of all search results that the model saw.

        Results that the last round brought went nowhere, and so did those whose next request the
        server turned away: only a round that began to answer has read what came before it.
        """
        rounds = self.turn.rounds
        while rounds and not _has_read(rounds[-1]):
            rounds = rounds[:-1]
        rounds = rounds[:-1]
        return [page for round_ in rounds for call in round_.calls for page in call.returned]

    @cached_property
    def cited(self) -> list[Cited]:
        """The pages that the agent named; those in its reply count where it has no `cite` tool."""
        if "cite" in self.turn.tools:
            return [Cited(c.document, c.page, c.quote) for c in self.turn.citations]
        documents = set(self.corpus.documents if self.corpus else ())
        documents.update(page.document for page in self.retrieved)
        found = citations_in_text(self.turn.reply, documents)
        return [Cited(page.document, page.page, in_text=True) for page in found]

    @cached_property
    def groups(self) -> list[list[Evidence]]:
        """The evidence pages of each group; a group's pages are alternatives."""
        groups: dict[int, list[Evidence]] = {}
        for page in self.question.evidence:
            groups.setdefault(page.group, []).append(page)
        return [groups[number] for number in sorted(groups)]

    @cached_property
    def groups_cited(self) -> int:
        """How many evidence groups have a cited page."""
        return sum(any(self._is(c, group) for c in self.cited) for group in self.groups)

    @property
    def cited_correct_page(self) -> bool:
        return bool(self.groups) and self.groups_cited == len(self.groups)

    @property
    def evidence_retrieved(self) -> bool:
        return any(self.is_evidence(page) for page in self.retrieved)

    @cached_property
    def correct_answer(self) -> bool | None:
        """Whether a reference stands in the reply; None without a short reference."""
        said = without_thoughts(self.reading.visible)
        return matches_reference(said, self.question.answers)

    def is_evidence(self, page: PageRef | Cited) -> bool:
        """Whether `page` is an evidence page, by document and page index."""
        return self._is(page, self.question.evidence)

    def was_retrieved(self, page: Cited) -> bool:
        return any(
            page.page == seen.page and same_document(page.document, seen.document)
            for seen in self.retrieved
        )

    @staticmethod
    def _is(page: PageRef | Cited, evidence: list[Evidence]) -> bool:
        return any(
            page.page == one.page and same_document(page.document, one.document) for one in evidence
        )


def _has_read(round_: Round) -> bool:
    return round_.state is RoundState.DONE or round_.clock.first_token_ms is not None

"""The defects: every named fault of a turn, in one table.

Public: `DEFECTS`, `Defect`, `find_defects`, `undefined_defects`.

One root cause gives one defect: a reply that was cut off is not also wrong, an answer that was
given without a search is not also without citations, and a citation has one fault, the first that
holds in `scoring.citations`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ragevalkit.scoring.calls import leak, repeated_calls
from ragevalkit.scoring.citations import NEEDS_PAGES, CitationKind, citation_kind
from ragevalkit.scoring.markup import leaks_markup
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.view import TurnView
from ragevalkit.turn.record import Ended

_REPLIES = frozenset({Outcome.ANSWER, Outcome.DECLINE, Outcome.HEDGE, Outcome.ASK_BACK})
_ANSWERS = frozenset({Outcome.ANSWER})
_ANY = _REPLIES | {Outcome.NO_OUTPUT}


@dataclass(frozen=True)
class Defect:
    """A named fault of a turn."""

    name: str
    """`family:kind`."""
    meaning: str
    """One sentence for people."""
    outcomes: Collection[Outcome]
    """The outcomes that it can go with."""
    found_in: Callable[[TurnView], bool]
    needs_pages: bool = False
    """Can't be told without the corpus."""


def find_defects(view: TurnView) -> list[str]:
    """A turn's defects, each class once, in the order of the table."""
    return [
        defect.name
        for defect in DEFECTS.values()
        if view.outcome in defect.outcomes and defect.found_in(view)
    ]


def undefined_defects(view: TurnView) -> list[str]:
    """Defects that can't be told for a turn, as the corpus isn't at hand."""
    if view.corpus is not None:
        return []
    return [defect.name for defect in DEFECTS.values() if defect.needs_pages]


def _ended(*how: Ended) -> Callable[[TurnView], bool]:
    return lambda view: view.turn.ended in how


def _call(kind: str) -> Callable[[TurnView], bool]:
    return lambda view: kind in view.call_defects


def _citation(kind: CitationKind) -> Callable[[TurnView], bool]:
    return lambda view: any(citation_kind(cited, view) is kind for cited in view.cited)


def _empty(view: TurnView) -> bool:
    """A last round that yields nothing but a leaked call has that one cause."""
    leaked = any(leak(round_, view.turn.tools) for round_ in view.turn.rounds[-1:])
    return view.turn.ended is Ended.REPLY and not leaked


def _wrong(view: TurnView) -> bool:
    whole = view.turn.ended is Ended.REPLY and not view.loops
    return view.question.answerable and view.correct_answer is False and whole


def _uncited(view: TurnView) -> bool:
    return view.question.answerable and view.searched and not view.cited


DEFECTS: dict[str, Defect] = {
    defect.name: defect
    for defect in (
        Defect(
            "answer:should_have_declined",
            "answered a question that the documents don't answer",
            _ANSWERS,
            lambda v: not v.question.answerable,
        ),
        Defect("answer:wrong", "no reference stands in the answer", _ANSWERS, _wrong),
        Defect(
            "answer:without_search",
            "answered without having searched",
            _ANSWERS,
            lambda v: not v.searched,
        ),
        Defect(
            "answer:budget_exhausted",
            "the output budget ended before anything visible came",
            {Outcome.NO_OUTPUT},
            _ended(Ended.BUDGET_EXHAUSTED),
        ),
        Defect(
            "answer:truncated",
            "the output budget ended inside the reply",
            _ANY,
            lambda v: v.turn.ended is Ended.TRUNCATED and not v.loops,
        ),
        Defect(
            "answer:empty",
            "the turn ended with a reply that shows nothing",
            {Outcome.NO_OUTPUT},
            _empty,
        ),
        Defect(
            "answer:repetition",
            "the reply ends in one piece said over and over",
            _ANY,
            lambda v: v.loops,
        ),
        Defect(
            "answer:round_limit",
            "the turn ended at its limit of rounds or tool results",
            {Outcome.NO_OUTPUT},
            _ended(Ended.ROUND_LIMIT, Ended.TOOL_RESULT_LIMIT),
        ),
        Defect(
            "answer:turn_timeout",
            "the turn ended at its time limit",
            {Outcome.NO_OUTPUT},
            _ended(Ended.TURN_TIMEOUT),
        ),
        Defect(
            "answer:context_overflow",
            "the conversation outgrew the model's context",
            {Outcome.NO_OUTPUT},
            _ended(Ended.CONTEXT_OVERFLOW),
        ),
        Defect(
            "answer:server_rejected",
            "the server rejected, or failed at, this turn's request alone",
            {Outcome.NO_OUTPUT},
            _ended(Ended.SERVER_REJECTED),
        ),
        Defect(
            "answer:leaked_markup",
            "the visible reply holds markup of the chat template or of the reasoning",
            _REPLIES,
            lambda v: leaks_markup(v.reading.visible),
        ),
        Defect(
            "refusal:should_have_answered",
            "declined a question that the documents answer",
            {Outcome.DECLINE},
            lambda v: v.question.answerable,
        ),
        Defect(
            "refusal:without_search",
            "declined without having searched",
            {Outcome.DECLINE},
            lambda v: not v.searched,
        ),
        Defect(
            "refusal:hedged",
            "said that it isn't in the documents, and answered all the same",
            {Outcome.HEDGE},
            lambda v: True,
        ),
        Defect(
            "citation:missing",
            "answered from a search and cited no page",
            _ANSWERS,
            _uncited,
        ),
        Defect(
            "citation:wrong_page",
            "cited a page that isn't evidence, and not all that are",
            _REPLIES,
            _citation(CitationKind.WRONG_PAGE),
        ),
        Defect(
            "citation:page_label",
            "cited an evidence page by its printed label instead of its number",
            _REPLIES,
            _citation(CitationKind.PAGE_LABEL),
            CitationKind.PAGE_LABEL in NEEDS_PAGES,
        ),
        Defect(
            "citation:never_retrieved",
            "cited a page that no search had returned",
            _ANY,
            _citation(CitationKind.NEVER_RETRIEVED),
        ),
        Defect(
            "citation:no_such_page",
            "cited a page or document that there isn't",
            _ANY,
            _citation(CitationKind.NO_SUCH_PAGE),
        ),
        Defect(
            "citation:quote_not_on_page",
            "quoted words that don't stand on the cited page",
            _ANY,
            _citation(CitationKind.QUOTE_NOT_ON_PAGE),
            CitationKind.QUOTE_NOT_ON_PAGE in NEEDS_PAGES,
        ),
        Defect("call:not_json", "arguments that are no JSON", _ANY, _call("not_json")),
        Defect(
            "call:truncated",
            "arguments that were cut off by the output budget",
            _ANY,
            _call("truncated"),
        ),
        Defect(
            "call:unknown_tool", "a call of a tool that there isn't", _ANY, _call("unknown_tool")
        ),
        Defect("call:schema", "arguments that don't fit the tool's schema", _ANY, _call("schema")),
        Defect("call:in_content", "a call left in the visible text", _ANY, _call("in_content")),
        Defect("call:in_reasoning", "a call left in the reasoning", _ANY, _call("in_reasoning")),
        Defect(
            "call:duplicate_id",
            "a call with an id that an earlier call had",
            _ANY,
            _call("duplicate_id"),
        ),
        Defect(
            "call:repeated",
            "the same call with the same arguments again",
            _ANY,
            lambda v: repeated_calls(v.turn) > 0,
        ),
    )
}
"""By name, in the order in which reports show them."""

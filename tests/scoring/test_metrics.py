"""The metrics as a table: small turns, and what each of them counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from scoring.turns import (
    ANSWER,
    ANSWERABLE,
    DECLINE,
    UNANSWERABLE,
    call,
    cited,
    round_,
    turn,
)

from ragevalkit.bank import Question
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.score import SCORER_VERSION, Score, score_turn
from ragevalkit.turn.record import Ended, RoundState, Turn

LEAKED = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>'
HIT = round_(call("search", "book:1", "guide:4"))
MISS = round_(call("search", "book:4", "guide:5"))
CITE = round_(call("cite"))
OVERFLOWED = round_().model_copy(update={"state": RoundState.OVERFLOW})
LATE = round_().model_copy(update={"state": RoundState.DEADLINE})
BEGUN = round_(clock={"first_token_ms": 1.0}).model_copy(update={"state": RoundState.DEADLINE})


def about(*evidence: dict[str, Any]) -> dict[str, Any]:
    return ANSWERABLE | {"evidence": list(evidence)}


def at(place: str, group: int = 0) -> dict[str, Any]:
    document, _, number = place.rpartition(":")
    return {"document": document, "page": int(number), "group": group}


class Case(NamedTuple):
    what: str
    turn: Turn
    metrics: dict[str, bool | float | None]
    """Those that the case is about."""


REPLIES = [
    Case(
        "an answer with all that belongs to it",
        turn(HIT, CITE, reply=ANSWER, citations=(cited("guide:4"),)),
        {
            "answered": True,
            "searched_first": True,
            "evidence_retrieved": True,
            "cited_correct_page": True,
            "refused_correctly": None,
            "over_refused": False,
            "malformed_calls": False,
        },
    ),
    Case(
        "a correct refusal",
        turn(MISS, reply=DECLINE, question=UNANSWERABLE),
        {
            "answered": True,
            "searched_first": True,
            "evidence_retrieved": None,
            "cited_correct_page": None,
            "refused_correctly": True,
            "over_refused": None,
            "malformed_calls": False,
        },
    ),
    Case(
        "an answer that isn't in the documents",
        turn(MISS, reply=ANSWER, question=UNANSWERABLE),
        {"answered": True, "refused_correctly": False, "over_refused": None},
    ),
    Case(
        "a refusal of what is in the documents",
        turn(HIT, reply=DECLINE),
        {"answered": True, "refused_correctly": None, "over_refused": True},
    ),
    Case(
        "a hedge is no refusal",
        turn(HIT, reply=f"{DECLINE}. {ANSWER}", question=UNANSWERABLE),
        {"answered": True, "refused_correctly": False},
    ),
    Case(
        "asking back is an answer, and no refusal",
        turn(HIT, reply="Which of the pumps do you mean?"),
        {"answered": True, "over_refused": False},
    ),
    Case(
        "no output is neither answer nor refusal",
        turn(HIT, reply="", question=UNANSWERABLE),
        {"answered": False, "refused_correctly": False},
    ),
    Case(
        "no output on an answerable question",
        turn(HIT, ended=Ended.ROUND_LIMIT),
        {"answered": False, "over_refused": False, "cited_correct_page": False},
    ),
    Case(
        "infrastructure errors are undefined everywhere",
        turn(HIT, CITE, ended=Ended.INFRA_ERROR, citations=(cited("guide:4"),)),
        dict.fromkeys(METRICS, None),
    ),
    Case(
        "infrastructure errors on an unanswerable question",
        turn(ended=Ended.INFRA_ERROR, question=UNANSWERABLE),
        dict.fromkeys(METRICS, None),
    ),
]

SEARCHED_FIRST = [
    ("one search", turn(MISS, reply=ANSWER), True),
    ("search and cite in one round", turn(round_(call(), call("cite")), reply=ANSWER), True),
    ("a malformed search, then a good one", turn(round_(call(defect="schema")), HIT, CITE), True),
    ("a malformed cite ran nothing", turn(round_(call("cite", defect="schema")), HIT), True),
    ("an unknown tool ran nothing", turn(round_(call("x", defect="unknown_tool")), HIT), True),
    ("a search, and the turn ended without a reply", turn(HIT, ended=Ended.TURN_TIMEOUT), True),
    ("no call at all", turn(reply=ANSWER), False),
    ("no round at all", turn(ended=Ended.TURN_TIMEOUT), False),
    ("cite first", turn(CITE, HIT, reply=ANSWER), False),
    ("cite first in one round", turn(round_(call("cite"), call()), reply=ANSWER), False),
    ("cite only", turn(CITE, reply=ANSWER), False),
    ("only a malformed search", turn(round_(call(defect="not_json")), reply=ANSWER), False),
    ("malformed search, then cite", turn(round_(call(defect="schema")), CITE, HIT), False),
    (
        "a search that didn't run any more",
        turn(round_(call(result=None)), ended=Ended.TOOL_RESULT_LIMIT),
        False,
    ),
    ("a search left in the text", turn(reply=f"{LEAKED}{ANSWER}"), False),
]

EVIDENCE_RETRIEVED = [
    ("among the results", turn(HIT, reply=ANSWER), True),
    ("in a later search", turn(MISS, HIT, reply=ANSWER), True),
    ("same page of another document", turn(MISS, reply=ANSWER), False),
    ("no results", turn(round_(call()), reply=ANSWER), False),
    ("cited, but never among results", turn(CITE, reply="", citations=(cited("guide:4"),)), False),
    # the model was never sent what the last round's tools returned
    ("in the last round allowed", turn(HIT, ended=Ended.ROUND_LIMIT), False),
    ("before the last round allowed", turn(HIT, MISS, ended=Ended.ROUND_LIMIT), True),
    # nor what a request carried that the server turned away, or never began to answer
    ("in a request that failed", turn(HIT, OVERFLOWED, ended=Ended.CONTEXT_OVERFLOW), False),
    ("before that", turn(HIT, MISS, OVERFLOWED, ended=Ended.CONTEXT_OVERFLOW), True),
    ("no token until the deadline", turn(HIT, LATE, ended=Ended.TURN_TIMEOUT), False),
    ("some tokens until the deadline", turn(HIT, BEGUN, ended=Ended.TURN_TIMEOUT), True),
    (
        "one of two groups suffices",
        turn(HIT, reply=ANSWER, question=about(at("guide:4"), at("guide:9", 1))),
        True,
    ),
]

TWO_GROUPS = about(at("guide:4"), at("guide:5"), at("book:1", 1))
CITED_CORRECT_PAGE = [
    ("the page", ANSWERABLE, ["guide:4"], True),
    ("the page among others", ANSWERABLE, ["guide:1", "guide:4", "book:9"], True),
    ("the page twice", ANSWERABLE, ["guide:4", "guide:4"], True),
    ("no citation", ANSWERABLE, [], False),
    ("another page", ANSWERABLE, ["guide:5"], False),
    ("another document", ANSWERABLE, ["book:4"], False),
    ("with suffix", ANSWERABLE, ["guide.pdf:4"], True),
    ("in other case", ANSWERABLE, ["GUIDE:4"], True),
    ("with suffix in other case", ANSWERABLE, ["Guide.PDF:4"], True),
    ("bank with suffix", about(at("guide.md:4")), ["guide:4"], True),
    ("bank in other case", about(at("Guide:4")), ["guide:4"], True),
    ("both with the same suffix", about(at("guide.md:4")), ["guide.md:4"], True),
    ("both with other suffixes", about(at("guide.md:4")), ["guide.pdf:4"], False),
    ("in another Unicode composition", about(at("caf\u00e9:4")), ["cafe\u0301:4"], True),
    ("what is no suffix belongs to the name", about(at("guide.v2:4")), ["guide:4"], False),
    ("another folder", about(at("a/guide:4")), ["guide:4"], False),
    ("same folder", about(at("a/guide:4")), ["a/guide:4"], True),
    ("a page that doesn't exist", ANSWERABLE, ["guide:99"], False),
    ("one alternative", about(at("guide:4"), at("guide:5")), ["guide:5"], True),
    ("both groups", TWO_GROUPS, ["book:1", "guide:5"], True),
    ("one group twice", TWO_GROUPS, ["guide:4", "guide:5"], False),
    ("the other group alone", TWO_GROUPS, ["book:1"], False),
    ("groups may have any numbers", about(at("guide:4", 7), at("book:1", 3)), ["guide:4"], False),
    ("one page in two groups", about(at("guide:4"), at("guide:4", 1)), ["guide:4"], True),
]

MALFORMED_CALLS = [
    ("a good call", turn(HIT, reply=ANSWER), False),
    ("no call", turn(reply=ANSWER), False),
    ("not JSON", turn(round_(call(defect="not_json")), HIT, reply=ANSWER), True),
    ("truncated", turn(round_(call(defect="truncated")), reply=ANSWER), True),
    ("unknown tool", turn(round_(call("x", defect="unknown_tool")), reply=ANSWER), True),
    ("schema, recovered", turn(round_(call(defect="schema", recovered=True)), reply=ANSWER), True),
    ("left in the reply", turn(HIT, reply=f"{ANSWER}{LEAKED}"), True),
    ("left in the reasoning", turn(HIT, round_(reasoning=LEAKED)), True),
    ("thought of, then made", turn(round_(call(), reasoning=LEAKED), reply=ANSWER), False),
    ("duplicate id", turn(HIT, round_(call(duplicate_id=True)), reply=ANSWER), True),
    ("JSON in prose", turn(HIT, reply='It is set by {"name": "x", "port": 1}.'), False),
    (
        "a citation of a page that doesn't exist",
        turn(CITE, reply="", citations=(cited("guide:99", exists=False),)),
        False,
    ),
]

WITH_ANSWER = ANSWERABLE | {
    "answers": [
        "42 dB",
        "a reference of many more words than the twelve "
        "that are held against a reply as they stand",
    ]
}
MORE = [
    Case(
        "retrieved and cited",
        turn(HIT, CITE, reply=ANSWER, citations=(cited("guide:4"),)),
        {"cited_given_retrieved": True, "citation_precision": 1.0, "citation_recall": 1.0},
    ),
    Case(
        "retrieved and not cited",
        turn(HIT, reply=ANSWER),
        {"cited_given_retrieved": False, "citation_precision": None, "citation_recall": None},
    ),
    Case(
        "cited without having been retrieved",
        turn(MISS, CITE, reply=ANSWER, citations=(cited("guide:4"),)),
        {"cited_given_retrieved": None, "cited_correct_page": True},
    ),
    Case(
        "two of three citations right, one of two groups covered",
        turn(
            HIT,
            CITE,
            reply=ANSWER,
            question=TWO_GROUPS,
            citations=(cited("guide:4"), cited("guide:5"), cited("guide:9")),
        ),
        {"citation_precision": 2 / 3, "citation_recall": 0.5, "cited_correct_page": False},
    ),
    Case(
        "a page cited for two quotes is one page",
        turn(
            HIT,
            CITE,
            reply=ANSWER,
            citations=(cited("guide:4"), cited("guide:4"), cited("guide:5")),
        ),
        {"citation_precision": 0.5, "citation_recall": 1.0},
    ),
    Case(
        "nothing right",
        turn(HIT, CITE, reply=ANSWER, citations=(cited("guide:9"),)),
        {"citation_precision": 0.0, "citation_recall": 0.0},
    ),
    Case(
        "a refusal that was right",
        turn(MISS, reply=DECLINE, question=UNANSWERABLE),
        {"abstention_precision": True},
    ),
    Case("a refusal that was wrong", turn(HIT, reply=DECLINE), {"abstention_precision": False}),
    Case("no refusal", turn(HIT, reply=ANSWER), {"abstention_precision": None}),
    Case(
        "the reference in the reply",
        turn(HIT, reply="It runs at 42dB(A), which is not loud.", question=WITH_ANSWER),
        {"correct_answer": True},
    ),
    Case(
        "the reference with its unit",
        turn(HIT, reply=ANSWER, question=WITH_ANSWER),
        {"correct_answer": True},
    ),
    Case(
        "another number",
        turn(HIT, reply="The pump runs at 420 dB.", question=WITH_ANSWER),
        {"correct_answer": False},
    ),
    Case(
        "a refusal isn't correct",
        turn(HIT, reply=DECLINE, question=WITH_ANSWER),
        {"correct_answer": False},
    ),
    Case(
        "the reference in a call that was left in the reply",
        turn(
            HIT,
            reply='I cite it. {"name": "cite", "arguments": {"quote": "42 dB"}}',
            question=WITH_ANSWER,
        ),
        {"answered": True, "correct_answer": False},
    ),
    Case("no reference", turn(HIT, reply=ANSWER), {"correct_answer": None}),
    Case(
        "a clean turn",
        turn(HIT, CITE, reply=ANSWER, citations=(cited("guide:4"),)),
        {"turns_with_defect": False, "defects_per_turn": 0},
    ),
    Case(
        "a turn with two defects",
        turn(HIT, round_(call(defect="schema")), reply=ANSWER, question=UNANSWERABLE),
        {"turns_with_defect": True, "defects_per_turn": 2},
    ),
]

CASES = [
    *REPLIES,
    *MORE,
    *(Case(what, made, {"searched_first": holds}) for what, made, holds in SEARCHED_FIRST),
    *(Case(what, made, {"evidence_retrieved": holds}) for what, made, holds in EVIDENCE_RETRIEVED),
    *(
        Case(
            what,
            turn(CITE, reply=ANSWER, question=question, citations=tuple(map(cited, pages))),
            {"cited_correct_page": holds},
        )
        for what, question, pages, holds in CITED_CORRECT_PAGE
    ),
    *(Case(what, made, {"malformed_calls": holds}) for what, made, holds in MALFORMED_CALLS),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_metrics(case: Case) -> None:
    metrics = score_turn(case.turn, None).metrics
    assert list(metrics) == list(METRICS)
    assert {name: metrics[name] for name in case.metrics} == case.metrics


def test_every_metric_is_true_false_and_undefined_somewhere() -> None:
    for name in METRICS:
        values = {score_turn(case.turn, None).metrics[name] for case in CASES}
        assert values >= {True, False, None}, name


def test_metrics_are_those_of_the_contract() -> None:
    over = {name: (metric.over, metric.higher_is_better) for name, metric in METRICS.items()}
    assert over == {
        "answered": ("scored", True),
        "searched_first": ("scored", True),
        "evidence_retrieved": ("answerable", True),
        "cited_correct_page": ("answerable", True),
        "cited_given_retrieved": ("answerable, evidence retrieved", True),
        "citation_precision": ("answerable with citations", True),
        "citation_recall": ("answerable with citations", True),
        "refused_correctly": ("unanswerable", True),
        "over_refused": ("answerable", False),
        "abstention_precision": ("declined", True),
        "correct_answer": ("answerable with a short reference", True),
        "malformed_calls": ("scored", False),
        "turns_with_defect": ("scored", False),
        "defects_per_turn": ("scored", False),
    }


def test_a_score_names_its_turn_and_survives_its_line() -> None:
    scored = score_turn(turn(MISS, reply="The documents do not mention the price.", repeat=3), None)
    question = Question.model_validate(ANSWERABLE)
    assert (scored.question_id, scored.question_hash, scored.repeat) == ("a", question.hash, 3)
    assert (scored.scorer, scored.answerable) == (SCORER_VERSION, True)
    assert scored.detectors_disagree, "declined without the marker"
    assert Score.model_validate_json(scored.model_dump_json()) == scored


def test_an_infrastructure_error_has_no_defects_and_no_disagreement() -> None:
    scored = score_turn(turn(round_(call(defect="schema")), ended=Ended.INFRA_ERROR), None)
    assert (scored.defects, scored.detectors_disagree) == ([], False)


def test_citations_in_the_reply_count_for_agents_without_a_cite_tool() -> None:
    answered = turn(HIT, reply=f"{ANSWER} [guide.pdf p. 4]")
    with_tool = score_turn(answered, None)
    assert (with_tool.citations, with_tool.defects) == ([], ["citation:missing"])
    answered.tools = ["search"]
    without = score_turn(answered, None)
    assert [(c.document, c.page, c.source) for c in without.citations] == [("guide", 4, "text")]
    assert (without.metrics["cited_correct_page"], without.defects) == (True, [])

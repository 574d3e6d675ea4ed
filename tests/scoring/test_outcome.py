"""What a turn came to, and its defects."""

from __future__ import annotations

import pytest
from scoring.turns import ANSWER, DECLINE, call, round_, turn

from ragevalkit.bank import Question
from ragevalkit.scoring import Reply
from ragevalkit.scoring.defects import DEFECTS, find_defects
from ragevalkit.scoring.outcome import Outcome, read_outcome
from ragevalkit.scoring.view import TurnView
from ragevalkit.turn.record import Ended, Turn

LEAKED = '<tool_call>\n{"name": "search", "arguments": {"query": "noise"}}\n</tool_call>'
BARE = '{"name": "search", "arguments": {"query": "noise"}}'


@pytest.mark.parametrize(
    ("reply", "outcome", "marker", "text", "disagree"),
    [
        (ANSWER, Outcome.ANSWER, False, Reply.ANSWER, False),
        (DECLINE, Outcome.DECLINE, True, Reply.DECLINE, False),
        (f"**{DECLINE}**", Outcome.DECLINE, True, Reply.DECLINE, False),
        (
            "NOT IN DOCUMENTS: the documents do not mention the price.",
            Outcome.DECLINE,
            True,
            Reply.DECLINE,
            False,
        ),
        # the detector alone suffices, and the marker's absence is the disagreement
        ("The documents do not mention the price.", Outcome.DECLINE, False, Reply.DECLINE, True),
        (f"{DECLINE}. {ANSWER}", Outcome.HEDGE, True, Reply.ANSWER, True),
        # the marker at another place than the start is none
        (f"{ANSWER} {DECLINE}TORE", Outcome.ANSWER, False, Reply.ANSWER, False),
        ("Which of the pumps do you mean?", Outcome.ASK_BACK, False, Reply.ASK_BACK, False),
        ("", Outcome.NO_OUTPUT, False, Reply.NO_OUTPUT, False),
        (" \n\u200b", Outcome.NO_OUTPUT, False, Reply.NO_OUTPUT, False),
        # nothing but leaked calls is nothing for a reader; what stands beside them is
        (LEAKED, Outcome.NO_OUTPUT, False, Reply.NO_OUTPUT, False),
        (BARE, Outcome.NO_OUTPUT, False, Reply.NO_OUTPUT, False),
        (f"```json\n{BARE}\n```", Outcome.NO_OUTPUT, False, Reply.NO_OUTPUT, False),
        (f"{ANSWER}\n{LEAKED}", Outcome.ANSWER, False, Reply.ANSWER, False),
        (f"{LEAKED}\n{DECLINE}", Outcome.DECLINE, True, Reply.DECLINE, False),
    ],
)
def test_outcome_of_a_reply(
    reply: str, outcome: Outcome, marker: bool, text: Reply, disagree: bool
) -> None:
    reading = read_outcome(turn(reply=reply))
    assert reading[:3] == (outcome, marker, text)
    assert reading.disagree is disagree


def ended(how: Ended, content: str = ANSWER) -> Turn:
    """A turn that ended in this way, after a search; `content` is its last round's."""
    if how in (Ended.ROUND_LIMIT, Ended.TOOL_RESULT_LIMIT):
        return turn(round_(call(), content=content), ended=how)
    return turn(round_(call()), round_(content=content), ended=how)


OF_THE_END = {
    "answer:" + kind
    for kind in (
        "budget_exhausted",
        "truncated",
        "empty",
        "round_limit",
        "turn_timeout",
        "context_overflow",
        "server_rejected",
    )
}


def defects_of(ended_turn: Turn) -> list[str]:
    """Those of calls and of how the turn ended; test_defects.py has them all."""
    view = TurnView(ended_turn, Question.model_validate(ended_turn.bank_line), None)
    found = find_defects(view)
    return [name for name in found if name in OF_THE_END or name.startswith("call:")]


@pytest.mark.parametrize(
    ("how", "outcome", "defects"),
    [
        (Ended.REPLY, Outcome.ANSWER, []),
        (Ended.TRUNCATED, Outcome.ANSWER, ["answer:truncated"]),
        (Ended.BUDGET_EXHAUSTED, Outcome.NO_OUTPUT, ["answer:budget_exhausted"]),
        (Ended.ROUND_LIMIT, Outcome.NO_OUTPUT, ["answer:round_limit"]),
        (Ended.TOOL_RESULT_LIMIT, Outcome.NO_OUTPUT, ["answer:round_limit"]),
        (Ended.TURN_TIMEOUT, Outcome.NO_OUTPUT, ["answer:turn_timeout"]),
        (Ended.CONTEXT_OVERFLOW, Outcome.NO_OUTPUT, ["answer:context_overflow"]),
        (Ended.SERVER_REJECTED, Outcome.NO_OUTPUT, ["answer:server_rejected"]),
        (Ended.INFRA_ERROR, Outcome.INFRA_ERROR, []),
    ],
)
def test_every_end_has_its_outcome_and_defect(
    how: Ended, outcome: Outcome, defects: list[str]
) -> None:
    ended_turn = ended(how)
    assert read_outcome(ended_turn).outcome is outcome
    assert defects_of(ended_turn) == defects


def test_no_end_was_forgotten() -> None:
    for how in Ended:
        ended_turn = ended(how)
        if how not in (Ended.REPLY, Ended.INFRA_ERROR):
            assert len(defects_of(ended_turn)) == 1, how


@pytest.mark.parametrize("how", [Ended.TRUNCATED, Ended.REPLY])
def test_a_cut_refusal_is_a_refusal(how: Ended) -> None:
    assert read_outcome(ended(how, DECLINE)).outcome is Outcome.DECLINE


def test_a_turn_without_any_round_has_no_output() -> None:
    assert read_outcome(turn(ended=Ended.TURN_TIMEOUT)).outcome is Outcome.NO_OUTPUT
    assert read_outcome(turn(ended=Ended.INFRA_ERROR)).outcome is Outcome.INFRA_ERROR


DEFECTIVE: dict[str, list[Turn]] = {
    "answer:budget_exhausted": [
        ended(Ended.BUDGET_EXHAUSTED, ""),
        # a call that the reasoning was writing when the budget ended is the same root cause
        turn(
            round_(reasoning=f"I could call {LEAKED}", finish="length"),
            ended=Ended.BUDGET_EXHAUSTED,
        ),
    ],
    "answer:truncated": [ended(Ended.TRUNCATED)],
    "answer:empty": [
        turn(reply=""),
        turn(round_(call()), reply="  \u200b\n"),
        turn(round_(reasoning="Nothing to say.")),
    ],
    "answer:round_limit": [ended(Ended.ROUND_LIMIT)],
    "answer:turn_timeout": [ended(Ended.TURN_TIMEOUT), turn(ended=Ended.TURN_TIMEOUT)],
    "answer:context_overflow": [ended(Ended.CONTEXT_OVERFLOW)],
    "answer:server_rejected": [ended(Ended.SERVER_REJECTED)],
    "call:not_json": [
        turn(round_(call(defect="not_json")), reply=ANSWER),
        turn(round_(call(defect="not_json"), call(defect="not_json")), reply=ANSWER),
    ],
    "call:truncated": [turn(round_(call(defect="truncated")), reply=ANSWER)],
    "call:unknown_tool": [turn(round_(call("grep", defect="unknown_tool")), reply=ANSWER)],
    "call:schema": [turn(round_(call(defect="schema", recovered=True)), reply=ANSWER)],
    "call:in_content": [
        turn(reply=LEAKED),
        turn(reply=BARE),
        turn(reply=f"{ANSWER}\n{LEAKED}"),
        turn(round_(call(), content=LEAKED), reply=ANSWER),
    ],
    "call:in_reasoning": [turn(round_(call()), round_(reasoning=LEAKED))],
    "call:duplicate_id": [
        turn(round_(call()), round_(call("cite", duplicate_id=True)), reply=ANSWER),
    ],
}


@pytest.mark.parametrize(
    ("name", "defective"),
    [(name, one) for name, turns in DEFECTIVE.items() for one in turns],
)
def test_one_root_cause_gives_one_defect(name: str, defective: Turn) -> None:
    assert defects_of(defective) == [name]


def test_defects_come_once_each_and_in_the_tables_order() -> None:
    many = turn(
        round_(call(duplicate_id=True, defect="schema"), call(defect="not_json"), content=LEAKED),
        round_(call(defect="schema", duplicate_id=True)),
        reply="",
    )
    assert defects_of(many) == [
        "answer:empty",
        "call:not_json",
        "call:schema",
        "call:in_content",
        "call:duplicate_id",
    ]
    many.ended = Ended.INFRA_ERROR
    assert defects_of(many) == []


def test_defects_are_named_by_family_and_kind_with_one_line_each() -> None:
    for name, defect in DEFECTS.items():
        meaning = defect.meaning
        family, _, kind = name.partition(":")
        assert family in ("answer", "refusal", "citation", "call")
        assert kind.replace("_", "").isalpha()
        assert meaning
        assert "\n" not in meaning


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (f"<think>The documents do not mention it. Or do they?</think>{ANSWER}", Outcome.ANSWER),
        (f"The documents do not mention it. Or do they?\n</think>\n{ANSWER}", Outcome.ANSWER),
        (f"<think>It runs at 42 dB.</think>\n{DECLINE}", Outcome.DECLINE),
        ("<think>It runs at 42 dB.</think>", Outcome.NO_OUTPUT),
        ("<think>It runs at 42 dB", Outcome.NO_OUTPUT),
    ],
)
def test_reasoning_left_in_the_reply_is_not_what_it_says(reply: str, outcome: Outcome) -> None:
    assert read_outcome(turn(reply=reply)).outcome is outcome

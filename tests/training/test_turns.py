"""The turns that an adapter for `local` is trained on."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import turns
from turns import Lesson, Reading

from ragevalkit.agent.history import load_prompt
from ragevalkit.bank import Question
from ragevalkit.corpus import Corpus
from ragevalkit.turn.protocol import split_marker

LESSON = Lesson(turns=40, results={1: 0.5, 3: 0.5}, prompt=True)


@pytest.fixture(scope="module")
def made() -> list[dict[str, Any]]:
    asked = list(turns.shelves(turns.DEVELOPMENT))
    return turns.lesson_turns(LESSON, asked, random.Random(0))[0]


def written(turn: dict[str, Any]) -> list[str]:
    """What the assistant is to write in a turn, message by message."""
    return [turn["text"][begin:end] for begin, end in turn["spans"]]


@pytest.mark.parametrize("changed", ["SEARCH", "PROMPT", "TEMPLATE"])
def test_any_change_to_the_conversation_is_seen(
    changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = turns.conversation_hash()
    match changed:
        case "SEARCH":
            monkeypatch.setattr(turns, "search_result", lambda results: f'{{"found":{results}}}')
        case "PROMPT":
            monkeypatch.setattr(turns, "load_prompt", lambda: load_prompt() + "Be brief.")
        case "TEMPLATE":
            render = turns._template().render
            monkeypatch.setattr(turns, "_render", lambda *of: render_changed(render, *of))
    assert turns.conversation_hash() != before


def render_changed(render: Any, messages: Any, tools: Any, reply: bool) -> str:
    filled = [{"content": None, "tool_calls": None, **message} for message in messages]
    text: str = render(messages=filled, tools=tools, add_generation_prompt=reply)
    return text.replace("<think>", "<reason>")


def test_a_lesson_has_the_shares_that_it_wants(made: list[dict[str, Any]]) -> None:
    assert len(made) == LESSON.turns
    assert sum(not turn["answers"] for turn in made) == round(LESSON.turns * turns.UNANSWERED)
    assert len({turn["id"] for turn in made}) == LESSON.turns


def test_a_turn_searches_and_then_cites_and_answers_or_declines(
    made: list[dict[str, Any]],
) -> None:
    for turn in made:
        search, decided, *reply = written(turn)
        assert search.startswith('<tool_call>\n{"name": "search", "arguments": {"query": ')
        assert decided.startswith("<think>\nAsked: ")
        if turn["answers"]:
            assert "\nThat answers it: yes\n</think>\n<tool_call>\n" in decided
            assert len(reply) == 1
        else:
            declined = decided.rpartition("</think>\n")[2].removesuffix("<|im_end|>")
            assert split_marker(declined)[0]
            assert not reply
        assert all(message.endswith("<|im_end|>") for message in written(turn))


def test_what_decides_a_turn_weighs_more(made: list[dict[str, Any]]) -> None:
    for turn in made:
        found = [(turn["text"][begin:end], weight) for begin, end, weight in turn["emphasis"]]
        most = max(weight for _, weight in found)
        assert [text for text, weight in found if weight == most] == (
            [" yes"] if turn["answers"] else [" no"]
        )
        assert all(
            any(begin <= b and e <= end for begin, end in turn["spans"])
            for b, e, _ in turn["emphasis"]
        )


def test_the_agent_s_prompt_and_tools_come_first(made: list[dict[str, Any]]) -> None:
    for turn in made:
        assert turn["text"].startswith(f"<|im_start|>system\n{load_prompt()}\n\n")
        assert turn["text"].index('"name": "cite"') < turn["spans"][0][0]


def test_exercises_ask_every_question_as_often_as_wanted() -> None:
    asked = list(turns.shelves(turns.DEVELOPMENT[:1]))
    made = turns.exercises(Reading(passes=2, questions=9), asked, random.Random(0))
    counts = Counter(
        question.question
        for exercise in made
        for question, _ in asked
        if f"Asked: {turns.search_query(question)}\n" in exercise["text"]
    )
    assert set(counts.values()) == {2}
    assert len(counts) == len(asked)
    for exercise in made:
        assert 1 <= len(exercise["spans"]) <= 9
        for thought in written(exercise):
            assert re.fullmatch(r"Found: .+\nThat answers it: (yes|no)\n</think>", thought)


def test_an_exercise_says_yes_where_the_quote_is_evidence() -> None:
    (shelf,) = turns.DEVELOPMENT[:1]
    asked = list(turns.shelves((shelf,)))
    evidence = {turns.search_query(q): {e.quote for e in q.evidence} for q, _ in asked}
    made = turns.exercises(Reading(passes=1), asked, random.Random(0))
    thoughts = [
        thought
        for exercise in made
        for thought in re.findall(
            r"Asked: (.+)\nFound: (.+)\nThat answers it: (yes|no)", exercise["text"]
        )
    ]
    assert {answer for _, _, answer in thoughts} == {"yes", "no"}
    for query, quote, answer in thoughts:
        if answer == "yes":
            assert any(e and e.startswith(quote) for e in evidence[query])


def test_held_out_questions_are_in_no_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [
        Question(id=str(n), question=f"How high is {n}?", answerable=True) for n in range(60)
    ]
    held_out = [q for q in questions if turns.is_held_out(q)]
    assert 8 <= len(held_out) <= 32

    class Bank:
        pass

    bank = Bank()
    bank.questions = questions  # type: ignore[attr-defined]
    monkeypatch.setattr(turns, "load_bank", lambda _: bank)
    monkeypatch.setattr(turns, "open_corpus", lambda _: None)
    taught = [question for question, _ in turns.public(turns.MATERIAL / "no.jsonl")]
    assert not set(map(id, taught)) & set(map(id, held_out))
    assert len(taught) + len(held_out) == len(questions)


def test_shelves_for_development_are_in_no_lesson() -> None:
    def ids(shelves: Iterator[tuple[Question, Corpus]]) -> set[str]:
        return {question.id for question, _ in shelves}

    assert not ids(turns.shelves()) & ids(turns.shelves(turns.DEVELOPMENT))


def test_a_follow_up_is_searched_for_with_the_question_before_it() -> None:
    history: Any = [
        {"role": "user", "content": "How high?"},
        {"role": "assistant", "content": "3 m."},
    ]
    question = Question(id="q", question="And how wide?", answerable=False, history=history)
    assert turns.search_query(question) == "How high? And how wide?"

"""The turns that the adapter of `local` is trained on."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import conversation
import pytest
import turns
from shelves import DEVELOPMENT, MATERIAL, Shelf, read_shelves
from turns import Lesson

from ragevalkit.agent.history import load_prompt
from ragevalkit.bank import Question
from ragevalkit.turn.protocol import split_marker

READING = Lesson(
    {"bound": 12, "plain": 4}, 8, results=(2, 3), found_again=3, part="thought", misread=1 / 3
)
WHOLE = Lesson({"bound": 12, "plain": 4}, 8, results=(5,), found_again=2, part="turn")
EVERY = Lesson({"bound": 1000}, 8, results=(5,), found_again=0, part="thought")
STRANGERS = Lesson({"clapnq": 1000}, 8, results=(3, 5), found_again=0, part="thought")
SEARCHING = Lesson({"bound": 3}, 8, results=(), found_again=0, part="search")
NAMES = DEVELOPMENT[:2]


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> list[Shelf]:
    return read_shelves(tmp_path_factory.mktemp("bound"), lambda name: name in NAMES)


@pytest.fixture(scope="module")
def reading(shelves: list[Shelf]) -> list[list[dict[str, Any]]]:
    return list(turns.exercises(READING, shelves, random.Random(0)))


@pytest.fixture(scope="module")
def whole(shelves: list[Shelf]) -> list[list[dict[str, Any]]]:
    return list(turns.exercises(WHOLE, shelves, random.Random(0)))


def written(turn: dict[str, Any]) -> list[str]:
    """What the assistant is to learn to write in a turn, message by message."""
    return [turn["text"][begin:end] for begin, end in turn["spans"]]


def questions(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [turn for turn in made if turn["id"] != "found again"]


def beginning(turn: dict[str, Any]) -> str:
    return str(turn["text"].partition("\nQuestion: ")[0])


def asked_again(turn: dict[str, Any]) -> str:
    """The question as it stands after the results."""
    return str(turn["text"].partition("\nQuestion: ")[2].partition("<|im_end|>")[0])


@pytest.mark.parametrize("changed", ["SEARCH", "PROMPT", "TEMPLATE"])
def test_any_change_to_the_conversation_is_seen(
    changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = conversation.conversation_hash()
    match changed:
        case "SEARCH":
            monkeypatch.setattr(
                conversation, "search_result", lambda results: f'{{"found":{results}}}'
            )
        case "PROMPT":
            monkeypatch.setattr(conversation, "load_prompt", lambda: load_prompt() + "Be brief.")
        case "TEMPLATE":
            render = conversation._render
            monkeypatch.setattr(
                conversation, "_render", lambda *of: render(*of).replace("<think>", "<reason>")
            )
    assert conversation.conversation_hash() != before


def test_no_question_of_a_shelf_is_asked_twice(shelves: list[Shelf]) -> None:
    made = list(turns.exercises(EVERY, shelves, random.Random(1)))
    asked = [turn["id"] for exercise in made for turn in exercise]
    # some are asked together with another
    single = [id_ for both in asked for id_ in both.split("+")]
    assert len(single) > len(asked)
    found = {
        question.id
        for shelf in shelves
        if "bound" in shelf.name
        for question in shelf.questions
        if shelf.corpus.search(conversation.search_query(question))
    }
    assert len(set(asked)) == len(asked)
    assert set(single) <= found


def test_most_questions_are_answered(shelves: list[Shelf]) -> None:
    hard = [replace(s, questions=[*some(s, True)[:20], *some(s, False)]) for s in shelves]
    for shelved in (shelves, hard):
        made = list(turns.exercises(EVERY, shelved, random.Random(1)))
        answers = [turn["answers"] for exercise in made for turn in exercise]
        assert len(answers) > 20
        assert 0.3 < answers.count(False) / len(answers) <= turns.MOST_UNANSWERED


def test_strangers_share_one_page_of_each(shelves: list[Shelf]) -> None:
    (plain, *_) = [replace(s, name="clapnq") for s in shelves if "bound" not in s.name]
    made = list(turns.exercises(STRANGERS, [plain], random.Random(1)))
    asked = [turn["id"] for exercise in made for turn in exercise]
    assert len(asked) == len(set(asked))
    assert {len(exercise) for exercise in made} == {3, 5}
    for exercise in made:
        assert len({beginning(turn) for turn in exercise}) == 1
        pages = re.findall(r'"page":\d+,"label"', beginning(exercise[0]))
        assert 1 <= len(pages) <= len(exercise)
        assert 1 <= sum(not turn["answers"] for turn in exercise) < len(exercise) / 2


def some(shelf: Shelf, answerable: bool) -> list[Question]:
    return [question for question in shelf.questions if question.answerable is answerable]


def test_turns_of_an_exercise_begin_alike(
    reading: list[list[dict[str, Any]]], whole: list[list[dict[str, Any]]]
) -> None:
    for made in [*reading, *whole]:
        assert len({beginning(turn) for turn in made}) == 1
        assert 1 <= len(questions(made)) <= 8


def test_reading_is_the_thought_alone(reading: list[list[dict[str, Any]]]) -> None:
    for made in reading:
        for turn in questions(made):
            _, _, thought = turn["text"].rpartition("<think>\n")
            assert thought.startswith("Found: ")
            assert thought.endswith(f"\nAnswered: {'yes' if turn['answers'] else 'no'}\n</think>\n")
            assert written(turn) in (["<think>\n" + thought], ["Answered: yes\n</think>\n"])
            assert "tool_call>" not in turn["text"]


def test_yes_is_taught_behind_a_misread_sentence_too(
    reading: list[list[dict[str, Any]]], whole: list[list[dict[str, Any]]]
) -> None:
    thoughts = [t for made in reading for t in questions(made) if t["answers"]]
    misread = [turn for turn in thoughts if "Found: " not in written(turn)[0]]
    assert 0.15 < len(misread) / len(thoughts) < 0.5
    assert all("Found: " in "".join(written(t)) for made in whole for t in made)


def test_what_sets_the_threshold_is_the_yes_or_no_alone(shelves: list[Shelf]) -> None:
    (made, *_) = turns.exercises(turns.DECIDING, shelves, random.Random(0))
    answered = [turn for turn in made if turn["answers"]]
    assert answered
    for turn in answered:
        (decided,) = written(turn)
        assert decided.startswith("Answered: yes\n</think>\n<tool_call>")


def test_a_sentence_is_found_again_by_its_words(
    reading: list[list[dict[str, Any]]], whole: list[list[dict[str, Any]]]
) -> None:
    for made in [*reading, *whole]:
        found = [turn for turn in made if turn["id"] == "found again"]
        assert len(found) >= 2
        for turn in found:
            (line,) = written(turn)
            assert line.endswith("\n")
            assert line.startswith("<think>\nFound: ")
            assert len(asked_again(turn).split()) >= 2


def test_a_whole_turn_searches_and_then_cites_and_answers_or_declines(
    whole: list[list[dict[str, Any]]],
) -> None:
    ends = set()
    for made in whole:
        for at, turn in enumerate(questions(made)):
            decided, *rest = written(turn)
            if at == 0:
                assert decided.startswith('<tool_call>\n{"name": "search", "arguments": {"query": ')
                decided, *rest = rest
            assert decided.startswith("<think>\nFound: ")
            then = decided.partition("</think>\n")[2]
            if turn["answers"]:
                assert then.startswith('<tool_call>\n{"name": "cite", "arguments": ')
                cites = then.count('<tool_call>\n{"name": "cite", "arguments": ')
                assert cites == then.count("</tool_call>")
                assert 1 <= cites <= conversation.CITED
                (reply,) = rest
                assert "tool_call" not in reply
            else:
                assert split_marker(then.removesuffix("<|im_end|>"))[0]
                assert not rest
            assert all(message.endswith("<|im_end|>") for message in written(turn))
            ends.add(turn["answers"])
    assert ends == {True, False}


def test_each_question_stands_after_the_results(whole: list[list[dict[str, Any]]]) -> None:
    for made in whole:
        asked = {asked_again(turn) for turn in made}
        assert len(asked) == len(made)


def test_a_follow_up_s_first_call_is_taught_more_often(shelves: list[Shelf]) -> None:
    every = Lesson({"bound": 1000}, 8, results=(), found_again=0, part="search")
    made = [turn["id"] for x in turns.exercises(every, shelves, random.Random(1)) for turn in x]
    times = {
        question.id: turns.FOLLOW_UPS if question.history else 1
        for shelf in shelves
        if "bound" in shelf.name
        for question in shelf.questions
    }
    assert Counter(made) == times
    assert turns.FOLLOW_UPS in times.values()


def test_searching_is_the_first_call(shelves: list[Shelf]) -> None:
    for made in turns.exercises(SEARCHING, shelves, random.Random(0)):
        for turn in made:
            (call,) = written(turn)
            assert call.startswith('<tool_call>\n{"name": "search", "arguments": {"query": ')
            assert turn["text"].endswith(call + "\n")


def test_what_decides_a_turn_weighs_more(whole: list[list[dict[str, Any]]]) -> None:
    for made in whole:
        for turn in made:
            found = [(turn["text"][begin:end], weight) for begin, end, weight in turn["emphasis"]]
            decided = {text for text, weight in found if weight > 4}
            then = {" yes", "<tool"} if turn["answers"] else {" no", "NOT"}
            searches = {'<tool_call>\n{"name": "search'} if turn is made[0] else set()
            assert decided == then | searches or turn["id"] == "found again"
            assert all(
                any(begin <= b and e <= end for begin, end in turn["spans"])
                for b, e, _ in turn["emphasis"]
            )


def test_the_agent_s_prompt_and_tools_come_first(whole: list[list[dict[str, Any]]]) -> None:
    for made in whole:
        text = made[0]["text"]
        assert text.startswith(f"<|im_start|>system\n{load_prompt()}")
        assert "<tools>\n" in text
        assert text.count("<tool_response>") >= 1


def test_quotes_stand_in_the_results(whole: list[list[dict[str, Any]]]) -> None:
    def squeezed(text: str) -> str:
        return "".join(text.replace("\\n", "").replace("\\", "").split())

    for made in whole:
        results = squeezed(beginning(made[0]))
        for turn in made:
            lines = turn["text"].partition("<think>\n")[2].partition("\n</think>")[0].split("\n")
            for line in lines:
                quote = line.partition(": ")[2]
                assert line.startswith("Answered: ") or squeezed(quote) in results


def test_three_pages_are_cited_in_the_order_of_the_results(shelves: list[Shelf]) -> None:
    answered = declined = 0
    for shelf in shelves:
        for question in shelf.questions:
            found = shelf.corpus.search(conversation.search_query(question))
            results = [result.as_dict() for result in found]
            quotes, cited = turns.findings(question, results)
            assert quotes or not results
            assert cited == [result for result in results if result in cited]
            if not cited:
                declined += 1
                continue
            answered += 1
            assert len(cited) == min(conversation.CITED, len(results))
            pages = {(result["document"], result["page"]) for result in cited}
            groups = {e.group for e in question.evidence if (e.document, e.page) in pages}
            assert groups == {e.group for e in question.evidence}
    assert min(answered, declined) > 40


def test_binding_keeps_labels_sound(shelves: list[Shelf]) -> None:
    for shelf in shelves:
        for question in shelf.questions:
            for evidence in question.evidence:
                page = shelf.corpus.page(evidence.document, evidence.page).text
                assert " ".join((evidence.quote or "?").split()) in " ".join(page.split())


def test_pages_are_cited_by_numbers_of_two_digits_too(whole: list[Any]) -> None:
    """A model that never wrote one writes the first digit alone."""
    text = "".join(turn["text"] for made in whole for turn in made)
    numbers = re.findall(r'"name": "cite", "arguments": .+?"page": (\d+)}', text)
    shares = [sum(len(number) == digits for number in numbers) for digits in (1, 2)]
    assert min(shares) > 0.1 * len(numbers)


def test_shelves_for_development_are_in_no_lesson() -> None:
    assert {folder.name for folder in MATERIAL.iterdir()} > set(DEVELOPMENT)


@pytest.mark.parametrize(
    ("history", "query", "asked"),
    [
        ([], "wide", "And how wide is it?"),
        (["How high is A-3?", "3 m."], "high A-3 wide", "How high is A-3? And how wide is it?"),
    ],
)
def test_a_follow_up_is_searched_for_with_the_question_before_it(
    history: list[str], query: str, asked: str
) -> None:
    messages: Any = [
        {"role": role, "content": text}
        for role, text in zip(("user", "assistant"), history, strict=False)
    ]
    question = Question(id="q", question="And how wide is it?", answerable=False, history=messages)
    assert conversation.search_query(question) == query
    text, _ = conversation.rendered(conversation.opening(question, []), tools=True)
    assert f"\nQuestion: {asked}<|im_end|>" in text
    other = Question(id="r", question="How deep?", answerable=False)
    text, _ = conversation.rendered(
        conversation.opening(question, []), tools=True, instead=(question, other)
    )
    assert "\nQuestion: How deep?<|im_end|>" in text
    assert "<|im_start|>user\nAnd how wide is it?<|im_end|>" in text


@pytest.mark.parametrize(
    ("quotes", "lines"),
    [
        ([], []),
        (["It is 3 m."], ["Found: It is 3 m."]),
        (["It is\nred."], ["Found: It is red."]),
        (["On 2.", "On 3."], ["Found: On 2.", "Found: On 3."]),
        (["one " * 40], [f"Found: {' '.join(['one'] * conversation.LONGEST_QUOTE)}"]),
    ],
)
def test_a_line_for_each_quote(quotes: list[str], lines: list[str]) -> None:
    assert conversation.thought(quotes, True).split("\n") == [*lines, "Answered: yes"]


def test_pages_are_cited_together() -> None:
    result = {"document": "guide", "page": 2, "label": "2", "score": 1.0, "text": ""}
    messages = conversation.ending(["On 2.", "On 3."], [result, result | {"page": 3}])
    assert [m["role"] for m in messages] == ["assistant", "tool", "tool", "assistant"]
    assert len(messages[0]["tool_calls"]) == 2
    assert messages[-1]["content"] == "On 2. On 3."
    assert conversation.ending(["On 2."], [])[-1]["content"] == conversation.DECLINE


def test_held_out_questions_are_a_fixed_part(tmp_path: Path) -> None:
    def question(text: str) -> Question:
        return Question(id=text, question=text, answerable=False)

    kept = [turns.is_held_out(question(f"What is {n}?")) for n in range(300)]
    assert 70 < sum(kept) < 130
    assert kept == [turns.is_held_out(question(f"What is {n}?")) for n in range(300)]

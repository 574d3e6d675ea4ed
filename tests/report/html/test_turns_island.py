"""What a page keeps of its turns: an index of all, whole turns within a budget, texts once."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.html.islands import at, unpacked
from scoring.turns import ANSWER, ANSWERABLE, DECLINE, UNANSWERABLE, call, cited, round_, turn

from ragevalkit.bank import Question
from ragevalkit.report.html import turns_island
from ragevalkit.report.html.turns_island import TurnsIsland, TurnsIslandBuilder
from ragevalkit.report.turns import ScoredTurn
from ragevalkit.scoring.score import score_turn
from ragevalkit.turn.record import Turn

PAGE = {"document": "guide", "page": 4, "label": "2", "score": 3.5, "text": "It runs at 42 dB."}


def shown(of: Turn, *, scored: bool = True) -> ScoredTurn:
    question = Question.model_validate(of.bank_line)
    return ScoredTurn(of, question, score_turn(of, None) if scored else None)


def good(id_: str = "a", **fields: Any) -> ScoredTurn:
    """A turn without a defect."""
    search = call("search", "guide:4", result=orjson.dumps({"results": [PAGE]}).decode())
    cite = call("cite", id="call_2")
    question = {**ANSWERABLE, "id": id_}
    rounds = (round_(search), round_(cite))
    places = (cited("guide:4"),)
    return shown(turn(*rounds, reply=ANSWER, citations=places, question=question, **fields))


def bad(id_: str = "u") -> ScoredTurn:
    """An answer to a question that the documents don't answer."""
    return shown(turn(round_(call()), reply=ANSWER, question={**UNANSWERABLE, "id": id_}))


def island(*turns: ScoredTurn) -> TurnsIsland:
    builder = TurnsIslandBuilder(["demo"])
    for of in turns:
        builder.add([of])
    return builder.island()


def test_the_index_has_a_row_for_each_turn() -> None:
    values = unpacked(island(good(), bad(), good("b", repeat=2)).islands)
    index = values["turns-index"]
    outcomes, defects = index["outcomes"], list(index["defects"])
    rows = [
        (id_, repeat, answerable, question, outcomes[side[0]], [defects[d] for d in side[1]])
        for id_, repeat, answerable, question, _, _, [side], _ in index["rows"]
    ]
    assert rows == [
        ("a", 0, 1, "How loud is it?", "answer", []),
        ("u", 0, 0, "How much is it?", "answer", ["answer:should_have_declined"]),
        ("b", 2, 1, "How loud is it?", "answer", []),
    ]
    assert values["turns-words"][0] == f"How loud is it?\n{ANSWER}"


def test_a_turn_lies_in_the_page_whole() -> None:
    values = unpacked(island(good()).islands)
    index = values["turns-index"]
    [body] = at(values, index["rows"][0][-1])
    assert (body["reply"], body["outcome"], body["defects"]) == (ANSWER, "answer", [])
    assert body["question"]["evidence"] == [["guide p. 4", ""]]
    search, cite, last = body["rounds"]
    [called] = search["calls"]
    assert called["arguments"] == "{}"
    [[page, evidence, was_cited, text]] = called["results"]
    assert (page, evidence, was_cited) == ("guide p. 4 (printed 2), score 3.50", True, True)
    assert at(values, index["results"][text]) == PAGE["text"]
    assert cite["calls"][0]["result"] == "{}"
    assert "calls" not in last


def test_metrics_are_there_by_the_way_they_went() -> None:
    index = unpacked(island(bad()).islands)["turns-index"]
    [[*_, [side], _]] = index["rows"]
    metrics = list(index["metrics"])
    badly = {metrics[number] for number in side[2]}
    assert badly == {"refused_correctly", "turns_with_defect", "defects_per_turn"}


def test_a_page_that_many_turns_found_lies_there_once() -> None:
    values = unpacked(island(*(good(str(number)) for number in range(50))).islands)
    assert values["results-0"] == [PAGE["text"]]


def test_excerpts_of_one_page_are_told_apart() -> None:
    other = {**PAGE, "text": "The pump is loud."}
    search = call("search", result=orjson.dumps({"results": [other, PAGE]}).decode())
    values = unpacked(island(good(), shown(turn(round_(search), reply=ANSWER))).islands)
    index = values["turns-index"]
    [body] = at(values, index["rows"][1][-1])
    texts = [result[3] for result in body["rounds"][0]["calls"][0]["results"]]
    assert [at(values, index["results"][n]) for n in texts] == [other["text"], PAGE["text"]]


def reasoning_turn(length: int, rounds: int = 1) -> tuple[list[Any], dict[str, Any]]:
    """The first round's reasoning as it lies in the page, and all islands."""
    text = "".join(chr(97 + number % 26) for number in range(length))
    of = shown(turn(*(round_(content=ANSWER, reasoning=text) for _ in range(rounds))))
    values = unpacked(island(of).islands)
    [body] = at(values, values["turns-index"]["rows"][0][-1])
    return body["rounds"][0]["reasoning"], values


def test_short_reasoning_is_there_as_it_is() -> None:
    (head, tail, between, place), _ = reasoning_turn(2000)
    assert (len(head), tail, between, place) == (2000, "", 0, None)


@pytest.mark.parametrize(("rounds", "head", "tail"), [(1, 1200, 400), (4, 300, 200)])
def test_of_long_reasoning_the_ends_are_shown_and_the_whole_is_kept_apart(
    rounds: int, head: int, tail: int
) -> None:
    (first, last, between, place), values = reasoning_turn(9_000, rounds)
    whole = at(values, place)
    assert (len(first), len(last)) == (head, tail)
    assert between == f"{9_000 - head - tail:,}"
    assert whole.startswith(first)
    assert whole.endswith(last)
    assert len(whole) == 9_000


def test_without_room_whole_turns_are_those_with_something_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ragevalkit.report.html.chunks._CHUNK_CHARACTERS", 1)
    room = sum(i.size for i in island(*map(bad, "uvw")).islands if i.id.startswith("turns-urgent"))
    monkeypatch.setattr(turns_island, "_TURNS_BYTES", room)
    turns = [of for n in range(3) for of in (good(f"good-{n}"), bad("uvw"[n]))]
    packed = island(*turns)
    values = unpacked(packed.islands)
    kept = [row[0] for row in values["turns-index"]["rows"] if at(values, row[-1])]
    assert kept == ["u", "v", "w"]
    assert (packed.turns, packed.whole_turns) == (6, 3)
    assert "not all of the 6 turns are in it whole: all 3 with something wrong." in packed.notes[0]


def test_without_any_room_the_index_stays_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_island, "_TURNS_BYTES", 0)
    monkeypatch.setattr(turns_island, "_FAULTY_TURNS_BYTES", 0)
    packed = island(good(), bad())
    values = unpacked(packed.islands)
    assert len(values["turns-index"]["rows"]) == 2
    assert packed.whole_turns == 0
    assert "0 of the 1 with something wrong." in packed.notes[0]


def test_reasoning_gives_way_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_island, "_ALL_BYTES", 0)
    packed = island(shown(turn(round_(content=ANSWER, reasoning="think " * 2_000))))
    assert packed.whole_turns == 1
    assert not any(island.id.startswith("reasoning") for island in packed.islands)
    assert packed.notes == [
        "Of 1 long reasonings only beginning and end are here, to keep this file small; "
        "`ragevalkit show --full` prints them whole."
    ]


def test_a_turn_without_scores_says_so() -> None:
    values = unpacked(island(shown(turn(reply=ANSWER), scored=False)).islands)
    [row] = values["turns-index"]["rows"]
    [body] = at(values, row[-1])
    assert row[6][0][1] is None
    assert body["remarks"] == ["not scored: scores.jsonl has no line for this turn"]


def test_a_pair_has_both_arms_and_what_differs() -> None:
    builder = TurnsIslandBuilder(["sixteen", "four"])
    decline = shown(turn(round_(call()), reply=DECLINE, question=UNANSWERABLE))
    builder.add([decline, bad()], ["refused_correctly"])
    builder.add([None, good()])
    packed = builder.island()
    values = unpacked(packed.islands)
    first, second = values["turns-index"]["rows"]
    metrics = list(values["turns-index"]["metrics"])
    assert [metrics[number] for number in first[5]] == ["refused_correctly"]
    assert [body["outcome"] for body in at(values, first[-1])] == ["decline", "answer"]
    assert second[6][0] is None
    assert at(values, second[-1])[0] is None
    assert packed.first.rows[0][3:6] == ["decline", "answer", "refused_correctly"]


@given(st.text(st.characters()))
def test_any_text_comes_through(text: str) -> None:
    """Half surrogates and what drives a terminal are spelled out, everything else is as it was."""
    of = shown(turn(round_(call(arguments=text)), reply=ANSWER))
    values = unpacked(island(of).islands)
    [body] = at(values, values["turns-index"]["rows"][0][-1])
    came = body["rounds"][0]["calls"][0]["arguments"]
    came.encode()
    assert "\u2028" not in came
    if text.isprintable():
        assert came == text

"""Turns as rows, lines and tables, from records to values."""

from __future__ import annotations

from typing import Any

import pytest
from scoring.turns import ANSWER, ANSWERABLE, UNANSWERABLE, call, cited, round_, turn

from ragevalkit.bank import Question
from ragevalkit.errors import InputError
from ragevalkit.report.tables import Table
from ragevalkit.report.transcript import Line, transcript
from ragevalkit.report.turns import (
    FAMILIES,
    Filter,
    ScoredTurn,
    first_words,
    make_filter,
    turn_row,
    turns_table,
    visible,
    visible_table,
    went_badly,
)
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.score import score_turn
from ragevalkit.turn.record import Channel, Turn


def shown(of: Turn, *, scored: bool = True) -> ScoredTurn:
    question = Question.model_validate(of.bank_line)
    return ScoredTurn(of, question, score_turn(of, None) if scored else None)


def text(of: ScoredTurn, **options: Any) -> str:
    """The lines of a transcript, and its tables' cells."""
    parts = []
    for block in transcript(of, **options):
        if isinstance(block, Line):
            parts.append(block.text)
        else:
            parts += ["|".join(row) for row in block.rows] + block.notes
    return "\n".join(parts)


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("one\r\ntwo\rthree", "one\ntwo\\x0dthree"),
        ("\x1b[31m\x07\x00", r"\x1b[31m\x07\x00"),
        ("\x7f\x9b2J\x85", r"\x7f\x9b2J\x85"),
        ("\u202eabc\u2066\u200f\u2028", r"\u202eabc\u2066\u200f\u2028"),
        ("\ud83d", r"\ud83d"),
        ("äöü 😀 مرحبا e\u0301 \u200d", "äöü 😀 مرحبا e\u0301 \u200d"),
        (r"\x1b is written out", r"\x1b is written out"),
    ],
)
def test_control_characters_are_made_visible(raw: str, seen: str) -> None:
    assert visible(raw) == seen


def test_cells_stay_on_one_line() -> None:
    table = visible_table(Table("t\x1b", ["a"], [["x\ny\x1b", "\u2028z"]], ["n\x07"]))
    assert (table.title, table.rows, table.notes) == (
        *(r"t\x1b", [[r"x y\x1b", " z"]], [r"n\x07"]),
    )


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("", ""),
        ("  two\n words ", "two words"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "…"),
        ("word " * 1000, "word " * 11 + "word…"),
        (" " * 10_000 + "late", "…"),
    ],
)
def test_first_words(long: str, short: str) -> None:
    assert first_words(long) == short


@pytest.mark.parametrize(
    ("metric", "value", "bad"),
    [
        ("answered", True, False),
        ("answered", False, True),
        ("answered", None, False),
        ("over_refused", True, True),
        ("over_refused", False, False),
        ("malformed_calls", True, True),
        ("citation_precision", 1.0, False),
        ("citation_precision", 0.5, True),
        ("citation_precision", 0.0, True),
        ("citation_precision", None, False),
        ("defects_per_turn", 0, False),
        ("defects_per_turn", 2.0, True),
    ],
)
def test_when_a_metric_went_badly(metric: str, value: bool | float | None, bad: bool) -> None:
    assert went_badly(metric, value) is bad


def test_a_family_stands_for_its_defects() -> None:
    assert FAMILIES == ("answer", "refusal", "citation", "call")
    wanted = make_filter(defects=["citation", "call:schema"]).defects
    assert set(wanted) == {n for n in DEFECTS if n.startswith("citation:")} | {"call:schema"}


@pytest.mark.parametrize(
    ("names", "known"),
    [
        ({"outcomes": ["answer", "Decline"]}, "decline"),
        ({"defects": ["cite"]}, "citation:wrong_page"),
        ({"metrics": [""]}, next(iter(METRICS))),
    ],
)
def test_unknown_names(names: dict[str, Any], known: str) -> None:
    with pytest.raises(InputError, match="there is no") as error:
        make_filter(**names)
    assert known in str(error.value)


def test_filters_without_scores() -> None:
    unscored = shown(turn(reply=ANSWER), scored=False)
    assert Filter().takes(unscored)
    assert Filter(words="PUMP   runs").takes(unscored)
    assert Filter(answerable=True).takes(unscored)
    assert not Filter(answerable=False).takes(unscored)
    assert not Filter(defects=list(DEFECTS)).takes(unscored)
    assert not Filter(metrics=list(METRICS)).takes(unscored)
    assert turn_row(unscored).defects is None
    assert "not scored" in turns_table([turn_row(unscored)], 1, 1).rows[0]
    assert "not scored" in text(unscored)


def test_the_row_says_what_the_scores_say() -> None:
    row = turn_row(shown(turn(reply=ANSWER, question=UNANSWERABLE, wall_ms=2500.0)))
    assert row.question_id == "u"
    assert row.answerable is False
    assert row.outcome == "answer"
    assert row.defects == ["answer:should_have_declined", "answer:without_search"]
    assert row.turn_s == 2.5
    table = turns_table([row], 7, 9)
    assert table.rows[0][2:4] == ["no", "answer"]
    assert table.notes == ["1 of 9 turns, the first of 7 that match"]


def test_pages_in_the_text_of_other_agents() -> None:
    of = turn(round_(call("search", "guide:4")), reply="It is 42 dB [guide p. 4].")
    of.tools = ["search"]
    assert "guide p. 4|in the text|yes|none|yes|" in text(shown(of))


def test_quotes_groups_and_uncited_evidence() -> None:
    question = ANSWERABLE | {
        "evidence": [
            {"document": "guide", "page": 4, "quote": "42 dB"},
            {"document": "guide", "page": 5, "group": 1},
        ]
    }
    first = cited("Guide.pdf:4")
    first.quote = "runs at 42"
    of = turn(
        round_(call("search", "guide:4", "guide:5")),
        round_(call("cite")),
        reply=ANSWER,
        citations=(first, cited("guide:9", exists=False)),
        question=question,
    )
    for scored in (True, False):
        said = text(shown(of, scored=scored))
        assert "evidence: guide p. 4, group 0: “42 dB”" in said
        assert "evidence: guide p. 5, group 1" in said
        assert "Guide.pdf p. 4|by call|yes|" in said
        assert "|yes|runs at 42" in said
        assert "guide p. 9|by call|no|" in said
        assert "guide p. 5|no|yes||yes|" in said
    assert "citation:no_such_page" in text(shown(of))


@pytest.mark.parametrize(
    "result",
    [
        "no JSON",
        "[1]",
        "null",
        '{"results": 3}',
        '{"results": [3]}',
        '{"results": [{"document": "d"}]}',
        '{"error": "[red]no[/red]"}',
    ],
)
def test_results_of_another_form_are_shown_raw(result: str) -> None:
    raw = [
        block
        for block in transcript(shown(turn(round_(call(result=result)), reply=ANSWER)))
        if isinstance(block, Line) and block.raw
    ]
    assert [line.text for line in raw] == ["{}", result]


def test_results_with_odd_values() -> None:
    result = '{"results": [{"document": 7, "page": "x", "text": null, "score": "high"}]}'
    said = text(shown(turn(round_(call(result=result)), reply=ANSWER)))
    assert "1 result\n7 p. x  None" in said
    assert "0 results" in text(shown(turn(round_(call(result='{"results": []}')), reply=ANSWER)))


def test_calls_and_channels() -> None:
    odd = call(
        *("serch",),
        id=None,
        arguments="",
        defect="unknown_tool",
        duplicate_id=True,
        result=None,
        started_ms=None,
    )
    channels = {
        "reasoning_channel": Channel(tokens=1200, estimated=True),
        "answer_channel": Channel(tokens=None),
    }
    of = turn(round_(odd, reasoning="r" * 5000, content="c", channels=channels), reply=ANSWER)
    said = text(shown(of))
    assert "call 1: serch, without id [unknown_tool] [duplicate id]" in said
    assert "arguments\nnone\nno result: the turn ended before it" in said
    assert "tokens: prompt –, reasoning 1,200 (estimated), answer –" in said
    assert "… 4,400 more characters (--full shows them)" in said
    assert "r" * 601 not in said
    assert "r" * 5000 in text(shown(of), full=True)


def test_a_turn_without_rounds() -> None:
    said = text(shown(turn(wall_ms=0.0), scored=False), repeats=3)
    assert "3 are on record" in said
    assert "0 rounds" in said
    assert "Reply\nnothing" in said

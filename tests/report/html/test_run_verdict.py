"""What the page of a run says first."""

from __future__ import annotations

from typing import Any

import pytest
from scoring.turns import ANSWER, DECLINE, UNANSWERABLE, call, cited, round_, turn

from ragevalkit.endpoint.instrument import Instrument, LoopLag
from ragevalkit.report.html.run_verdict import run_verdict
from ragevalkit.report.numbers import interval
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.score import score_turn
from ragevalkit.scoring.summary import Summary, Tally
from ragevalkit.scoring.timing import turn_timing
from ragevalkit.turn.record import Ended, Turn

SEARCH = round_(call("search", "guide:4", "guide:5"))
RIGHT = turn(SEARCH, round_(call("cite")), reply=ANSWER, citations=(cited("guide:4"),))
WRONG = turn(SEARCH, round_(call("cite")), reply=ANSWER, citations=(cited("guide:5"),))
DECLINED = turn(SEARCH, reply=DECLINE, question=UNANSWERABLE)
MALFORMED = turn(round_(call(defect="not_json", result="{}")), reply=ANSWER, question=UNANSWERABLE)
LOST = turn(ended=Ended.INFRA_ERROR)


def summary(*turns: Turn, planned: int | None = None, **fields: Any) -> Summary:
    tally = Tally()
    for of in turns:
        tally.add(score_turn(of, None), turn_timing(of))
    made = tally.summary("demo", len(turns) if planned is None else planned, **fields)
    return made.model_copy(update={"undefined_defects": {}})


@pytest.mark.parametrize(
    ("turns", "line"),
    [
        (
            [RIGHT, WRONG, DECLINED],
            "The model cited the correct page for 1 of 2 answerable questions and declined 1 of 1 "
            "unanswerable questions; no tool call was malformed.",
        ),
        (
            [DECLINED, MALFORMED],
            "The model declined 1 of 2 unanswerable questions; 1 of 2 turns had malformed tool "
            "calls.",
        ),
        (
            [RIGHT],
            "The model cited the correct page for 1 of 1 answerable questions; no tool call was "
            "malformed.",
        ),
        ([LOST, LOST], "No turn could be scored: all 2 were lost."),
        ([], "No turn could be scored."),
    ],
)
def test_one_sentence(turns: list[Turn], line: str) -> None:
    assert run_verdict(summary(*turns)).line == line


def test_repeats_are_turns_and_no_questions() -> None:
    said = run_verdict(summary(RIGHT, DECLINED), repeated=True).line
    assert said.startswith(
        "The model cited the correct page in 1 of 1 turns on answerable questions and declined in "
        "1 of 1 turns on unanswerable questions"
    )


def test_it_says_the_rates_with_intervals_and_the_most_frequent_defect() -> None:
    of = summary(RIGHT, WRONG, WRONG)
    cited = of.metrics["cited_correct_page"]
    because = run_verdict(of).because
    assert because[0] == (
        f"Correct page cited: 1/3, 33.3 % (95 % interval {interval(cited.low, cited.high)})."
    )
    assert because[-1] == (
        "2 of 3 turns have a defect; the most frequent, in 2, is citation:wrong_page: "
        f"{DEFECTS['citation:wrong_page'].meaning}."
    )


LIMITED = Instrument(
    seconds=1,
    samples=1,
    loop_lag_ms=LoopLag(p50=0, p99=9, max=9),
    cpu_share=0.5,
    client_limited="the loop was late",
)


@pytest.mark.parametrize(
    ("of", "options", "doubt"),
    [
        (summary(RIGHT, LOST), {}, "1 turn of 2 lost to infrastructure errors and in no number"),
        (summary(RIGHT, planned=3), {}, "Unfinished: 1 of 3 turns planned are on record"),
        (summary(RIGHT), {"unscored": 2}, "2 turns without scores"),
        (summary(RIGHT), {"left_out": ["line 3 is damaged"]}, "Left out: line 3 is damaged."),
        (summary(RIGHT, instrument=LIMITED), {}, "more of this client than of the server"),
        (
            summary(RIGHT).model_copy(update={"undefined_defects": {"citation:no_such_page": 1}}),
            {},
            "the corpus wasn't at hand: citation:no_such_page",
        ),
    ],
)
def test_what_makes_it_doubtful_comes_first(
    of: Summary, options: dict[str, Any], doubt: str
) -> None:
    verdict = run_verdict(of, **options)
    assert verdict.tone == "open"
    assert doubt in verdict.because[0]


def test_without_doubts_it_only_describes() -> None:
    verdict = run_verdict(summary(RIGHT, DECLINED))
    assert verdict.tone == "none"
    assert verdict.because[-1] == "None of 2 turns has a defect."


def test_of_many_lines_that_cant_be_read_it_names_a_few() -> None:
    because = run_verdict(summary(RIGHT), left_out=[f"line {n}" for n in range(9)]).because
    assert because[2:4] == ["Left out: line 2.", "And 6 more lines that can't be read."]

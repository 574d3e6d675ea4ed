"""Budget ladders: what is asked, how a reply is read, when a control counts as obeyed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.turns import round_, turn

from ragevalkit.bank import Question
from ragevalkit.bench.budget.controls import Obedience, judge, judge_efforts, slack
from ragevalkit.bench.budget.plan import Control, Ladder, known_controls, steps
from ragevalkit.bench.budget.reading import Reading, read
from ragevalkit.bench.budget.result import by_rung, summarise
from ragevalkit.bench.folder import Record
from ragevalkit.endpoint.probe import Finding, Probe, Verdict
from ragevalkit.report.bench_budget import budget_tables
from ragevalkit.turn.record import Channel, Ended, Round, RoundState

QUESTIONS = tuple(
    Question(id=name, question=f"What is {name}?", answerable=False) for name in ("a", "b")
)
OFF = Control("off", "off", {"reasoning_effort": "none"}, 0)


def ladder(*budgets: int, runs: int = 3, seed: int = 0) -> Ladder:
    return Ladder(budgets=budgets, runs=runs, questions=QUESTIONS, seed=seed)


def tokens(asked: int, refusal: str | None = None) -> Control:
    fields = {"thinking_token_budget": asked}
    return Control(f"thinking_token_budget {asked}", "tokens", fields, asked, refusal)


def channel(tokens: int | None, estimated: bool = False) -> Channel:
    return Channel.model_construct(tokens=tokens, estimated=estimated, gaps_ms=[], event_tokens=[])


def reading(reasoning: int | None = 0, answer: int = 5, **fields: Any) -> Reading:
    given = {
        "answered": bool(answer),
        "lost": False,
        "finish": "stop",
        "answer_tokens": answer,
        "reasoning_tokens": reasoning,
        "most_reasoning": reasoning,
        "ttft_ms": 10.0,
        "first_answer_ms": 40.0 if answer else None,
        "wall_ms": 100.0,
        "gap_ms": None,
        "output_tokens": None,
        "cut_off": False,
        "rejected": False,
        "error": None,
        "estimated": False,
        "thoughts_in_answer": False,
    }
    return Reading(**{**given, **fields})


def runs(*reasoning: int, **fields: Any) -> list[Reading]:
    return [reading(spent, **fields) for spent in reasoning]


# what is asked


@given(
    budgets=st.lists(st.integers(1, 10_000), min_size=1, max_size=6, unique=True),
    count=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_each_run_goes_once_through_all_budgets(budgets: list[int], count: int, seed: int) -> None:
    wanted = ladder(*sorted(budgets), runs=count, seed=seed)
    asked = list(steps(wanted))
    assert asked == list(steps(wanted))
    assert [step.run for step in asked] == sorted(step.run for step in asked)
    for run in range(count):
        of_run = [step for step in asked if step.run == run]
        assert sorted(step.budget for step in of_run) == sorted(budgets)
        assert {step.question.id for step in of_run} == {"ab"[run % 2]}


def test_the_order_is_drawn_anew_for_each_run() -> None:
    asked = [step.budget for step in steps(ladder(1, 2, 3, 4, 5, runs=4))]
    assert len({tuple(asked[at : at + 5]) for at in range(0, 20, 5)}) > 1


def test_controls_are_asked_at_the_largest_budget_but_for_those_that_were_refused() -> None:
    asked = list(steps(ladder(64, 1024, runs=2), [OFF, tokens(64), tokens(256, "no such field")]))
    assert {step.budget for step in asked} == {1024}
    names = sorted(str(step.place["control"]) for step in asked)
    assert names == ["off", "off", "thinking_token_budget 64", "thinking_token_budget 64"]


def probe(**findings: tuple[Verdict, str | None, str]) -> Probe:
    return Probe(
        endpoint="x",
        model="m",
        findings={
            name: Finding(title=name, verdict=verdict, value=value, evidence=evidence)
            for name, (verdict, value, evidence) in findings.items()
        },
        requests=1,
        seconds=1,
    )


def test_which_controls_are_tried_is_what_the_probe_knows() -> None:
    found = probe(
        enable_thinking=(Verdict.NO, None, "accepted and without effect"),
        reasoning_effort=(Verdict.NOT_SUPPORTED, None, "HTTP 400: unknown"),
        thinking_budget=(Verdict.YES, "reasoning_budget_tokens", "8 tokens"),
    )
    controls = {c.name: c for c in known_controls(found, (64, 256, 1024))}
    assert list(controls) == [
        "enable_thinking false",
        "reasoning_effort none",
        "reasoning_effort low",
        "reasoning_effort medium",
        "reasoning_effort high",
        "reasoning_budget_tokens 64",
        "reasoning_budget_tokens 256",
    ]
    assert controls["reasoning_effort none"].refusal == "HTTP 400: unknown"
    assert controls["reasoning_budget_tokens 64"].fields == {"reasoning_budget_tokens": 64}
    assert controls["enable_thinking false"].refusal is None


@pytest.mark.parametrize(
    ("engine", "field"),
    [("llama.cpp b1", "reasoning_budget_tokens"), ("vLLM 0.32", "thinking_token_budget")],
)
def test_a_budget_that_the_probe_saw_rejected_is_there_with_its_words(
    engine: str, field: str
) -> None:
    found = probe(
        engine=(Verdict.YES, engine, ""),
        thinking_budget=(Verdict.NOT_SUPPORTED, None, "HTTP 400: no"),
    )
    (control,) = [c for c in known_controls(found, (64, 256)) if c.kind == "tokens"]
    assert (control.name, control.refusal) == (f"{field} 64", "HTTP 400: no")


# how a reply is read

THOUGHT = {"reasoning_channel": channel(64)}
CLOCK = {"sent_ms": 5.0, "first_token_ms": 25.0, "first_answer_ms": 65.0, "ended_ms": 105.0}


def of(round_: Round) -> Reading:
    return read(Record(place={}, at="", round=round_))


def test_a_round_that_only_thought_has_no_answer_and_no_time_of_one() -> None:
    cut = round_(
        reasoning="hm", finish="length", channels=THOUGHT, clock={**CLOCK, "first_answer_ms": None}
    )
    got = of(cut)
    assert (got.answered, got.answer_tokens, got.reasoning_tokens) == (False, 0, 64)
    assert (got.ttft_ms, got.first_answer_ms, got.finish, got.cut_off) == (20, None, "length", True)
    assert got.before_answer_ms == got.wall_ms == 100


def test_times_count_from_the_sending() -> None:
    got = of(
        round_(content="42 dB", clock=CLOCK, channels={"answer_channel": channel(3), **THOUGHT})
    )
    assert (got.answered, got.answer_tokens, got.first_answer_ms) == (True, 3, 60)
    assert got.before_answer_ms == 60


def test_thoughts_left_in_the_text_are_no_answer() -> None:
    text = "<think>" + "x" * 83 + "</think>42 dB now."
    got = of(round_(content=text, clock=CLOCK, channels={"answer_channel": channel(108)}))
    assert (got.thoughts_in_answer, got.answered, got.estimated) == (True, True, True)
    assert (got.answer_tokens, got.reasoning_tokens) == (10, 98)
    assert got.first_answer_ms is None
    only = of(
        round_(content="<think>and on", finish="length", channels={"answer_channel": channel(4)})
    )
    assert (only.answered, only.answer_tokens, only.reasoning_tokens) == (False, 0, 4)


def test_reasoning_that_is_counted_and_not_shown_is_spent() -> None:
    hidden = round_(content="42 dB", channels={"answer_channel": channel(3)})
    hidden.usage = {"completion_tokens_details": {"reasoning_tokens": 200}}
    assert of(hidden).reasoning_tokens == 200


@pytest.mark.parametrize(
    ("state", "lost", "rejected"),
    [
        (RoundState.REJECTED, False, True),
        (RoundState.OVERFLOW, False, True),
        (RoundState.DEADLINE, False, False),
        (RoundState.CUT, True, False),
        (RoundState.BUSY, True, False),
        (RoundState.SERVER_ERROR, True, False),
    ],
)
def test_what_failed(state: RoundState, lost: bool, rejected: bool) -> None:
    failed = round_()
    failed.state, failed.error = state, "their words"
    got = of(failed)
    assert (got.lost, got.rejected, got.finish, got.error) == (
        lost,
        rejected,
        state.value,
        "their words",
    )


def test_a_turn_is_read_as_a_whole() -> None:
    first = round_(channels={"reasoning_channel": channel(30)}, finish="tool_calls")
    last = round_(
        content="42 dB",
        channels={"reasoning_channel": channel(300), "answer_channel": channel(3)},
        clock={"sent_ms": 50.0, "first_token_ms": 55.0, "first_answer_ms": 90.0, "ended_ms": 99.0},
    )
    got = read(Record(place={}, at="", turn=turn(first, last, wall_ms=100)))
    assert (got.answered, got.answer_tokens, got.finish) == (True, 3, "reply")
    assert (got.reasoning_tokens, got.most_reasoning, got.first_answer_ms) == (330, 300, 90)
    spent = turn(first, round_(reasoning="hm"), ended=Ended.BUDGET_EXHAUSTED)
    got = read(Record(place={}, at="", turn=spent))
    assert (got.answered, got.answer_tokens, got.finish) == (False, 0, "budget_exhausted")


# whether a control was obeyed

REFUSED = {"rejected": True, "error": "HTTP 400: no such field"}


@pytest.mark.parametrize(
    ("control", "spent", "free", "verdict", "words"),
    [
        (tokens(64), runs(64, 60, 66), runs(300, 310, 280), "obeyed", "spent 60 to 66; 280 to 310"),
        (tokens(64), runs(300, 310, 280), runs(300, 310, 280), "ignored", "asked for 64"),
        (tokens(64), runs(100, 90, 110), runs(300, 310, 280), "exceeded", "spent 90 to 110"),
        (tokens(64), runs(40, 50, 30), runs(40, 50, 30), "unknown", "no more is spent anyway"),
        (tokens(64), runs(64, answer=0), runs(300), "unknown", "no answer came"),
        (tokens(64), runs(64), [], "unknown", "no run without it"),
        (tokens(64), [], runs(300), "unknown", "no run tells"),
        (tokens(64), runs(0, **REFUSED), runs(300), "not_supported", "no such field"),
        (tokens(64, "HTTP 422"), [], runs(300), "not_supported", "HTTP 422"),
        (OFF, runs(0, 0), runs(300, 310), "obeyed", "asked for 0, spent 0"),
        (OFF, runs(0, 1), runs(300, 310), "exceeded", "0 to 1"),
        (OFF, runs(305, 1), runs(300, 310), "ignored", "1 to 305"),
        (OFF, runs(0), runs(300, thoughts_in_answer=True), "unknown", "without a parser"),
    ],
)
def test_obedience(
    control: Control, spent: list[Reading], free: list[Reading], verdict: str, words: str
) -> None:
    got = judge(control, spent, free)
    assert got.verdict == verdict, got
    assert words in got.evidence


@given(asked=st.integers(0, 10_000), spent=st.lists(st.integers(0, 20_000), min_size=1))
def test_nothing_is_obeyed_that_spent_more_than_asked(asked: int, spent: list[int]) -> None:
    got = judge(tokens(asked), runs(*spent), runs(*[50_000] * len(spent)))
    assert (got.verdict is Obedience.OBEYED) == (max(spent) <= asked + slack(asked))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        ((50, 60, 55), (300, 310, 280), "obeyed"),
        ((300, 310, 280), (300, 310, 280), "ignored"),
        ((300, 290, 280), (310, 285, 300), "unknown"),
        ((50,), (300,), "unknown"),
        ((0, 0, 0), (0, 0, 0), "unknown"),
    ],
)
def test_levels_of_effort(low: tuple[int, ...], high: tuple[int, ...], verdict: str) -> None:
    control = Control("reasoning_effort", "effort", {})
    levels = {"low": (control, runs(*low)), "high": (control, runs(*high))}
    assert judge_efforts(levels).verdict == verdict


# what it comes to


def result(found: dict[int, list[Reading]], **more: Any) -> Any:
    wanted = ladder(*found, runs=max(map(len, found.values())))
    readings = {(budget, None): of_budget for budget, of_budget in found.items()}
    return summarise(wanted, [], readings, name="n", endpoint="e", model="m", **more)


SILENT = runs(64, 64, 64, answer=0)
SAID = runs(300, 310, 290)


def test_the_sentence_of_a_model_that_reasons() -> None:
    got = result({64: SILENT, 256: SILENT, 1024: SILENT, 4096: SAID, 12000: SAID})
    assert got.smallest_that_answers == got.smallest_that_ends == 4096
    assert got.sentence == (
        "no answer at 64, 256 and 1,024 tokens; the smallest budget at which every run answers is "
        "4,096"
    )


def test_a_budget_at_which_some_run_stays_silent_is_too_small() -> None:
    got = result({64: [*SILENT[:2], reading()], 256: SAID})
    assert got.smallest_that_answers == 256
    assert "1 of 3 runs answers at 64" in got.sentence


def test_an_answer_that_is_cut_off_is_an_answer() -> None:
    cut = [reading(cut_off=True, output_tokens=64, finish="length")] * 3
    got = result({64: cut, 256: SAID})
    assert (got.smallest_that_answers, got.smallest_that_ends) == (64, 256)
    assert "the smallest at which none is cut off, 256" in got.sentence


def test_answers_that_are_all_cut_off() -> None:
    cut = [reading(cut_off=True, output_tokens=64, finish="length")] * 3
    refused = [reading(answer=0, rejected=True)] * 3
    got = result({64: cut, 12000: refused})
    assert (got.smallest_that_answers, got.smallest_that_ends) == (64, None)
    assert "at no budget do all answers come to their own end" in got.sentence


@pytest.mark.parametrize(
    ("answers", "shown"), [((5, 5, 0), "40 ms"), ((5, 0, 0), "2/3 never"), ((0, 0, 0), "never")]
)
def test_times_that_never_came_are_shown_as_such(answers: tuple[int, ...], shown: str) -> None:
    table = budget_tables(result({64: [reading(answer=tokens) for tokens in answers]}))[0]
    assert table.rows[0][table.columns.index("first answer")] == shown


def test_no_budget_is_enough() -> None:
    got = result({64: SILENT})
    assert got.smallest_that_answers is None
    assert "at no budget of the ladder does every run answer" in got.sentence


def test_lost_runs_are_counted_and_prove_nothing() -> None:
    got = result({64: [*SAID[:2], reading(lost=True, error="cut")]})
    assert (got.budgets[0].runs, got.budgets[0].lost, got.lost) == (2, 1, 1)
    assert got.smallest_that_answers is None
    assert got.budgets[0].errors == ["cut"]


def test_the_share_before_the_first_word_counts_silent_runs_whole() -> None:
    (rung,) = result({64: [reading(), reading(answer=0)]}).budgets
    assert rung.before_answer_share == (40 + 100) / 200
    assert rung.first_answer_ms == [40, None]


CUT_AT_6000 = [reading(cut_off=True, output_tokens=6000)] * 3


@pytest.mark.parametrize(
    ("found", "more", "words"),
    [
        ({12000: CUT_AT_6000}, {}, "at 12,000: cut off after 6,000 tokens, before the budget"),
        ({64: SAID, 12000: SAID}, {"context": 8192}, "12,000 tokens are more than the context"),
        ({64: runs(0, output_tokens=90)}, {}, "at 64: 90 tokens came"),
        ({64: runs(0, answer=0, **REFUSED)}, {}, "1 of 1 rejected: HTTP 400: no such field"),
        ({64: runs(0)}, {}, "no reasoning was seen"),
        ({64: runs(5, estimated=True)}, {}, "some token counts are estimated"),
        ({64: runs(5, thoughts_in_answer=True)}, {}, "is the server's reasoning parser on?"),
    ],
)
def test_notes(found: dict[int, list[Reading]], more: dict[str, Any], words: str) -> None:
    assert any(words in note for note in result(found, **more).notes)


def test_readings_come_in_the_order_of_the_runs() -> None:
    asked = sorted(steps(ladder(1, 2)), key=lambda step: -step.run)
    found = by_rung((step, reading(step.run)) for step in asked)
    assert [r.reasoning_tokens for r in found[1, None]] == [0, 1, 2]

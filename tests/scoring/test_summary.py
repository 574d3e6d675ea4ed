"""The summary of a run: counts and rates by hand, and the keys that other people's scripts read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

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

from ragevalkit.endpoint.instrument import Instrument, LoopLag
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.score import score_turn
from ragevalkit.scoring.summary import Rate, Summary, Tally
from ragevalkit.scoring.timing import TurnTiming, turn_timing
from ragevalkit.stats import wilson
from ragevalkit.turn.composition import PARTS
from ragevalkit.turn.record import Ended, Turn

HIT = round_(call("search", "guide:4"))
RIGHT = {"reply": ANSWER, "citations": (cited("guide:4"),)}


def numbered(question: dict[str, Any], number: int) -> dict[str, Any]:
    """Another question of the same kind."""
    return question | {"id": f"{question['id']}{number}", "question": f"Question {number}?"}


def tally(*turns: Turn) -> Tally:
    filled = Tally()
    for one in turns:
        filled.add(score_turn(one, None), turn_timing(one))
    return filled


def small_run() -> list[Turn]:
    """Four answerable questions, two unanswerable ones, and two infrastructure errors."""
    easy, other, third, fourth = (numbered(ANSWERABLE, number) for number in range(4))
    declined, invented = (numbered(UNANSWERABLE, number) for number in range(2))
    return [
        turn(HIT, question=easy, **RIGHT),
        turn(round_(call(defect="schema")), HIT, question=other, **RIGHT),
        turn(HIT, reply="The documents do not mention the price.", question=third),
        turn(HIT, ended=Ended.ROUND_LIMIT, question=fourth),
        turn(HIT, reply=DECLINE, question=declined),
        turn(reply=ANSWER, question=invented),
        turn(HIT, ended=Ended.INFRA_ERROR, question=easy, repeat=1),
        turn(ended=Ended.INFRA_ERROR, question=invented, repeat=1),
    ]


def test_counts_of_a_small_run() -> None:
    summary = tally(*small_run()).summary("small", planned=9)
    assert summary.run == "small"
    assert (summary.planned, summary.turns, summary.scored, summary.infra_errors) == (9, 8, 6, 2)
    counted = {
        kind: {name: count for name, count in outcomes.items() if count}
        for kind, outcomes in summary.outcomes.items()
    }
    assert counted == {
        "answerable": {"answer": 2, "decline": 1, "no_output": 1, "infra_error": 1},
        "unanswerable": {"answer": 1, "decline": 1, "infra_error": 1},
    }
    assert summary.defects == {
        "answer:should_have_declined": 1,
        "answer:without_search": 1,
        "answer:round_limit": 1,
        "refusal:should_have_answered": 1,
        "call:schema": 1,
    }
    assert (summary.detector.disagreements, summary.detector.n) == (1, 5), "one had no reply"


def test_rates_of_a_small_run() -> None:
    """Infrastructure errors are in none of them."""
    metrics = tally(*small_run()).summary("small", planned=8).metrics
    assert {name: (rate.k, rate.n) for name, rate in metrics.items()} == {
        "answered": (5, 6),
        "searched_first": (5, 6),
        "evidence_retrieved": (3, 4),
        "cited_correct_page": (2, 4),
        "refused_correctly": (1, 2),
        "over_refused": (1, 4),
        "malformed_calls": (1, 6),
        "cited_given_retrieved": (2, 3),
        "citation_precision": (None, 2),
        "citation_recall": (None, 2),
        "abstention_precision": (1, 2),
        "correct_answer": (0, 0),
        "turns_with_defect": (4, 6),
        "defects_per_turn": (None, 6),
    }
    for rate in metrics.values():
        if rate.k is not None and rate.n:
            assert rate.value == rate.k / rate.n
            assert (rate.low, rate.high) == wilson(rate.k, rate.n)
    assert metrics["defects_per_turn"].value == 5 / 6
    assert metrics["citation_precision"].value == 1


def refusals(k: int, n: int, repeats: int = 1) -> Tally:
    """`n` unanswerable questions, `k` of them declined each time."""
    return tally(
        *(
            turn(
                HIT,
                reply=DECLINE if number < k else ANSWER,
                question=numbered(UNANSWERABLE, number),
                repeat=repeat,
            )
            for number in range(n)
            for repeat in range(repeats)
        )
    )


def test_a_rate_has_its_published_interval() -> None:
    rate = refusals(38, 46).rate("refused_correctly")
    assert (rate.k, rate.n, rate.value) == (38, 46, 38 / 46)
    assert (rate.low, rate.high) == pytest.approx((0.692766, 0.909142), abs=1e-6)


def test_repeats_of_a_question_are_one_cluster() -> None:
    once, thrice = (refusals(38, 46, repeats).rate("refused_correctly") for repeats in (1, 3))
    assert (thrice.k, thrice.n) == (114, 138)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))


def test_repeats_are_clustered_by_the_questions_hash_and_not_by_its_id() -> None:
    """The same question under two ids is one; another question under the same id is another."""
    asked = [numbered(UNANSWERABLE, number) for number in range(8)]
    same = [turn(HIT, reply=DECLINE, question=asked[0] | {"id": f"x{i}"}) for i in range(8)]
    other = [turn(HIT, reply=DECLINE, question=one | {"id": "x"}) for one in asked]
    clustered = tally(*same).rate("refused_correctly")
    plain = tally(*other).rate("refused_correctly")
    assert (clustered.low, clustered.high) == wilson(1, 1)
    assert (plain.low, plain.high) == wilson(8, 8)


def test_undefined_is_null() -> None:
    empty = Tally().summary("empty", planned=0)
    for name, rate in empty.metrics.items():
        k = None if METRICS[name].is_mean else 0
        assert rate == Rate(k=k, n=0, value=None, low=None, high=None)
    assert empty.timing.composition == dict.fromkeys(PARTS)
    assert empty.timing.ttft_ms.model_dump() == {
        "p50": None, "p90": None, "p99": None, "n": 0, "censored": 0,
    }  # fmt: skip
    only_unanswerable = refusals(1, 2).summary("u", planned=2).metrics
    undefined = {name for name, rate in only_unanswerable.items() if rate.value is None}
    assert undefined == {
        name for name, metric in METRICS.items() if metric.over.startswith("answerable")
    }


def test_a_run_of_nothing_but_infrastructure_errors_has_no_numbers() -> None:
    summary = tally(*(turn(HIT, ended=Ended.INFRA_ERROR) for _ in range(3))).summary("x", 3)
    assert (summary.turns, summary.scored, summary.infra_errors) == (3, 0, 3)
    assert all(rate.value is None for rate in summary.metrics.values())
    assert (summary.defects, summary.timing.turn_s.n) == ({}, 0)


QUANTILES = {"p50", "p90", "p99", "n", "censored"}
CLOCKS = {"ttft_ms", "first_answer_ms", "turn_s", "tpot_ms", "rounds", "tool_rounds"}


@pytest.mark.parametrize("turns", [[], small_run()], ids=["empty", "small"])
def test_keys_of_summary_json(turns: list[Turn]) -> None:
    """Keys may be added, and none taken away."""
    written = tally(*turns).summary("run", planned=8).model_dump_json()
    summary = json.loads(written)
    assert set(summary) >= {
        "run", "turns", "scored", "infra_errors", "metrics", "outcomes", "defects", "timing",
    }  # fmt: skip
    assert set(summary["metrics"]) == set(METRICS)
    for rate in summary["metrics"].values():
        assert set(rate) == {"k", "n", "value", "low", "high"}
    assert set(summary["outcomes"]) == {"answerable", "unanswerable"}
    for outcomes in summary["outcomes"].values():
        assert set(outcomes) == {str(outcome) for outcome in Outcome}
    assert set(summary["timing"]) >= CLOCKS | {"composition"}
    for clock in CLOCKS:
        assert set(summary["timing"][clock]) == QUANTILES
    assert set(summary["timing"]["composition"]) == set(PARTS)
    assert Summary.model_validate_json(written).model_dump_json() == written


TIMING = TurnTiming(
    ttft_ms=100.0,
    first_answer_ms=500.0,
    turn_s=1.0,
    tpot_ms=10.0,
    tokens_estimated=False,
    rounds=2,
    tool_rounds=1,
    composition_ms=dict.fromkeys(PARTS, 0.0) | {"wait": 300.0, "answer": 700.0},
)


def timed(*timings: TurnTiming) -> Summary:
    score = score_turn(turn(HIT, **RIGHT), None)
    filled = Tally()
    for timing in timings:
        filled.add(score, timing)
    return filled.summary("timed", planned=len(timings))


def test_what_never_came_is_counted_and_not_dropped() -> None:
    never = replace(TIMING, ttft_ms=None, first_answer_ms=None, turn_s=None, tpot_ms=None)
    timing = timed(TIMING, replace(TIMING, first_answer_ms=700.0), TIMING, never, never).timing
    assert (timing.first_answer_ms.p50, timing.first_answer_ms.n) == (700, 5)
    for clock in (timing.ttft_ms, timing.first_answer_ms, timing.turn_s):
        assert clock.censored == 2
    # a turn without a second token has no time per token; nothing was cut off there
    assert (timing.tpot_ms.n, timing.tpot_ms.censored) == (3, 0)


def test_rounds_and_estimates() -> None:
    timing = timed(TIMING, replace(TIMING, rounds=4, tool_rounds=3, tokens_estimated=True)).timing
    assert (timing.rounds.p50, timing.tool_rounds.p50) == (3, 2)
    assert timing.tokens_estimated == 1


@pytest.mark.parametrize("n", [28, 29, 298, 299])
def test_percentiles_without_enough_turns_are_null(n: int) -> None:
    quantiles = timed(*[TIMING] * n).timing.ttft_ms
    assert (quantiles.p50, quantiles.p90, quantiles.p99) == (
        100, 100 if n >= 29 else None, 100 if n >= 299 else None,
    )  # fmt: skip


def test_composition_is_the_share_of_all_turns_time() -> None:
    """A long turn weighs more than a short one."""
    long = replace(TIMING, composition_ms=dict.fromkeys(PARTS, 0.0) | {"wait": 3000.0})
    shares = timed(TIMING, long).timing.composition
    assert shares == pytest.approx(
        dict.fromkeys(PARTS, 0.0) | {"wait": 3300 / 4000, "answer": 700 / 4000}
    )


def test_composition_shares_sum_to_one() -> None:
    shares = tally(*small_run()).summary("small", planned=8).timing.composition
    assert list(shares) == list(PARTS)
    assert sum(share for share in shares.values() if share is not None) == pytest.approx(1)


def test_times_of_infrastructure_errors_are_left_out() -> None:
    slow = turn(HIT, ended=Ended.INFRA_ERROR, wall_ms=60_000.0)
    timing = tally(turn(HIT, **RIGHT), slow).summary("x", planned=2).timing
    assert (timing.turn_s.n, timing.turn_s.p50, timing.rounds.n) == (1, 1.0, 1)


def instrument(limited: str | None) -> Instrument:
    lag = LoopLag(p50=0.1, p99=0.4, max=0.9)
    return Instrument(
        seconds=9, samples=1800, loop_lag_ms=lag, cpu_share=0.12, client_limited=limited
    )


@pytest.mark.parametrize("limited", [None, "this process took 90 % of a core"])
def test_timings_say_where_the_client_was_the_limit(limited: str | None) -> None:
    summary = tally(*small_run()).summary("x", 8, instrument=instrument(limited))
    assert summary.instrument == instrument(limited)
    assert summary.timing.client_limited == limited


def test_a_run_without_the_servers_figures_has_nulls() -> None:
    summary = tally(*small_run()).summary("x", planned=8)
    assert (summary.server, summary.instrument, summary.timing.wait) == (None, None, None)


def test_the_wait_is_split_over_all_turns_that_tell() -> None:
    split = [
        replace(TIMING, wait_ms={"queue": 10.0, "prefill": 50.0, "rest": 40.0}),
        replace(TIMING, wait_ms={"prefill": 250.0, "rest": 50.0}),
        TIMING,
    ]
    wait = timed(*split).timing.wait
    assert wait == {"queue": 10 / 400, "prefill": 300 / 400, "rest": 90 / 400}


def test_the_median_gap_is_of_the_turns_times_per_token() -> None:
    filled = Tally()
    assert filled.median_gap_ms is None
    for tpot_ms in (8.0, 30.0, None, 10.0):
        score = score_turn(turn(HIT, **RIGHT), None)
        filled.add(score, replace(TIMING, tpot_ms=tpot_ms))
    assert filled.median_gap_ms == 10

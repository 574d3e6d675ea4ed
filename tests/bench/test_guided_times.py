"""First-token time and time per token of one round, and what tools are of a run's turns."""

from __future__ import annotations

from typing import Any

import pytest

from ragevalkit.bench.guided.asking import gap, ttft
from ragevalkit.bench.guided.estimate import Verdict, estimate
from ragevalkit.bench.guided.result import ContrastResult, GuidedResult
from ragevalkit.bench.guided.sentences import sentences
from ragevalkit.bench.guided.share import turn_share
from ragevalkit.turn.record import Channel, Ended, Round, RoundClock, RoundState, Turn


def round_of(
    *, tokens: int | None = 11, state: RoundState = RoundState.DONE, **clock: Any
) -> Round:
    times = {"sent_ms": 10.0, "first_token_ms": 60.0, "last_token_ms": 160.0, "ended_ms": 165.0}
    return Round(
        state=state, completion_tokens=tokens, clock=RoundClock.model_validate(times | clock)
    )


@pytest.mark.parametrize(
    ("round_", "streams", "expected"),
    [
        (round_of(), True, 50.0),
        (round_of(first_token_ms=None), True, None),
        (round_of(first_token_ms=None), False, 155.0),
        (round_of(first_token_ms=None, tokens=0), False, None),
        (round_of(state=RoundState.CUT), True, None),
    ],
)
def test_first_token_time(round_: Round, streams: bool, expected: float | None) -> None:
    assert ttft(round_, streams) == expected


@pytest.mark.parametrize(
    ("round_", "expected"),
    [
        (round_of(), 10.0),
        (round_of(first_event_tokens=6), 20.0),
        (round_of(tokens=None), None),
        (round_of(tokens=1), None),
        (round_of(last_token_ms=60.0), None),
        (round_of(first_token_ms=None, last_token_ms=None), None),
        (round_of(state=RoundState.CUT), None),
    ],
)
def test_time_per_token(round_: Round, expected: float | None) -> None:
    assert gap(round_) == expected


def test_time_per_token_leaves_reasoning_out() -> None:
    round_ = round_of(tokens=30)
    round_.reasoning_channel = Channel(tokens=20, gaps_ms=[1.0] * 19)
    assert gap(round_) is None
    round_.answer_channel = Channel(tokens=10, gaps_ms=[7.0] * 10)
    assert gap(round_) == 7.0


def turn(rounds: int, wall_ms: float) -> Turn:
    return Turn(
        question_id="q",
        question_hash="h",
        repeat=0,
        outcome="answer",
        ended=Ended.REPLY,
        rounds=[round_of()] * rounds,
        started_at="2024-05-31T12:00:00Z",
        wall_ms=wall_ms,
        composition_ms={},
        corpus="",
        bank_line={},
    )


def result(cold: float | None, warm: float | None) -> GuidedResult:
    def contrast(ms: float | None) -> ContrastResult:
        found = estimate([ms] * 12 if ms is not None else [], 5.0)
        return ContrastResult(
            from_="P", to="T1", isolates="tools", ttft_ms=found, gap_ms=estimate([], 0.5)
        )

    return GuidedResult(
        name="guided-spark",
        endpoint="spark",
        model="m",
        tools=["search", "cite"],
        blocks=12,
        planned=12,
        stopped=None,
        tokens=32,
        streams=True,
        contrasts={"T1-P": contrast(cold)},
        warm_prefix=contrast(warm),
    )


def test_the_first_round_pays_the_cold_cost_and_later_ones_the_warm_one() -> None:
    share = turn_share(result(57.0, 2.0), "tarn-spark", [turn(5, 10_000), turn(1, 5_700)])
    assert share is not None
    assert (share.turns, share.rounds, share.turn_s) == (2, 3.0, 7.85)
    assert share.cost_ms == pytest.approx((57 + 8 + 57) / 2)
    assert share.share == pytest.approx((0.0065 + 0.01) / 2)


@pytest.mark.parametrize(
    ("cold", "warm", "turns"),
    [
        (None, 2.0, [turn(1, 10)]),
        (57.0, None, [turn(1, 10)]),
        (57.0, 2.0, []),
        (57.0, 2.0, [turn(0, 10)]),
    ],
)
def test_a_share_that_cannot_be_said_is_none(
    cold: float | None, warm: float | None, turns: list[Turn]
) -> None:
    assert turn_share(result(cold, warm), "tarn-spark", turns) is None


def test_sentences_say_what_is_known_and_what_is_not() -> None:
    costs = result(57.0, 2.0)
    costs.of_run = turn_share(costs, "tarn-spark", [turn(5, 10_400)])
    [first, last] = sentences(costs)
    assert first.startswith("Offering search, cite costs 57.0 ms")
    assert "65 ms of 10.4 s (0.6%): 57.0 ms in a turn's first round and 2.0 ms" in last
    nothing = result(0.0, 0.0)
    nothing.contrasts["T1-P"].ttft_ms = estimate([-0.1, 0.1] * 20, 5.0)
    assert "costs nothing of first-token time, by the margin of 5 ms" in sentences(nothing)[0]
    refused = result(None, None)
    refused.contrasts["T1-P"].ttft_ms.verdict = Verdict.NOT_ENGAGED
    refused.contrasts["T1-P"].notes = ["T1: tools need --enable-tools."]
    assert sentences(refused) == [
        "Offering search, cite has no known cost: T1: tools need --enable-tools."
    ]

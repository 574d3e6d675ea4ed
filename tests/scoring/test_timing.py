"""The clocks of one turn, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from scoring.turns import ANSWER, call, round_, turn

from ragevalkit.scoring.timing import turn_timing
from ragevalkit.turn.record import Call, Channel, Ended, Round, RoundState


def clock(sent: float, first: float | None, last: float | None, **more: Any) -> dict[str, Any]:
    ended = sent + 1 if last is None else last
    return {
        "sent_ms": sent,
        "first_token_ms": first,
        "last_token_ms": last,
        "ended_ms": ended,
    } | more


def tokens(count: int | None, *, estimated: bool = False) -> Channel:
    return Channel.model_construct(tokens=count, estimated=estimated)


def searching(
    *, count: int | None = 11, first_event: int | None = 1, estimated: bool = False
) -> Round:
    """First token 40 ms after it was sent at 10, last one 100 ms later."""
    return round_(
        call(),
        clock=clock(10.0, 50.0, 150.0, first_event_tokens=first_event),
        channels={"tool_channel": tokens(count, estimated=estimated)},
    )


def answering(*, content: str = ANSWER, first_event: int | None = 2) -> Round:
    """Reasons from 260 to 300 with 5 tokens, answers from 320 to 380 with 7."""
    return round_(
        content=content,
        clock=clock(200.0, 260.0, 380.0, first_answer_ms=320.0, first_event_tokens=first_event),
        channels={"reasoning_channel": tokens(5), "answer_channel": tokens(7)},
    )


def at_once() -> Round:
    """A call of 30 tokens in one event, by a server that doesn't say how many it carried."""
    return round_(
        call(),
        clock=clock(10.0, 50.0, 50.0, first_event_tokens=None),
        channels={"tool_channel": tokens(30)},
    )


def test_a_round_that_was_cut_off_ended_in_no_call() -> None:
    cut = searching().model_copy(update={"state": RoundState.DEADLINE})
    timing = turn_timing(turn(searching(), cut, ended=Ended.TURN_TIMEOUT))
    assert (timing.rounds, timing.tool_rounds) == (2, 1)


def test_clocks_of_an_answered_turn() -> None:
    timing = turn_timing(turn(searching(), answering(), wall_ms=400.0))
    assert timing.ttft_ms == 40, "of the first round, from when it was sent"
    assert timing.first_answer_ms == 320, "from the start of the turn"
    assert timing.turn_s == 0.4
    assert timing.tpot_ms == pytest.approx((100 + 120) / ((11 - 1) + (12 - 2)))
    assert (timing.rounds, timing.tool_rounds) == (2, 1)
    assert not timing.tokens_estimated
    assert sum(timing.composition_ms.values()) == pytest.approx(400)


@pytest.mark.parametrize(
    ("rounds", "tpot_ms"),
    [
        ([searching()], 10.0),
        ([searching(first_event=None)], None),  # parsers hold back how a call begins
        ([answering(first_event=None)], pytest.approx(120 / 11)),  # counts as one token
        ([searching(first_event=3)], 12.5),
        ([searching(count=1)], None),
        ([at_once()], None),
        ([at_once(), answering()], 12.0),  # nothing is known of the time between its tokens
        ([searching(count=None)], None),
        ([searching(count=0)], None),
        ([searching(count=None), answering()], 12.0),
        ([round_(clock=clock(0.0, None, None))], None),
        ([], None),
    ],
)
def test_time_per_token(rounds: list[Round], tpot_ms: float | None) -> None:
    assert turn_timing(turn(*rounds)).tpot_ms == tpot_ms


def test_first_token_that_never_came_is_null() -> None:
    failed = round_(clock=clock(0.0, None, None))
    for rounds in ([], [failed], [failed, answering()]):
        timing = turn_timing(turn(*rounds, ended=Ended.CONTEXT_OVERFLOW))
        assert timing.ttft_ms is None


LEAKED = '<tool_call>{"name": "search"}</tool_call>'


@pytest.mark.parametrize(
    ("last", "first_answer_ms"),
    [
        (answering(), 320.0),
        (answering(content=f"{ANSWER}{LEAKED}"), 320.0),
        (answering(content=""), None),
        (answering(content=" \n"), None),
        (answering(content=LEAKED), None),
        (searching(), None),
    ],
)
def test_first_answer_is_that_of_a_reply_one_can_see(
    last: Round, first_answer_ms: float | None
) -> None:
    assert turn_timing(turn(searching(), last)).first_answer_ms == first_answer_ms


def test_text_beside_a_call_is_no_first_answer() -> None:
    """Only the final reply's first token counts, however much was said before."""
    talking = searching()
    talking.content = "I will look that up."
    talking.clock.first_answer_ms = 60.0
    assert turn_timing(turn(talking, ended=Ended.ROUND_LIMIT)).first_answer_ms is None
    assert turn_timing(turn(talking, answering())).first_answer_ms == 320


@pytest.mark.parametrize("ended", Ended)
def test_a_turn_that_its_limit_cut_off_has_no_duration(ended: Ended) -> None:
    timing = turn_timing(turn(searching(), ended=ended, wall_ms=600.0))
    assert timing.turn_s == (None if ended is Ended.TURN_TIMEOUT else 0.6)


@pytest.mark.parametrize("calls", [[call()], [call(), call("cite")], [call(defect="schema")]])
def test_a_tool_round_is_one_that_ended_in_calls(calls: list[Call]) -> None:
    timing = turn_timing(turn(round_(*calls), round_(*calls), reply=ANSWER))
    assert (timing.rounds, timing.tool_rounds) == (3, 2)


def test_one_estimated_channel_marks_the_turn() -> None:
    assert turn_timing(turn(searching(estimated=True), answering())).tokens_estimated

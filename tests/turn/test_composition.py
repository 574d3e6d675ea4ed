"""Composition: every millisecond of a turn belongs to one part."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.turn.composition import PARTS, compose
from ragevalkit.turn.record import Attempt, Call, Channel, Round, RoundClock, RoundState


def channel(*gaps: float) -> Channel:
    return Channel.model_construct(gaps_ms=list(gaps))


def call(started: float | None, ended: float | None) -> Call:
    return Call.model_construct(
        id="c", name="search", arguments="{}", started_ms=started, ended_ms=ended
    )


def attempt(sent: float, ended: float, waited_s: float | None = None) -> Attempt:
    return Attempt.model_construct(
        number=1, state=RoundState.BUSY, sent_ms=sent, ended_ms=ended, waited_s=waited_s
    )


def round_(
    sent: float,
    ended: float,
    first: float | None = None,
    last: float | None = None,
    reasoning: Channel | None = None,
    tool: Channel | None = None,
    answer: Channel | None = None,
    calls: tuple[Call, ...] = (),
    attempts: tuple[Attempt, ...] = (),
) -> Round:
    return Round.model_construct(
        state=RoundState.DONE,
        clock=RoundClock.model_construct(
            sent_ms=sent, first_token_ms=first, last_token_ms=last, ended_ms=ended
        ),
        reasoning_channel=reasoning,
        tool_channel=tool,
        answer_channel=answer,
        calls=list(calls),
        attempts=list(attempts),
    )


class Case(NamedTuple):
    rounds: list[Round]
    wall_ms: float
    parts: dict[str, float]
    """Those that aren't 0."""


CASES = {
    "no round at all": Case([], 5, {"harness": 5}),
    "one reply": Case(
        [round_(1, 60, 41, 59, answer=channel(8, 10))],
        62,
        {"wait": 41, "answer": 18, "harness": 3},
    ),
    "one token": Case([round_(0, 12, 10, 10, answer=channel())], 12, {"wait": 12}),
    "no tokens": Case([round_(2, 30)], 31, {"wait": 28, "harness": 3}),
    "all channels in one round": Case(
        [round_(0, 50, 20, 50, channel(5, 0), channel(6), channel(9, 10))],
        50,
        {"wait": 20, "reasoning": 5, "tool_arguments": 6, "answer": 19},
    ),
    "several calls, one of them not carried out": Case(
        [
            round_(
                0,
                20,
                10,
                20,
                tool=channel(10),
                calls=(call(21, 24), call(24, 31), call(None, None)),
            ),
            round_(33, 43, 40, 43, answer=channel(3)),
        ],
        44,
        {"wait": 17, "tool_arguments": 10, "answer": 3, "tools": 10, "harness": 4},
    ),
    "a call that the end of the turn cut off": Case(
        [round_(0, 5, calls=(call(6, None),))], 10, {"wait": 5, "harness": 5}
    ),
    "a retry": Case(
        [
            round_(
                131,
                150,
                140,
                150,
                answer=channel(10),
                attempts=(attempt(1, 31, 0.1), attempt(131, 150)),
            )
        ],
        151,
        {"wait": 9, "answer": 10, "retries": 130, "harness": 2},
    ),
    "retries in two rounds": Case(
        [
            round_(
                30, 40, 35, 40, tool=channel(5), attempts=(attempt(0, 10, 0.02), attempt(30, 40))
            ),
            round_(
                100,
                120,
                110,
                120,
                answer=channel(10),
                attempts=(attempt(50, 60, 0.01), attempt(70, 80, 0.02), attempt(100, 120)),
            ),
        ],
        120,
        {"wait": 15, "tool_arguments": 5, "answer": 10, "retries": 80, "harness": 10},
    ),
    "the server hangs after the first tokens": Case(
        [round_(0, 5000, 10, 15, answer=channel(5))],
        5001,
        {"wait": 4995, "answer": 5, "harness": 1},
    ),
    "a control request tells whose failure it was": Case(
        [
            round_(0, 10, attempts=(attempt(0, 10),)).model_copy(
                update={"state": RoundState.SERVER_ERROR}
            )
        ],
        50,
        {"wait": 10, "retries": 40},
    ),
    "the turn's time runs out in a pause": Case(
        [round_(0, 10, attempts=(attempt(0, 10, 60),))], 600, {"wait": 10, "retries": 590}
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_parts_by_hand(case: Case) -> None:
    parts = compose(case.rounds, case.wall_ms)
    assert parts == pytest.approx(dict.fromkeys(PARTS, 0.0) | case.parts)
    assert tuple(parts) == PARTS


SPANS = st.integers(0, 10**8).map(lambda us: us / 1000)


@st.composite
def rounds_and_wall(draw: st.DrawFn) -> tuple[list[Round], float, float]:
    """Rounds one after the other, the turn's wall time, and the time between and after rounds."""
    now = idle = 0.0
    rounds = []
    for _ in range(draw(st.integers(0, 5))):
        pause = draw(SPANS)
        now, idle = now + pause, idle + pause
        attempts = []
        for _ in range(draw(st.integers(0, 2))):
            failed, waited = draw(SPANS), draw(SPANS)
            attempts.append(attempt(now, now + failed, waited / 1000))
            now += failed + waited
        sent = now
        wait, tail = draw(SPANS), draw(SPANS)
        gaps = [draw(st.lists(SPANS, max_size=4)) for _ in range(3)]
        decoding = sum(map(sum, gaps))
        first = sent + wait
        now = ended = first + decoding + tail
        attempts.append(attempt(sent, ended))
        calls = []
        for span in draw(st.lists(SPANS, max_size=3)):
            calls.append(call(now, now + span))
            now += span
        rounds.append(
            round_(
                sent,
                ended,
                first,
                first + decoding,
                *(channel(*g) if g else None for g in gaps),
                calls=tuple(calls),
                attempts=tuple(attempts),
            )
        )
    rest = draw(SPANS)
    return rounds, now + rest, idle + rest


@settings(deadline=None)
@given(rounds_and_wall())
def test_parts_add_up_and_none_is_negative(turn: tuple[list[Round], float, float]) -> None:
    rounds, wall_ms, idle = turn
    parts = compose(rounds, wall_ms)
    assert sum(parts.values()) == pytest.approx(wall_ms, abs=0.004), "half a microsecond a part"
    assert all(ms >= 0 for ms in parts.values())
    assert parts["harness"] == pytest.approx(idle, abs=0.001)

"""A turn's rounds as stretches of time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.turns import call, round_, turn

from ragevalkit.report.html.time_line import bars
from ragevalkit.turn.record import Attempt, RoundState

CLOCK = {
    "sent_ms": 10.0,
    "first_token_ms": 30.0,
    "first_reasoning_ms": 30.0,
    "first_tool_argument_ms": 70.0,
    "last_token_ms": 90.0,
    "ended_ms": 92.0,
}


def stretches(clock: dict[str, Any], *calls: Any) -> list[tuple[str, float, float]]:
    of = turn(round_(*calls, clock=clock))
    return [(bar.part, bar.begin_ms, bar.end_ms) for bar in bars(of)]


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        (
            CLOCK,
            [
                ("wait", 10, 30),
                ("reasoning", 30, 70),
                ("tool_arguments", 70, 90),
                ("wait", 90, 92),
            ],
        ),
        # nothing came
        ({"sent_ms": 5.0, "ended_ms": 50.0}, [("wait", 5, 50)]),
        # everything came at once
        (
            {
                "sent_ms": 0.0,
                "first_token_ms": 9.0,
                "first_answer_ms": 9.0,
                "last_token_ms": 9.0,
                "ended_ms": 9.0,
            },
            [("wait", 0, 9)],
        ),
    ],
)
def test_stretches_of_a_round(
    clock: dict[str, Any], expected: list[tuple[str, float, float]]
) -> None:
    assert stretches(clock) == expected


def test_tools_and_failed_attempts_have_their_own() -> None:
    of = round_(call(started_ms=95.0, ended_ms=99.0), clock=CLOCK)
    of.attempts = [
        Attempt(number=1, state=RoundState.BUSY, sent_ms=2.0, ended_ms=3.0, waited_s=0.007),
        Attempt(number=2, state=RoundState.DONE, sent_ms=10.0, ended_ms=92.0),
    ]
    parts = [(bar.part, bar.begin_ms, bar.end_ms, bar.took) for bar in bars(turn(of))]
    assert parts[0] == ("retries", 2, 10, "8 ms")
    assert parts[-1] == ("tools", 95, 99, "4 ms")


times = st.integers(0, 10**9).map(lambda us: us / 1000)


@given(st.lists(times, min_size=6, max_size=6), st.permutations(["reasoning", "answer"]))
def test_stretches_of_a_round_never_overlap(moments: list[float], order: list[str]) -> None:
    sent, first, second, last, ended, _ = sorted(moments)
    clock = {
        "sent_ms": sent,
        "first_token_ms": first,
        f"first_{order[0]}_ms": first,
        f"first_{order[1]}_ms": second,
        "last_token_ms": last,
        "ended_ms": ended,
    }
    found = stretches(clock)
    assert all(begin < end for _, begin, end in found)
    assert all(a[2] <= b[1] for a, b in pairwise(found))
    if found:
        assert sent <= found[0][1]
        assert found[-1][2] <= ended

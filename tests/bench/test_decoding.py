"""Tokens, rates and arrivals of one reply."""

from __future__ import annotations

import pytest
from bench.replies import failed, reply
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.bench.decoding import all_gaps_ms, arrivals, decoding, wait_ms
from ragevalkit.turn.record import Channel, RoundState


def test_a_rate_leaves_out_the_first_event_and_its_tokens() -> None:
    read = decoding(reply(wait_ms=100, gaps_ms=[20.0] * 5, per_event=2))
    assert read is not None
    assert (read.tokens, read.first_tokens, read.timed) == (12, 2, 10)
    assert (read.span_ms, read.whole_ms) == (100, 200)
    assert read.rate == 100


@pytest.mark.parametrize("gaps_ms", [(), (0.0, 0.0)])
def test_tokens_that_come_at_once_have_no_rate(gaps_ms: tuple[float, ...]) -> None:
    read = decoding(reply(gaps_ms=gaps_ms))
    assert read is not None
    assert read.rate is None


def test_nothing_came() -> None:
    lost = failed(RoundState.UNREACHABLE)
    assert decoding(lost) is wait_ms(lost) is None
    assert arrivals(lost) == all_gaps_ms(lost) == []


def test_channels_follow_each_other_in_the_order_of_their_first_tokens() -> None:
    both = reply(gaps_ms=[5.0, 5.0], tokens=6)
    both.reasoning_channel = Channel(tokens=3, gaps_ms=[1.0, 1.0], event_tokens=[1, 1])
    both.clock.first_reasoning_ms = both.clock.first_token_ms
    both.clock.first_answer_ms = 107.0
    assert [a.at_ms for a in arrivals(both)] == [100, 101, 102, 107, 112]
    assert all_gaps_ms(both) == [1, 1, 5, 5]


@given(
    gaps_ms=st.lists(st.floats(0, 1e4), max_size=30),
    per_event=st.none() | st.integers(1, 5),
    sent_ms=st.floats(0, 1e4),
)
def test_arrivals_hold_all_tokens_and_end_with_the_last(
    gaps_ms: list[float], per_event: int | None, sent_ms: float
) -> None:
    one = reply(sent_ms=sent_ms, gaps_ms=gaps_ms, per_event=per_event, tokens=None)
    read, came = decoding(one), arrivals(one)
    assert read is not None
    assert sum(a.tokens for a in came) == pytest.approx(read.tokens)
    assert came[0].at_ms == one.clock.first_token_ms
    assert came[-1].at_ms == pytest.approx(one.clock.last_token_ms)
    assert [a.at_ms for a in came] == sorted(a.at_ms for a in came)

"""The loopback server: its schedule, its stamps, and what the client's record says of them."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from ragevalkit.bench.loopback import Clock, Loopback, Token, tokens_of
from ragevalkit.bench.loopback_server import Schedule
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round, RoundState

HOUR_NS = 3_600_000_000_000


def rounds_of(loopback: Loopback, *schedules: Schedule) -> list[tuple[Round, int]]:
    """Ask for all schedules at once; each round with its origin."""

    async def one(client: ChatClient, schedule: Schedule) -> tuple[Round, int]:
        origin_ns = time.perf_counter_ns()
        return await client.complete(loopback.body(schedule), [], origin_ns), origin_ns

    async def all_of_them() -> list[tuple[Round, int]]:
        client = ChatClient(loopback.profile, concurrency=len(schedules))
        try:
            return await asyncio.gather(*(one(client, schedule) for schedule in schedules))
        finally:
            await client.close()

    return asyncio.run(all_of_them())


def stamps_of(loopback: Loopback, *schedules: Schedule) -> list[list[Token]]:
    return [tokens_of(r, o, loopback.clock()) for r, o in rounds_of(loopback, *schedules)]


def test_tokens_are_due_at_equal_gaps_and_sent_in_order() -> None:
    with Loopback() as loopback:
        (tokens,) = stamps_of(loopback, Schedule(answer=20, gap_ns=1_000_000))
    assert len(tokens) == 20
    assert {b.due_ns - a.due_ns for a, b in itertools.pairwise(tokens)} == {1_000_000}
    assert tokens == sorted(tokens, key=lambda token: token.sent_ns)
    for token in tokens:
        assert token.due_ns <= token.sent_ns <= token.read_ns + 50_000  # gaps are kept in µs


def test_reasoning_comes_before_the_answer_and_both_are_counted() -> None:
    schedule = Schedule(reasoning=5, answer=7, gap_ns=1_000_000, first_ns=20_000_000)
    with Loopback() as loopback:
        ((round_, origin_ns),) = rounds_of(loopback, schedule)
    assert round_.state is RoundState.DONE
    assert round_.completion_tokens == 12
    assert round_.reasoning_field == "reasoning_content"
    assert (round_.reasoning.count(";"), round_.content.count(";")) == (5, 7)
    tokens = tokens_of(round_, origin_ns, Clock(0, 0))
    assert len(tokens) == 12
    clock = round_.clock
    assert clock.first_token_ms is not None
    assert clock.first_answer_ms is not None
    assert clock.first_token_ms - clock.sent_ms >= 20
    assert (tokens[5].read_ns - origin_ns) / 1e6 == pytest.approx(clock.first_answer_ms, abs=0.01)


def test_streams_of_one_number_begin_together() -> None:
    schedules = [
        Schedule(answer=3, gap_ns=1_000_000, first_ns=first_ns, streams=3)
        for first_ns in (0, 0, 500_000)
    ]
    with Loopback() as loopback:
        one, two, three = stamps_of(loopback, *schedules)
    assert one[0].due_ns == two[0].due_ns == three[0].due_ns - 500_000


def test_a_request_without_a_schedule_is_rejected() -> None:
    body = {"model": "loopback", "messages": [{"role": "user", "content": "Hello"}]}

    async def ask(loopback: Loopback) -> Round:
        client = ChatClient(loopback.profile, concurrency=1)
        client.proven = True
        try:
            return await client.complete(body, [], time.perf_counter_ns())
        finally:
            await client.close()

    with Loopback() as loopback:
        round_ = asyncio.run(ask(loopback))
    assert round_.state is RoundState.REJECTED
    assert "schedule" in (round_.error or "")


def test_a_server_on_another_clock_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = time.perf_counter_ns
    with Loopback() as loopback:
        assert loopback.clock().offset_ns == 0 or loopback.clock().uncertainty_ns > 0
        monkeypatch.setattr("time.perf_counter_ns", lambda: ours() + HOUR_NS)
        clock = loopback.clock()
        assert abs(clock.offset_ns - HOUR_NS) <= clock.uncertainty_ns
        (tokens,) = stamps_of(loopback, Schedule(answer=3, gap_ns=1_000_000))
    assert all(abs(token.lateness_ms) < 60_000 for token in tokens)


def test_the_server_ends_with_its_parents_pipe() -> None:
    loopback = Loopback()
    loopback.close()
    with pytest.raises(EndpointUnusable, match="died: exit status 0"):
        loopback.check()
    loopback.close()

"""Waiting split by the server's own figures."""

from __future__ import annotations

import pytest

from ragevalkit.turn.composition import compose, split_wait
from ragevalkit.turn.record import Channel, Round, RoundClock, RoundState, ServerTimes


def waited(wait_ms: float, server: ServerTimes | None) -> Round:
    """A round that waited so long around 30 ms from token to token."""
    return Round(
        state=RoundState.DONE,
        clock=RoundClock(sent_ms=100, ended_ms=130 + wait_ms),
        answer_channel=Channel(tokens=4, gaps_ms=[10, 10, 10]),
        server=server,
    )


def vllm(queue_ms: float | None, prefill_ms: float | None) -> ServerTimes:
    return ServerTimes(source="vllm", queue_ms=queue_ms, prefill_ms=prefill_ms)


LLAMA = ServerTimes(source="llama.cpp", prefill_ms=40)


@pytest.mark.parametrize(
    ("rounds", "parts"),
    [
        ([], None),
        ([waited(90, None)], None),
        ([waited(90, ServerTimes(source="vllm", decode_ms=30))], None),
        ([waited(90, vllm(20, 60))], {"queue": 20, "prefill": 60, "rest": 10}),
        ([waited(90, vllm(0, 60))], {"queue": 0, "prefill": 60, "rest": 30}),
        ([waited(90, LLAMA)], {"prefill": 40, "rest": 50}),
        (
            [waited(90, vllm(20, 60)), waited(500, None), waited(50, vllm(5, 40))],
            {"queue": 25, "prefill": 100, "rest": 15},
        ),
        ([waited(90, vllm(20, 71))], {"queue": 20, "prefill": 71, "rest": -1}),
    ],
)
def test_split_wait(rounds: list[Round], parts: dict[str, float] | None) -> None:
    assert split_wait(rounds) == parts


def test_the_parts_add_up_to_the_wait_of_the_composition() -> None:
    rounds = [waited(90.125, vllm(20.5, 60.25)), waited(33, LLAMA)]
    parts = split_wait(rounds)
    assert parts is not None
    assert sum(parts.values()) == pytest.approx(compose(rounds, 500)["wait"])

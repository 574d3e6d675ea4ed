"""What engines say of a request, and what becomes of it in the record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from endpoint.asking import BODY, asking
from endpoint.streams import DONE, ONE, ROLE, STOP, chunk, read, sse, usage

from ragevalkit.endpoint.record import AttemptClock, round_record
from ragevalkit.endpoint.server_times import server_times
from ragevalkit.turn.record import Round, ServerTimes

VLLM = {
    "time_to_first_token_ms": 12.34567,
    "queue_time_ms": 1.5,
    "generation_time_ms": 80.0,
    "mean_itl_ms": 2.0,
    "tokens_per_second": 43.0,
    "speculative_decoding": {"num_draft_tokens": 30, "num_accepted_draft_tokens": 21},
}
LLAMA = {
    "cache_n": 100,
    "prompt_n": 20,
    "prompt_ms": 15.25,
    "predicted_n": 6,
    "predicted_ms": 50.5,
    "draft_n": 4,
    "draft_n_accepted": 3,
}


@pytest.mark.parametrize(
    ("metrics", "timings", "times"),
    [
        (None, None, None),
        ({}, {}, None),
        ({"p99": 3}, {"hello": 1}, None),
        (
            VLLM,
            None,
            ServerTimes(
                source="vllm",
                queue_ms=1.5,
                prefill_ms=12.346,
                decode_ms=80,
                draft_tokens=30,
                accepted_tokens=21,
            ),
        ),
        ({"queue_time_ms": 0, "speculative_decoding": None}, None, ("vllm", {"queue_ms": 0})),
        (
            None,
            LLAMA,
            ServerTimes(
                source="llama.cpp",
                prefill_ms=15.25,
                decode_ms=50.5,
                prompt_tokens=120,
                cached_tokens=100,
                completion_tokens=6,
                draft_tokens=4,
                accepted_tokens=3,
            ),
        ),
        (None, {"prompt_n": 5}, ("llama.cpp", {"prompt_tokens": 5})),
        (
            {"queue_time_ms": None, "time_to_first_token_ms": "soon", "generation_time_ms": True},
            None,
            None,
        ),
        ({"queue_time_ms": float("nan"), "generation_time_ms": -1}, None, None),
        (None, {"prompt_ms": float("inf"), "predicted_n": 10**30}, None),
    ],
)
def test_server_times(metrics: Any, timings: Any, times: Any) -> None:
    if isinstance(times, tuple):
        times = ServerTimes(source=times[0], **times[1])
    assert server_times(metrics, timings) == times


def record(last: dict[str, Any]) -> Round:
    reader, clock = read([ROLE, ONE, STOP, sse({"choices": [], **last}), DONE]), AttemptClock(0)
    return round_record(reader, clock, None, [])


def test_the_record_of_a_round() -> None:
    """Usage comes first; the engine's block fills what it lacks."""
    round_ = record({"timings": LLAMA})
    assert round_.server == server_times(None, LLAMA)
    counts = (round_.prompt_tokens, round_.cached_tokens, round_.completion_tokens)
    assert counts == (120, 100, 6)
    round_ = record({"timings": LLAMA, "usage": usage(7, prompt=9)})
    assert (round_.prompt_tokens, round_.completion_tokens) == (9, 7)
    assert record({"usage": usage(7)}).server is None
    assert record({"usage": {**usage(7), "cached_tokens": 3}}).cached_tokens == 3
    for one in (record({"timings": LLAMA}), record({"usage": usage(7), "metrics": VLLM})):
        assert Round.model_validate_json(one.model_dump_json()).server == one.server


def test_the_prompt_counted_by_its_ids() -> None:
    first = sse(chunk({"role": "assistant"}, prompt_token_ids=[1, 2, 3]))
    round_ = round_record(read([first, ONE, STOP, DONE]), AttemptClock(0), None, [])
    assert round_.prompt_tokens == 3


@pytest.mark.parametrize(
    ("wire", "source"),
    [
        ('usage_on = "finish"\nserver_times = "metrics"', "vllm"),
        ('server_times = "timings"', "llama.cpp"),
    ],
)
def test_over_http(mock_url: Callable[[str], str], wire: str, source: str) -> None:
    """The mock scripts 40 ms to the first token and 10 ms to each other."""
    url = mock_url(
        f"[wire]\n{wire}\n[[rules]]\n[rules.timing]\nfirst_token_ms = 40\nanswer_gap_ms = 10\n"
        '[rules.reply]\nanswer = "one two three"'
    )

    async def ask() -> Round:
        async with asking(url) as client:
            return await client.complete(BODY, [], 0)

    server = asyncio.run(ask()).server
    assert server is not None
    assert (server.source, server.prefill_ms, server.decode_ms) == (source, 40, 20)

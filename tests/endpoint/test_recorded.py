"""Answers recorded from vLLM 0.32 and llama.cpp serving SmolLM2, byte for byte, and what is read.

Bare names are requests with `include_usage`; `no-usage` is one without; `counted` ones asked for
counts on every event (vLLM: ids and continuous usage, llama.cpp: `timings_per_token`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint.hearing import ask, hear
from servers import event_stream, raw_server

from ragevalkit.endpoint.faults import status_fault
from ragevalkit.endpoint.reader import StreamReader
from ragevalkit.endpoint.record import AttemptClock, round_record
from ragevalkit.turn.record import Channel, Round, RoundState

FOLDER = Path(__file__).parent / "recorded"
STREAMS = sorted(path.stem for path in FOLDER.glob("*.sse"))
BRICK = '{"query": "power brick"}'

REPLIES = {
    "plain": ("The capital of France is Paris.", "stop"),
    "plain-counted": ("The capital of France is Paris.", "stop"),
    "plain-no-usage": ("I'm so glad you're here. I'm so glad", "length"),
    "length": ("The story of a young woman", "length"),
}
CALLS = {
    "llama.cpp-tools-cut": ("search", "{", "length"),
    "vllm-tools-cut": ("search", "{}", "length"),
    "vllm-tools-named": ("cite", '{"query": "power brick of the Tarn 1"}', "stop"),
    "llama.cpp-tools-auto": ("search", '{"query": "power brick of the Tarn 1"}', "tool_calls"),
}


def engine_and_case(name: str) -> tuple[str, str]:
    engine, _, case = name.partition("-")
    return engine, case


def recorded(name: str) -> bytes:
    return (FOLDER / f"{name}.sse").read_bytes()


def read(name: str) -> tuple[StreamReader, Round]:
    reader, clock = StreamReader(), AttemptClock(0)
    for number, event in enumerate(recorded(name).split(b"\n\n"), 1):
        reader.feed(event + b"\n\n", number * 1_000_000)
    clock.end(reader.last_event_ns)
    return reader, round_record(reader, clock, None, [])


def channels(round_: Round) -> list[Channel]:
    found = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    return [channel for channel in found if channel is not None]


def last_block(name: str, field: str) -> Any:
    """A field of the last event that has it."""
    lines = [line[6:] for line in recorded(name).split(b"\n") if line.startswith(b"data: {")]
    return next((b[field] for b in map(json.loads, reversed(lines)) if b.get(field)), None)


def test_both_engines_are_recorded() -> None:
    cases = {"llama.cpp": set[str](), "vllm": set[str]()}
    for name in STREAMS:
        engine, case = engine_and_case(name)
        cases[engine].add(case)
    assert {*REPLIES, "schema", "tools-auto", "tools-cut"} <= cases["vllm"] & cases["llama.cpp"]


@pytest.mark.parametrize("name", STREAMS)
def test_texts_and_calls(name: str) -> None:
    reader, round_ = read(name)
    _, case = engine_and_case(name)
    assert (reader.error, reader.malformed_events, reader.done) == (None, 0, True)
    if "tools" in case:
        called, arguments, finish = CALLS.get(name, ("search", BRICK, "tool_calls"))
        assert [(c.name, c.arguments) for c in round_.calls] == [(called, arguments)]
        assert round_.calls[0].id
        assert (round_.content, round_.finish_reason) == ("", finish)
    elif case in REPLIES:
        assert (round_.content, round_.finish_reason) == REPLIES[case]
        assert round_.calls == []
    elif case == "schema":
        assert round_.content.startswith("{\n")
        assert "K7-4419-qx" in round_.content
    assert round_.reasoning == ""


@pytest.mark.parametrize("name", STREAMS)
def test_counts_and_server_times(name: str) -> None:
    """Counts are usage's; in its absence llama.cpp's timings still have them."""
    reader, round_ = read(name)
    engine, case = engine_and_case(name)
    usage, timings = last_block(name, "usage"), last_block(name, "timings")
    assert (usage is None) == ("no-usage" in case)
    assert (timings is None) == (engine == "vllm")
    tokens = [channel.tokens for channel in channels(round_)]
    if usage is not None:
        assert round_.usage == usage
        assert round_.completion_tokens == usage["completion_tokens"]
        assert round_.prompt_tokens == usage["prompt_tokens"]
    if engine == "llama.cpp":
        assert round_.completion_tokens == timings["predicted_n"]
        assert round_.prompt_tokens == timings["prompt_n"] + timings["cache_n"]
        assert round_.cached_tokens == timings["cache_n"]
        assert round_.server is not None
        assert round_.server.source == "llama.cpp"
        assert round_.server.prefill_ms == round(timings["prompt_ms"], 3)
        assert round_.server.queue_ms is None
    elif usage is not None:
        metrics = last_block(name, "metrics")
        assert round_.server is not None
        assert round_.server.source == "vllm"
        assert round_.server.queue_ms == round(metrics["queue_time_ms"], 3)
        assert round_.server.prefill_ms == round(metrics["time_to_first_token_ms"], 3)
        assert round_.server.decode_ms == round(metrics["generation_time_ms"], 3)
    if "counted" not in case and round_.completion_tokens is not None:
        assert tokens == [round_.completion_tokens]
    assert any(c.estimated for c in channels(round_)) == (name == "vllm-plain-no-usage")
    assert Round.model_validate_json(round_.model_dump_json()) == round_
    assert reader.characters == sum(c.characters for c in channels(round_))


@pytest.mark.parametrize("name", [n for n in STREAMS if n.endswith("-counted")])
def test_counts_of_each_event(name: str) -> None:
    """The first token is seen where a parser holds its text back: vLLM lists the ids of all tokens,
    the end's too; llama.cpp's totals come with the events that it sends anyway."""
    _, round_ = read(name)
    (channel,) = channels(round_)
    assert round_.clock.first_event_tokens == 1
    assert None not in channel.event_tokens
    assert channel.tokens == 1 + sum(n or 0 for n in channel.event_tokens)
    assert round_.completion_tokens is not None
    swallowed = round_.completion_tokens - channel.tokens
    if name.startswith("vllm"):
        assert set(channel.event_tokens) == {1}
        assert swallowed == 0
    else:
        assert 0 < swallowed < 10  # after the last event with text
    if round_.tool_channel is not None:
        assert round_.clock.first_token_ms is not None
        assert round_.clock.first_tool_argument_ms is not None
        assert round_.clock.first_token_ms < round_.clock.first_tool_argument_ms


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Base URL of a server that sends the recording named by the message."""

    def answer(_: str, body: bytes) -> list[bytes]:
        name = json.loads(body)["messages"][0]["content"]
        return event_stream(*[e + b"\n\n" for e in recorded(name).split(b"\n\n") if e])

    with raw_server(answer) as url:
        yield url


@pytest.mark.parametrize("name", STREAMS)
def test_the_sdk_reads_the_same(url: str, name: str) -> None:
    heard, round_ = asyncio.run(hear(url, name)), asyncio.run(ask(url, name))
    assert round_.state is RoundState.DONE
    assert (heard.answer, heard.reasoning) == (round_.content, round_.reasoning)
    calls = [(c.id, c.name, c.arguments) for c in round_.calls]
    assert list(map(tuple, heard.calls.values())) == calls
    assert (heard.finish, heard.usage) == (round_.finish_reason, round_.usage)


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_a_completion_that_was_not_streamed(engine: str) -> None:
    reader, clock = StreamReader(), AttemptClock(0)
    reader.take_whole((FOLDER / f"{engine}-tools-whole.json").read_bytes(), 5)
    round_ = round_record(reader, clock, None, [])
    assert [(c.name, c.arguments) for c in round_.calls] == [("search", BRICK)]
    assert (round_.completion_tokens, round_.clock.first_event_tokens) == (30, 30)
    assert channels(round_)[0].gaps_ms == []


@pytest.mark.parametrize(
    ("name", "status", "state", "words"),
    [
        ("vllm-overflow", 400, RoundState.OVERFLOW, "maximum context length is 8192"),
        ("llama.cpp-overflow", 400, RoundState.OVERFLOW, "exceeds the available context size"),
        ("vllm-bad-request", 400, RoundState.REJECTED, "temperature must be non-negative"),
        ("llama.cpp-bad-request", 400, RoundState.REJECTED, "type must be number"),
        ("vllm-no-such-model", 404, RoundState.REFUSED, "`nobody` does not exist"),
    ],
)
def test_errors(name: str, status: int, state: RoundState, words: str) -> None:
    fault = status_fault(status, (FOLDER / f"{name}.json").read_text())
    assert fault.state is state
    assert words in fault.message

"""Streams as servers send them, with their quirks, and what is read from each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from endpoint.hearing import ask, hear
from endpoint.quirks import QUIRKS
from endpoint.streams import (
    CASES,
    DONE,
    MS,
    ONE,
    ROLE,
    SEARCH,
    STOP,
    TWO,
    Case,
    call,
    calls_of,
    chunk,
    read,
    sse,
    text,
    total,
)
from servers import event_stream, raw_server

from ragevalkit.endpoint.channels import ANSWER, REASONING, TOOL
from ragevalkit.turn.record import Round, RoundState

ALL = CASES | {f"quirk: {name}": case for name, case in QUIRKS.items()}


@pytest.mark.parametrize("case", ALL.values(), ids=ALL.keys())
def test_stream(case: Case) -> None:
    reader = read(case.parts)
    assert reader.content == case.answer
    assert reader.reasoning_text == case.reasoning
    assert calls_of(reader) == case.calls
    assert reader.finish_reason == case.finish
    assert reader.usage == case.usage
    assert reader.malformed_events == case.malformed
    assert reader.done == case.done
    assert reader.error is None
    if case.completion is not None:
        assert reader.completion_tokens == case.completion
    channels = reader.channels()
    if case.tokens is not None:
        assert {n: (c.tokens, c.estimated) for n, c in channels.items()} == case.tokens
    if case.events is not None:
        assert {n: c.event_tokens for n, c in channels.items()} == case.events
        assert reader.first_event_tokens == case.first


def test_gaps_are_between_token_events_of_all_channels() -> None:
    """Reads come at 10, 20, … ms; a role, a usage block or `[DONE]` is no token."""
    reader = read(
        [
            ROLE,
            sse(chunk({"reasoning": "so"})) + sse(chunk({"reasoning": " then"})),
            text("one"),
            text(""),
            call("", "search", "a"),
            call(SEARCH[:4]),
            call(""),
            call(SEARCH[4:]),
            text("two") + total(9) + DONE,
        ]
    )
    channels = reader.channels()
    assert channels["reasoning"].gaps_ms == [0]
    assert channels["answer"].gaps_ms == [10, 10]
    assert channels["tool"].gaps_ms == [20, 10, 20]
    stamps = (reader.first_event_ns, reader.first_token_ns, reader.last_token_ns)
    assert stamps == (10 * MS, 20 * MS, 90 * MS)
    firsts = tuple(reader.marks.first_ns[channel] for channel in (REASONING, ANSWER, TOOL))
    assert firsts == (20 * MS, 30 * MS, 50 * MS)
    assert reader.last_event_ns == 90 * MS


def test_a_large_event_in_small_reads() -> None:
    """Five megabytes in reads of 16 kB are one token-bearing event, stamped by its last read."""
    big = "word " * 1_000_000
    stream = ROLE + text(big) + STOP + DONE
    reads = [stream[at : at + 16384] for at in range(0, len(stream), 16384)]
    reader = read(reads)
    assert reader.content == big
    assert reader.first_token_ns == len(reads) * 10 * MS
    assert reader.first_event_ns == 10 * MS


@pytest.mark.parametrize(
    ("part", "error"),
    [
        (sse({"error": {"message": "full", "code": 429}}), {"message": "full", "code": 429}),
        (sse({"error": "full"}), {"message": "full"}),
        (sse({"error": ["full"]}), {"message": "['full']"}),
        (sse(chunk({"content": "!"}, error={"message": "full"})), {"message": "full"}),
        (b"event: error\n" + sse({"error": {"message": "full"}}), {"message": "full"}),
        (b"event: error\n" + sse({"message": "full"}), {"message": "full"}),
        (b"event:error\r\ndata: the GPU is full\r\n\r\n", {"message": "the GPU is full"}),
        (sse({"error": None, "choices": []}), None),
        (sse({"error": {}, "choices": []}), None),
    ],
)
def test_errors_in_the_stream(part: bytes, error: dict[str, Any] | None) -> None:
    reader = read([ROLE, ONE, part, sse({"error": {"message": "second"}}) if error else b""])
    assert reader.error == error
    assert reader.content.startswith("one")
    assert reader.finish_reason is None


def test_the_name_of_an_event_ends_with_it() -> None:
    reader = read([b"event: error\n\n" + ONE, b"event: error\nevent: message\n" + TWO])
    assert (reader.content, reader.error) == ("one two", None)


@pytest.mark.parametrize("depth", [300, 900, 2000, 100_000])
@pytest.mark.parametrize("delta", ["content", "tool_calls", "reasoning_details"])
def test_deep_nesting_is_malformed_or_empty(depth: int, delta: str) -> None:
    nested = b"[" * depth + b"]" * depth
    if delta == "tool_calls":
        nested = b'[{"function": {"name": "f", "arguments": ' + nested + b"}}]"
    data = b'{"choices": [{"delta": {"' + delta.encode() + b'": ' + nested + b"}}]}"
    reader = read([ONE, sse(data), TWO])
    assert reader.content == "one two"


@pytest.fixture(scope="module")
def cases_url() -> Iterator[str]:
    """Base URL of a server that sends the case named by the message."""
    with raw_server(lambda _, body: event_stream(*ALL[_asked(body)].parts)) as url:
        yield url


def _asked(body: bytes) -> str:
    name: str = json.loads(body)["messages"][0]["content"]
    return name


@pytest.mark.parametrize("name", [name for name, case in ALL.items() if case.sdk])
def test_the_sdk_reads_the_same(cases_url: str, name: str) -> None:
    case = ALL[name]
    heard, round_ = asyncio.run(hear(cases_url, name)), asyncio.run(ask(cases_url, name))
    assert heard.answer == round_.content == case.answer
    assert heard.reasoning == round_.reasoning == case.reasoning
    calls = [(c.id, c.name, c.arguments) for c in round_.calls]
    assert list(map(tuple, heard.calls.values())) == calls == case.calls
    assert heard.finish == round_.finish_reason == case.finish
    assert heard.usage == round_.usage == case.usage
    assert round_.state == (RoundState.DONE if case.finish else RoundState.TRUNCATED)


@pytest.mark.parametrize("name", [name for name, case in ALL.items() if not case.sdk])
def test_quirks_over_http(cases_url: str, name: str) -> None:
    case = ALL[name]
    round_ = asyncio.run(ask(cases_url, name))
    assert (round_.content, round_.reasoning) == (case.answer, case.reasoning)
    assert [(c.id, c.name, c.arguments) for c in round_.calls] == case.calls
    assert round_.state is RoundState.DONE
    Round.model_validate_json(round_.model_dump_json())

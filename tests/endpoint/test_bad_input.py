"""What servers send that they shouldn't, and the named state that each ends in.

One row an input, over a real HTTP server, with neither retries nor a success before it.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from endpoint.asking import BODY, asking
from endpoint.quirks import QUIRKS
from endpoint.recording import Reply, recording_server
from endpoint.streams import (
    CALLED,
    DONE,
    ONE,
    ROLE,
    SEARCH,
    STOP,
    TWO,
    call,
    chunk,
    sse,
    text,
    total,
    usage,
)
from servers import event_stream, raw_server, response

from ragevalkit.endpoint import body as body_module
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round, RoundState

R = RoundState
PAGE = b"<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
GOOD = [ROLE, ONE, TWO, STOP, total(2), DONE]
BIG = "word " * 1_000_000


def error(**fields: Any) -> list[bytes]:
    return event_stream(ROLE, ONE, sse({"error": fields}), DONE)


def encoded(content: bytes, encoding: str) -> list[bytes]:
    headers = f"Content-Encoding: {encoding}\r\n"
    return response(content, kind="text/event-stream", headers=headers)


def cut(*parts: bytes, kind: bytes = CHUNKED) -> list[bytes]:
    """A chunked body that ends without its end."""
    return [kind, *[b"%x\r\n%s\r\n" % (len(p), p) for p in parts]]


def whole(value: object) -> list[bytes]:
    return response(json.dumps(value).encode())


MESSAGE = {"role": "assistant", "content": "one two"}
COMPLETION = {"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}

ERRORS = {
    "without a code": (error(message="boom"), R.SERVER_ERROR, "boom"),
    "a string": (event_stream(sse({"error": "boom"})), R.SERVER_ERROR, "boom"),
    "code 400": (error(message="bad schema", code=400), R.REJECTED, "bad schema"),
    "code 400 as a string": (error(message="bad schema", code="400"), R.REJECTED, "bad"),
    "type BadRequestError": (error(message="no", type="BadRequestError"), R.REJECTED, "no"),
    "type invalid_request_error": (
        error(message="no", type="invalid_request_error"),
        R.REJECTED,
        "no",
    ),
    "code 401": (error(message="who?", code=401), R.REFUSED, "who?"),
    "code 404": (error(message="no such model", code=404), R.REFUSED, "no such model"),
    "code 408": (error(message="late", code=408), R.BUSY, "late"),
    "code 429": (error(message="full", code=429), R.BUSY, "full"),
    "rate_limit_exceeded": (error(message="full", code="rate_limit_exceeded"), R.BUSY, "full"),
    "overloaded_error": (error(message="full", type="overloaded_error"), R.BUSY, "full"),
    "code 500": (error(message="CUDA", code=500), R.SERVER_ERROR, "CUDA"),
    "code 502, as OpenRouter": (
        event_stream(ROLE, ONE, sse(chunk({}, "error", error={"code": 502, "message": "gone"}))),
        R.SERVER_ERROR,
        "gone",
    ),
    "an overflow": (error(message="exceed_context_size", code=400), R.OVERFLOW, "exceed"),
    "an overflow by its type": (
        error(message="too big", type="exceed_context_size_error", code=400),
        R.OVERFLOW,
        "too big",
    ),
    "named by the event": (
        event_stream(ROLE, b'event: error\ndata: {"message": "boom"}\n\n'),
        R.SERVER_ERROR,
        "boom",
    ),
    "in llama.cpp's former field": (
        event_stream(ROLE, b'error: {"code": 500, "message": "boom"}\n\n'),
        R.SERVER_ERROR,
        "boom",
    ),
    "after the finish reason": (
        event_stream(ROLE, ONE, STOP, sse({"error": {"message": "boom"}}), DONE),
        R.SERVER_ERROR,
        "boom",
    ),
    "and the connection cut": (cut(ROLE, sse({"error": {"message": "boom"}})), R.SERVER_ERROR, ""),
    "an empty object": (event_stream(ROLE, ONE, TWO, sse({"error": {}}), STOP), R.DONE, ""),
    "vllm#57082 abort": (
        event_stream(ROLE, ONE, sse(chunk({}, "abort")), DONE),
        R.SERVER_ERROR,
        "'abort'",
    ),
    "whole and not streamed": (whole({"error": {"message": "boom"}}), R.SERVER_ERROR, "boom"),
}

BODIES = {
    "a page": (response(PAGE, kind="text/html"), R.NOT_AN_API, "502 Bad Gateway"),
    "a page under the label of a stream": (
        response(PAGE, kind="text/event-stream"),
        R.TRUNCATED,
        "without a finish",
    ),
    "a page that calls itself JSON": (response(PAGE), R.NOT_AN_API, "no events"),
    "a page in compressed bytes": (
        response(gzip.compress(PAGE), kind="text/html", headers="Content-Encoding: gzip\r\n"),
        R.NOT_AN_API,
        "502 Bad Gateway",
    ),
    "JSON of something else": (whole({"status": "ok"}), R.NOT_AN_API, "no events"),
    "plain text": (response(b"ok", kind="text/plain"), R.NOT_AN_API, "no events"),
    "no content type": ([b"HTTP/1.1 200 OK\r\n\r\nok"], R.NOT_AN_API, "no events"),
    "nothing": (response(b"", kind="text/plain"), R.NOT_AN_API, "no events"),
    "an empty stream": (event_stream(), R.TRUNCATED, "without a finish"),
    "gzip though none was asked for": (encoded(gzip.compress(b"".join(GOOD)), "gzip"), R.DONE, ""),
    "deflate": (encoded(zlib.compress(b"".join(GOOD)), "deflate"), R.DONE, ""),
    "gzip that is none": (encoded(b"".join(GOOD), "gzip"), R.CUT, "the connection broke"),
    "an encoding that nobody can undo": (
        encoded(b"\x1b\x00\xf8\xff", "snappy"),
        R.NOT_AN_API,
        "compressed (snappy), unasked",
    ),
    "a completion that isn't streamed": (whole(COMPLETION), R.DONE, ""),
    "a stream that calls itself JSON": (response(b"".join(GOOD)), R.DONE, ""),
    "a stream that calls itself text": (response(b"".join(GOOD), kind="text/plain"), R.DONE, ""),
    "a proxy that buffers": (event_stream(b"".join(GOOD)), R.DONE, ""),
    "a proxy that cuts in pieces of 7 bytes": (
        event_stream(*[b"".join(GOOD)[at : at + 7] for at in range(0, len(b"".join(GOOD)), 7)]),
        R.DONE,
        "",
    ),
    "a mark of the byte order": (event_stream(b"\xef\xbb\xbf" + b"".join(GOOD)), R.DONE, ""),
    "a redirect to nowhere": (
        [b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"],
        R.NOT_AN_API,
        "HTTP 302",
    ),
    "no HTTP": ([b"SSH-2.0-OpenSSH_9.6\r\n"], R.UNREACHABLE, ""),
    "nothing at all": ([], R.UNREACHABLE, ""),
}

SHAPES = {
    "content null, a list, empty": (
        event_stream(ROLE, text(None), text([]), text(""), text([{"text": "one"}]), TWO, STOP),
        R.DONE,
        "",
    ),
    "choices null, absent, empty": (
        event_stream(
            *[sse({**chunk(), "choices": c}) for c in (None, [], [None])], ONE, TWO, STOP, DONE
        ),
        R.DONE,
        "",
    ),
    "U+2028, U+2029 and U+0085 in text": (
        event_stream(
            sse(json.dumps(chunk({"content": "one\u2028\u2029\x85"}), ensure_ascii=False).encode()),
            STOP,
            DONE,
        ),
        R.DONE,
        "",
    ),
    "an event of 5 MB": (event_stream(ROLE, text(BIG), STOP, DONE), R.DONE, ""),
    "a usage block on every event": (
        event_stream(
            text("one", usage=usage(1)), text(" two", usage=usage(2)), STOP, total(2), DONE
        ),
        R.DONE,
        "",
    ),
    "calls without index and id": (
        event_stream(ROLE, call(SEARCH, "search", index=None), CALLED, DONE),
        R.DONE,
        "",
    ),
    "calls of one index and one id": (
        event_stream(ROLE, call(SEARCH, "search", "a"), call(SEARCH, "cite", "a"), CALLED, DONE),
        R.DONE,
        "",
    ),
    "a finish reason that nobody documents": (
        event_stream(ROLE, ONE, sse(chunk({}, "vibes")), DONE),
        R.DONE,
        "",
    ),
    "a finish reason that is a number": (
        event_stream(ROLE, ONE, sse(chunk({}, 7)), DONE),  # type: ignore[arg-type]
        R.TRUNCATED,
        "without a finish",
    ),
    "vllm#27572 finish reason null throughout": (
        event_stream(ROLE, ONE, TWO, DONE),
        R.TRUNCATED,
        "without a finish",
    ),
    "JSON that is broken in one event": (
        event_stream(ROLE, ONE, b'data: {"choices": [\n\n', TWO, STOP, DONE),
        R.DONE,
        "",
    ),
    "nothing but broken JSON": (
        event_stream(b"data: {\n\n", b"data: [\n\n"),
        R.NOT_AN_API,
        "no events",
    ),
    "other people's events": (event_stream(sse({"tick": 1})), R.NOT_AN_API, "no events"),
}

ENDS = {
    "mid-word": (event_stream(ROLE, ONE, TWO[:40]), R.TRUNCATED, "without a finish"),
    "mid-word, the connection cut": (cut(ROLE, ONE, TWO[:40]), R.CUT, "the connection broke"),
    "ollama#17846 a clean end without a last event": (
        event_stream(ROLE, ONE, TWO),
        R.TRUNCATED,
        "without a finish",
    ),
    "[DONE] without a finish reason": (
        event_stream(ROLE, ONE, DONE),
        R.TRUNCATED,
        "without a finish",
    ),
    "after the headers": ([CHUNKED], R.CUT, "the connection broke"),
    "inside the headers": ([CHUNKED[:30]], R.UNREACHABLE, ""),
    "after the finish reason": (cut(ROLE, ONE, TWO, STOP), R.DONE, ""),
}


@dataclass
class Row:
    answer: list[bytes]
    state: RoundState
    words: str


ROWS = {
    f"{group}: {name}": Row(*row)
    for group, table in (
        ("error in the stream", ERRORS),
        ("body", BODIES),
        ("shape", SHAPES),
        ("ends", ENDS),
    )
    for name, row in table.items()
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Base URL of a server that answers with the row named by the message."""

    def answer(_: str, body: bytes) -> list[bytes]:
        return ROWS[json.loads(body)["messages"][0]["content"]].answer

    with raw_server(answer) as url:
        yield url


async def asked(url: str, name: str, **options: Any) -> Round:
    async with asking(url, most=0, **options) as client:
        client.proven = True  # else some of them end the run, which test_client_faults looks at
        body = {"model": "m", "messages": [{"role": "user", "content": name}]}
        return await client.complete(body, [], 0)


@pytest.mark.parametrize("name", ROWS)
def test_each_ends_in_a_named_state(url: str, name: str) -> None:
    row = ROWS[name]
    round_ = asyncio.run(asked(url, name))
    assert round_.state is row.state, round_.error
    # a connection that is closed before any answer is made anew once
    times = 2 if row.state is R.UNREACHABLE else 1
    assert [a.state for a in round_.attempts] == [row.state] * times
    assert row.words in (round_.error or "")
    assert (round_.error is None) == (row.state is R.DONE)
    assert Round.model_validate_json(round_.model_dump_json()).state is row.state


def test_every_state_is_reached() -> None:
    """But the two of the client's own limits, which the tests below reach."""
    assert {row.state for row in ROWS.values()} == set(R) - {R.STALLED, R.DEADLINE}


@pytest.mark.parametrize(
    "name", ["shape: an event of 5 MB", "body: gzip though none was asked for"]
)
def test_nothing_is_lost(url: str, name: str) -> None:
    round_ = asyncio.run(asked(url, name))
    assert round_.content == (BIG if "5 MB" in name else "one two")


@pytest.mark.parametrize("after", [[], [ROLE], [ROLE, ONE, TWO[:40]]])
def test_a_server_that_falls_silent(after: list[bytes]) -> None:
    """Before the first token, or mid-word: stalled, with what had come."""
    with recording_server(lambda _: Reply(after, ends=False)) as server:
        round_ = asyncio.run(asked(server.url, "x", stall_s=0.2))
    assert (round_.state, round_.content) == (R.STALLED, "one" if len(after) > 1 else "")
    assert round_.error == "the server sent nothing for 0.2 s"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_AFTER_DONE_S", "_AFTER_USAGE_S", "_AFTER_FINISH_S"):
        monkeypatch.setattr(body_module, name, 0.05)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("end", "state", "tokens"),
    [
        ([STOP], R.DONE, None),
        ([STOP, total(5)], R.DONE, 5),
        ([STOP, total(5), DONE], R.DONE, 5),
        ([text("!", finish="stop", usage=usage(5))], R.DONE, 5),
        ([DONE], R.TRUNCATED, None),
        ([sse({"error": {"message": "boom"}})], R.SERVER_ERROR, None),
    ],
)
def test_a_server_that_never_ends_its_stream(
    end: list[bytes], state: RoundState, tokens: int | None
) -> None:
    """Nothing is lost, and no stall limit passes: the stream is left soon after its end."""
    with recording_server(lambda _: Reply([ROLE, ONE, TWO, *end], ends=False)) as server:
        round_ = asyncio.run(asked(server.url, "x", stall_s=600))
    assert (round_.state, round_.completion_tokens) == (state, tokens)
    assert round_.content.startswith("one two")


@pytest.mark.parametrize("late", [[total(5), DONE], [total(5)], [TWO, total(5)]])
def test_what_comes_late_after_the_finish_reason(late: list[bytes]) -> None:
    """Each part is a write of its own, sent when the client has read the one before."""
    read = [ROLE, ONE, STOP, *late]
    with recording_server(lambda _: Reply(read)) as server:

        async def ask() -> list[Round]:
            rounds: list[Round] = []
            async with asking(server.url) as client:
                for _ in range(3):
                    await client.complete(BODY, rounds, 0)
            return rounds

        rounds = asyncio.run(ask())
    assert [r.completion_tokens for r in rounds] == [5] * 3
    assert rounds[0].content == ("one two" if TWO in late else "one")
    assert server.connections == 1


@pytest.mark.usefixtures("impatient")
def test_the_wait_for_a_late_end_is_no_time_of_the_round() -> None:
    async def ask(url: str) -> float:
        async with asking(url) as client:
            origin = time.perf_counter_ns()
            round_ = await client.complete(BODY, [], origin)
            return (time.perf_counter_ns() - origin) / 1e6 - round_.clock.ended_ms

    with recording_server(lambda _: Reply([ROLE, ONE, STOP], ends=False)) as server:
        assert asyncio.run(ask(server.url)) >= 49


def test_before_any_success_one_line_says_it(url: str) -> None:
    async def ask() -> None:
        name = "body: an encoding that nobody can undo"
        async with asking(url) as client:
            await client.complete({"messages": [{"role": "user", "content": name}]}, [], 0)

    with pytest.raises(EndpointUnusable, match=r"compressed \(snappy\)"):
        asyncio.run(ask())


def test_quirks_name_their_issues() -> None:
    """The table of quirks covers each engine of the field."""
    engines = {"vLLM", "SGLang", "llama.cpp", "TensorRT-LLM", "Ollama", "LM Studio", "OpenRouter"}
    named = {n.split(": ")[1] for n in QUIRKS if n.startswith("engine")}
    assert named == engines

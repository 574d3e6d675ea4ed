"""What goes wrong over HTTP: the state it gives, how often it is tried, and what the user reads."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from endpoint.asking import BODY, asking, completed
from endpoint.recording import Reply, recording_server
from endpoint.streams import DONE, ONE, ROLE, STOP, TWO, chunk, sse
from servers import event_stream, raw_server, response

from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.faults import Fault
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round, RoundState

Answers = list[list[bytes]]
Serve = Callable[[str], str]

GOOD = event_stream(ROLE, ONE, TWO, STOP, DONE)
PAGE = (
    b"<html><head><style>p {}</style><title>Hi</title></head><body><p>It\nworks</p></body></html>"
)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def status(line: str, message: str = "no", headers: str = "") -> list[bytes]:
    body = json.dumps({"error": {"message": message}}).encode()
    return response(body, status=line, headers=headers)


def whole(body: object) -> list[bytes]:
    return response(json.dumps(body).encode())


def chunked(*parts: bytes) -> list[bytes]:
    """A chunked body whose end never comes."""
    return [CHUNKED, *[b"%x\r\n%s\r\n" % (len(p), p) for p in parts]]


COMPLETION = {
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "one two", "reasoning": "so"},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 5},
}

D, R = RoundState.DONE, RoundState


@dataclass
class Case:
    answers: Answers
    """One a request; the last one is repeated."""
    states: list[RoundState]
    """Of the attempts; the last one's is the round's."""
    statuses: list[int | None]
    error: str | None = None
    """In the round's error."""
    unusable: str | None = None
    """In the error where nothing has succeeded before; None: the round fails then, too."""
    content: str = ""
    waits: list[float | None] = field(default_factory=list)


def retried(
    answer: list[bytes], state: RoundState, code: int | None, error: str, **more: str
) -> Case:
    return Case([answer], [state] * 3, [code] * 3, error, **more)


CASES = {
    "400": Case(
        [status("400 Bad Request", "bad top_k")],
        [R.REJECTED],
        [400],
        "HTTP 400: bad top_k",
        "sampling, extra_body and strict",
    ),
    "400 of an overflow": Case(
        [status("400 Bad Request", "This model's maximum context length is 8 tokens.")],
        [R.OVERFLOW],
        [400],
        "maximum context length",
    ),
    "413": Case([status("413 Too Large")], [R.OVERFLOW], [413], "HTTP 413"),
    "401": Case([status("401 No", "who?")], [R.REFUSED], [401], "who?", "api_key_env"),
    "403": Case([status("403 No", "not you")], [R.REFUSED], [403], "not you", "api_key_env"),
    "404": Case([status("404 No", "no m")], [R.REFUSED], [404], "no m", "serve the model 'm'"),
    "408": retried(status("408 Late"), R.BUSY, 408, "HTTP 408"),
    "409": retried(status("409 Conflict"), R.BUSY, 409, "HTTP 409"),
    "429 for ever": retried(status("429 Busy"), R.BUSY, 429, "HTTP 429"),
    "429 once": Case(
        [status("429 Busy"), GOOD], [R.BUSY, D], [429, 200], content="one two", waits=[0, None]
    ),
    "429 with Retry-After": Case(
        [
            status("429 Busy", headers="Retry-After: 0.03\r\n"),
            status("429 Busy", headers="Retry-After: 3600\r\n"),
            GOOD,
        ],
        [R.BUSY, R.BUSY, D],
        [429, 429, 200],
        content="one two",
        waits=[0.03, 0.05, None],
    ),
    "Retry-After as a date or nonsense": Case(
        [
            status("503 No", headers="Retry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n"),
            status("503 No", headers="Retry-After: nan\r\n"),
            GOOD,
        ],
        [R.SERVER_ERROR, R.SERVER_ERROR, D],
        [503, 503, 200],
        content="one two",
        waits=[0, 0, None],
    ),
    "500 once": Case([status("500 Oh"), GOOD], [R.SERVER_ERROR, D], [500, 200], content="one two"),
    "500 for ever": retried(status("500 Oh", "boom"), R.SERVER_ERROR, 500, "HTTP 500: boom"),
    "502 with a page": retried(
        response(PAGE, status="502 Bad Gateway", kind="text/html"),
        R.SERVER_ERROR,
        502,
        "HTTP 502: Hi It works",
    ),
    "500 without a body": retried(response(b"", status="500 Oh"), R.SERVER_ERROR, 500, "HTTP 500"),
    "302 to nowhere": Case([status("302 Found")], [R.NOT_AN_API], [302], "HTTP 302", "/v1"),
    "a page with 200": Case(
        [response(PAGE, kind="text/html; charset=utf-8")],
        [R.NOT_AN_API],
        [200],
        "a web page, not a completion: Hi It works",
        "usually /v1",
    ),
    "a page that says it is text": Case(
        [response(PAGE, kind="text/plain")], [R.NOT_AN_API], [200], "no events", "/v1"
    ),
    "JSON of something else": Case(
        [whole({"status": "ok"})], [R.NOT_AN_API], [200], "no events", "/v1"
    ),
    "JSON that is none": Case([response(b"{")], [R.NOT_AN_API], [200], "no events", "/v1"),
    "a stream of something else": Case(
        [event_stream(sse({"tick": 1}), sse({"tick": 2}))],
        [R.NOT_AN_API],
        [200],
        "no events",
        "/v1",
    ),
    "a completion that isn't streamed": Case([whole(COMPLETION)], [D], [200], content="one two"),
    "an error with 200": retried(
        whole({"error": {"message": "boom"}}), R.SERVER_ERROR, 200, "boom"
    ),
    "an error in the stream": Case(
        [event_stream(ROLE, ONE, sse({"error": {"message": "boom"}}), DONE)],
        [R.SERVER_ERROR] * 3,
        [200] * 3,
        "boom",
        content="one",
    ),
    "half of a surrogate pair in an error": Case(
        [event_stream(ROLE, sse({"error": {"message": "bad \ud83d"}}))],
        [R.SERVER_ERROR] * 3,
        [200] * 3,
        "bad ?",
    ),
    "busy in the stream": Case(
        [event_stream(ROLE, sse({"error": {"message": "full", "code": 429}})), GOOD],
        [R.BUSY, D],
        [200, 200],
        content="one two",
    ),
    "overflow in the stream": Case(
        [event_stream(ROLE, sse({"error": {"message": "x", "code": "context_length_exceeded"}}))],
        [R.OVERFLOW],
        [200],
        "x",
    ),
    "abort": Case(
        [event_stream(ROLE, ONE, sse(chunk({}, "abort")), DONE)],
        [R.SERVER_ERROR] * 3,
        [200] * 3,
        "finish reason 'abort'",
        content="one",
    ),
    "no answer": Case([[]], [R.UNREACHABLE], [None], None, "is the server running"),
    "no HTTP": Case(
        [[b"SSH-2.0-OpenSSH_9.6\r\n"]], [R.UNREACHABLE], [None], None, "is the server running"
    ),
    "cut": Case(
        [chunked(ROLE, ONE)], [R.CUT] * 3, [200] * 3, "the connection broke", content="one"
    ),
    "cut in an event": Case(
        [chunked(ROLE, ONE, TWO[:30]), GOOD], [R.CUT, D], [200, 200], content="one two"
    ),
    "cut after the finish reason": Case(
        [chunked(ROLE, ONE, TWO, STOP)], [D], [200], content="one two"
    ),
    "cut after [DONE]": Case([chunked(ROLE, ONE, TWO, STOP, DONE)], [D], [200], content="one two"),
    "a clean end without a finish": Case(
        [event_stream(ROLE, ONE)], [R.TRUNCATED] * 3, [200] * 3, "without a finish", content="one"
    ),
    "[DONE] without a finish": Case(
        [event_stream(ROLE, ONE, DONE)],
        [R.TRUNCATED] * 3,
        [200] * 3,
        "without a finish",
        content="one",
    ),
    "an empty stream": Case([event_stream()], [R.TRUNCATED] * 3, [200] * 3, "without a finish"),
    "comments alone": Case(
        [event_stream(b": hold on\n\n")], [R.TRUNCATED] * 3, [200] * 3, "without a finish"
    ),
    "broken gzip": Case(
        [response(b"no gzip", kind="text/event-stream", headers="Content-Encoding: gzip\r\n")],
        [R.CUT] * 3,
        [200] * 3,
        "the connection broke",
    ),
}


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[Answers], str]]:
    """Base URL of an endpoint that gives these answers, all on one server."""
    scripts: list[tuple[Answers, Iterator[list[bytes]]]] = []

    def answer(path: str, _: bytes) -> list[bytes]:
        answers, rest = scripts[int(path.split("/")[2])]
        return next(rest, answers[-1])

    with raw_server(answer) as url:

        def endpoint(answers: Answers) -> str:
            scripts.append((answers, iter(answers)))
            return f"{url}/{len(scripts) - 1}"

        yield endpoint


def seen(round_: Round) -> tuple[list[RoundState], list[int | None]]:
    return [a.state for a in round_.attempts], [a.status for a in round_.attempts]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_after_a_success(serve: Callable[[Answers], str], case: Case) -> None:
    """A round that fails is recorded with all its attempts, and nothing is raised."""
    _, round_ = asyncio.run(completed(serve([GOOD, *case.answers]), 2))
    states, statuses = case.states, case.statuses
    if case.unusable and states == [R.UNREACHABLE]:
        # the first may be a kept connection's that the server had closed: no retry, no pause
        states, statuses = states * 4, statuses * 4
    assert seen(round_) == (states, statuses)
    assert round_.state is states[-1]
    assert round_.content == case.content
    assert [a.number for a in round_.attempts] == list(range(1, len(states) + 1))
    assert (round_.error is None) == (round_.state is D)
    assert [a.error is None for a in round_.attempts] == [s is D for s in states]
    assert (case.error or "") in (round_.error or "")
    if case.waits:
        assert [a.waited_s for a in round_.attempts] == case.waits
    assert round_.attempts[-1].received_characters == len(round_.content + round_.reasoning)
    stamps = [t for a in round_.attempts for t in (a.sent_ms, a.ended_ms)]
    assert stamps == sorted(stamps)
    Round.model_validate_json(round_.model_dump_json())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_before_any_success(serve: Callable[[Answers], str], case: Case) -> None:
    """What every request would meet is one line for the user; the rest is a failed round."""
    url = serve(case.answers)
    if case.unusable is None:
        (round_,) = asyncio.run(completed(url, 1))
        assert seen(round_) == (case.states, case.statuses)
        return
    with pytest.raises(EndpointUnusable) as raised:
        asyncio.run(completed(url, 1))
    line = str(raised.value)
    assert line.startswith(f"endpoint {url} can't be used: ")
    assert case.unusable in line
    assert (case.error or "") in line
    assert line.isprintable()
    assert "<" not in line


def test_a_refused_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def ask() -> list[Round]:
        async with asking(f"http://127.0.0.1:{port}/v1") as client:
            with pytest.raises(EndpointUnusable, match=f"127.0.0.1.*{port}.*is the server running"):
                await client.complete(BODY, [], 0)
            client.proven = True
            return [await client.complete(BODY, [], 0)]

    (round_,) = asyncio.run(ask())
    assert seen(round_) == ([R.UNREACHABLE] * 3, [None] * 3)


def test_a_kept_connection_that_the_server_closed(serve: Callable[[Answers], str]) -> None:
    """A new one is asked at once, which is an attempt but none of the retries."""

    async def ask(url: str) -> Round:
        async with asking(url, most=0) as client:
            await client.complete(BODY, [], 0)
            return await client.complete(BODY, [], 0)

    round_ = asyncio.run(ask(serve([GOOD, [], GOOD])))
    assert seen(round_) == ([R.UNREACHABLE, D], [None, 200])
    assert round_.attempts[0].waited_s == 0


def test_a_server_that_never_keeps_a_connection() -> None:
    """llama.cpp promises to keep connections and closes them after each streamed reply."""
    heads: list[bytes] = []

    async def serve_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
        heads.append(head)
        events = b"".join(GOOD).partition(b"\r\n\r\n")[2]
        kept = b"close" if b"connection: close" in head else b"keep-alive"
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: %s\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (kept, len(events), events)
        )
        with contextlib.suppress(asyncio.CancelledError):
            await reader.read(1)  # the next request, or the client's end
        writer.close()

    async def ask() -> list[int]:
        server = await asyncio.start_server(serve_once, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with server, asking(url, most=0) as client:
            return [len((await client.complete(BODY, [], 0)).attempts) for _ in range(5)]

    assert asyncio.run(ask()) == [1, 2, 2, 1, 1]
    assert [b"connection: close" in head for head in heads] == [False] * 2 + [True] * 3


@pytest.mark.parametrize(("after", "content"), [(0, ""), (2, "one two")])
def test_silence(mock_url: Serve, after: int, content: str) -> None:
    """Longer than the stall limit without a byte ends an attempt; the next one goes well."""
    url = mock_url(
        f'[[rules]]\ntimes = 2\n[rules.fault]\nkind = "silence"\nafter = {after}\n'
        '[[rules]]\n[rules.reply]\nanswer = "one two three"'
    )

    async def ask() -> tuple[Round, Round]:
        async with asking(url, stall_s=0.2, most=0) as client:
            client.proven = True
            stalled = await client.complete(BODY, [], 0)
        async with asking(url, stall_s=0.2) as client:
            client.proven = True
            return stalled, await client.complete(BODY, [], 0)

    stalled, mended = asyncio.run(ask())
    assert seen(stalled) == ([R.STALLED], [200 if after else None])
    assert stalled.content == content
    assert stalled.error == "the server sent nothing for 0.2 s"
    assert stalled.clock.ended_ms - stalled.clock.sent_ms >= 199
    assert seen(mended) == ([R.STALLED, D], [200 if after else None, 200])
    assert mended.content == "one two three"
    assert mended.attempts[0].received_characters == len(content)


def test_silence_before_any_success(mock_url: Serve) -> None:
    async def ask(url: str) -> None:
        async with asking(url, stall_s=0.2) as client:
            await client.complete(BODY, [], 0)

    with pytest.raises(EndpointUnusable, match=r"sent nothing for 0.2 s; is the model still load"):
        asyncio.run(ask(mock_url('[[rules]]\n[rules.fault]\nkind = "silence"')))


@pytest.mark.parametrize(
    ("how", "after", "state", "content"),
    [
        ("hard", 0, R.UNREACHABLE, ""),
        ("half", 0, R.UNREACHABLE, ""),
        ("hard", 2, R.CUT, "one two"),
        ("half", 2, R.CUT, "one two"),
    ],
)
def test_the_connection_breaks(
    mock_url: Serve, how: str, after: int, state: RoundState, content: str
) -> None:
    url = mock_url(
        f'[[rules]]\n[rules.fault]\nkind = "cut"\nhow = "{how}"\nafter = {after}\n'
        '[[rules]]\n[rules.timing]\ngap_ms = 20\n[rules.reply]\nanswer = "one two three"'
    )

    async def ask() -> Round:
        async with asking(url, most=1) as client:
            client.proven = True
            return await client.complete(BODY, [], 0)

    round_ = asyncio.run(ask())
    attempts = 2 if after else 3  # a connection may be lost before its answer, once
    assert seen(round_) == ([state] * attempts, [200 if after else None] * attempts)
    if how == "half":  # a reset may drop what the client has not read yet
        assert round_.content == content


def test_a_broken_round_is_none_of_the_next(mock_url: Serve) -> None:
    """Texts, calls and clocks are the last attempt's alone."""
    url = mock_url(
        '[[rules]]\ntimes = 1\n[rules.fault]\nkind = "eof"\nafter = 2\n'
        '[[rules]]\n[rules.reply]\nreasoning = "so"\nanswer = "one two three"'
    )
    (round_,) = asyncio.run(completed(url, 1))
    assert (round_.reasoning, round_.content) == ("so", "one two three")
    assert round_.clock.sent_ms == round_.attempts[1].sent_ms
    assert round_.clock.sent_ms >= round_.attempts[0].ended_ms


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (GOOD, None),
        (whole(COMPLETION), None),
        (status("503 No"), R.SERVER_ERROR),
        (status("400 No"), R.REJECTED),
        ([], R.UNREACHABLE),
        (event_stream(ROLE, ONE), R.TRUNCATED),
    ],
)
def test_control(
    serve: Callable[[Answers], str], answer: list[bytes], state: RoundState | None
) -> None:
    """One plain request, never retried, whose fault is returned and not raised."""

    async def ask() -> Fault | None:
        async with asking(serve([answer, GOOD])) as client:
            fault = await client.control("m")
            assert not client.proven
            return fault

    fault = asyncio.run(ask())
    assert (fault and fault.state) == state


def test_control_asks_for_little() -> None:
    with recording_server(lambda _: Reply([ROLE, ONE, STOP, DONE])) as server:

        async def ask() -> None:
            async with asking(server.url) as client:
                assert await client.control("m") is None

        asyncio.run(ask())
    (body,) = [json.loads(request.body) for request in server.requests]
    assert body["model"] == "m"
    assert "tools" not in body


def test_explain_has_words_for_every_state() -> None:
    async def explain(state: RoundState) -> str:
        async with asking("http://127.0.0.1:9/v1") as client:
            assert isinstance(ChatClient.unusable(Fault(state, "x")), bool)
            return client.explain(Fault(state, "x", 404))

    for state in RoundState:
        assert "can't be used: x; " in asyncio.run(explain(state))

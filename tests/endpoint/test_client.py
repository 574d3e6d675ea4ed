"""The client when all goes well, when it is cancelled, and what it tells the server of its user."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from endpoint.asking import BODY, asking, completed
from endpoint.recording import Recorder, Reply, Request, recording_server
from endpoint.streams import CALLED, DONE, ONE, ROLE, SEARCH, STOP, TWO, call, chunk, sse, total

from ragevalkit.endpoint import client as client_module
from ragevalkit.endpoint.client import Retries
from ragevalkit.endpoint.faults import Fault
from ragevalkit.endpoint.reader import StreamReader
from ragevalkit.errors import EndpointUnusable, InputError
from ragevalkit.turn.record import Channel, Round, RoundClock, RoundState

KEY = "sk-very-secret-0123456789"
GOOD = [ROLE, ONE, TWO, STOP, total(2), DONE]
OH_NO = Reply([b'{"error": {"message": "oh no"}}'], 500, "application/json")

Serve = Callable[[str], str]


@pytest.fixture
def good() -> Iterator[Recorder]:
    with recording_server(lambda _: Reply(GOOD)) as server:
        yield server


def test_the_round_that_is_recorded(good: Recorder) -> None:
    (round_,) = asyncio.run(completed(good.url, 1))
    (request,) = good.requests
    assert request.path == "/v1/chat/completions"
    assert (round_.state, round_.error) == (RoundState.DONE, None)
    assert (round_.content, round_.finish_reason, round_.model) == ("one two", "stop", "m")
    assert (round_.prompt_tokens, round_.completion_tokens, round_.cached_tokens) == (7, 2, None)
    assert (round_.prompt_messages, round_.prompt_bytes) == (1, len(request.body))
    (attempt,) = round_.attempts
    assert (attempt.status, attempt.waited_s, attempt.received_characters) == (200, None, 7)
    assert Round.model_validate_json(round_.model_dump_json()).content == "one two"


def test_the_request_that_is_sent(good: Recorder) -> None:
    extra = {"reasoning_effort": "low", "stream_options": {"continuous_usage_stats": True}}
    asyncio.run(completed(good.url, 1))
    asyncio.run(completed(good.url, 1, extra_body=extra))
    plain, extended = (json.loads(request.body) for request in good.requests)
    assert plain == {**BODY, "stream": True, "stream_options": {"include_usage": True}}
    assert extended == {**BODY, "stream": True, **extra}
    headers = good.requests[0].headers
    assert headers["content-type"] == "application/json"
    assert headers["accept"] == "text/event-stream"
    assert headers["accept-encoding"] == "identity"


def test_one_connection_serves_all_requests(good: Recorder) -> None:
    rounds = asyncio.run(completed(good.url, 20))
    assert [r.state for r in rounds] == [RoundState.DONE] * 20
    assert (len(good.requests), good.connections) == (20, 1)


def test_a_failed_attempt_keeps_the_connection() -> None:
    answers = itertools.chain([OH_NO, OH_NO], itertools.repeat(Reply(GOOD)))
    with recording_server(lambda _: next(answers)) as server:
        first, second = asyncio.run(completed(server.url, 2))
        assert server.connections == 1
    assert (len(first.attempts), len(second.attempts)) == (3, 1)


def test_as_many_requests_at_once_as_planned() -> None:
    """None of them waits for a connection: each is answered when all have arrived."""
    at_once = 150
    barrier = threading.Barrier(at_once)

    def reply(_: Request) -> Reply:
        barrier.wait(timeout=30)
        return Reply(GOOD)

    async def ask(url: str) -> list[Round]:
        async with asking(url, concurrency=at_once) as client:
            return await asyncio.gather(*(client.complete(BODY, [], 0) for _ in range(at_once)))

    with recording_server(reply) as server:
        rounds = asyncio.run(ask(server.url))
    assert [r.state for r in rounds] == [RoundState.DONE] * at_once


def stamps(clock: RoundClock) -> list[float | None]:
    return [
        clock.sent_ms,
        clock.headers_ms,
        clock.first_event_ms,
        clock.first_token_ms,
        clock.first_reasoning_ms,
        clock.first_tool_argument_ms,
        clock.first_answer_ms,
        clock.last_token_ms,
        clock.ended_ms,
    ]


def test_stamps_are_in_order_and_count_from_the_turn() -> None:
    parts = [ROLE, sse(chunk({"reasoning": "so"})), call(SEARCH, "search", "a"), ONE, CALLED, DONE]

    async def ask(url: str) -> tuple[float, Round, float]:
        async with asking(url) as client:
            origin = time.perf_counter_ns()
            await client.complete(BODY, [], origin)
            before = (time.perf_counter_ns() - origin) / 1e6
            round_ = await client.complete(BODY, [], origin)
            return before, round_, (time.perf_counter_ns() - origin) / 1e6

    with recording_server(lambda _: Reply(parts)) as server:
        before, round_, after = asyncio.run(ask(server.url))
    seen = [stamp for stamp in stamps(round_.clock) if stamp is not None]
    assert len(seen) == len(stamps(round_.clock))
    assert seen == sorted(seen)
    assert before <= seen[0] + 0.001
    assert seen[-1] <= after + 0.001
    assert round_.clock.first_token_ms == round_.clock.first_reasoning_ms


def test_what_never_came_has_no_stamp() -> None:
    with recording_server(lambda _: Reply([ROLE, STOP, total(0), DONE])) as server:
        (round_,) = asyncio.run(completed(server.url, 1))
    assert round_.state is RoundState.DONE
    sent, headers, first_event, *rest, ended = stamps(round_.clock)
    assert None not in (sent, headers, first_event, ended)
    assert rest == [None] * 5
    channels = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    assert channels == (None, None, None)


def test_a_body_held_open_after_done_is_left() -> None:
    """The wait for its end is no time of the round."""

    async def ask(url: str) -> tuple[Round, float]:
        async with asking(url) as client:
            origin = time.perf_counter_ns()
            round_ = await client.complete(BODY, [], origin)
            return round_, (time.perf_counter_ns() - origin) / 1e6

    with recording_server(lambda _: Reply(GOOD, ends=False)) as server:
        round_, after = asyncio.run(ask(server.url))
    assert round_.state is RoundState.DONE
    assert after - round_.clock.ended_ms >= 99


@pytest.mark.parametrize("end", [[STOP], [STOP, total(2)]])
def test_silence_after_the_finish_reason_loses_nothing(end: list[bytes]) -> None:
    parts = [ROLE, ONE, TWO, *end]
    with recording_server(lambda _: Reply(parts, ends=False)) as server:
        (round_,) = asyncio.run(completed(server.url, 1, stall_s=0.2))
    assert (round_.state, round_.content, len(round_.attempts)) == (RoundState.DONE, "one two", 1)
    assert round_.completion_tokens == (2 if len(end) > 1 else None)


SCRIPT = """
[wire]
continuous_usage = {usage}
token_ids = {ids}
[[rules]]
[rules.timing]
headers_ms = 20
first_token_ms = 60
reasoning_gap_ms = 10
answer_gap_ms = 20
arguments_gap_ms = 15
[rules.reply]
reasoning = 4
answer = "one two three"
[[rules.reply.calls]]
name = "search"
arguments = {{ query = "a" }}
pieces = 2
"""


@pytest.mark.parametrize(
    ("usage", "ids", "extra"),
    [
        (False, False, {}),
        (
            True,
            False,
            {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
        ),
        (False, True, {"return_token_ids": True}),
    ],
)
def test_scripted_delays(mock_url: Serve, usage: bool, ids: bool, extra: dict[str, Any]) -> None:
    """No token is seen before the script lets it go, and all are counted in their channels."""
    toml = SCRIPT.format(usage=str(usage).lower(), ids=str(ids).lower())
    url = mock_url(toml)
    (round_,) = asyncio.run(completed(url, 1, extra_body=extra))
    clock = round_.clock
    assert clock.headers_ms is not None
    assert clock.first_token_ms is not None
    assert clock.headers_ms - clock.sent_ms >= 19
    assert clock.first_token_ms - clock.sent_ms >= 59
    gaps = [gap for channel in channels(round_) for gap in channel.gaps_ms]
    assert [len(channel.gaps_ms) for channel in channels(round_)] == [3, 3, 3]
    reached = itertools.accumulate(gaps, initial=clock.first_token_ms - clock.sent_ms)
    scripted = itertools.accumulate([10] * 3 + [20] * 3 + [15] * 3, initial=60)
    assert all(at >= due - 1 for at, due in zip(reached, scripted, strict=True))
    reasoning, answer, tool = channels(round_)
    if not ids:  # the mock lists no ids for a call's name, but counts it
        assert round_.completion_tokens == sum(c.tokens or 0 for c in channels(round_))
    assert (reasoning.tokens, reasoning.estimated) == (4, False)
    exact = usage or ids
    assert (answer.estimated, tool.estimated) == (not exact, not exact)
    if exact:
        assert (answer.tokens, clock.first_event_tokens) == (3, 1)
        assert answer.event_tokens == [1, 1, 1]
    else:
        assert answer.event_tokens == [None] * 3


def channels(round_: Round) -> tuple[Channel, Channel, Channel]:
    """Reasoning, answer, tool: in the order in which the mock says them."""
    found = (round_.reasoning_channel, round_.answer_channel, round_.tool_channel)
    assert None not in found
    return found  # type: ignore[return-value]


async def cancelled_when(
    url: str, now: asyncio.Event, rounds: list[Round], retries: Retries | None = None
) -> None:
    async with asking(url, retries=retries) as client:
        client.proven = True
        task = asyncio.create_task(client.complete(BODY, rounds, 0))
        await now.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_cancelled_in_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """What had come by then is in the record."""
    now = asyncio.Event()

    class Watched(StreamReader):
        def feed(self, read: bytes, now_ns: int) -> None:
            super().feed(read, now_ns)
            if self.content == "one two":
                now.set()

    monkeypatch.setattr(client_module, "StreamReader", Watched)
    rounds: list[Round] = []
    with recording_server(lambda _: Reply([ROLE, ONE, TWO], ends=False)) as server:
        asyncio.run(cancelled_when(server.url, now, rounds))
    (round_,) = rounds
    assert (round_.state, round_.content) == (RoundState.DEADLINE, "one two")
    assert round_.error == "the turn's time ran out"
    (attempt,) = round_.attempts
    assert (attempt.state, attempt.status) == (RoundState.DEADLINE, 200)
    assert (attempt.received_characters, attempt.waited_s) == (7, None)
    assert round_.clock.last_token_ms is not None
    assert round_.clock.ended_ms >= round_.clock.last_token_ms
    Round.model_validate_json(round_.model_dump_json())


def test_cancelled_before_the_headers() -> None:
    rounds: list[Round] = []
    now = asyncio.Event()
    leave = threading.Event()

    async def ask() -> None:
        loop = asyncio.get_running_loop()

        def reply(_: Request) -> Reply:
            loop.call_soon_threadsafe(now.set)
            leave.wait()
            return Reply(GOOD)

        with recording_server(reply) as server:
            await cancelled_when(server.url, now, rounds)
            leave.set()

    asyncio.run(ask())
    (round_,) = rounds
    assert (round_.state, round_.content) == (RoundState.DEADLINE, "")
    assert [(a.state, a.status) for a in round_.attempts] == [(RoundState.DEADLINE, None)]
    assert round_.clock.headers_ms is None


def test_cancelled_in_the_pause_between_attempts() -> None:
    now = asyncio.Event()

    @dataclasses.dataclass(frozen=True)
    class Watched(Retries):
        def wait_s(self, attempt: int, fault: Fault) -> float:
            now.set()
            return 3600

    rounds: list[Round] = []
    with recording_server(lambda _: OH_NO) as server:
        asyncio.run(cancelled_when(server.url, now, rounds, Watched()))
    (round_,) = rounds
    assert round_.state is RoundState.DEADLINE
    (attempt,) = round_.attempts
    assert (attempt.state, attempt.status) == (RoundState.SERVER_ERROR, 500)
    assert attempt.waited_s == 3600


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the server answers, and wherever it repeats the key."""
    monkeypatch.setenv("SPARK_KEY", f"{KEY}\n")
    echoes = [
        lambda key, cut: Reply([b'{"error": {"message": "%s"}}' % key], 401, "application/json"),
        lambda key, cut: Reply([b"%s%s" % (cut, key)], 400, "text/plain"),
        lambda key, cut: Reply([b"<html>%s%s</html>" % (cut, key)], 200, "text/html"),
        lambda key, cut: Reply([sse({"error": {"message": (cut + key).decode()}})]),
        lambda key, cut: Reply([b'{"error": "%s"}' % key], 200, "application/json"),
        lambda key, cut: Reply([b"%s" % key], 200, "application/json"),
    ]

    async def words(url: str) -> str:
        said: list[str] = []
        async with asking(url, api_key_env="SPARK_KEY", most=0) as client:
            for _ in echoes:
                try:
                    round_ = await client.complete(BODY, [], 0)
                except EndpointUnusable as error:
                    said.append(str(error))
                else:
                    said.append(round_.model_dump_json())
            for _ in echoes:
                try:
                    await client.get("/version", timeout_s=10)
                except Fault as fault:
                    said.append(fault.message)
        return "\n".join(said)

    for padding in range(480, 505, 4):
        served = itertools.cycle(echoes)

        def reply(request: Request, served: Any = served, padding: int = padding) -> Reply:
            answer: Reply = next(served)(
                request.headers["authorization"][7:].encode(), b"x" * padding
            )
            return answer

        with recording_server(reply) as server:
            said = asyncio.run(words(server.url))
        assert {r.headers["authorization"] for r in server.requests} == {f"Bearer {KEY}"}
        assert "***" in said
        assert KEY[:4] not in said


def test_no_key_is_sent_where_none_is_named(
    monkeypatch: pytest.MonkeyPatch, good: Recorder
) -> None:
    """Nor what the SDK would find in the environment, which is meant for another server."""
    names = ["OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"]
    for name in names:
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    async def ask() -> None:
        async with asking(good.url) as client:
            await client.complete(BODY, [], 0)
            with pytest.raises(Fault):
                await client.models()
            await client.control("m")

    asyncio.run(ask())
    paths = [request.path.removeprefix("/v1") for request in good.requests]
    assert paths == ["/chat/completions", "/models", "/chat/completions"]
    for request in good.requests:
        assert "authorization" not in request.headers
        assert not any(KEY in value for value in request.headers.values())


@pytest.mark.parametrize("value", [None, "", " \n", "two\nlines", "schlüssel"])
def test_a_key_that_is_none(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("SPARK_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SPARK_KEY", value)

    async def ask() -> None:
        async with asking("http://127.0.0.1:9/v1", api_key_env="SPARK_KEY"):
            pass

    with pytest.raises(InputError, match="SPARK_KEY") as raised:
        asyncio.run(ask())
    assert "lines" not in str(raised.value)


def test_proven_by_a_completion() -> None:
    """Not by a failed one, nor by a control request or a list of models."""
    answers = iter([OH_NO, Reply(GOOD), Reply(GOOD), Reply([b"no"], 401, "text/plain")])

    async def ask(url: str) -> list[bool]:
        async with asking(url, most=0) as client:
            proven = [client.proven]
            await client.complete(BODY, [], 0)
            proven.append(client.proven)
            await client.control("m")
            proven.append(client.proven)
            await client.complete(BODY, [], 0)
            proven.append(client.proven)
            refused = await client.complete(BODY, [], 0)
            assert refused.state is RoundState.REFUSED
            return [*proven, client.proven]

    with recording_server(lambda _: next(answers)) as server:
        assert asyncio.run(ask(server.url)) == [False, False, False, True, True]


def test_an_unusable_endpoint_leaves_its_round() -> None:
    async def ask(url: str) -> list[Round]:
        rounds: list[Round] = []
        async with asking(url) as client:
            with pytest.raises(EndpointUnusable):
                await client.complete(BODY, rounds, 0)
        return rounds

    with recording_server(lambda _: Reply([b"no"], 401, "text/plain")) as server:
        (round_,) = asyncio.run(ask(server.url))
    assert round_.state is RoundState.REFUSED


def test_pauses_grow_and_are_bounded() -> None:
    retries = Retries(first_wait_s=1, longest_wait_s=5)
    fault = Fault(RoundState.SERVER_ERROR, "x")
    waits = [[retries.wait_s(attempt, fault) for _ in range(50)] for attempt in (1, 2, 3, 4)]
    for row, longest in zip(waits, (1, 2, 4, 5), strict=True):
        assert all(0.75 * longest <= wait <= longest for wait in row)
    assert retries.wait_s(1, Fault(RoundState.BUSY, "x", retry_after_s=3)) == 3
    assert retries.wait_s(1, Fault(RoundState.BUSY, "x", retry_after_s=300)) == 5


def test_models_and_get() -> None:
    listed = {"data": [{"id": "a"}, {"id": 7}, "x", {"name": "b"}, {"id": "c", "owned_by": "d"}]}
    bodies = {
        "/v1/models": listed,
        "/version": {"version": "1"},
        "/v1/list": [1],
    }

    def reply(request: Request) -> Reply:
        return Reply([json.dumps(bodies[request.path]).encode()], kind="application/json")

    async def ask(url: str) -> tuple[Any, Any, Any]:
        async with asking(url) as client:
            root = url.removesuffix("/v1")
            return (
                await client.models(),
                await client.get(f"{root}/version", timeout_s=10),
                await client.get("/list", timeout_s=10),
            )

    with recording_server(reply) as server:
        models, version, plain = asyncio.run(ask(server.url))
    assert models == [{"id": "a"}, {"id": "c", "owned_by": "d"}]
    assert (version, plain) == ({"version": "1"}, [1])

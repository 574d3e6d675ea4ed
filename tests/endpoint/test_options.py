"""What is asked for beyond the completion, and what is left out where a server wants none of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from endpoint.asking import BODY, asking
from endpoint.recording import Reply, Request, recording_server
from endpoint.streams import DONE, ONE, ROLE, STOP, sse

from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round, RoundState

ALL = RequestOptions(continuous_usage=True, token_ids=True)
BUDGETED = {**BODY, "max_completion_tokens": 9}
GOOD = Reply([ROLE, ONE, STOP, DONE])
COUNTING = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (RequestOptions(), {"stream_options": {"include_usage": True}}),
        (RequestOptions(usage=False, continuous_usage=True), {}),
        (ALL, {**COUNTING, "return_token_ids": True}),
    ],
)
def test_fields(options: RequestOptions, fields: dict[str, Any]) -> None:
    assert options.fields() == fields


def test_the_budget_under_its_name() -> None:
    body = RequestOptions(usage=False, budget_field="max_tokens").applied(BUDGETED)
    assert body == {**BODY, "max_tokens": 9}
    assert "max_completion_tokens" not in RequestOptions().applied(BODY)


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("Unrecognized request argument supplied: stream_options", {"usage"}),
        ('[{"loc": ["body", "stream_options", "include_usage"], "msg": "extra"}]', {"usage"}),
        ("stream_options.continuous_usage_stats: extra inputs", {"continuous_usage"}),
        ("return_token_ids is not supported with stream=true", {"token_ids"}),
        ("Unsupported parameter: 'max_completion_tokens', use 'max_tokens'", {"budget_field"}),
        ("unknown: stream_options, return_token_ids", {"usage", "token_ids"}),
        ("max_completion_tokens is too large: 9000", set()),
        ("max_completion_tokens must be at most 4096", set()),
        ("bad top_k", set()),
    ],
)
def test_without_what_a_rejection_names(message: str, left: set[str]) -> None:
    less = ALL.without(message)
    assert {n for n in ALL.__slots__ if getattr(less, n) != getattr(ALL, n)} == left


def rejecting(*names: str, status: int = 400, in_stream: bool = False) -> Any:
    """A server that rejects a request for the first of these fields that it has."""

    def reply(request: Request) -> Reply:
        said = request.body.decode()
        found = next((name for name in names if name in said), None)
        if found is None:
            return GOOD
        error = {"error": {"message": f"unknown field: {found}", "code": status}}
        if in_stream:
            return Reply([sse(error), DONE])
        return Reply([json.dumps(error).encode()], status, "application/json")

    return reply


async def asked(url: str, options: RequestOptions, times: int = 1) -> tuple[ChatClient, Round]:
    async with asking(url, most=0) as client:
        client.options = options
        for _ in range(times):
            round_ = await client.complete(BUDGETED, [], 0)
        return client, round_


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("in_stream", [False, True])
def test_asked_again_for_less(status: int, in_stream: bool) -> None:
    """Each refusal is a recorded attempt, without a pause, and none of the retries."""
    reply = rejecting(
        "return_token_ids",
        "continuous_usage_stats",
        "stream_options",
        "max_completion_tokens",
        status=status,
        in_stream=in_stream,
    )
    with recording_server(reply) as server:
        client, round_ = asyncio.run(asked(server.url, ALL))
    assert round_.state is RoundState.DONE
    assert [(a.number, a.state, a.waited_s) for a in round_.attempts] == [
        *[(n, RoundState.REJECTED, None) for n in (1, 2, 3, 4)],
        (5, RoundState.DONE, None),
    ]
    assert client.options == RequestOptions(usage=False, budget_field="max_tokens")
    last = json.loads(server.requests[-1].body)
    assert last == {**BODY, "max_tokens": 9, "stream": True}
    assert round_.prompt_bytes == len(server.requests[-1].body)


def test_what_was_left_out_stays_out() -> None:
    with recording_server(rejecting("stream_options")) as server:
        _, round_ = asyncio.run(asked(server.url, RequestOptions(), times=2))
    assert len(round_.attempts) == 1
    assert len(server.requests) == 3


def test_a_profile_that_insists_gets_the_error() -> None:
    """`extra_body` is the user's; a request that would be the same is not sent again."""

    async def ask(url: str) -> None:
        async with asking(url, extra_body={"stream_options": {}}) as client:
            with pytest.raises(EndpointUnusable, match="unknown field: stream_options"):
                await client.complete(BODY, [], 0)

    with recording_server(rejecting("stream_options")) as server:
        asyncio.run(ask(server.url))
    assert len(server.requests) == 1


def test_a_proven_endpoint_is_asked_for_the_same() -> None:
    """A run's requests are alike: what a later one is refused is that round's failure."""

    async def ask(url: str) -> Round:
        async with asking(url) as client:
            client.proven = True
            return await client.complete(BODY, [], 0)

    with recording_server(rejecting("stream_options")) as server:
        round_ = asyncio.run(ask(server.url))
    assert (round_.state, len(round_.attempts)) == (RoundState.REJECTED, 1)


def test_a_control_request_asks_in_the_same_way() -> None:
    async def ask(url: str) -> None:
        async with asking(url) as client:
            client.options = RequestOptions(usage=False, budget_field="max_tokens")
            assert await client.control("m") is None

    with recording_server(lambda _: GOOD) as server:
        asyncio.run(ask(server.url))
    body = json.loads(server.requests[0].body)
    assert set(body) == {"model", "messages", "max_tokens", "stream"}

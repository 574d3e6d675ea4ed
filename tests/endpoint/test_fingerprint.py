"""What a server says of its models and its version, and which model is asked."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest
from endpoint.asking import asking
from endpoint.recording import Reply, Request, recording_server

from ragevalkit.endpoint.fingerprint import choose_model, fingerprint
from ragevalkit.errors import EndpointUnusable

Serve = Callable[[str], str]
Chosen = tuple[str, list[dict[str, Any]], str | None]


def listing(*names: str) -> Reply:
    return as_json({"object": "list", "data": [{"id": name} for name in names]})


def as_json(body: Any, status: int = 200) -> Reply:
    return Reply([json.dumps(body).encode()], status, "application/json")


def page(status: int = 200) -> Reply:
    return Reply([b"<html><body>It works.</body></html>"], status, "text/html")


def error(status: int) -> Reply:
    return as_json({"error": {"message": "no such thing"}}, status)


async def choose(url: str, model: str | None, connect_s: float = 10) -> Chosen:
    async with asking(url, model=model, connect_s=connect_s) as client:
        return await choose_model(client)


@pytest.mark.parametrize(
    ("reply", "model", "chosen", "warning"),
    [
        (listing("a"), None, "a", None),
        (listing("a"), "a", "a", None),
        (listing("a", "b"), None, "a", "asking for the model 'a'; it lists 2 models"),
        (listing("a", "b"), "b", "b", None),
        (listing("a", "b"), "c", "c", "/models lists a, b, not 'c'"),
        (listing(*"abcdefg"), "z", "z", "/models lists a, b, c, d, e, not 'z'"),
        (listing(), "c", "c", "/models lists none, not 'c'"),
        (error(404), "c", "c", "/models can't be read: HTTP 404: no such thing"),
        (page(404), "c", "c", "/models can't be read: HTTP 404: It works."),
        (error(405), "c", "c", "/models can't be read: HTTP 405: no such thing"),
        (error(429), "c", "c", "/models can't be read: HTTP 429: no such thing"),
        (error(500), "c", "c", "/models can't be read: HTTP 500: no such thing"),
    ],
)
def test_the_model_that_is_asked(
    reply: Reply, model: str | None, chosen: str, warning: str | None
) -> None:
    with recording_server(lambda _: reply) as server:
        name, listed, said = asyncio.run(choose(server.url, model))
    assert (name, said) == (chosen, warning)
    assert all(isinstance(entry["id"], str) for entry in listed)
    assert [request.path for request in server.requests] == ["/v1/models"]


@pytest.mark.parametrize("model", [None, "c"])
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (error(401), "HTTP 401: no such thing; it wants a key"),
        (error(403), "HTTP 403: no such thing; it wants a key"),
        (page(), "no JSON: It works.; the address should end"),
        (as_json({"object": "list"}), "lists no models; the address should end"),
        (as_json([1, 2]), "lists no models; the address should end"),
        (as_json({"data": {"a": 1}}), "lists no models; the address should end"),
    ],
)
def test_unusable_with_a_model_or_without(reply: Reply, message: str, model: str | None) -> None:
    with (
        recording_server(lambda _: reply) as server,
        pytest.raises(EndpointUnusable, match=re.escape(message)) as raised,
    ):
        asyncio.run(choose(server.url, model))
    assert str(raised.value).startswith(f"endpoint {server.url} ")
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (listing(), "lists no model"),
        (error(404), "doesn't list its models (HTTP 404: no such thing); does the address end"),
        (error(500), "doesn't list its models (HTTP 500: no such thing); does the address end"),
    ],
)
def test_unusable_without_a_model(reply: Reply, message: str) -> None:
    with (
        recording_server(lambda _: reply) as server,
        pytest.raises(EndpointUnusable, match=re.escape(message)),
    ):
        asyncio.run(choose(server.url, None))


@pytest.mark.parametrize("model", [None, "c"])
def test_a_refused_connection(model: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(EndpointUnusable, match="is the server running, and is the address right"):
        asyncio.run(choose(f"http://127.0.0.1:{port}/v1", model))


@pytest.mark.parametrize("model", [None, "c"])
def test_models_that_never_come(mock_url: Serve, model: str | None) -> None:
    url = mock_url('[models]\nkind = "silence"')
    with pytest.raises(EndpointUnusable, match=r"the server sent nothing for 0\.2 s"):
        asyncio.run(choose(url, model, connect_s=0.2))


@pytest.mark.parametrize(
    ("version", "known"),
    [
        (as_json({"version": "0.33"}), {"version": "0.33"}),
        (as_json("0.33"), None),
        (page(), None),
        (page(404), None),
        (error(401), None),
        (error(500), None),
    ],
)
def test_fingerprint(version: Reply, known: dict[str, Any] | None) -> None:
    """The version lies at the server's root, and no answer to it is no error."""

    def reply(request: Request) -> Reply:
        return version if request.path == "/version" else error(400)

    async def ask(url: str) -> list[dict[str, Any]]:
        async with asking(url) as client:
            listed = [{"id": "a", "max_model_len": 8}, {"id": "b"}]
            return [await fingerprint(client, name, listed) for name in ("a", "c")]

    with recording_server(reply) as server:
        first, second = asyncio.run(ask(server.url))
    assert first == {"model": {"id": "a", "max_model_len": 8}, "version": known}
    assert second == {"model": None, "version": known}


def test_a_server_that_has_gone() -> None:
    async def ask(url: str) -> None:
        async with asking(url) as client:
            await fingerprint(client, "a", [])

    with recording_server(lambda _: page()) as server:
        url = server.url
    with pytest.raises(EndpointUnusable, match="is the server running"):
        asyncio.run(ask(url))

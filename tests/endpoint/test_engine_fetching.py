"""Fetching metrics pages from servers that hang, lie, or send one elsewhere."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Callable

import pytest
from endpoint.asking import asking
from endpoint.recording import Reply, recording_server
from servers import raw_server, response

from ragevalkit.endpoint.engine import Page, fetching
from ragevalkit.endpoint.engine.fetching import MOST_BYTES, metrics_address, scrape, settled

TEXT = b'vllm:request_success_total{finished_reason="stop"} 3\nvllm:num_requests_running 0\n'
PAGE = Page(engine="vllm", values={"requests": 3, "running": 0})


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT_S", 0.4)
    monkeypatch.setattr(fetching, "BETWEEN_S", 0.01)


def scraped(url: str, model: str | None = None) -> Page | None:
    async def look() -> Page | None:
        async with asking(url) as client:
            return await scrape(client, model)

    return asyncio.run(look())


def metrics(*writes: bytes) -> Callable[[str, bytes], list[bytes]]:
    """Answers /metrics with these writes, and nothing else."""

    def answer(path: str, body: bytes) -> list[bytes]:
        return list(writes) if path == "/metrics" else response(b"", status="404 Not Found")

    return answer


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("http://spark:8000/v1", "http://spark:8000/metrics"),
        ("http://spark:8000/v1/", "http://spark:8000/metrics"),
        ("http://spark:8000", "http://spark:8000/metrics"),
        ("https://host/llama/v1", "https://host/llama/metrics"),
    ],
)
def test_the_page_lies_beside_the_api(base_url: str, address: str) -> None:
    assert metrics_address(base_url) == address


@pytest.mark.parametrize("pieces", [1, 7, 40])
def test_a_page_in_any_pieces(pieces: int) -> None:
    whole = response(TEXT, kind="text/plain; version=0.0.4")[0]
    writes = [whole[at : at + pieces] for at in range(0, len(whole), pieces)]
    with raw_server(metrics(*writes)) as url:
        assert scraped(url) == PAGE


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
GZIP = "Content-Encoding: gzip\r\n"


@pytest.mark.parametrize(
    "writes",
    [
        [],
        [b"nonsense\r\n\r\n"],
        [b"HTTP/1.1 999 Odd\r\n\r\n"],
        [HEAD + b"Content-Length: 10\r\n\r\nab"],
        [HEAD + b"Content-Length: nine\r\n\r\n", TEXT],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", TEXT],
        [HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n", TEXT],
        response(TEXT, status="404 Not Found"),
        response(TEXT, status="401 Unauthorized"),
        response(TEXT, status="500 Oops"),
        response(TEXT, status="204 No Content"),
        response(b"<!doctype html><h1>metrics</h1>", kind="text/html"),
        response(b'{"error": "metrics are off"}'),
        response(gzip.compress(TEXT), headers=GZIP),
        response(gzip.compress(b"a" * 10**8), headers=GZIP),
        response(TEXT, status="302 Found", headers="Location: /metrics\r\n"),
        response(TEXT, status="302 Found", headers="Location: http://[\r\n"),
        response(TEXT, status="302 Found"),
        response(TEXT + b"#" * MOST_BYTES),
        [HEAD + b"Connection: close\r\n\r\n", *[TEXT * 1000] * 80],
    ],
    ids=lambda writes: repr(writes[0][:60]) if writes else "nothing",
)
def test_what_is_no_page(writes: list[bytes]) -> None:
    with raw_server(metrics(*writes)) as url:
        assert scraped(url) is None


def test_a_server_that_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert scraped(f"http://127.0.0.1:{port}/v1") is None


def test_a_server_that_takes_the_connection_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert scraped(f"http://127.0.0.1:{silent.getsockname()[1]}/v1") is None


def test_a_page_that_never_ends() -> None:
    reply = Reply([TEXT], kind="text/plain", ends=False)
    with recording_server(lambda request: reply) as server:
        assert scraped(server.url) is None


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_on_the_same_server_is_followed(status: int) -> None:
    def answer(path: str, body: bytes) -> list[bytes]:
        if path == "/metrics/":
            return response(TEXT, kind="text/plain")
        return response(b"", status=f"{status} Moved", headers="Location: /metrics/\r\n")

    with raw_server(answer) as url:
        assert scraped(url) == PAGE


def test_nobody_but_the_server_gets_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARN_KEY", "sk-secret")
    page = Reply([TEXT], kind="text/plain")
    with recording_server(lambda request: page) as other:

        def answer(path: str, body: bytes) -> list[bytes]:
            elsewhere = f"Location: {other.url.removesuffix('/v1')}/metrics\r\n"
            return response(b"", status="307 Elsewhere", headers=elsewhere)

        async def look(url: str) -> Page | None:
            async with asking(url, api_key_env="TARN_KEY") as client:
                return await scrape(client)

        with raw_server(answer) as url:
            assert asyncio.run(look(url)) is None
        assert not other.requests
        assert asyncio.run(look(other.url)) == PAGE
    assert [r.headers["authorization"] for r in other.requests] == ["Bearer sk-secret"]
    assert [r.path for r in other.requests] == ["/metrics"]


def looks(*pages: bytes) -> tuple[Page | None, int]:
    """What `settled` makes of pages that come one after the other, the last one for good."""
    left = list(pages)
    seen = []

    def answer(path: str, body: bytes) -> list[bytes]:
        seen.append(path)
        return response(left.pop(0) if len(left) > 1 else left[0], kind="text/plain")

    async def look(url: str) -> Page | None:
        async with asking(url) as client:
            return await settled(client)

    with raw_server(answer) as url:
        return asyncio.run(look(url)), len(seen)


def counted(requests: int, running: int = 0) -> bytes:
    return f"vllm:request_success_total {requests}\nvllm:num_requests_running {running}\n".encode()


def test_a_page_is_read_until_it_stands_still() -> None:
    page, count = looks(counted(3), counted(4, 1), counted(5), counted(5))
    assert page is not None
    assert (page.values["requests"], count) == (5, 4)


def test_a_server_at_work_is_waited_for() -> None:
    page, count = looks(counted(3, 1), counted(3, 1), counted(3, 1), counted(4), counted(4))
    assert page is not None
    assert (page.values["requests"], page.under_way(), count) == (4, 0, 5)


def test_a_server_that_is_always_at_work_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetching, "SETTLING_S", 0.1)
    page, _ = looks(counted(3, 1))
    assert page is not None
    assert page.under_way() == 1


def test_a_page_that_is_gone_at_the_second_look() -> None:
    assert looks(counted(3), b"") == (None, 2)

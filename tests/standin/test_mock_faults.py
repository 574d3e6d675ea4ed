"""What goes wrong on cue goes wrong as scripted, seen by a client that keeps the bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import openai
import pytest

Serve = Callable[[str], str]

TOKEN = b'"content":"'
"""In every event with text, and in the role chunk."""

REPLY = '[rules.reply]\nanswer = "one two three"\n'


@dataclass
class Seen:
    status: int
    headers: dict[str, str]
    body: bytes
    broken: str

    def texts(self) -> list[str]:
        """Answer text of each whole event."""
        events = [e[6:] for e in self.body.split(b"\n\n")[:-1] if e != b"data: [DONE]"]
        deltas = [json.loads(event)["choices"][0]["delta"] for event in events]
        return [delta["content"] for delta in deltas if delta.get("content")]


def post(url: str, body: Any = None, content: str = "q", stream: bool = True) -> Seen:
    """One raw request; `broken` names the transport's error."""
    data = body or {"messages": [{"role": "user", "content": content}], "stream": stream}
    return asyncio.run(_request("POST", f"{url}/chat/completions", data))


def get(url: str) -> Seen:
    return asyncio.run(_request("GET", url, None))


async def _request(method: str, url: str, data: Any) -> Seen:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    seen = Seen(0, {}, b"", "")
    async with aiohttp.ClientSession() as session:
        try:
            async with session.request(method, url, data=raw if data else None) as response:
                seen.status, seen.headers = response.status, dict(response.headers)
                async for part in response.content.iter_any():
                    seen.body += part
        except aiohttp.ClientError as error:
            seen.broken = type(error).__name__
    return seen


def fault(body: str, rule: str = "") -> str:
    return f"[[rules]]\n{rule}\n{REPLY}[rules.fault]\n{body}"


def test_status_with_headers_then_normal(mock_url: Serve) -> None:
    url = mock_url(
        '[[rules]]\ntimes = 2\n[rules.fault]\nkind = "status"\nstatus = 503\n'
        'headers = { Retry-After = "7" }\n[[rules]]\n' + REPLY
    )
    first, second, third = post(url), post(url), post(url)
    assert [first.status, second.status, third.status] == [503, 503, 200]
    assert first.headers["Retry-After"] == "7"
    assert json.loads(first.body)["error"]["code"] == 503
    assert "".join(third.texts()) == "one two three"


def test_times_per_turn(mock_url: Serve) -> None:
    url = mock_url('[[rules]]\ntimes = 1\nper = "turn"\n[rules.fault]\nkind = "status"')
    statuses = [post(url, content=question).status for question in ("a", "a", "b", "b")]
    assert statuses == [500, 200, 500, 200]


@pytest.mark.parametrize(
    ("body", "expected"), [('"plain words"', b"plain words"), ("{ e = 1 }", b'{"e":1}')]
)
def test_status_body(mock_url: Serve, body: str, expected: bytes) -> None:
    assert post(mock_url(fault(f'kind = "status"\nstatus = 429\nbody = {body}'))).body == expected


def test_html(mock_url: Serve) -> None:
    seen = post(mock_url(fault('kind = "html"')))
    assert (seen.status, seen.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert seen.body.startswith(b"<!doctype html>")


@pytest.mark.parametrize("how", ["hard", "half"])
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("stream", [True, False])
def test_cut(mock_url: Serve, how: str, after: int, stream: bool) -> None:
    seen = post(mock_url(fault(f'kind = "cut"\nhow = "{how}"\nafter = {after}')), stream=stream)
    assert seen.broken
    assert b"[DONE]" not in seen.body
    if stream and after:
        assert seen.texts() == ["one", " two"]
        assert seen.body.endswith(b"\n\n") == (how == "hard")
    elif stream:
        assert seen.status == 0


def test_eof_is_clean_and_without_end(mock_url: Serve) -> None:
    seen = post(mock_url(fault('kind = "eof"')))
    assert (seen.broken, seen.texts()) == ("", ["one", " two", " three"])
    assert b"[DONE]" not in seen.body
    assert b'"finish_reason":"' not in seen.body
    assert post(mock_url(fault('kind = "eof"\nafter = 1'))).texts() == ["one"]


def test_error_event(mock_url: Serve) -> None:
    url = mock_url(fault('kind = "error_event"\nafter = 1\nerror = { message = "overload" }'))
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        stream = client.chat.completions.create(
            model="mock", messages=[{"role": "user", "content": "q"}], stream=True
        )
        with pytest.raises(openai.APIError, match="overload"):
            list(stream)
    assert post(url, stream=False).body == b'{"error":{"message":"overload"}}'


@pytest.mark.parametrize("after", [0, 2])
def test_silence_holds_the_connection(mock_url: Serve, after: int) -> None:
    """The client leaves, and the server goes on serving others."""
    url = mock_url(fault(f'kind = "silence"\nafter = {after}', "times = 1"))

    async def listen() -> bytes:
        heard = b""
        data = json.dumps({"messages": [{"role": "user", "content": "q"}], "stream": True})
        async with aiohttp.ClientSession() as session:
            asked: asyncio.Future[Any] = asyncio.ensure_future(
                session.post(f"{url}/chat/completions", data=data)
            )
            if after:
                response = await asked
                while heard.count(TOKEN) <= after:
                    heard += await response.content.readany()
                asked = asyncio.ensure_future(response.content.readany())
            done, _ = await asyncio.wait([asked], timeout=0.2)
            assert not done
            asked.cancel()
        return heard

    heard = asyncio.run(listen())
    assert heard.count(TOKEN) == (1 + after if after else 0)
    assert post(url).status == 200


def test_fault_lies_over_a_later_reply(mock_url: Serve) -> None:
    seen = post(mock_url('[[rules]]\n[rules.fault]\nkind = "eof"\nafter = 2\n[[rules]]\n' + REPLY))
    assert seen.texts() == ["one", " two"]


def test_models(mock_url: Serve) -> None:
    url = mock_url('model = "nemo"')
    assert json.loads(get(f"{url}/models").body)["data"][0]["id"] == "nemo"
    assert get(url.removesuffix("/v1") + "/health").status == 200
    assert get(mock_url('[models]\nkind = "status"\nstatus = 404') + "/models").status == 404
    assert b"<html>" in get(mock_url('[models]\nkind = "html"') + "/models").body


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{", None),
        (b"[1]", None),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"content": "q"}]}, "messages[0]"),
        ({"messages": [{"role": "user"}], "n": 2}, "n"),
        ({"messages": [{"role": "user"}], "max_tokens": 0}, "max_tokens"),
        ({"messages": [{"role": "user"}], "max_completion_tokens": "9"}, "max_completion_tokens"),
        ({"messages": [{"role": "user"}], "tools": [{}]}, "tools[0].function.name"),
        ({"messages": [{"role": "user"}], "tools": {"a": 1}}, "tools"),
        ({"messages": [{"role": "user"}], "stream_options": [1]}, "stream_options"),
    ],
)
def test_bad_requests(baseline_url: str, body: Any, param: str | None) -> None:
    seen = post(baseline_url, body)
    assert seen.status == 400
    assert json.loads(seen.body)["error"]["param"] == param


def test_sse_framing(mock_url: Serve) -> None:
    seen = post(mock_url("[[rules]]\n" + REPLY))
    assert seen.headers["Content-Type"].startswith("text/event-stream")
    events = seen.body.split(b"\n\n")
    assert events[-2:] == [b"data: [DONE]", b""]
    first = json.loads(events[0].removeprefix(b"data: "))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len(events) == 1 + 3 + 1 + 2

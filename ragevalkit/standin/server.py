"""The HTTP side of both stand-ins: an OpenAI-compatible chat-completions server around a brain.

Public: `application`, `serve`.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time
from collections.abc import Callable, Iterable

import orjson
from aiohttp import web

from ragevalkit.standin.events import (
    Brain,
    Cut,
    End,
    Event,
    Respond,
    Silence,
    StreamError,
    Text,
    Wait,
    within_budget,
)
from ragevalkit.standin.request import BadRequest, ChatRequest, parse_request
from ragevalkit.standin.wire import ChunkWriter, completion, error_body, to_json

_LARGEST_BODY = 256 * 1024 * 1024
_KEEP_ALIVE_S = 300.0
_STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class _Pace:
    """Deadlines of one reply: each wait counts from the deadline before, so none drifts."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time()

    async def wait(self, ms: float) -> None:
        self._deadline += ms / 1000
        await asyncio.sleep(self._deadline - self._loop.time())


class _Endpoint:
    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        self._numbers = itertools.count(1)

    async def health(self, request: web.Request) -> web.StreamResponse:
        return _json(200, b'{"status":"ok"}')

    async def models(self, request: web.Request) -> web.StreamResponse:
        instead = self._brain.models()
        if isinstance(instead, Respond):
            return _respond(instead)
        if isinstance(instead, Silence):
            await _forever()
        habits = self._brain.wire.habits
        model = {"id": self._brain.wire.model, "object": "model", "owned_by": habits.owned_by}
        entry = {**model, "created": 0, **habits.entry}
        return _json(200, orjson.dumps({"object": "list", "data": [entry]}))

    async def page(self, request: web.Request) -> web.StreamResponse:
        page = self._brain.wire.habits.pages.get(request.path)
        if page is None:
            return _json(404, error_body(f"There is no {request.path}.", "not_found_error", 404))
        return _json(200, to_json(page))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        pace = _Pace()
        try:
            asked = parse_request(await request.read(), self._brain.wire.habits)
        except BadRequest as error:
            kind = "invalid_request_error"
            return _json(400, error_body(str(error), kind, param=error.param))
        events = within_budget(self._brain.reply(asked), asked.max_tokens)
        reply_id = f"chatcmpl-{next(self._numbers)}"
        if asked.stream:
            return await self._stream(request, asked, events, pace, reply_id)
        return await self._whole(request, asked, events, pace, reply_id)

    async def _stream(
        self,
        request: web.Request,
        asked: ChatRequest,
        events: Iterable[Event],
        pace: _Pace,
        reply_id: str,
    ) -> web.StreamResponse:
        chunks = ChunkWriter(self._brain.wire, asked, reply_id, int(time.time()))
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        held: list[bytes] = []

        async def send(writes: list[bytes]) -> None:
            if not self._brain.wire.habits.streams:
                held.extend(writes)
                return
            for write in writes:
                await response.write(write)

        for event in events:
            if isinstance(event, Wait):
                chunks.waited(event.ms)
                await pace.wait(event.ms)
                continue
            if isinstance(event, Respond):
                return _respond(event)
            if not response.prepared and not isinstance(event, Cut | Silence):
                await response.prepare(request)
                await send(chunks.start(event))
            match event:
                case Silence():
                    await _silence(response, event)
                case Cut():
                    if event.halfway and response.prepared:
                        whole = b"".join(chunks.render(Text("answer", (" and",))))
                        await response.write(whole[: len(whole) // 2])
                    _break(request, reset=not event.halfway)
                    return response
                case End():
                    break
            await send(chunks.render(event))
            await asyncio.sleep(0)
            if isinstance(event, StreamError):
                break
        if held:
            await response.write(b"".join(held))
        await response.write_eof()
        return response

    async def _whole(
        self,
        request: web.Request,
        asked: ChatRequest,
        events: Iterable[Event],
        pace: _Pace,
        reply_id: str,
    ) -> web.StreamResponse:
        said: list[Event] = []
        for event in events:
            match event:
                case Wait():
                    await pace.wait(event.ms)
                case Respond():
                    return _respond(event)
                case StreamError():
                    return _json(200, to_json({"error": event.error}))
                case Silence():
                    await _forever()
                case Cut():
                    response = web.StreamResponse(headers={"Content-Type": "application/json"})
                    if event.halfway:
                        await response.prepare(request)
                        await response.write(b'{"id":')
                    _break(request, reset=not event.halfway)
                    return response
                case End():
                    break
                case _:
                    said.append(event)
        body = completion(said, self._brain.wire, asked, reply_id, int(time.time()))
        return _json(200, body)


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")


def _respond(event: Respond) -> web.Response:
    headers = {"Content-Type": event.content_type, **event.headers}
    return web.Response(status=event.status, body=event.body, headers=headers)


async def _silence(response: web.StreamResponse, event: Silence) -> None:
    """Pings, where there are any and the stream has begun, until the client leaves."""
    while event.ping_ms and response.prepared:
        await asyncio.sleep(event.ping_ms / 1000)
        await response.write(event.ping)
    await _forever()


async def _forever() -> None:
    """Until the handler is cancelled, which aiohttp does when the client leaves."""
    await asyncio.get_running_loop().create_future()


def _break(request: web.Request, *, reset: bool) -> None:
    """Close the connection under the response: with a TCP reset, or an ordinary end."""
    transport = request.transport
    if transport is None:
        return
    if not reset:
        transport.close()
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def application(brain: Brain) -> web.Application:
    """The routes of one stand-in."""
    endpoint = _Endpoint(brain)
    app = web.Application(client_max_size=_LARGEST_BODY)
    app.router.add_post("/v1/chat/completions", endpoint.chat)
    app.router.add_get("/v1/models", endpoint.models)
    app.router.add_get("/health", endpoint.health)
    app.router.add_get("/{path:.*}", endpoint.page)
    return app


async def serve(brain: Brain, port: int, ready: Callable[[int], None]) -> None:
    """Serve on 127.0.0.1 until cancelled; `ready` gets the port (0 asks for a free one).

    Raises `OSError` where the port can't be had.
    """
    runner = web.AppRunner(
        application(brain),
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=_KEEP_ALIVE_S,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
        await site.start()
        ready(int(runner.addresses[0][1]))
        await asyncio.get_running_loop().create_future()
    finally:
        await runner.cleanup()

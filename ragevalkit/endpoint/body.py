"""Reads the body of an answer into a reader, and knows when enough has come.

Public: `read_completion`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import NoReturn

import httpx2

from ragevalkit.endpoint.faults import Fault, readable
from ragevalkit.endpoint.reader import StreamReader
from ragevalkit.turn.record import RoundState

_PAGES = ("text/html", "application/xhtml+xml")
_STREAM_STARTS = (b"data:", b"event:", b"error:", b"id:", b"retry:", b":")
_PLAIN = frozenset({"", "identity"})
_DECODED = _PLAIN | {"gzip", "x-gzip", "deflate"}
"""Encodings that are undone on the way here, though none was asked for."""

_AFTER_DONE_S = 0.1
"""How long to wait for the end of the body after `[DONE]`, so that the connection is kept."""
_AFTER_USAGE_S = 0.5
"""How long for anything more once both finish reason and usage, or an error, have come."""
_AFTER_FINISH_S = 2.0
"""How long after the finish reason for usage, which some servers send late and some never."""


async def read_completion(response: httpx2.Response, reader: StreamReader) -> None:
    """Read a success's body, stamped as it comes, to its end or as long as it is worth waiting.

    Raises:
        Fault: it is no completion.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _PAGES:
        _refuse_page(response.status_code, (await response.aread()).decode(errors="replace"))
    encoding = response.headers.get("content-encoding", "").strip().lower()
    # a decoder, also one that does nothing, costs every read of a stream
    reads = response.aiter_raw() if encoding in _PLAIN else response.aiter_bytes()
    if kind == "application/json":
        whole = await _whole_body(reads, reader)
        if whole is not None:
            reader.take_whole(whole, time.perf_counter_ns())
            return
    await _read_stream(reads, reader)
    reader.close(time.perf_counter_ns())
    if not reader.events and kind != "text/event-stream":
        _refuse(response.status_code, "the answer holds no events of a completion")
    if not reader.events and encoding not in _DECODED:
        _refuse(response.status_code, f"the answer is compressed ({encoding}), unasked")


async def _read_stream(reads: AsyncIterator[bytes], reader: StreamReader) -> None:
    if reader.ending:
        await _read_end(reads, reader)
        return
    async for read in reads:
        reader.feed(read, time.perf_counter_ns())
        if reader.ending:
            await _read_end(reads, reader)
            return


async def _read_end(reads: AsyncIterator[bytes], reader: StreamReader) -> None:
    """Read what follows the finish reason; a server that never ends the body is left."""
    try:
        while True:
            async with asyncio.timeout(_patience_s(reader)):
                read = await anext(reads)
            reader.feed(read, time.perf_counter_ns())
    except (StopAsyncIteration, TimeoutError):
        pass


def _patience_s(reader: StreamReader) -> float:
    if reader.done:
        return _AFTER_DONE_S
    return _AFTER_USAGE_S if reader.usage_is_final or reader.error else _AFTER_FINISH_S


async def _whole_body(reads: AsyncIterator[bytes], reader: StreamReader) -> bytes | None:
    """All of a body that is JSON as it says; None where it is a stream under the wrong label, whose
    first reads have been fed."""
    body = b""
    async for read in reads:
        now_ns = time.perf_counter_ns()
        body += read
        start = body.lstrip()
        if start.startswith(_STREAM_STARTS):
            reader.feed(body, now_ns)
            return None
        if len(start) > len("retry:"):
            break
    return b"".join([body, *[read async for read in reads]])


def _refuse_page(status: int, page: str) -> NoReturn:
    _refuse(status, f"the answer is a web page, not a completion: {readable(page)}")


def _refuse(status: int, message: str) -> NoReturn:
    raise Fault(RoundState.NOT_AN_API, message, status)

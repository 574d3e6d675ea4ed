"""Streams of the mock as raw reads over HTTP, and what ragevalkit's own reader makes of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
from servers import mocking

from ragevalkit.endpoint.reader import StreamReader

QUESTION: list[Any] = [{"role": "user", "content": "What are voltage and mass?"}]
USAGE: dict[str, Any] = {"stream_options": {"include_usage": True}}
EVERYTHING: dict[str, Any] = {
    "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    "return_token_ids": True,
    "timings_per_token": True,
}


def reads(url: str, messages: list[Any] = QUESTION, **options: Any) -> list[bytes]:
    """The reads of one streamed completion."""
    body = {"messages": messages, "stream": True, **options}

    async def ask() -> list[bytes]:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/chat/completions", json=body) as response,
        ):
            return [part async for part in response.content.iter_any()]

    return asyncio.run(ask())


def stream_of(folder: Path, scenario: str, **options: Any) -> bytes:
    """All bytes that a scenario answers to one question."""
    with mocking(folder, scenario) as url:
        return b"".join(reads(url, **options))


def read_back(*parts: bytes) -> StreamReader:
    """The reader after these reads."""
    reader = StreamReader()
    for now, part in enumerate(parts):
        reader.feed(part, now)
    reader.close(len(parts))
    return reader


def chunks(stream: bytes) -> list[Any]:
    """The JSON of every event but `[DONE]`, in a stream whose events are all well-formed."""
    lines = [line for line in stream.split(b"\n") if line.startswith(b"data:")]
    return [json.loads(line[5:]) for line in lines if line[5:].strip() != b"[DONE]"]


def deltas(stream: bytes) -> list[dict[str, Any]]:
    """The delta of every choice."""
    return [chunk["choices"][0]["delta"] for chunk in chunks(stream) if chunk["choices"]]

"""What of a request only some engines heed, beside what every chat completion has.

Public: `EngineRequest`, `parse_engine_request`, `turn_key`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import blake2b

import orjson

from ragevalkit.standin.request import ChatRequest, parse_request


@dataclass(frozen=True, slots=True)
class EngineRequest(ChatRequest):
    """A request with the fields that are one engine's own."""

    seed: int | None = None
    """The sampling seed; an agent sends another one for each repeat of a question."""
    timings_per_token: bool = False
    """llama.cpp's: its timings on every chunk."""


def parse_engine_request(body: bytes) -> EngineRequest:
    """Read the body of `POST /v1/chat/completions`. Raises `BadRequest`."""
    common = parse_request(body)
    data = orjson.loads(body)
    seed = data.get("seed")
    return EngineRequest(
        **{part.name: getattr(common, part.name) for part in fields(common)},
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        timings_per_token=data.get("timings_per_token") is True,
    )


def turn_key(request: ChatRequest) -> bytes:
    """The same for every round of one turn, another for every question and every repeat.

    Made of the messages up to the last user message and the request's seed.
    """
    messages = request.messages
    last = max((at for at, m in enumerate(messages) if m.get("role") == "user"), default=0)
    seed = request.seed if isinstance(request, EngineRequest) else None
    return blake2b(orjson.dumps([messages[: last + 1], str(seed)]), digest_size=16).digest()

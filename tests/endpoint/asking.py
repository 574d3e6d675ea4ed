"""Clients for tests: few retries without pauses, and short limits.

Public: `BODY`, `asking`, `completed`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from ragevalkit.endpoint.client import ChatClient, Retries, Timeouts
from ragevalkit.endpoint.profile import Profile
from ragevalkit.turn.record import Round

BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}


@contextlib.asynccontextmanager
async def asking(
    url: str,
    *,
    stall_s: float = 10,
    connect_s: float = 10,
    most: int = 2,
    concurrency: int = 1,
    retries: Retries | None = None,
    **fields: Any,
) -> AsyncIterator[ChatClient]:
    """A client of the endpoint at `url`; `fields` are its profile's."""
    profile = Profile.model_validate({"name": "t", "base_url": url, "model": "m", **fields})
    client = ChatClient(
        profile,
        concurrency=concurrency,
        retries=retries or Retries(most=most, first_wait_s=0, longest_wait_s=0.05),
        timeouts=Timeouts(connect_s=connect_s, stall_s=stall_s),
    )
    try:
        yield client
    finally:
        await client.close()


async def completed(url: str, times: int, **options: Any) -> list[Round]:
    """The rounds of so many requests, one after the other."""
    rounds: list[Round] = []
    async with asking(url, **options) as client:
        for _ in range(times):
            await client.complete(BODY, rounds, 0)
    return rounds

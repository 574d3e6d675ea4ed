"""One streamed completion, as the SDK's own typed stream gives it and as ours does.

Public: `Heard`, `hear`, `ask`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import openai

from ragevalkit.endpoint.client import ChatClient, Retries
from ragevalkit.endpoint.profile import Profile
from ragevalkit.turn.record import Round


@dataclass
class Heard:
    """What the SDK's typed stream gives."""

    answer: str = ""
    reasoning: str = ""
    calls: dict[int, list[str | None]] = field(default_factory=dict)
    finish: str | None = None
    usage: dict[str, Any] | None = None


async def hear(url: str, name: str) -> Heard:
    heard = Heard()
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": name}], stream=True
        )
        async for part in stream:
            if part.usage is not None:
                heard.usage = part.usage.model_dump(exclude_unset=True)
            for choice in part.choices:
                extra = choice.delta.model_extra or {}
                heard.answer += choice.delta.content or ""
                heard.reasoning += extra.get("reasoning") or extra.get("reasoning_content") or ""
                heard.finish = choice.finish_reason or heard.finish
                for piece in choice.delta.tool_calls or []:
                    call = heard.calls.setdefault(piece.index, [piece.id, "", ""])
                    assert piece.function is not None
                    call[1] = f"{call[1]}{piece.function.name or ''}"
                    call[2] = f"{call[2]}{piece.function.arguments or ''}"
    return heard


async def ask(url: str, name: str) -> Round:
    client = ChatClient(Profile(name="t", base_url=url), concurrency=1, retries=Retries(most=0))
    try:
        message = {"role": "user", "content": name}
        return await client.complete({"model": "m", "messages": [message]}, [], 0)
    finally:
        await client.close()

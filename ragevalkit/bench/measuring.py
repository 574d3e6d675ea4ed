"""What the benches of speed share: how they ask, what they tell the user, and when they are done.

Public: `ask`, `check_alive`, `Stopped`, `Watch`, `endpoint_settings`, `on_record`.
"""

from __future__ import annotations

import time
from typing import Any, Protocol, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from ragevalkit.bench.folder import BenchFolder
from ragevalkit.bench.session import Session
from ragevalkit.endpoint.profile import Profile
from ragevalkit.turn.record import Round

Result = TypeVar("Result", bound=BaseModel)
Message = dict[str, Any]


class Stopped(Exception):
    """The endpoint no longer answers; its text says how. The same command continues the bench."""


class Watch(Protocol):
    """What a user is told while a bench goes on."""

    def checks(self, what: str) -> None: ...

    def warns(self, message: str) -> None: ...

    def step(self, what: str, done: int, planned: int) -> None:
        """`what` is asked next; so many steps are finished and planned."""


async def ask(
    session: Session,
    messages: list[Message],
    tokens: int,
    fields: dict[str, Any] | None = None,
    origin_ns: int | None = None,
) -> Round:
    """The reply to one request.

    Args:
        tokens: the output budget.
        origin_ns: from which the record counts; None: from now.
    """
    client = session.client
    body = {
        "model": session.model,
        "messages": messages,
        **client.profile.sampling.parameters(),
        "max_completion_tokens": tokens,
        **(fields or {}),
    }
    return await client.complete(body, [], origin_ns or time.perf_counter_ns())


async def check_alive(session: Session) -> None:
    """After a failure: whether the endpoint is still there.

    Raises:
        Stopped: it answers no plain request.
    """
    fault = await session.client.control(session.model)
    if fault is not None:
        raise Stopped(f"{session.client.profile.name}: {fault.message}")


def endpoint_settings(profile: Profile) -> dict[str, Any]:
    """What of an endpoint must be the same for a bench to be continued."""
    return {
        "name": profile.name,
        # a built-in endpoint listens at another port each time
        "base_url": None if profile.built_in else profile.base_url,
        "model": None if profile.built_in else profile.model,
        "sampling": profile.sampling.parameters(),
        "extra_body": profile.extra_body,
    }


def on_record(folder: BenchFolder, settings: dict[str, Any], kind: type[Result]) -> Result | None:
    """The result of a bench with these very settings, if the folder holds one."""
    try:
        manifest = orjson.loads(folder.manifest.read_bytes())
        if manifest.get("settings") != orjson.loads(orjson.dumps(settings)):
            return None
        return kind.model_validate_json(folder.result.read_bytes())
    except (OSError, ValidationError, orjson.JSONDecodeError, AttributeError):
        return None

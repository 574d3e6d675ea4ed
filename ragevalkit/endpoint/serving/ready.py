"""Waits until the server that a profile describes answers.

Public: `serving`, `Served`.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from ragevalkit.endpoint.client import ChatClient, Timeouts
from ragevalkit.endpoint.faults import Fault
from ragevalkit.endpoint.profile import Profile
from ragevalkit.endpoint.serving.command import serve_command
from ragevalkit.endpoint.serving.place import is_here, listens
from ragevalkit.endpoint.serving.process import STOP_S, ServerProcess
from ragevalkit.errors import EndpointUnusable

_POLL_S = 0.5
_ANSWER_S = 5.0
"""How long one request for the models may take."""
_OTHER_MODELS_S = 10.0
"""How long the list may lack the profile's model before the server is taken as it is."""

OnWait = Callable[[float, str], None]
"""Told while waiting: seconds since the start, and the last line that the server printed."""


@dataclass(frozen=True)
class Served:
    """A server that answers."""

    endpoint: str
    base_url: str
    model: str
    """The profile's; without one the first that is listed."""
    pid: int
    log: Path
    warning: str | None
    """Line for the user, if anything is odd."""
    check: Callable[[], None]
    """Raises `ServerFailed` where the server has ended."""


@contextmanager
def serving(
    profile: Profile,
    *,
    log: Path | None = None,
    timeout_s: float = 1800.0,
    stop_s: float = STOP_S,
    on_wait: OnWait = lambda elapsed_s, said: None,
    on_end: Callable[[], None] = lambda: None,
) -> Iterator[Served]:
    """Start the profile's server on this machine; it runs as long as the context.

    Args:
        log: file for what it prints; None: one in the user's folder for logs.
        timeout_s: longest wait for an answer.
        stop_s: seconds that the server may take to end before it is killed.
        on_wait: told now and then until it answers.
        on_end: called before the server is ended.

    Raises:
        InputError: the profile names no program that can be started here.
        EndpointUnusable: its address is another machine's or in use (then nothing is started), or
            the server wants another key.
        ServerFailed: the server ended before it answered, or `timeout_s` went by.
    """
    command = serve_command(profile)
    client = ChatClient(profile, concurrency=1, timeouts=Timeouts(connect_s=_ANSWER_S))
    log = log or _default_log(profile)
    key = profile.api_key_env
    with asyncio.Runner() as runner:
        try:
            _check_place(profile)
            runner.run(_check_unanswered(client))
            with ServerProcess(profile.name, command, log, key_variable=key, stop_s=stop_s) as own:
                try:
                    model, warning = runner.run(_answer(client, own, timeout_s, on_wait))
                    yield Served(
                        profile.name, profile.base_url, model, own.pid, log, warning, own.check
                    )
                finally:
                    if own.runs:
                        on_end()
        finally:
            runner.run(client.close())


def _check_place(profile: Profile) -> None:
    """Raise `EndpointUnusable` unless the base URL's host is this machine."""
    host = urlsplit(profile.base_url).hostname
    here = is_here(profile.base_url)
    if here is None:
        raise EndpointUnusable(
            f"{host}, of the base_url of endpoint '{profile.name}', has no address here; nothing "
            "was started. Run this on the machine itself, and give --url if it knows itself under "
            "another name"
        )
    if not here:
        raise EndpointUnusable(
            f"{host}, of the base_url of endpoint '{profile.name}', is another machine; nothing "
            "was started. Run this there, or, if it is this one behind a proxy, give --url with "
            "the address at which it listens here"
        )


async def _check_unanswered(client: ChatClient) -> None:
    """Raise `EndpointUnusable` where something answers before the server was started."""
    profile = client.profile
    # TLS is mostly a proxy's, which listens before its server does
    if urlsplit(profile.base_url).scheme == "https":
        try:
            await client.models()
        except Fault as fault:
            if fault.status in (None, 502, 503, 504):
                return
    elif not listens(profile.base_url):
        return
    raise EndpointUnusable(
        f"something already answers at {profile.base_url}; end it first, or ask it as it is with "
        f"--endpoint {profile.name}"
    )


async def _answer(
    client: ChatClient, server: ServerProcess, timeout_s: float, on_wait: OnWait
) -> tuple[str, str | None]:
    """The model that the server answers for, as soon as it does, and a warning, if any."""
    wanted = client.profile.model
    began = time.monotonic()
    listed_at: float | None = None
    while True:
        names, trouble = await _models(client)
        server.check()  # else it may be another server that answers
        now = time.monotonic()
        if names:
            listed_at = now if listed_at is None else listed_at
            if wanted is None or wanted in names:
                return wanted or names[0], None
            trouble = f"/models lists {', '.join(names[:5])}, not '{wanted}'"
            if now - listed_at >= min(_OTHER_MODELS_S, timeout_s):
                return wanted, trouble
        if now - began >= timeout_s:
            answer = f": {trouble}" if trouble else ""
            raise server.failure(
                f"did not answer at {client.profile.base_url} within {timeout_s:g} s{answer}"
            )
        on_wait(now - began, " ".join(server.last_lines(1)))
        await asyncio.sleep(_POLL_S)


async def _models(client: ChatClient) -> tuple[list[str], str]:
    """Names of the models, and why there are none.

    Raises:
        EndpointUnusable: the server wants another key than the profile's.
    """
    try:
        return [model["id"] for model in await client.models()], "/models lists none"
    except Fault as fault:
        if fault.status in (401, 403):
            raise EndpointUnusable(client.explain(fault)) from fault
        return [], fault.message


def _default_log(profile: Profile) -> Path:
    """One file for each name and port, of which no two can run at once."""
    port = urlsplit(profile.base_url).port
    name = re.sub(r"[^\w.-]+", "-", f"serve-{profile.name}-{port or 'default'}")
    return platformdirs.user_log_path("ragevalkit") / f"{name}.log"

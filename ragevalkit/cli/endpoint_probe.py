"""`ragevalkit endpoint probe`: what is this server?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.output import print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from ragevalkit.endpoint.probe import Probe
    from ragevalkit.endpoint.profile import Profile

_PROGRESS_S = 2.0
"""Between two progress lines where standard error is no terminal."""


def command(
    endpoint: Annotated[
        str, typer.Argument(metavar="NAME|URL", help="A profile, a built-in endpoint, or a URL.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Find out by under 20 short requests what an endpoint does with what a run asks of it.

    Each finding is yes, no, unknown (it couldn't be seen) or not_supported (the server rejected the
    request). Exits with 2 where not one request succeeded.
    """
    from rich.console import Console

    from ragevalkit.cli.wiring import connect, resolve_endpoint
    from ragevalkit.report.endpoints import probe_tables
    from ragevalkit.report.terminal import print_table
    from ragevalkit.runs.loop import run_to_end

    profile = resolve_endpoint(endpoint)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with connect(profile) as connected, console.status(f"probing {profile.name}") as status:
        probe = run_to_end(_probe(connected, console, status))
    if as_json:
        print_json(probe.model_dump(mode="json"))
        return
    for table in probe_tables(probe):
        print_table(table)


async def _probe(profile: Profile, console: Console, status: Status) -> Probe:
    from ragevalkit.agent.tools import load_toolbox
    from ragevalkit.endpoint.client import ChatClient
    from ragevalkit.endpoint.fingerprint import choose_model
    from ragevalkit.endpoint.probe import probe

    client = ChatClient(profile, concurrency=1)
    try:
        model, listed, warning = await choose_model(client)
        if warning:
            console.print(f"ragevalkit: {warning}", markup=False)
        return await probe(
            client,
            model,
            load_toolbox(profile.strict).schemas,
            listed=listed,
            on_check=_progress(console, status),
        )
    finally:
        await client.close()


def _progress(console: Console, status: Status) -> Callable[[str], None]:
    """Says which check is being made: on a terminal each, elsewhere one now and then."""
    said = time.monotonic()

    def say(title: str) -> None:
        nonlocal said
        status.update(f"checking: {title}")
        if not console.is_terminal and time.monotonic() - said >= _PROGRESS_S:
            said = time.monotonic()
            console.print(f"checking: {title}", markup=False)

    return say

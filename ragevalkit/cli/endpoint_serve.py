"""`ragevalkit endpoint serve`: start an endpoint's server and keep it until interrupted."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from ragevalkit.cli.progress import PLAIN_INTERVAL_S

if TYPE_CHECKING:
    from ragevalkit.endpoint.profile import Profile

_CHECK_S = 0.5
_ENDED = 1
"""Exit code where the server ended by itself after it had answered."""


def serve(
    name: Annotated[
        str,
        typer.Argument(
            help="A profile of ragevalkit.toml that has `serve`, or a built-in endpoint."
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of a built-in endpoint; 0: a free one.")
    ] = 0,
    url: Annotated[
        str | None,
        typer.Option(
            help="Where the server answers on this machine, instead of the profile's base_url."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds to wait for an answer.")
    ] = 1800,
    log: Annotated[
        Path | None,
        typer.Option(help="File for what the server prints. [default: the user's log folder]"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON when it answers.")
    ] = False,
) -> int:
    """Start an endpoint's server, say when it answers, and end it with Ctrl-C or SIGTERM."""
    from ragevalkit.cli.wiring import resolve_endpoint
    from ragevalkit.endpoint.serving import ServerFailed
    from ragevalkit.errors import EndpointUnusable, InputError

    profile = resolve_endpoint(name)
    if profile.built_in and (url or log):
        raise InputError("--url and --log are for profiles, not for a built-in endpoint")
    if port and not profile.built_in:
        raise InputError("--port is for a built-in endpoint; a profile's stands in its serve")
    if url:
        profile = _moved(profile, url)
    ready = False
    with _interruptible(), _Waiting(profile) as waiting:
        try:
            with _serving(profile, port, timeout, log, waiting) as (running, check):
                ready = True
                waiting.over()
                line = running.as_json() if as_json else running.as_line(profile.built_in)
                with suppress(KeyboardInterrupt):
                    typer.echo(line)
                    while True:
                        check()
                        time.sleep(_CHECK_S)
        except EndpointUnusable as error:
            if isinstance(error, ServerFailed):
                waiting.quote(error.last_lines)
            if ready:
                error.exit_code = _ENDED
            raise
    return 0


@dataclass(frozen=True)
class _Running:
    """What programs are told of a server that answers."""

    endpoint: str
    base_url: str
    model: str
    pid: int
    log: str | None

    def as_json(self) -> str:
        import orjson

        return orjson.dumps(asdict(self)).decode()

    def as_line(self, by_url: bool) -> str:
        """One line for people; `by_url`: runs know it by its address alone."""
        log = f", log {self.log}" if self.log else ""
        endpoint = self.base_url if by_url else self.endpoint
        return (
            f"{self.endpoint} answers at {self.base_url} with the model {self.model} "
            f"(pid {self.pid}{log}): ragevalkit run --endpoint {shlex.quote(endpoint)}"
        )


class _Waiting:
    """Says on standard error how long a server has been starting, and what it printed last.

    On a terminal one line that changes; elsewhere a line now and then.
    """

    def __init__(self, profile: Profile) -> None:
        from rich.console import Console

        self._name = profile.name
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
        self._status = self._console.status("")
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over()

    def on_wait(self, elapsed_s: float, said: str) -> None:
        from rich.text import Text

        line = f"{self._name} is starting, {elapsed_s:.0f} s" + (f": {said}" if said else "")
        if self._console.is_terminal:
            width = self._console.width - 4
            self._status.update(Text(line if len(line) <= width else line[: width - 1] + "…"))
            self._status.start()
        elif time.monotonic() - self._last_line >= PLAIN_INTERVAL_S:
            self._last_line = time.monotonic()
            self._console.print(line)

    def on_end(self) -> None:
        self.over()
        self.say("ending the server")

    def over(self) -> None:
        self._status.stop()

    def say(self, message: str) -> None:
        self._console.print(f"ragevalkit: {message}")

    def quote(self, lines: list[str]) -> None:
        self.over()
        for line in lines:
            self._console.print(f"  | {line}")


@contextmanager
def _serving(
    profile: Profile, port: int, timeout_s: float, log: Path | None, waiting: _Waiting
) -> Iterator[tuple[_Running, Callable[[], None]]]:
    """A server that answers, and what raises `EndpointUnusable` once it has ended."""
    if profile.built_in:
        from ragevalkit.standin.launch import start

        name, _, scenario = profile.name.partition(":")
        path = Path(scenario) if scenario else None
        with start(name, path, port=port, timeout_s=timeout_s) as standin:
            yield (
                _Running(profile.name, standin.base_url, standin.model, standin.pid, None),
                standin.check,
            )
        return
    from ragevalkit.endpoint.serving import serving

    with serving(
        profile, log=log, timeout_s=timeout_s, on_wait=waiting.on_wait, on_end=waiting.on_end
    ) as served:
        if served.warning:
            waiting.over()
            waiting.say(served.warning)
        yield (
            _Running(served.endpoint, served.base_url, served.model, served.pid, str(served.log)),
            served.check,
        )


def _moved(profile: Profile, url: str) -> Profile:
    """The profile at another address."""
    from pydantic import ValidationError

    from ragevalkit.errors import InputError

    try:
        return type(profile).model_validate(dict(profile) | {"base_url": url})
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"--url {message}") from None


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM and SIGHUP interrupt like Ctrl-C, which works in the background of a script, too."""
    handlers = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: lambda *_: signal.raise_signal(signal.SIGINT),
        signal.SIGHUP: lambda *_: signal.raise_signal(signal.SIGINT),
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Start a built-in endpoint in a child process that can't outlive its parent.

Public: `NAMES`, `WEIGHTLESS`, `Standin`, `start`.

The child reads standard input, a pipe that only its parent holds: the pipe ends with the parent,
even one that is killed, and the child with it. (PR_SET_PDEATHSIG isn't used: it follows the
thread that started the child, not the process.)
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ragevalkit.errors import EndpointUnusable, InputError

WEIGHTLESS = ("baseline", "mock")
"""Built-in endpoints that need nothing but this package."""
NAMES = (*WEIGHTLESS, "local")
"""All built-in endpoints; `local` needs the extra of that name and a package with weights."""

_START_S = 60.0
_STOP_S = 5.0
_ERROR_LINES = 8


class Standin:
    """A running built-in endpoint; a context manager that closes it."""

    def __init__(
        self, child: subprocess.Popen[bytes], stderr: IO[bytes], port: int, model: str
    ) -> None:
        self._child = child
        self._stderr = stderr
        self.base_url = f"http://127.0.0.1:{port}/v1"
        """Base URL of its API, for an OpenAI client."""
        self.model = model
        """Name of the one model that it lists."""
        self.pid = child.pid
        """Process id of the child."""

    def check(self) -> None:
        """Raise `EndpointUnusable`, with the child's last words, where it has died."""
        status = self._child.poll()
        if status is not None:
            raise EndpointUnusable(_obituary(status, self._stderr))

    def close(self) -> None:
        """End the child and wait for it; a second call does nothing."""
        _end(self._child)
        self._stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def start(
    name: str,
    scenario: Path | None = None,
    *,
    adapter: Path | None = None,
    port: int = 0,
    timeout_s: float = _START_S,
) -> Standin:
    """Start the endpoint `name`, with a scenario file for `mock`, and wait until it listens.

    `adapter` is one for `local` in the packaged one's place. Port 0 takes a free one.

    Raises `InputError` for a bad name, scenario or adapter, `EndpointUnusable` where the child
    dies or doesn't listen within `timeout_s` seconds.
    """
    if name not in NAMES:
        raise InputError(f"no built-in endpoint {name!r}: choose one of {', '.join(NAMES)}")
    command = [sys.executable, "-P", "-m", "ragevalkit.standin", name, "--port", str(port)]
    if scenario is not None:
        if name != "mock":
            raise InputError(f"a scenario is for mock, not for {name}")
        from ragevalkit.standin.scenario import load_scenario

        load_scenario(scenario)
        command += ["--scenario", str(scenario)]
    if adapter is not None:
        if name != "local":
            raise InputError(f"an adapter is for local, not for {name}")
        command += ["--adapter", str(adapter)]
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the stand-in
    child = None
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=_environment(),
            start_new_session=True,
        )
        port, model = _first_line(child, stderr, timeout_s)
    except BaseException:
        if child is not None:
            _end(child)
        stderr.close()
        raise
    return Standin(child, stderr, port, model)


def _environment() -> dict[str, str]:
    """The parent's environment, in which the child finds this very package."""
    environment = dict(os.environ)
    root = Path(__file__).resolve().parents[2]
    if root != Path(sysconfig.get_paths()["purelib"]).resolve():
        paths = [str(root), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def _first_line(
    child: subprocess.Popen[bytes], stderr: IO[bytes], timeout_s: float
) -> tuple[int, str]:
    """Port and model from the line that the child prints once it listens."""
    assert child.stdout is not None
    stdout = child.stdout
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=lambda: lines.put(stdout.readline()), daemon=True).start()
    try:
        line = lines.get(timeout=timeout_s)
    except queue.Empty:
        raise EndpointUnusable(
            f"the built-in endpoint (pid {child.pid}) did not listen within {timeout_s:g} s"
        ) from None
    try:
        greeting = json.loads(line)
        return int(greeting["port"]), str(greeting["model"])
    except (ValueError, KeyError, TypeError):
        _end(child)
        raise EndpointUnusable(_obituary(child.returncode, stderr)) from None


def _obituary(status: int, stderr: IO[bytes]) -> str:
    if status == -signal.SIGILL:
        return "llama.cpp was built for processors with AVX2 and FMA, which this one lacks"
    stderr.seek(0)
    lines = stderr.read().decode(errors="replace").splitlines()[-_ERROR_LINES:]
    said = "; ".join(line.strip() for line in lines if line.strip()) or "it said nothing"
    return f"the built-in endpoint died (exit status {status}): {said}"


def _end(child: subprocess.Popen[bytes]) -> None:
    """Close the child's standard input, which ends it; kill it where it doesn't end."""
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None and not child.stdout.closed:
        child.stdout.close()

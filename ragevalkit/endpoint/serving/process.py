"""A server in a process of its own, that ends with this one whatever happens.

Public: `ServerProcess`, `ServerFailed`, `STOP_S`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragevalkit.endpoint.serving import supervisor
from ragevalkit.endpoint.serving.command import ServeCommand
from ragevalkit.errors import EndpointUnusable, InputError, RagevalkitError

STOP_S = 20.0
"""Seconds that a server may take to end before it is killed."""

_LAST_LINES = 20
_TAIL_BYTES = 64 << 10
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\^_])")


class ServerFailed(EndpointUnusable):
    """A server that ended, or never answered."""

    def __init__(self, message: str, last_lines: list[str]) -> None:
        super().__init__(message)
        self.last_lines = last_lines
        """The end of its log."""
        self.add_note("\n".join(last_lines))


class ServerProcess:
    """A running server; a context manager that ends it."""

    def __init__(
        self,
        name: str,
        command: ServeCommand,
        log: Path,
        *,
        key_variable: str | None,
        stop_s: float,
    ) -> None:
        """Start it.

        Args:
            name: the endpoint's, for messages.
            command: what to run.
            log: file for what it prints; emptied first, readable by its owner alone.
            key_variable: the environment variable whose value must not get into the log.
            stop_s: seconds that the server may take to end.

        Raises:
            InputError: the log can't be written, or the program can't be started.
        """
        self.log = log
        self._name = name
        self._ending: dict[str, Any] | None = None
        self.pid = 0
        """Process id of the server."""
        _create(log)
        self._supervisor = _supervise(command, log, key_variable, stop_s)
        try:
            said = json.loads(self._read_line() or "{}")
            if "pid" not in said:
                raise InputError(f"endpoint '{name}': {said.get('error', 'it could not start')}")
        except BaseException:
            self.stop()
            raise
        self.pid = said["pid"]

    @property
    def runs(self) -> bool:
        return self._supervisor.poll() is None

    def check(self) -> None:
        """Raise `ServerFailed` where the server has ended."""
        if not self.runs:
            raise self.failure(f"ended: {_cause(self._last_words().get('status'))}")

    def failure(self, what: str) -> ServerFailed:
        """The error that says what became of the server, with the end of its log."""
        return ServerFailed(
            f"the server of endpoint '{self._name}' {what}; its log is {self.log}",
            self.last_lines(),
        )

    def last_lines(self, most: int = _LAST_LINES) -> list[str]:
        """The last lines of its log that aren't blank, without colours."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
                text = file.read().decode(errors="replace")
        except OSError:
            return []  # someone took the log away
        lines = (_plain(line) for line in re.split(r"[\r\n]+", text))
        return [line for line in lines if line.strip()][-most:]

    def stop(self) -> None:
        """End the server and everything it started, and wait for that.

        Raises:
            RagevalkitError: something is left that not even SIGKILL has ended.
        """
        assert self._supervisor.stdin is not None
        self._supervisor.stdin.close()
        last_words = self._last_words()
        if self.pid and not last_words:  # the supervisor was killed
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        if left := last_words.get("left"):
            pids = ", ".join(map(str, left))
            raise RagevalkitError(f"these processes did not end even when killed: {pids}")

    def _last_words(self) -> dict[str, Any]:
        """What the supervisor says at its end; waits for it."""
        if self._ending is None:
            assert self._supervisor.stdout is not None
            self._ending = json.loads(self._read_line() or "{}")
            self._supervisor.wait()
            self._supervisor.stdout.close()
        return self._ending

    def _read_line(self) -> bytes:
        assert self._supervisor.stdout is not None
        return self._supervisor.stdout.readline()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _supervise(
    command: ServeCommand, log: Path, key_variable: str | None, stop_s: float
) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-I", "-S", supervisor.__file__]
    arguments = [str(log.absolute()), str(stop_s), key_variable or ""]
    return subprocess.Popen(
        [*program, *arguments, *command.words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=command.folder,
        env=command.environment,
        start_new_session=True,
    )


def _create(log: Path) -> None:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    except OSError as error:
        raise InputError(f"the log {log} can't be written: {error.strerror}") from error


def _cause(status: int | None) -> str:
    if status is None:
        return "it was left without its supervisor"
    if status >= 0:
        return f"exit status {status}"
    name = signal.Signals(-status).name if -status in list(signal.Signals) else str(-status)
    memory = " (was the memory full?)" if name == "SIGKILL" else ""
    return f"killed by {name}{memory}"


def _plain(line: str) -> str:
    return "".join(c if c.isprintable() else " " for c in _ESCAPES.sub("", line)).rstrip()

"""Runs a server and ends it, with everything it started, when standard input ends.

Public: `main`. Run as a program of its own, on the standard library alone:

    supervisor.py LOG STOP_S KEY_VARIABLE PROGRAM ARGUMENT...

Standard input is a pipe that only ragevalkit holds, so that the server ends with it, even with one
that is killed. Standard output gets `{"pid": ...}` or `{"error": ...}` once, and
`{"status": ..., "left": [pid, ...]}` at the end: the server's exit status (negative: a signal), and
the processes that not even SIGKILL has ended.

Everything that the server starts is found by its parents. On Linux this process adopts orphans
(PR_SET_CHILD_SUBREAPER), so that a grandchild in a session of its own is found as well; elsewhere
only the server's process group is ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

_PR_SET_CHILD_SUBREAPER = 36
_AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_REST_S = 5.0
"""How long what a server left behind may take to end when asked."""
_KILL_S = 5.0
"""How long to wait for what was killed; a process inside a driver may never end."""
_POLL_S = 0.02
_LONGEST_LINE = 1 << 16
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.I)
_SHORTEST_SECRET = 6


def main(log: str, stop_s: float, key_variable: str, command: list[str]) -> int:
    """Run `command` until it ends or is to be ended; 0 unless it could not be started.

    Args:
        log: existing file that gets what the server prints, without the secrets of its environment.
        stop_s: seconds that the server may take to end.
        key_variable: environment variable that holds a secret, whatever its name; may be empty.
        command: program and arguments.
    """
    for awaited in _AWAITED:
        signal.signal(awaited, lambda *_: None)  # one that is ignored can't be waited for
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, set()),
        )
    except OSError as error:
        _say({"error": f"{command[0]}: {error.strerror}"})
        return 1
    _say({"pid": server.pid})
    assert server.stdout is not None
    writer = threading.Thread(target=_keep, args=(server.stdout, Path(log), _secrets(key_variable)))
    writer.start()
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    children = _Children(server.pid)
    while children.status is None and signal.sigwait(_AWAITED) == signal.SIGCHLD:
        children.reap()
    left = children.end(stop_s)
    _say({"status": children.status, "left": left})
    if left:
        os._exit(0)  # they may hold the log's pipe open for ever
    writer.join()
    return 0


class _Children:
    """The server and all that came of it."""

    def __init__(self, server: int) -> None:
        self._server = server
        self.status: int | None = None
        """The server's exit status, negative for a signal; None while it runs."""

    def reap(self) -> None:
        """Take note of what has ended."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._server:
                    self.status = os.waitstatus_to_exitcode(ended[1])

    def end(self, stop_s: float) -> list[int]:
        """Ask the server to end, then what it left, then kill; gives what even so is left."""
        self._signal(signal.SIGTERM, self._server_alone, stop_s)
        self._signal(signal.SIGTERM, self._running, min(stop_s, _REST_S))
        return sorted(self._signal(signal.SIGKILL, self._running, _KILL_S))

    def _signal(self, number: int, whom: Callable[[], set[int]], patience_s: float) -> set[int]:
        """Signal each of them once, also those that are born meanwhile; who is left at last."""
        until = time.monotonic() + patience_s
        signalled: set[int] = set()
        while True:
            self.reap()
            left = whom()
            if not left or time.monotonic() > until:
                return left
            for pid in left - signalled:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            signalled |= left
            time.sleep(_POLL_S)

    def _server_alone(self) -> set[int]:
        """An engine's main process ends its workers itself, and in better order."""
        return {self._server} if self.status is None else set()

    def _running(self) -> set[int]:
        if sys.platform == "linux":
            return _descendants(os.getpid())
        try:
            os.killpg(self._server, 0)
        except (ProcessLookupError, PermissionError):  # gone, or zombies alone
            return set()
        return {-self._server}  # `kill` takes it for the group


def _descendants(root: int) -> set[int]:
    """Pids of the processes that came of `root` and have not ended."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # after the name, which may hold anything: state, parent
                state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(entry.name))
    found: set[int] = set()
    waiting = [root]
    while waiting:
        new = children.get(waiting.pop(), [])
        found.update(new)
        waiting += new
    return found


def _keep(output: IO[bytes], log: Path, secrets: list[bytes]) -> None:
    """Write what the server prints into its log, with `***` for secrets."""
    pending = b""
    with log.open("ab", buffering=0) as file:
        while read := os.read(output.fileno(), _LONGEST_LINE):
            pending += read
            # progress bars end their lines with \r
            end = max(pending.rfind(b"\n"), pending.rfind(b"\r")) + 1
            if not end and len(pending) > _LONGEST_LINE:
                end = len(pending)
            _write(file, pending[:end], secrets)
            pending = pending[end:]
        _write(file, pending, secrets)


def _write(file: IO[bytes], text: bytes, secrets: list[bytes]) -> None:
    for secret in secrets:
        text = text.replace(secret, b"***")
    with contextlib.suppress(OSError):  # a full disk is no reason to stop the server
        file.write(text)


def _secrets(key_variable: str) -> list[bytes]:
    """Values of the environment that are no log's business, the longest first."""
    values = {
        value.strip().encode()
        for name, value in os.environ.items()
        if name == key_variable or _SECRET.search(name)
    }
    return sorted((v for v in values if len(v) >= _SHORTEST_SECRET), key=len, reverse=True)


def _end_with_stdin() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


def _say(message: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4:]))

"""A thread that appends records to files and commits them to disk in groups.

Public: `Writer`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO

from ragevalkit.errors import RunFolderError

Line = Callable[[], bytes]
"""Makes one line without its end; called in the writer's thread, off the event loop."""


class Writer:
    """Appends lines; a line that was taken is on disk when `close` returns.

    All lines that wait when a group is written are committed by one `fdatasync` a file, the files
    in the order in which they were given: a line of the last one is never there without those that
    were put before it. After a failure nothing more is written, and `check` and `close` raise.
    """

    def __init__(self, *paths: Path) -> None:
        self._files: dict[Path, BinaryIO] = {}
        self._queue: SimpleQueue[tuple[Path, Line] | None] = SimpleQueue()
        self._failure: Exception | None = None
        try:
            for path in paths:
                self._files[path] = path.open("ab")
        except OSError as error:
            raise _folder_error(error, paths[0]) from error
        self._thread = threading.Thread(target=self._work, name="run-folder-writer", daemon=True)
        self._thread.start()

    def put(self, path: Path, line: Line) -> None:
        """Append a line to one of the files; returns at once."""
        self._queue.put((path, line))

    def check(self) -> None:
        """Raise the failure of an earlier write.

        Raises:
            RunFolderError: the disk is full, or the folder can't be written.
        """
        if isinstance(self._failure, OSError):
            raise _folder_error(self._failure, next(iter(self._files))) from self._failure
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Write what waits, and raise as `check` does."""
        self._queue.put(None)
        self._thread.join()
        self.check()

    def _work(self) -> None:
        try:
            while self._write_group():
                pass
        except Exception as error:  # handed to the run, which stops
            self._failure = error
        for file in self._files.values():
            try:
                file.close()
            except OSError as error:
                self._failure = self._failure or error

    def _write_group(self) -> bool:
        """Write all that waits; whether more may come."""
        item = self._queue.get()
        group: dict[Path, list[bytes]] = {path: [] for path in self._files}
        try:
            while item is not None:
                path, line = item
                group[path].append(line() + b"\n")
                item = self._queue.get_nowait()
        except Empty:
            pass
        for path, lines in group.items():
            if lines:
                self._files[path].write(b"".join(lines))
                self._files[path].flush()
                _sync(self._files[path].fileno())
        return item is not None


def _sync(descriptor: int) -> None:
    try:
        os.fdatasync(descriptor)
    except OSError as error:
        if error.errno != 22:  # EINVAL: not a file that can be synced
            raise


def _folder_error(error: OSError, path: Path) -> RunFolderError:
    return RunFolderError(
        f"can't write to {path.parent}: {error.strerror}; what was written before is kept, and the "
        "same command continues the run"
    )

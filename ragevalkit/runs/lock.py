"""One writer at a time in a folder of reports/.

Public: `locked`.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import BinaryIO

from ragevalkit.errors import InputError, RunFolderError


def locked(folder: Path) -> BinaryIO:
    """Make the folder; its lock is held until the file that this gives is closed.

    Raises:
        InputError: another process is writing to it.
        RunFolderError: it can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("wb")
    except OSError as error:
        raise RunFolderError(f"can't write to {folder}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise InputError(
            f"another ragevalkit is writing to {folder}; wait for it, or choose another --name"
        ) from error
    return lock

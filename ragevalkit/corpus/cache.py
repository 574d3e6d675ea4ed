"""The folder where a corpus's index is kept, and how a new one gets there whole.

Public: `cache_root`, `cache_folder`, `building`, `publish`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

_VARIABLE = "RAGEVALKIT_CACHE"
_UNFINISHED = ".building-"
_DISCARDED = ".discarded-"
_STALE_SECONDS = 24 * 3600
_TRIES = 10


def cache_root() -> Path:
    """The folder for caches: `RAGEVALKIT_CACHE` where it is set, else the user's cache folder."""
    chosen = os.environ.get(_VARIABLE)
    return (
        Path(chosen).expanduser().absolute()
        if chosen
        else platformdirs.user_cache_path("ragevalkit")
    )


def cache_folder(key: str) -> Path:
    """Where the corpus with this key is cached, whether it is there or not."""
    return cache_root() / "corpora" / key


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder` to build in; whatever is left in it at the end is removed.

    What crashed processes left beside it more than a day ago is removed as well.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    made = _sibling(folder, _UNFINISHED)
    made.mkdir()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def publish(built: Path, folder: Path, usable: Callable[[Path], bool]) -> None:
    """Make `built` the folder `folder` in one step; where another process was first, leave theirs.

    A folder in the way that isn't `usable` is replaced. Processes that have it open keep what they
    opened. Raises `OSError` where the file system won't have it.
    """
    for _ in range(_TRIES):
        try:
            built.rename(folder)
        except OSError:
            if not folder.exists():
                raise
        else:
            return
        if usable(folder):
            return
        _discard(folder)
    raise FileExistsError(f"{folder} is in the way and can't be replaced")


def _sibling(folder: Path, prefix: str) -> Path:
    return folder.with_name(f"{prefix}{folder.name}-{os.getpid()}-{secrets.token_hex(4)}")


def _discard(folder: Path) -> None:
    # Renamed first: a folder being emptied in place would look half-written to other processes.
    gone = _sibling(folder, _DISCARDED)
    try:
        folder.rename(gone)
    except FileNotFoundError:
        return
    _remove(gone)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sweep(parent: Path) -> None:
    old = time.time() - _STALE_SECONDS
    for entry in parent.iterdir():
        if not entry.name.startswith((_UNFINISHED, _DISCARDED)):
            continue
        try:
            stale = entry.stat().st_mtime < old
        except FileNotFoundError:
            continue
        if stale:
            _remove(entry)

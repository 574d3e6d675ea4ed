"""Which files of a folder make a corpus, and what their documents are called.

Public: `SourceFile`, `find_files`, `corpus_key`.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ragevalkit.corpus.readers import SUFFIXES
from ragevalkit.errors import InputError

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that holds a document."""

    path: Path
    """Where it lies."""

    file: str
    """Path inside the corpus, with suffix, `/` between folders; a single file: its name."""

    name: str
    """Name of its document: `file` without suffix, or `file` where that would not be unique."""

    sha256: str
    """Of its bytes, in hex."""

    def read(self) -> bytes:
        """Its bytes. Raises `InputError` where they are not those that `sha256` was taken of."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise _unreadable(self.path, error) from None
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise InputError(f"{self.path} changed while it was being read: run this again.")
        return data


def find_files(path: Path) -> tuple[list[SourceFile], list[str]]:
    """The documents' files of a corpus in order of `file`, and the paths that were skipped.

    `path` is a folder, searched with its subfolders (links to folders aren't followed), or one
    file. Skipped are hidden files, hidden folders as a whole (ending in `/`), and files with a
    suffix that no reader knows. Raises `InputError` where nothing is left, or a file can't be read.
    """
    if _is(Path.is_file, path):
        if path.suffix.lower() not in SUFFIXES:
            raise InputError(f"{path} can't be read: a document ends in {_suffixes()}.")
        return [SourceFile(path, _checked(path.name, path), path.stem, _sha256(path))], []
    if not _is(Path.is_dir, path):
        raise InputError(
            f"There is no corpus at {path}: name a folder of documents, or one document."
        )
    kept: list[str] = []
    skipped: list[str] = []
    for file, usable in sorted(_listed(path)):
        (kept if usable else skipped).append(file)
    if not kept:
        raise InputError(
            f"{path} holds no document{_seen(skipped)}: put files there that end in {_suffixes()}."
        )
    names = _names(kept)
    return [
        SourceFile(path / file, _checked(file, path / file), names[file], _sha256(path / file))
        for file in kept
    ], skipped


def corpus_key(files: Iterable[SourceFile], *versions: str) -> str:
    """Name of the cache for files with these paths and contents, read by these versions (hex)."""
    key = hashlib.sha256("\n".join(versions).encode())
    for source in files:
        key.update(f"\0{source.file}\0{source.sha256}".encode())
    return key.hexdigest()[:32]


def _listed(root: Path) -> Iterator[tuple[str, bool]]:
    """(path inside `root`, whether a reader takes it) of everything, in no order."""

    def fail(error: OSError) -> None:
        raise _unreadable(Path(error.filename or root), error)

    for folder, subfolders, files in os.walk(root, onerror=fail):
        inside = PurePosixPath(Path(folder).relative_to(root).as_posix())
        for name in subfolders:
            if name.startswith("."):
                yield f"{inside / name}/", False
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in files:
            usable = (
                not name.startswith(".")
                and PurePosixPath(name).suffix.lower() in SUFFIXES
                and _is(Path.is_file, Path(folder, name))
            )
            yield str(inside / name), usable


def _names(files: list[str]) -> dict[str, str]:
    """Document name of each file: without suffix where no other file could be meant by it."""
    stems = {file: str(PurePosixPath(file).with_suffix("")) for file in files}
    uses = Counter(stems.values())
    return {file: file if uses[stem] > 1 or stem in stems else stem for file, stem in stems.items()}


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError as error:
        raise _unreadable(path, error) from None


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from None


def _checked(file: str, path: Path) -> str:
    try:
        file.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"The file name {str(path)!r} is not UTF-8, and models couldn't cite it: rename it."
        ) from None
    return file


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} can't be read: {error.strerror or error}.")


def _suffixes() -> str:
    return ", ".join(sorted(SUFFIXES))


def _seen(skipped: list[str]) -> str:
    if not skipped:
        return ""
    more = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
    return f" (only {', '.join(skipped[:_SHOWN])}{more})"

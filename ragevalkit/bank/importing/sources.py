"""Where rows come from: a file by its suffix, the data files of a folder, the hub.

Public: `HUB`, `rows_of`, `layout_files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from ragevalkit.bank.importing.draft import Row
from ragevalkit.bank.importing.hub import read_hub, read_saved
from ragevalkit.bank.importing.objects import read_json, read_json_lines
from ragevalkit.bank.importing.tables import read_parquet, read_separated
from ragevalkit.errors import InputError

HUB = "hf:"
"""What the name of a data set on the hub begins with."""

READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".csv": read_separated,
    ".tsv": read_separated,
    ".parquet": read_parquet,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
}
_SAVED = {"dataset_dict.json", "state.json", "dataset_info.json"}
_SPLIT = re.compile(r"(?<![a-z])(train|dev|validation|valid|test)(?![a-z])", re.IGNORECASE)
_POINTER = b"version https://git-lfs.github.com"


def rows_of(source: str, split: str | None, patterns: Sequence[str] = ()) -> Iterator[Row]:
    """Rows of a source.

    Args:
        source: a file, a folder, or `hf:NAME`.
        split: the part of the data set to take; needed where there are several.
        patterns: names of a layout's files in a folder; without, its data files.

    Raises:
        InputError: it isn't there or can't be read; later too, for a row.
    """
    if source.startswith(HUB):
        return read_hub(source.removeprefix(HUB), split)
    path = Path(source)
    if path.is_file():
        return _read(path)
    if not path.is_dir():
        raise InputError(
            f"there is no file or folder {source} (a data set on the hub is '{HUB}NAME')"
        )
    if any((path / name).is_file() for name in _SAVED):
        return read_saved(path, split)
    return chain.from_iterable(map(_read, layout_files(path, split, patterns)))


def layout_files(folder: Path, split: str | None, patterns: Sequence[str] = ()) -> list[Path]:
    """The files of a folder and its subfolders to read, in order of patterns and names.

    Raises `InputError` where there is none, or where they are of several splits and none is named.
    """
    wanted = patterns or [f"*{suffix}" for suffix in READERS]
    files: list[Path] = []
    for pattern in wanted:
        files += [file for file in sorted(folder.rglob(pattern)) if file not in files]
    files = [file for file in files if file.is_file() and file.suffix.lower() in READERS]
    if not files:
        names = ", ".join(patterns) or "files that end in " + ", ".join(READERS)
        raise InputError(f"{folder} holds none of what is looked for: {names}")
    splits = {file: _split_of(file, folder) for file in files}
    if split is not None:
        files = [file for file in files if splits[file] == split]
        known = sorted({name for name in splits.values() if name})
        if not files:
            raise InputError(
                f"{folder} has no split '{split}'; it has {', '.join(known) or 'none'}"
            )
    elif len(set(splits.values())) > 1:
        shown = ", ".join(sorted(name or "files without one" for name in set(splits.values())))
        raise InputError(f"{folder} has several splits ({shown}); --split takes one")
    if not patterns and len({(file.suffix, _stem(file)) for file in files}) > 1:
        shown = ", ".join(file.name for file in files[:5])
        raise InputError(f"{folder} holds several data files ({shown}, …); name one of them")
    return files


def _split_of(file: Path, folder: Path) -> str | None:
    found = _SPLIT.search(file.relative_to(folder).as_posix().replace("_", " "))
    return found[1].lower() if found else None


def _stem(file: Path) -> str:
    """The name without the part number of a set that is cut into several files."""
    return re.sub(r"-\d{5}-of-\d{5}$", "", file.stem)


def _read(path: Path) -> Iterator[Row]:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path} can't be read: a source ends in {', '.join(READERS)}")
    try:
        with path.open("rb") as stream:
            if stream.read(len(_POINTER)) == _POINTER:
                raise InputError(f"{path} is a Git LFS pointer, not the data: run `git lfs pull`")
        yield from reader(path)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error

"""The folder of a run: its files, and what is finished in it.

Public: `RunFolder`, `check_run_name`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from pydantic import ValidationError

from ragevalkit.bank import Question
from ragevalkit.errors import InputError, RunFolderError
from ragevalkit.runs.lock import locked
from ragevalkit.turn.composition import PARTS
from ragevalkit.turn.record import RECORD_VERSION, Turn

_NAME = re.compile(r"[^\s./\\\x00-\x1f\ud800-\udfff][^/\\\x00-\x1f\ud800-\udfff]*")


def check_run_name(name: str) -> str:
    """`name`, if it names a folder inside reports/.

    Raises:
        InputError: it would lead elsewhere.
    """
    if not _NAME.fullmatch(name) or len(name.encode(errors="replace")) > 200:
        raise InputError(
            f"run name '{name}' can't be used: it becomes a folder in reports/, so it must not be "
            "empty, start with a dot, or hold / or \\"
        )
    return name


class RunFolder:
    """`reports/<run>/`; its files are described in docs/files.md."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.manifest = path / "run.json"
        self.turns = path / "turns.jsonl"
        self.attempts = path / "attempts.jsonl"
        self.scores = path / "scores.jsonl"
        self.summary = path / "summary.json"
        self.server = path / "server.json"
        self.power = path / "power.csv"
        self.report = path / "report.html"
        self._lock: BinaryIO | None = None

    def open(self) -> None:
        """Make the folder and hold its lock until the process ends or `release` is called.

        Raises:
            InputError: another process is writing to it.
            RunFolderError: it can't be made.
        """
        self._lock = locked(self.path)

    def release(self) -> None:
        """Give the lock back; a folder in which no turn was ever finished is removed."""
        no_turns = not self.turns.exists() or not self.turns.stat().st_size
        if no_turns and not self.summary.exists():
            for path in (
                self.manifest,
                self.turns,
                self.attempts,
                self.server,
                self.power,
                self.path / ".lock",
            ):
                path.unlink(missing_ok=True)
            with suppress(OSError):  # something else lies in it
                self.path.rmdir()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read_manifest(self) -> dict[str, Any] | None:
        """run.json, or None where the folder holds no run yet.

        Raises:
            InputError: it isn't JSON.
        """
        try:
            manifest: Any = orjson.loads(self.manifest.read_bytes())
        except FileNotFoundError:
            if self.turns.exists() and self.turns.stat().st_size:
                raise InputError(f"{self.path} has turns but no run.json; move it away") from None
            return None
        except (OSError, orjson.JSONDecodeError) as error:
            raise InputError(f"{self.manifest} is damaged: {error}") from error
        if not isinstance(manifest, dict) or not _has_settings(manifest):
            raise InputError(f"{self.manifest} is no manifest of a run")
        return manifest

    def read_turns(self, unreadable: list[str] | None = None) -> Iterator[Turn]:
        """The turns on record. A last line that was cut off by a crash is left out.

        Args:
            unreadable: takes a sentence for every line that is left out; None: the first raises.

        Raises:
            InputError: a line is damaged, or of a newer version, and `unreadable` is None.
        """
        if not self.turns.exists():
            return
        seen: dict[tuple[str, int], int] = {}
        with self.turns.open("rb") as file:
            for number, line in enumerate(file, 1):
                whole = line.endswith(b"\n")
                if not whole and unreadable is None:
                    return
                try:
                    turn = _read_turn(line)
                    first = seen.setdefault((turn.question_id, turn.repeat), number)
                    if first != number:
                        raise ValueError(f"it repeats the turn of line {first}")
                    yield turn
                except ValueError as error:
                    what = f"is damaged: {error}" if whole else "was cut off by a crash"
                    message = f"{self.turns}, line {number} {what}"
                    if unreadable is None:
                        raise InputError(
                            f"{message}; delete the line and the same command asks that question "
                            "again"
                        ) from error
                    unreadable.append(message)

    def keep_turns(self, keep: set[tuple[str, int]]) -> None:
        """Drop all lines of turns.jsonl but those of these (question id, repeat), at once.

        Also drops last lines that were cut off.
        """
        if self.turns.exists():
            with self.turns.open("rb") as file:
                lines = [line for line in file if line.endswith(b"\n")]
            replace_file(self.turns, (line for line in lines if _key(line) in keep))
        if self.attempts.exists():
            content = self.attempts.read_bytes()
            if content and not content.endswith(b"\n"):
                replace_file(self.attempts, [content[: content.rfind(b"\n") + 1]])


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file so that a crash leaves the old or the new one, never half.

    Raises:
        RunFolderError: the disk is full, or the folder can't be written.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise RunFolderError(f"can't write {path}: {error.strerror}") from error


def _has_settings(manifest: dict[str, Any]) -> bool:
    settings = manifest.get("settings")
    groups = ("bank", "corpora", "endpoint", "agent")
    return isinstance(settings, dict) and all(isinstance(settings.get(g), dict) for g in groups)


def _read_turn(line: bytes) -> Turn:
    """A turn from its line; fields that came with later versions get their defaults.

    Raises:
        ValueError: it is no turn, or of a newer version.
    """
    record = orjson.loads(line)
    version = record.get("version", 0) if isinstance(record, dict) else 0
    if isinstance(version, int) and version > RECORD_VERSION:
        raise ValueError(f"written by a newer ragevalkit (version {version} of the record)")
    try:
        turn = Turn.model_validate(record)
    except ValidationError as error:
        raise ValueError(_first_problem(error)) from error
    try:
        question = Question.model_validate(turn.bank_line)
    except ValidationError as error:
        raise ValueError(f"its bank_line is damaged: {_first_problem(error)}") from error
    if question.answerable and not question.evidence:
        raise ValueError("its bank_line is damaged: answerable without evidence")
    if missing := [part for part in PARTS if part not in turn.composition_ms]:
        raise ValueError(f"composition_ms has no '{missing[0]}'")
    return turn


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    return f"{field} {first['msg'][:1].lower()}{first['msg'][1:]}".strip()


def _key(line: bytes) -> tuple[str, int]:
    record = orjson.loads(line)
    return record["question_id"], record["repeat"]

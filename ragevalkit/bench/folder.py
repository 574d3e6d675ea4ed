"""The folder of a bench: what was asked, line by line, and what came of it.

Public: `Record`, `BenchFolder`, `bench_name`, `endpoint_settings`, `BENCH_VERSION`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ragevalkit import __version__
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import check_run_name, replace_file
from ragevalkit.runs.lock import locked
from ragevalkit.runs.manifest import changed_settings
from ragevalkit.runs.writer import Writer
from ragevalkit.turn.record import Round, Turn

BENCH_VERSION = 1
"""Version of bench.json and of the lines in requests.jsonl."""

_OURS = ("bench.json", "requests.jsonl", ".lock")


class Record(BaseModel):
    """A line of requests.jsonl: one request or turn, and where it stands in the plan."""

    model_config = ConfigDict(extra="forbid")

    place: dict[str, Any]
    """Arm, block, budget, run, concurrency, ...: no two records of a bench have the same."""
    at: str
    """Wall clock when it ended, ISO 8601 in UTC."""
    round: Round | None = None
    turn: Turn | None = None

    @classmethod
    def now(cls, place: dict[str, Any], reply: Round | Turn) -> Self:
        """A record of what has just ended."""
        if isinstance(reply, Turn):
            return cls(place=place, at=_now(), turn=reply)
        return cls(place=place, at=_now(), round=reply)


class BenchFolder:
    """`reports/<name>/` of a bench: bench.json, requests.jsonl and result.json.

    The same command continues it: `open`, then ask for what `records` lacks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / "bench.json"
        self.requests = path / "requests.jsonl"
        self.result = path / "result.json"
        self._lock: BinaryIO | None = None
        self._writer: Writer | None = None

    def open(self, settings: dict[str, Any], **more: Any) -> None:
        """Lock the folder and write bench.json.

        Args:
            settings: what must be the same for the bench to be continued; its `bench` names it.
            more: what may change: `fingerprint`, `probe`, ...

        Raises:
            InputError: another process writes to it, or it holds something else, or a bench with
                other settings; the first one that differs is named.
            RunFolderError: it can't be made or written.
        """
        self._lock = locked(self.path)
        try:
            self._write_manifest(settings, more)
            self._drop_cut_off_line()
            self._writer = Writer(self.requests)
        except BaseException:
            self._release()
            raise

    def check(self, settings: dict[str, Any]) -> dict[str, Any] | None:
        """The manifest on record; None where there is none.

        Raises:
            InputError: the folder holds something else, or a bench with other settings; the first
                one that differs is named.
        """
        if (self.path / "run.json").exists():
            raise InputError(f"{self.path} holds a run; choose another --name")
        manifest = self.read_manifest()
        if manifest is None:
            return None
        now = orjson.loads(orjson.dumps(settings))
        for name, old, new in changed_settings(manifest["settings"], now):
            raise InputError(
                f"{self.path} holds a bench with another {name} ({_shown(old)}, now "
                f"{_shown(new)}); choose another --name, or take the old setting"
            )
        return manifest

    def note(self, **more: Any) -> None:
        """Add to bench.json what has become known.

        Raises:
            RunFolderError: the disk is full, or the folder can't be written.
        """
        self._write({**(self.read_manifest() or {}), **more})

    def records(self) -> list[Record]:
        """What is finished. A last line that was cut off by a crash is left out.

        Raises:
            InputError: a line is damaged.
        """
        if not self.requests.exists():
            return []
        records = []
        for number, line in enumerate(self.requests.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                break
            try:
                records.append(Record.model_validate_json(line))
            except ValidationError as error:
                problem = error.errors()[0]["msg"]
                raise InputError(
                    f"{self.requests}, line {number} is damaged: {problem}; delete the line and "
                    "the same command asks again"
                ) from error
        return records

    def add(self, record: Record) -> None:
        """Append a record; returns at once, and raises where an earlier one couldn't be written.

        Raises:
            RunFolderError: the disk is full, or the folder can't be written.
        """
        assert self._writer is not None, "not open"
        self._writer.check()
        self._writer.put(self.requests, lambda: record.model_dump_json().encode())

    def close(self) -> None:
        """Write what waits and give the lock back; a folder without a record is removed.

        Raises:
            RunFolderError: the disk is full, or the folder can't be written.
        """
        try:
            if self._writer is not None:
                writer, self._writer = self._writer, None
                writer.close()
        finally:
            self._release()

    def write_result(self, result: BaseModel) -> None:
        """result.json: what `--json` prints.

        Raises:
            RunFolderError: the disk is full, or the folder can't be written.
        """
        replace_file(self.result, [result.model_dump_json(indent=2).encode(), b"\n"])

    def _write_manifest(self, settings: dict[str, Any], more: dict[str, Any]) -> None:
        manifest = self.check(settings)
        if manifest is None:
            head = {"version": BENCH_VERSION, "name": self.path.name, "created_at": _now()}
            manifest = {**head, "settings": settings, **more, "ragevalkit": __version__}
        else:
            before = {name: manifest.get(name) for name in more}
            manifest.setdefault("earlier", []).append(before)
            manifest.update(more)
        self._write(manifest)

    def _write(self, manifest: dict[str, Any]) -> None:
        content = orjson.dumps(manifest, option=orjson.OPT_INDENT_2)
        replace_file(self.manifest, [content, b"\n"])

    def read_manifest(self) -> dict[str, Any] | None:
        """bench.json; None where the folder holds no bench yet.

        Raises:
            InputError: it is damaged.
        """
        try:
            manifest: Any = orjson.loads(self.manifest.read_bytes())
        except FileNotFoundError:
            if self.requests.exists() and self.requests.stat().st_size:
                raise InputError(
                    f"{self.path} has requests but no bench.json; move it away"
                ) from None
            return None
        except (OSError, orjson.JSONDecodeError) as error:
            raise InputError(f"{self.manifest} is damaged: {error}") from error
        if not isinstance(manifest, dict) or not isinstance(manifest.get("settings"), dict):
            raise InputError(f"{self.manifest} is no manifest of a bench")
        return manifest

    def _drop_cut_off_line(self) -> None:
        content = self.requests.read_bytes() if self.requests.exists() else b""
        if content and not content.endswith(b"\n"):
            replace_file(self.requests, [content[: content.rfind(b"\n") + 1]])

    def _release(self) -> None:
        empty = not self.requests.exists() or not self.requests.stat().st_size
        if empty and not self.result.exists() and self._lock is not None:
            for name in _OURS:
                (self.path / name).unlink(missing_ok=True)
            with suppress(OSError):  # something else lies in it
                self.path.rmdir()
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def endpoint_settings(profile: Profile, model: str | None) -> dict[str, Any]:
    """What of an endpoint must be the same for a bench to be continued."""
    return {
        "name": profile.name,
        # a built-in endpoint listens at another port each time
        "base_url": None if profile.built_in else profile.base_url,
        "model": model,
        "sampling": profile.sampling.parameters(),
        "extra_body": profile.extra_body,
    }


def bench_name(bench: str, endpoint: str, name: str | None = None) -> str:
    """The folder's name: `name`, or `<bench>-<endpoint>`.

    Raises:
        InputError: `name` leads out of reports/.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", endpoint).strip("-.") or "endpoint"
    return check_run_name(f"{bench}-{slug}" if name is None else name)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _shown(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:60] + "…"

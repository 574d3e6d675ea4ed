"""The writer's thread: what is on disk, and in which order it got there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ragevalkit.runs import writer
from ragevalkit.runs.writer import Writer


def test_a_turn_is_never_on_disk_without_its_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, turns = tmp_path / "attempts.jsonl", tmp_path / "turns.jsonl"
    seen: list[tuple[int, int]] = []
    begin = threading.Event()

    def look(descriptor: int) -> None:
        seen.append((attempts.read_bytes().count(b"\n"), turns.read_bytes().count(b"\n")))

    def first() -> bytes:
        begin.wait(10)
        return b"x" * 100_000  # more than any buffer holds back

    monkeypatch.setattr(writer, "_sync", look)
    writing = Writer(attempts, turns)
    for number in range(3):
        writing.put(attempts, first if not number else lambda: b"a")
        writing.put(turns, lambda: b"t" * 100_000)
    begin.set()
    writing.close()
    assert seen[-1] == (3, 3)
    assert all(of_attempts >= of_turns for of_attempts, of_turns in seen)
    assert seen[0] == (3, 0), "the attempts of a group come first"

"""The folder of a bench: begun, continued, refused."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from pydantic import BaseModel

from ragevalkit.bench.folder import BenchFolder, Record, bench_name, endpoint_settings
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError, RunFolderError
from ragevalkit.turn.record import Round, RoundClock, RoundState

SETTINGS = {"bench": "guided", "size": {"blocks": 4}}


class Result(BaseModel):
    name: str


def reply(text: str = "OK.") -> Round:
    return Round(state=RoundState.DONE, content=text, clock=RoundClock(sent_ms=0, ended_ms=5))


def test_records_come_back_as_they_went(tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path / "bench")
    folder.open(SETTINGS, probe=None)
    written = [Record.now({"arm": arm, "block": 0}, reply(arm)) for arm in "PT"]
    for record in written:
        folder.add(record)
    folder.close()
    assert BenchFolder(tmp_path / "bench").records() == written


def test_a_folder_without_a_record_is_removed(tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path / "bench")
    folder.open(SETTINGS)
    folder.close()
    assert not folder.path.exists()


def test_a_line_that_a_crash_cut_off_is_dropped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path)
    folder.open(SETTINGS)
    folder.add(Record.now({"n": 0}, reply()))
    folder.close()
    with folder.requests.open("ab") as file:
        file.write(b'{"place":{"n":1}')
    assert [record.place for record in folder.records()] == [{"n": 0}]
    folder.open(SETTINGS)
    folder.add(Record.now({"n": 2}, reply()))
    folder.close()
    assert [record.place for record in folder.records()] == [{"n": 0}, {"n": 2}]


def test_what_may_change_is_kept_beside_what_it_was(tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path)
    for probe in ("first", "second"):
        folder.open(SETTINGS, probe=probe)
        folder.add(Record.now({"probe": probe}, reply()))
        folder.close()
    manifest = orjson.loads(folder.manifest.read_bytes())
    assert manifest["probe"] == "second"
    assert manifest["earlier"] == [{"probe": "first"}]


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path)
    folder.open(SETTINGS)
    folder.add(Record.now({}, reply()))
    folder.close()
    with pytest.raises(InputError, match=r"another size\.blocks \(4, now 5\)"):
        folder.open({"bench": "guided", "size": {"blocks": 5}})
    folder.open(SETTINGS)  # the lock was given back
    folder.close()


def run(path: Path) -> None:
    (path / "run.json").write_text("{}")


def not_json(path: Path) -> None:
    (path / "bench.json").write_text("{")


def no_settings(path: Path) -> None:
    (path / "bench.json").write_text("{}")


def no_manifest(path: Path) -> None:
    (path / "requests.jsonl").write_text("{}\n")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (run, "holds a run"),
        (not_json, "is damaged"),
        (no_settings, "no manifest of a bench"),
        (no_manifest, "no bench.json"),
    ],
)
def test_a_folder_that_holds_something_else_is_refused(
    tmp_path: Path, prepare: object, words: str
) -> None:
    assert callable(prepare)
    prepare(tmp_path)
    with pytest.raises(InputError, match=words):
        BenchFolder(tmp_path).open(SETTINGS)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"line 1 is damaged.*delete the line"):
        BenchFolder(tmp_path).records()


def test_two_processes_do_not_write_to_one_folder(tmp_path: Path) -> None:
    first = BenchFolder(tmp_path)
    first.open(SETTINGS)
    first.add(Record.now({}, reply()))
    with pytest.raises(InputError, match="another ragevalkit is writing"):
        BenchFolder(tmp_path).open(SETTINGS)
    first.close()
    assert len(first.records()) == 1


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="can't write"):
        BenchFolder(tmp_path / "file" / "bench").open(SETTINGS)


def test_the_result_is_what_is_printed(tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path)
    folder.write_result(Result(name="mine"))
    assert orjson.loads(folder.result.read_bytes()) == {"name": "mine"}


def test_notes_are_added_to_the_manifest(tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path)
    folder.open(SETTINGS)
    folder.note(planned_blocks=60)
    folder.add(Record.now({}, reply()))
    folder.close()
    manifest = folder.read_manifest()
    assert manifest is not None
    assert (manifest["planned_blocks"], manifest["settings"]) == (60, SETTINGS)


@pytest.mark.parametrize(
    ("endpoint", "name", "expected"),
    [
        ("spark", None, "guided-spark"),
        ("127.0.0.1:8000", None, "guided-127.0.0.1-8000"),
        ("mock:/tmp/a.toml", None, "guided-mock-tmp-a.toml"),
        ("spark", "mine", "mine"),
    ],
)
def test_names(endpoint: str, name: str | None, expected: str) -> None:
    assert bench_name("guided", endpoint, name) == expected


def test_a_name_stays_inside_reports() -> None:
    with pytest.raises(InputError):
        bench_name("guided", "spark", "../elsewhere")


def test_a_built_in_endpoint_may_move_to_another_port() -> None:
    first, second = (
        endpoint_settings(
            Profile(name="mock", base_url=f"http://127.0.0.1:{port}/v1", built_in=True), "mock"
        )
        for port in (1, 2)
    )
    assert first == second

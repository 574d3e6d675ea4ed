"""`ragevalkit bench calibrate` as a command: JSON, files, tables and complaints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Command

SMALL = ("bench", "calibrate", "--rate", "200", "--seconds", "0.1")


def test_json_stands_alone_and_is_what_the_folder_holds(
    ragevalkit: Command, tmp_path: Path
) -> None:
    done = ragevalkit(*SMALL, "--streams", "2", "--streams", "1", "--json")
    assert done.code == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["name"], result["rate"], result["lockstep"]) == ("calibration", 200, False)
    assert [load["streams"] for load in result["loads"]] == [2, 1]
    for load in result["loads"]:
        assert set(load) == {
            "streams",
            "asked_rate",
            "achieved_rate",
            "lateness_ms",
            "server_late_ms",
            "floor_ms",
            "cpu_us_per_token",
            "instrument",
        }
        assert load["lateness_ms"]["n"] == 20 * load["streams"]
        assert load["floor_ms"] is None
    folder = tmp_path / "reports" / "calibration"
    assert json.loads((folder / "calibration.json").read_text()) == result
    lines = [json.loads(line) for line in (folder / "tokens.jsonl").open()]
    assert [(line["streams"], line["stream"], line["token"]) for line in lines] == [
        (streams, stream, token)
        for streams in (2, 1)
        for stream in range(streams)
        for token in range(20)
    ]
    latest = max(line["read_ns"] - line["sent_ns"] for line in lines if line["streams"] == 2)
    assert round(latest / 1e6, 3) == result["loads"][0]["lateness_ms"]["max"]


def test_tables_for_people(ragevalkit: Command, tmp_path: Path) -> None:
    done = ragevalkit(*SMALL, "--lockstep", "--name", "mine")
    assert done.code == 0, done.stderr
    for words in ("Lateness of token stamps", "in lockstep", "No floor at 1 stream", "loop lag"):
        assert words in done.stdout
    assert "1 x 200 tokens/s, in lockstep, for 0.1 s" in done.stderr
    assert (tmp_path / "reports" / "mine" / "calibration.json").exists()


def a_run_is_there(folder: Path) -> None:
    (folder / "reports" / "calibration").mkdir(parents=True)
    (folder / "reports" / "calibration" / "run.json").write_text("{}")


def a_file_is_there(folder: Path) -> None:
    (folder / "reports").write_text("")


@pytest.mark.parametrize(
    ("arguments", "before", "code", "words"),
    [
        (["--streams", "0"], None, 2, ["--streams"]),
        (["--streams", "5000"], None, 2, ["--streams"]),
        (["--rate", "0"], None, 2, ["--rate"]),
        (["--seconds", "nan"], None, 2, ["seconds"]),
        (["--streams", "1024", "--seconds", "3600"], None, 2, ["737,280,000 tokens are too many"]),
        (["--name", "../x"], None, 2, ["run name '../x'"]),
        ([], a_run_is_there, 2, ["holds a run", "--name"]),
        ([], a_file_is_there, 1, ["can't write to reports/calibration"]),
    ],
)
def test_complaints(
    ragevalkit: Command,
    tmp_path: Path,
    arguments: list[str],
    before: Callable[[Path], None] | None,
    code: int,
    words: list[str],
) -> None:
    if before is not None:
        before(tmp_path)
    ragevalkit(*SMALL, *arguments).complains(code, *words)

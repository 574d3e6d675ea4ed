"""`ragevalkit show RUN --costs`."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from command import Command


@pytest.fixture
def run(ragevalkit: Command, tmp_path: Path) -> Path:
    """The folder of a run of six questions."""
    options = ["--limit", "6", "--name", "r", "--no-report", "--no-probe"]
    assert ragevalkit("run", *options).code == 0
    return tmp_path / "reports" / "r"


def costs(ragevalkit: Command, *arguments: str) -> dict[str, Any]:
    done = ragevalkit("show", "r", "--costs", "--json", *arguments)
    assert done.code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def log_of(run: Path, watts: float = 250.0) -> str:
    """A log from a minute before the run to a minute after it."""
    turns = [json.loads(line) for line in (run / "turns.jsonl").open()]
    begins = [datetime.fromisoformat(turn["started_at"]).timestamp() for turn in turns]
    first, last = min(begins) - 60, max(begins) + 60
    lines = (f"{first + tenth / 10:.3f},{watts}" for tenth in range(round((last - first) * 10)))
    return "\n".join(["time,power.draw [W]", *lines]) + "\n"


def test_json(ragevalkit: Command, run: Path) -> None:
    found = costs(ragevalkit)
    assert (found["run"], found["scored"], found["energy"]) == ("r", 6, None)
    assert found["median_turn"]["turns"] == 2
    assert sum(found["median_turn"]["parts_ms"].values()) == pytest.approx(
        1000 * found["median_turn"]["wall_s"], abs=1
    )
    scores = [json.loads(line)["metrics"] for line in (run / "scores.jsonl").open()]
    right = [m["refused_correctly"] or m["cited_correct_page"] for m in scores]
    assert found["correct"] <= sum(map(bool, right))


def test_a_power_log_gives_energy(ragevalkit: Command, run: Path, tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text(log_of(run))
    energy = costs(ragevalkit, "--power-log", "power.csv", "--idle-watts", "50")["energy"]
    assert energy["mean_watts"] == pytest.approx(250, abs=0.1)
    assert energy["joules_above_idle"] == pytest.approx(200 * energy["seconds"], rel=0.01)
    assert (energy["scope"], energy["covered"], energy["idle_source"]) == ("GPU board", 1, "given")


def test_a_log_beside_the_run_is_found(ragevalkit: Command, run: Path) -> None:
    (run / "power.csv").write_text(log_of(run))
    assert costs(ragevalkit, "--power-scope", "module")["energy"]["scope"] == "module"
    done = ragevalkit("show", "r", "--costs")
    for words in (
        "Where the median turn's time goes",
        "scored turns are correct",
        "Energy",
        "Scope: GPU board.",
        "the median outside of the turns; taken off for the whole time",
        "do the clocks agree",
    ):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--costs", "tarn-001"], ["--costs are over all turns"]),
        (["--costs", "--outcome", "answer"], ["leave filters and QUESTION out"]),
        (["--costs", "--repeat", "1"], ["leave filters and QUESTION out"]),
        (["--power-log", "power.csv"], ["go with --costs"]),
        (["--costs", "--idle-watts", "5"], ["need --power-log"]),
        (["--costs", "--power-log", "none.csv"], ["none.csv can't be read"]),
        (["--costs", "--power-log", "old.csv"], ["covers 0% of the turns' time"]),
        (["--costs", "--power-log", "old.csv", "--power-zone", "x"], ["no time zone 'x'"]),
    ],
)
def test_complaints(
    ragevalkit: Command, run: Path, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "old.csv").write_text("2026-01-31T12:00:00Z,70\n2026-01-31T12:00:01Z,70\n")
    ragevalkit("show", "r", *arguments).complains(2, *words)


def test_a_run_without_scores_says_how_to_get_them(ragevalkit: Command, run: Path) -> None:
    (run / "scores.jsonl").unlink()
    ragevalkit("show", "r", "--costs").complains(2, "has no score", "ragevalkit score")

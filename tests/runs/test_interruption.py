"""A run that is killed, interrupted or left half-way is continued by the same command."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from command import Command

QUESTIONS = 60
SCENARIO = """
[timing]
first_token_ms = 4
gap_ms = 1
"""
RUN = ["run", "--bank", "bank.jsonl", "--corpus", "guide.md", "--endpoint", "mock:scenario.toml"]
RUN += ["--name", "r", "--repeats", "2", "--concurrency", "3"]
PLANNED = {(f"q{n}", repeat) for n in range(QUESTIONS) for repeat in range(2)}


@pytest.fixture
def folder(ragevalkit: Command) -> Path:
    folder = ragevalkit.folder
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "guide.md").write_text("The mast is 12 metres tall.\n")
    with (folder / "bank.jsonl").open("w") as bank:
        for number in range(QUESTIONS):
            line = {
                "id": f"q{number}",
                "question": f"How tall is the mast, asked {number}?",
                "answerable": True,
                "evidence": [{"document": "guide", "page": 1}],
            }
            bank.write(json.dumps(line) + "\n")
    return folder


def begin(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ragevalkit", *RUN],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ),
    )


def turns_on_disk(folder: Path) -> int:
    path = folder / "reports/r/turns.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_turns(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Until so many turns are on disk, or the run has ended."""
    while turns_on_disk(folder) < count:
        try:
            process.wait(0.002)
        except subprocess.TimeoutExpired:
            continue
        return


def asked(folder: Path) -> Counter[tuple[str, int]]:
    lines = (folder / "reports/r/turns.jsonl").read_text().splitlines()
    turns = [json.loads(line) for line in lines]
    return Counter((turn["question_id"], turn["repeat"]) for turn in turns)


def test_killed_at_random_points_and_continued(ragevalkit: Command, folder: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    print(f"seed {seed}")
    for _ in range(5):
        process = begin(folder)
        more = turns_on_disk(folder) + chance.randint(0, QUESTIONS * 2 // 6)
        wait_for_turns(process, folder, more)
        process.kill()
        process.communicate()
        if (folder / "reports/r/turns.jsonl").exists():
            whole = (folder / "reports/r/turns.jsonl").read_bytes().rpartition(b"\n")[0]
            keys = [
                (turn["question_id"], turn["repeat"])
                for turn in map(json.loads, whole.splitlines())
            ]
            assert len(keys) == len(set(keys))
    done = ragevalkit(*RUN)
    assert done.code == 0, done.stderr
    assert asked(folder) == dict.fromkeys(PLANNED, 1)
    summary = json.loads((folder / "reports/r/summary.json").read_text())
    assert (summary["turns"], summary["scored"]) == (len(PLANNED), len(PLANNED))
    scores = (folder / "reports/r/scores.jsonl").read_text().splitlines()
    assert len(scores) == len(PLANNED)


def test_a_last_line_cut_off_is_asked_again(ragevalkit: Command, folder: Path) -> None:
    assert ragevalkit(*RUN).code == 0
    for name in ("turns.jsonl", "attempts.jsonl"):
        path = folder / "reports/r" / name
        path.write_bytes(path.read_bytes()[:-20])
    done = ragevalkit(*RUN)
    assert done.code == 0
    assert "119 turns are on record" in done.stderr
    assert asked(folder) == dict.fromkeys(PLANNED, 1)
    for line in (folder / "reports/r/attempts.jsonl").read_text().splitlines():
        json.loads(line)


def test_interrupted_by_the_user(ragevalkit: Command, folder: Path) -> None:
    process = begin(folder)
    wait_for_turns(process, folder, 5)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "interrupted; the same command continues the run" in output
    kept = asked(folder)
    assert set(kept.values()) == {1}
    assert len(kept) >= 5
    summary = json.loads((folder / "reports/r/summary.json").read_text())
    assert summary["turns"] == len(kept)
    assert summary["planned"] == len(PLANNED)
    assert ragevalkit(*RUN).code == 0
    assert asked(folder) == dict.fromkeys(PLANNED, 1)


def test_a_finished_run_prints_its_summary_and_asks_nothing(
    ragevalkit: Command, folder: Path
) -> None:
    first = ragevalkit(*RUN, "--json")
    before = (folder / "reports/r/turns.jsonl").stat().st_mtime_ns
    (folder / "scenario.toml").write_text(SCENARIO + '[models]\nkind = "status"\nstatus = 500\n')
    again = ragevalkit(*RUN, "--json")
    assert again.code == 0
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert (folder / "reports/r/turns.jsonl").stat().st_mtime_ns == before


def test_two_runs_into_one_folder(ragevalkit: Command, folder: Path) -> None:
    process = begin(folder)
    wait_for_turns(process, folder, 1)
    ragevalkit(*RUN).complains(2, "reports/r", "another ragevalkit")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert asked(folder) == dict.fromkeys(PLANNED, 1)


def test_infrastructure_errors_are_asked_again(ragevalkit: Command, folder: Path) -> None:
    fault = '[[rules]]\ntimes = 4\n[rules.fault]\nkind = "status"\nstatus = 429\n'
    (folder / "scenario.toml").write_text(SCENARIO + fault)
    # the scenario counts requests: each must be a turn's
    first = ragevalkit(*RUN, "--retries", "0", "--no-probe")
    assert first.code == 3, first.stderr
    summary = json.loads((folder / "reports/r/summary.json").read_text())
    assert summary["infra_errors"] == 4
    (folder / "scenario.toml").write_text(SCENARIO)
    assert ragevalkit(*RUN).code == 0
    assert asked(folder) == dict.fromkeys(PLANNED, 1)
    attempts = [json.loads(a) for a in (folder / "reports/r/attempts.jsonl").open()]
    assert sum(attempt["status"] == 429 for attempt in attempts) == 4, "attempts stay on record"

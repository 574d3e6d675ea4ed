"""The runs, comparisons and benches whose pages the tests open.

Public: `make_reports`, `Folder`, `HOSTILE_RUN`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from browser import hostile
from browser.hostile import HOSTILE_RUN

SCENARIOS = Path(__file__).parent
ROOT = Path(__file__).parents[2]
PUMPS, YEARS = 64, 26
"""Questions about what a pump delivers, and about when it was built, which no document says."""
_DONE, _LOST_SOME = 0, 3


class Folder:
    """A working folder with the reports in it; calls the command as its users do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def page(self, name: str) -> Path:
        return self.path / "reports" / name / "report.html"

    def lines(self, run: str, file: str) -> list[dict[str, Any]]:
        """The records in a file of a run."""
        text = (self.path / "reports" / run / file).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def call(self, *arguments: str) -> None:
        environment = {
            **os.environ,
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(ROOT),
            "RAGEVALKIT_CACHE": str(self.path / "cache"),
            "XDG_CONFIG_HOME": str(self.path / "config"),
        }
        command = [sys.executable, "-m", "ragevalkit", *arguments]
        done = subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, text=True
        )
        assert done.returncode in (_DONE, _LOST_SOME), done.stderr

    def run(self, name: str, endpoint: str, *options: str) -> None:
        self.call(
            "run", "--name", name, "--endpoint", endpoint, "--no-probe", "--retries", "0", *options
        )


def make_reports(path: Path) -> Folder:
    """Runs `baseline`, `clean` and `faulty` and a hostile one, comparisons of the latter three, and
    two benches."""
    folder = Folder(path)
    _pumps(path)
    hostile.write(path / "hostile")
    asked = ("--bank", "pumps.jsonl", "--corpus", "pumps", "--concurrency", "4", "--rounds", "6")
    folder.run("baseline", "baseline", "--bank", "tarn", "--limit", "30", "--repeats", "2")
    folder.run("clean", f"mock:{SCENARIOS / 'clean.toml'}", *asked)
    folder.run("faulty", f"mock:{SCENARIOS / 'faulty.toml'}", *asked)
    folder.run(HOSTILE_RUN, f"mock:{hostile.scenario(path)}", *hostile.options(path))
    folder.call("report", "clean", "faulty")
    folder.call("report", HOSTILE_RUN, HOSTILE_RUN)
    guided = ("--arms", "P,F,T0,T1,J,J0", "--blocks", "2", "--tokens", "8")
    folder.call("bench", "guided", "--endpoint", "mock", "--name", "guided", *guided)
    thinks = f"mock:{SCENARIOS / 'thinks.toml'}"
    folder.call("bench", "budget", "--endpoint", thinks, "--name", "budget", "--budgets", "64,1024")
    return folder


def _pumps(path: Path) -> None:
    """A corpus with a pump a page, and a bank on it."""
    (path / "pumps").mkdir(parents=True)
    pages = (f"Pump {n} delivers {10 * n} litres a minute." for n in range(1, PUMPS + 1))
    (path / "pumps" / "pumps.txt").write_text("\f".join(pages))
    lines = [*map(_delivers, range(1, PUMPS + 1)), *map(_year, range(1, YEARS + 1))]
    (path / "pumps.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _delivers(pump: int) -> dict[str, Any]:
    return {
        "id": f"pump-{pump:02}",
        "question": f"What does pump {pump} deliver?",
        "answerable": True,
        "evidence": [{"document": "pumps", "page": pump, "quote": f"{10 * pump} litres"}],
        "answers": [f"{10 * pump} litres a minute"],
        "tags": ["output", "even" if pump % 2 == 0 else "odd"],
    }


def _year(pump: int) -> dict[str, Any]:
    return {
        "id": f"year-{pump:02}",
        "question": f"In which year was pump {pump} built?",
        "answerable": False,
        "unanswerable_because": "the documents name no years",
        "tags": ["year"],
    }

"""The quantisation A/B on a real engine: one model at sixteen bits, then at five.

As a user with one machine does it: serve one arm, run, swap the server, run, compare.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engines

ROOT = Path(__file__).parents[2]
GATE = Path(__file__).with_name("gate.toml")
QUESTIONS = 24
ASKED = ("--budget", "192", "--rounds", "6", "--no-report")
RAGEVALKIT = (sys.executable, "-m", "ragevalkit")


@dataclass(frozen=True)
class Gated:
    """What `compare` printed and exited with."""

    code: int
    found: dict[str, Any]


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Gated:
    desk = tmp_path_factory.mktemp("desk")
    shutil.copy(ROOT / "ragevalkit.toml", desk)
    lines = (ROOT / "question_banks" / "tarn.jsonl").read_text(encoding="utf-8").splitlines()
    chosen = random.Random(7).sample(lines, QUESTIONS)
    (desk / "two-dozen.jsonl").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("RAGEVALKIT_CACHE", str(desk / "cache"))
        for arm in ("local-f16", "local-q5"):
            with served(arm, desk / f"{arm}.log"):
                asking = ("run", "--bank", "two-dozen.jsonl", "--endpoint", arm, "--name", arm)
                subprocess.run([*RAGEVALKIT, *asking, *ASKED], cwd=desk, check=True)
        comparing = ("compare", "local-f16", "local-q5", "--gate", str(GATE), "--json")
        done = subprocess.run([*RAGEVALKIT, *comparing], cwd=desk, stdout=subprocess.PIPE)
    return Gated(done.returncode, json.loads(done.stdout))


@contextmanager
def served(name: str, log: Path) -> Iterator[None]:
    """`ragevalkit endpoint serve NAME`, from when it answers on; it must end as it was asked to."""
    command = [*RAGEVALKIT, "endpoint", "serve", name, "--json", "--log", str(log)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            line = child.stdout.readline()
            assert line, f"{name} does not answer"
            assert json.loads(line)["model"] == name
            yield
        finally:
            child.send_signal(signal.SIGTERM)
    assert child.returncode == 0


def test_the_gate_passes(gated: Gated) -> None:
    gate = gated.found["gate"]
    assert gate["verdict"] == "passed", [x for x in gate["lines"] if x["status"] != "passed"]
    assert gated.code == 0


def test_precision_is_what_was_meant_to_differ(gated: Gated) -> None:
    found = gated.found
    assert found["comparable"] is True
    assert found["factors"]["endpoint.precision"] == {"a": "F16", "b": "Q5_0"}
    assert found["factors"]["endpoint.model"] == {"a": "local-f16", "b": "local-q5"}
    assert "endpoint.hardware" not in found["factors"]


def test_every_question_is_a_pair(gated: Gated) -> None:
    assert gated.found["pairs"] == gated.found["questions"] == QUESTIONS
    assert not any(gated.found["unpaired"].values())


def test_the_gate_is_the_one_in_the_file(gated: Gated) -> None:
    lines = gated.found["gate"]["lines"]
    blocking = {line["name"] for line in lines if line["tier"] == "blocking"}
    assert blocking == {"answered", "malformed_calls", "infra_errors"}
    assert gated.found["metrics"]["malformed_calls"]["margin"] == 0.5


def test_five_bits_answer_otherwise(gated: Gated) -> None:
    """Else there would be nothing to compare."""
    assert gated.found["flipped"]["questions"] > 0

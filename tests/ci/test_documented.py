"""The shell of docs/ci.md, run as it stands there."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BROKEN = "model = 'broken'\n[[rules]]\nround = 0\n[rules.reply]\nanswer = '<tool_call>{}'\n"


def script(heading: str) -> str:
    """The first shell block below a heading."""
    section = DOCS.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return str(re.findall(r"```sh\n(.*?)```", section, re.S)[0])


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with what the scripts take for granted, both arms at one port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serve = f"{sys.executable} -m ragevalkit.standin mock --port {port} --stay"
    profiles = []
    for arm in ("bf16", "nvfp4"):
        (tmp_path / f"{arm}.toml").touch()
        profiles.append(
            f"[endpoints.{arm}]\nbase_url = 'http://127.0.0.1:{port}/v1'\n"
            f"precision = '{arm}'\nserve = '''{serve} --scenario {arm}.toml'''\n"
        )
    (tmp_path / "ragevalkit.toml").write_text("\n".join(profiles))
    lines = (ROOT / "question_banks" / "tarn.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "bank.jsonl").write_text("\n".join(lines[:20]) + "\n", encoding="utf-8")
    (tmp_path / "gate.toml").write_text("[limits.infra_errors]\nmost = 0.02\n")
    program(
        tmp_path / "bin", "ragevalkit", f'#!/bin/sh\nexec {sys.executable} -m ragevalkit "$@"\n'
    )
    program(tmp_path / "bin", "pip", "#!/bin/sh\n")
    return tmp_path


def shell(work: Path, text: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(work / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(work / "state"),
        "BUILD": "b17",
    }
    return subprocess.run(
        ["bash", "-c", text], cwd=work, env=environment, capture_output=True, text=True
    )


def test_one_machine(work: Path) -> None:
    (work / "nvfp4.toml").write_text(BROKEN)
    done = shell(work, script("One machine"))
    assert done.returncode == 10, done.stderr
    assert "bf16 and nvfp4" in (work / "comparison.md").read_text().splitlines()[0]
    assert (work / "junit.xml").is_file()


def test_a_server_that_does_not_start_ends_it(work: Path) -> None:
    (work / "bf16.toml").write_text("no = 'scenario'")
    done = shell(work, script("One machine"))
    assert done.returncode == 2
    assert not (work / "reports" / "nvfp4").exists()


def test_both_at_once(work: Path) -> None:
    text = (
        script("Any CI, in plain shell")
        .replace(" h200 ", " mock ")
        .replace(" spark ", " baseline ")
    )
    done = shell(work, text)
    assert done.returncode in (0, 10), done.stderr
    folder = work / "reports" / "b17-mock-vs-b17-baseline"
    verdict = json.loads((folder / "comparison.json").read_bytes())["gate"]["verdict"]
    assert {"passed": 0, "regression": 10}[verdict] == done.returncode
    assert (folder / "comparison.md").is_file()
    assert (folder / "junit.xml").is_file()

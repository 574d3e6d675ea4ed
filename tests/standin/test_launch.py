"""Children start, answer, and end with their parent, however it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from ragevalkit.errors import EndpointUnusable, InputError
from ragevalkit.standin import launch, start

ROOT = Path(launch.__file__).parents[2]


def running(pid: int) -> bool:
    """Whether the process is there and no zombie that only waits for its (new) parent."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def gone(pid: int, seconds: float = 30) -> bool:
    """Whether the process vanishes before the deadline."""
    deadline = time.monotonic() + seconds
    while running(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("name", launch.WEIGHTLESS)
def test_starts_and_closes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with start(name) as endpoint:
        assert endpoint.model == name
        endpoint.check()
        with urllib.request.urlopen(f"{endpoint.base_url}/models", timeout=30) as answer:
            assert answer.status == 200
    assert not running(endpoint.pid)
    endpoint.close()


def test_scenario_reaches_the_child(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('model = "scripted"')
    with start("mock", path) as endpoint:
        assert endpoint.model == "scripted"


def test_bad_usage(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("x = 1")
    with pytest.raises(InputError, match="x: is not a field"):
        start("mock", path)
    with pytest.raises(InputError, match="a scenario is for mock"):
        start("baseline", path)
    with pytest.raises(InputError, match="an adapter is for local"):
        start("baseline", adapter=path)
    with pytest.raises(InputError, match="choose one of baseline, mock, local"):
        start("gpt")


def test_child_that_dies_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_environment", lambda: {"PYTHONPATH": "/nowhere"})
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(EndpointUnusable, match=r"died \(exit status 1\)"):
        start("mock")


def test_check_reports_a_later_death() -> None:
    with start("mock") as endpoint:
        os.kill(endpoint.pid, signal.SIGKILL)
        endpoint._child.wait(30)
        with pytest.raises(EndpointUnusable, match="exit status -9"):
            endpoint.check()


def test_interrupt_is_the_parents_matter() -> None:
    with start("mock") as endpoint:
        os.kill(endpoint.pid, signal.SIGINT)
        with urllib.request.urlopen(f"{endpoint.base_url}/models", timeout=30) as answer:
            assert answer.status == 200
        endpoint.check()


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_child_ends_with_a_killed_parent(deadly: signal.Signals) -> None:
    code = (
        "import time\nfrom ragevalkit.standin import start\n"
        "endpoint = start('mock')\nprint(endpoint.pid, flush=True)\ntime.sleep(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert running(pid)
        parent.send_signal(deadly)
        parent.wait(30)
    assert gone(pid)


def test_command_line_reports_bad_scenario(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("x = 1")
    done = subprocess.run(
        [sys.executable, "-m", "ragevalkit.standin", "mock", "--stay", "--scenario", str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == f"{path}: x: is not a field of scenarios\n"


def test_by_hand_it_stays_until_interrupted() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ragevalkit.standin", "baseline", "--stay", "--port", "0"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        port = json.loads(child.stdout.readline())["port"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
            assert answer.status == 200
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130

"""`ragevalkit endpoint serve`: one line when the server answers, and an end by signal."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import Command

SCRIPT = Path(__file__).parents[1] / "endpoint" / "fake_server.py"


@pytest.fixture
def profile(ragevalkit: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes a profile `fake` whose server is fake_server.py with these habits; its base URL."""
    monkeypatch.setenv("XDG_STATE_HOME", str(ragevalkit.folder / "state"))

    def write(*habits: str) -> str:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        command = shlex.join([sys.executable, str(SCRIPT), str(port), *habits])
        toml = f"[endpoints.fake]\nbase_url = '{url}'\nserve = '''{command}'''\n"
        (ragevalkit.folder / "ragevalkit.toml").write_text(toml)
        return url

    return write


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the line that it prints."""
    with subprocess.Popen(
        [sys.executable, "-m", "ragevalkit", "endpoint", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_the_server(profile: Callable[..., str], end: signal.Signals) -> None:
    url = profile("words=hello")
    with started("fake", "--json") as (process, line):
        served = json.loads(line)
        assert set(served) == {"endpoint", "base_url", "model", "pid", "log"}
        assert (served["endpoint"], served["base_url"], served["model"]) == ("fake", url, "fake")
        assert Path(served["log"]).read_text() == "hello\n"
        assert lives(served["pid"])
        process.send_signal(end)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout) == (0, ""), stderr
        assert not lives(served["pid"])


def test_the_line_for_people(profile: Callable[..., str]) -> None:
    url = profile("model=tiny")
    with started("fake", "--log", "own.log") as (_, line):
        assert line.startswith(f"fake answers at {url} with the model tiny (pid ")
        assert line.endswith(", log own.log): ragevalkit run --endpoint fake\n")


@pytest.mark.parametrize("name", ["mock", "baseline"])
def test_a_built_in_endpoint(profile: Callable[..., str], name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    with started(name, "--port", str(port)) as (process, line):
        assert line.startswith(f"{name} answers at {url} with the model ")
        assert line.endswith(f": ragevalkit run --endpoint {url}\n")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_another_address_on_this_machine(ragevalkit: Command, profile: Callable[..., str]) -> None:
    url = profile()
    path = ragevalkit.folder / "ragevalkit.toml"
    path.write_text(path.read_text().replace(url, "https://192.0.2.1/v1"))
    with started("fake", "--url", url, "--json") as (_, line):
        assert json.loads(line)["base_url"] == url


def test_a_server_that_ends_after_it_answered(profile: Callable[..., str]) -> None:
    profile("words=hello\nout of memory")
    with started("fake", "--json") as (process, line):
        os.kill(json.loads(line)["pid"], signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    quoted = "  | hello\n  | out of memory\n"
    assert f"{quoted}ragevalkit: the server of endpoint 'fake' ended: killed by SIGKILL" in stderr


def test_a_server_that_ends_before(ragevalkit: Command, profile: Callable[..., str]) -> None:
    profile("words=no such weights", "exit=3")
    done = ragevalkit("endpoint", "serve", "fake", "--json")
    done.complains(2, "the server of endpoint 'fake' ended: exit status 3; its log is ")
    assert "  | no such weights\n" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody",), "there is no endpoint 'nobody'"),
        (("http://127.0.0.1:9/v1",), "has no command that starts it"),
        (("fake", "--port", "80"), "--port is for a built-in endpoint"),
        (("fake", "--url", "h:80"), "--url must be an http:// or https:// address"),
        (("fake", "--url", "http://u:p@h"), "--url must not hold a password"),
        (("fake", "--log", "/dev/null/log"), "the log /dev/null/log can't be written"),
        (("mock", "--log", "log"), "--url and --log are for profiles"),
        (("mock:no.toml",), "no.toml"),
    ],
)
def test_bad_input(
    ragevalkit: Command, profile: Callable[..., str], arguments: tuple[str, ...], message: str
) -> None:
    profile()
    ragevalkit("endpoint", "serve", *arguments).complains(2, message)

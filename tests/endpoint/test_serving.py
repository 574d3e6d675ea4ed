"""Serving: the server answers or says why not, and nothing of it is left behind."""

from __future__ import annotations

import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import raw_server, response

from ragevalkit.endpoint.profile import Profile
from ragevalkit.endpoint.serving import Served, ServerFailed, ready, serving
from ragevalkit.endpoint.serving.command import serve_command
from ragevalkit.endpoint.serving.place import is_here
from ragevalkit.errors import EndpointUnusable, InputError

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("fake_server.py")
PARENT = """
import sys, threading
from pathlib import Path
from ragevalkit.endpoint.profile import Profile
from ragevalkit.endpoint.serving import serving
with serving(Profile.model_validate_json(sys.argv[1]), log=Path(sys.argv[2])) as served:
    print(served.pid, flush=True)
    threading.Event().wait()
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ready, "_POLL_S", 0.02)
    monkeypatch.setattr(ready, "_OTHER_MODELS_S", 0.1)
    monkeypatch.setattr("platformdirs.user_log_path", lambda name: tmp_path / "logs" / name)


@pytest.fixture
def fake() -> Callable[..., Profile]:
    """A profile whose server is fake_server.py with these habits."""

    def build(*habits: str, before: str = "", **fields: Any) -> Profile:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = shlex.join([sys.executable, str(SCRIPT), str(port), *habits])
        fields = {"name": "fake", "base_url": f"http://127.0.0.1:{port}/v1"} | fields
        return Profile(serve=f"{before} {command}", **fields)

    return build


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_end(pid: int) -> None:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([watched], [], [], 60)[0], f"process {pid} still runs"
    finally:
        os.close(watched)


def check_for_ever(served: Served) -> None:
    while True:
        served.check()


def test_a_server_that_answers_and_is_ended(fake: Callable[..., Profile]) -> None:
    profile = fake("words=hello")
    ends: list[str] = []
    with serving(profile, on_end=lambda: ends.append("end")) as served:
        assert not ends
        assert (served.endpoint, served.base_url) == ("fake", profile.base_url)
        assert (served.model, served.warning) == ("fake", None)
        served.check()
        assert lives(served.pid)
        assert served.log.stat().st_mode & 0o777 == 0o600
    assert not lives(served.pid)
    assert served.log.read_text() == "hello\n"
    assert ends == ["end"]
    with pytest.raises(ServerFailed, match="killed by SIGTERM"):
        served.check()


def test_while_it_loads_its_last_line_is_told(fake: Callable[..., Profile], tmp_path: Path) -> None:
    loaded = tmp_path / "loaded"
    told: list[tuple[float, str]] = []

    def on_wait(elapsed_s: float, said: str) -> None:
        told.append((elapsed_s, said))
        if said == "loading shard 2 of 3":
            loaded.touch()

    words = "words=begin\n\x1b[32mloading shard 1 of 3\x1b[0m\rloading shard 2 of 3"
    with serving(fake(words, f"until={loaded}"), on_wait=on_wait):
        pass
    assert told == sorted(told, key=lambda waited: waited[0])
    assert told[-1][1] == "loading shard 2 of 3"


@pytest.mark.parametrize("habits", [(), ("stubborn",), ("exit=0",), ("last=0",)], ids=str)
def test_nothing_is_left_of_a_server(
    fake: Callable[..., Profile], tmp_path: Path, habits: tuple[str, ...]
) -> None:
    pids = tmp_path / "pids"
    try:
        with serving(fake(f"family={pids}", *habits), stop_s=0.5):
            pass
    except ServerFailed:
        assert habits not in ((), ("stubborn",))
    family = [int(pid) for pid in pids.read_text().split()]
    assert len(family) == 2
    assert not any(map(lives, family))


def test_a_killed_parent_leaves_nothing(fake: Callable[..., Profile], tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    profile = fake(f"family={pids}")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, profile.model_dump_json(), str(tmp_path / "log")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    with parent.stdout:
        server = int(parent.stdout.readline())
        family = [int(pid) for pid in pids.read_text().split()]
        assert all(map(lives, [server, *family]))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    for pid in [server, *family]:
        wait_for_end(pid)


@pytest.mark.parametrize(
    ("habits", "message"),
    [
        (("exit=3",), r"the server of endpoint 'fake' ended: exit status 3; its log is /"),
        (("killed",), r"ended: killed by SIGKILL \(was the memory full\?\); its log is /"),
        (("until=/nowhere",), r"did not answer at http://.*/v1 within 0.3 s: .*; its log is /"),
    ],
)
def test_a_server_that_never_answers(
    fake: Callable[..., Profile], habits: tuple[str, ...], message: str
) -> None:
    words = "words=" + "\n\n".join(f"line {number}" for number in range(30))
    loads_for_ever = habits == ("until=/nowhere",)
    profile = fake(words, *habits)
    with (
        pytest.raises(ServerFailed, match=message) as failed,
        serving(profile, timeout_s=0.3 if loads_for_ever else 60),
    ):
        pass
    lines = [f"line {number}" for number in range(10, 30)]
    if not loads_for_ever:  # else it may not even have begun
        assert failed.value.last_lines == lines
    assert failed.value.__notes__ == ["\n".join(failed.value.last_lines)]


def test_a_server_whose_supervisor_is_killed(fake: Callable[..., Profile]) -> None:
    with serving(fake()) as served:
        supervisor = int(Path(f"/proc/{served.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(supervisor, signal.SIGKILL)
        with pytest.raises(ServerFailed, match="ended: it was left without its supervisor"):
            check_for_ever(served)
    wait_for_end(served.pid)


def test_a_server_that_ends_after_it_answered(fake: Callable[..., Profile]) -> None:
    with serving(fake("model=fake")) as served:
        os.kill(served.pid, signal.SIGKILL)
        wait_for_end(served.pid)
        with pytest.raises(ServerFailed, match="killed by SIGKILL"):
            check_for_ever(served)


@pytest.mark.parametrize(
    ("listed", "wanted", "warning"),
    [
        ("fake", "fake", None),
        ("fake", None, None),
        ("other", "fake", "/models lists other, not 'fake'"),
    ],
)
def test_models(
    fake: Callable[..., Profile], listed: str, wanted: str | None, warning: str | None
) -> None:
    with serving(fake(f"model={listed}", model=wanted)) as served:
        assert (served.model, served.warning) == (wanted or listed, warning)


def test_a_wrong_key_is_said_at_once(
    fake: Callable[..., Profile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_WORD", "sesame-close")
    profile = fake("key=sesame-open", api_key_env="OUR_WORD")
    with pytest.raises(EndpointUnusable, match="401"), serving(profile):
        pass


def test_secrets_do_not_reach_the_log(
    fake: Callable[..., Profile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_WORD", "sesame-open")
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefgh")
    habits = ("words=hf_abcdefgh, sesame-open", "environment=OUR_KEY", "key=sesame-open")
    with serving(fake(*habits, before="OUR_KEY=k-123456", api_key_env="OUR_WORD")) as served:
        pass
    assert served.log.read_text() == "***, ***\nOUR_KEY is ***\n"


def test_something_already_answers(fake: Callable[..., Profile], tmp_path: Path) -> None:
    with raw_server(lambda path, body: response(b'{"data": [{"id": "fake"}]}')) as url:
        profile = fake(f"family={tmp_path / 'pids'}", base_url=url)
        with (
            pytest.raises(EndpointUnusable, match=f"something already answers at {url}"),
            serving(profile),
        ):
            pass
    assert not (tmp_path / "pids").exists()


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("192.0.2.1", "192.0.2.1, of the base_url of endpoint 'fake', is another machine; nothing"),
        ("nowhere.invalid", "nowhere.invalid, .* has no address here; nothing was started"),
    ],
)
def test_another_machine(fake: Callable[..., Profile], host: str, message: str) -> None:
    profile = fake(base_url=f"http://{host}:8000/v1")
    with pytest.raises(EndpointUnusable, match=message), serving(profile):
        pass


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("localhost", True), ("[::ffff:192.0.2.1]", False), ("192.0.2.1", False)],
)
def test_which_hosts_are_here(host: str, here: bool) -> None:
    assert is_here(f"http://{host}:9/v1") is here


@pytest.mark.parametrize(
    ("serve", "words", "assigned"),
    [
        ("\n  true --a 'b c'\n  --d\n", ["--a", "b c", "--d"], {}),
        ("A=1 B='2 3' true C=4", ["C=4"], {"A": "1", "B": "2 3"}),
        ("true \\\n --a", ["--a"], {}),
        ("M=~/m true ~/x a~ --y=~/z", ["/home/u/x", "a~", "--y=~/z"], {"M": "/home/u/m"}),
        ("true $HOME `x` > y; z", ["$HOME", "`x`", ">", "y;", "z"], {}),
    ],
)
def test_the_words_of_a_command(
    monkeypatch: pytest.MonkeyPatch, serve: str, words: list[str], assigned: dict[str, str]
) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    command = serve_command(Profile(name="n", base_url="http://h/v1", serve=serve))
    assert Path(command.words[0]).name == "true"
    assert command.words[1:] == words
    assert assigned.items() <= command.environment.items()


def test_what_is_relative_is_relative_to_the_profile_file(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "engine"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    fields = {"name": "n", "base_url": "http://h/v1", "folder": tmp_path}
    command = serve_command(Profile(serve="bin/engine --model weights", **fields))
    assert (command.words, command.folder) == ([str(program), "--model", "weights"], tmp_path)
    beside = {**fields, "folder": tmp_path / "elsewhere"}
    with pytest.raises(InputError, match=r"no program 'bin/engine' under .*elsewhere"):
        serve_command(Profile(serve="bin/engine", **beside))


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        (None, r'no command that starts it; add serve = "…" to \[endpoints.n\]'),
        ("  \n", r'no command that starts it; add serve = "…" to \[endpoints.n\]'),
        ("vllm 'serve", r"serve can't be split into words: No closing quotation"),
        ("A=1 B=2", r"serve names no program"),
        ("PATH=/nowhere vllm serve m", r"'vllm' on the PATH; is vLLM installed in this envir"),
        ("no-such-engine", r"there is no program 'no-such-engine' on the PATH$"),
        ("/no/such/engine", r"there is no program '/no/such/engine'"),
    ],
)
def test_commands_that_cannot_be_started(serve: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        serve_command(Profile(name="n", base_url="http://h/v1", serve=serve))


def worked_profiles() -> dict[str, Profile]:
    fields = tomllib.loads((ROOT / "ragevalkit.toml").read_text(encoding="utf-8"))["endpoints"]
    profiles = {name: Profile(name=name, **profile) for name, profile in fields.items()}
    return {name: profile for name, profile in profiles.items() if profile.serve}


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


@pytest.mark.parametrize("profile", worked_profiles().values(), ids=lambda profile: profile.name)
def test_the_worked_profiles_agree_with_their_commands(profile: Profile) -> None:
    assert profile.serve is not None
    words = shlex.split(profile.serve)
    port = option(words, "--port")
    assert profile.base_url.endswith(f":{port}/v1") or profile.base_url.startswith("https://")
    if any("vllm" in word for word in words):
        assert option(words, "--served-model-name") == profile.model
        assert "--enable-auto-tool-choice" in words
        assert "--tool-call-parser" in words

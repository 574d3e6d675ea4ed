"""Bad input as a user meets it: one clear line, no traceback, the right exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Command
from servers import event_stream, mocking, raw_server, response

QUESTION: dict[str, Any] = {
    "id": "q1",
    "question": "How tall is it?",
    "answerable": True,
    "evidence": [{"document": "guide", "page": 1}],
}
PAGE = "<!-- page: 1 -->\nThe mast is 12 metres tall.\n"


@pytest.fixture
def folder(ragevalkit: Command) -> Path:
    """The working folder, with a good bank and corpus."""
    (ragevalkit.folder / "corpora" / "docs").mkdir(parents=True)
    (ragevalkit.folder / "corpora" / "docs" / "guide.md").write_text(PAGE)
    write_bank(ragevalkit.folder, QUESTION)
    return ragevalkit.folder


def write_bank(folder: Path, *questions: dict[str, Any] | str) -> None:
    lines = [q if isinstance(q, str) else json.dumps(q) for q in questions]
    (folder / "bank.jsonl").write_text("\n".join(lines) + "\n")


RUN = ["run", "--bank", "bank.jsonl", "--corpus", "docs", "--name", "r"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], ["bank.jsonl", "empty"]),
        ([json.dumps(QUESTION | {"id": f"q{n}"}) for n in range(6)] + ["{"], ["line 7", "JSON"]),
        ([QUESTION | {"anwser": "12"}], ["line 1", "unknown field 'anwser'"]),
        ([QUESTION, QUESTION], ["line 2", "'q1'", "line 1"]),
        (
            [QUESTION | {"evidence": [{"document": "guide", "page": 99}]}],
            ["line 1", "page 99", "has 1"],
        ),
        ([QUESTION | {"evidence": []}], ["line 1", "answerable without evidence"]),
        (
            [QUESTION | {"evidence": [{"document": "atlas", "page": 1}]}],
            ["line 1", "'atlas'", "docs"],
        ),
    ],
    ids=["empty", "not JSON", "unknown field", "same id", "page 99", "no evidence", "no document"],
)
def test_bank(
    ragevalkit: Command, folder: Path, lines: list[dict[str, Any] | str], words: list[str]
) -> None:
    (folder / "bank.jsonl").write_text(
        "".join((q if isinstance(q, str) else json.dumps(q)) + "\n" for q in lines)
    )
    ragevalkit(*RUN).complains(2, "bank.jsonl", *words)
    assert not (folder / "reports").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--bank", "nowhere.jsonl"], ["nowhere.jsonl"]),
        (["--corpus", "nowhere"], ["corpus 'nowhere'"]),
        (["--endpoint", "nowhere"], ["no endpoint 'nowhere'", "baseline"]),
        (["--endpoint", "mock:nowhere.toml"], ["nowhere.toml"]),
        (["--concurrency", "0"], ["--concurrency", "1"]),
        (["--repeats", "0"], ["--repeats"]),
        (["--limit", "-1"], ["--limit"]),
        (["--budget", "many"], ["--budget"]),
        (["--tag", "nowhere"], ["tag nowhere"]),
        (["--no-such-flag"], ["--no-such-flag"]),
        (["--name", "../outside"], ["../outside"]),
        (["--name", ""], ["run name"]),
        (["--name", "/tmp/outside"], ["/tmp/outside"]),
        (["--name", ".."], ["run name"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options(ragevalkit: Command, folder: Path, change: list[str], words: list[str]) -> None:
    ragevalkit(*RUN, *change).complains(2, *words)
    assert not (folder / "reports").exists() or not list((folder / "reports").iterdir())


def test_a_bank_without_a_corpus(ragevalkit: Command, folder: Path) -> None:
    done = ragevalkit("run", "--bank", "bank.jsonl")
    done.complains(2, "bank.jsonl, line 1", "--corpus")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[endpoints.spark]\nmodel = "m"', ["endpoints.spark", "'base_url' is missing"]),
        ('[endpoints.spark]\nbase_url = "spark:8000"', ["base_url", "http://"]),
        (
            '[endpoints.spark]\nbase_url = "http://spark/v1"\nmodle = "m"',
            ["unknown field 'modle'"],
        ),
        (
            '[endpoints.spark]\nbase_url = "http://spark/v1"\napi_key_env = "SPARK_KEY_UNSET"',
            ["SPARK_KEY_UNSET", "not set"],
        ),
        ("[endpoints.spark", ["ragevalkit.toml"]),
    ],
    ids=["no address", "no scheme", "misspelt", "no key", "no TOML"],
)
def test_profiles(ragevalkit: Command, folder: Path, toml: str, words: list[str]) -> None:
    (folder / "ragevalkit.toml").write_text(toml)
    ragevalkit(*RUN, "--endpoint", "spark").complains(2, *words)


def unreachable() -> str:
    with raw_server(lambda path, body: []) as url:
        return url  # closed again: nobody listens there


def listing(answer: Callable[[bytes], list[bytes]]) -> Callable[[str, bytes], list[bytes]]:
    """A server that lists a model and answers completions by `answer`."""
    models = json.dumps({"object": "list", "data": [{"id": "m"}]}).encode()

    def handle(path: str, body: bytes) -> list[bytes]:
        return response(models) if path.endswith("/models") else answer(body)

    return handle


HTML = response(b"<html><body>Welcome to nginx</body></html>", kind="text/html")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda path, body: HTML, ["can't be used", "nginx"]),
        (listing(lambda body: HTML), ["can't be used", "web page"]),
        (
            listing(lambda body: response(b'{"error": "bad key"}', status="401 Unauthorized")),
            ["401", "key"],
        ),
        (
            listing(lambda body: response(b'{"error": "no model"}', status="404 Not Found")),
            ["404", "model"],
        ),
        (
            listing(lambda body: response(b'{"error": "tools?"}', status="400 Bad Request")),
            ["400", "tools?"],
        ),
        (lambda path, body: response(b"{}", status="404 Not Found"), ["list its models", "/v1"]),
    ],
    ids=["HTML", "HTML completion", "401", "404", "400", "no models"],
)
def test_unusable_endpoints(
    ragevalkit: Command, folder: Path, answer: Callable[[str, bytes], list[bytes]], words: list[str]
) -> None:
    with raw_server(answer) as url:
        ragevalkit(*RUN, "--endpoint", url).complains(2, url, *words)
    assert not (folder / "reports" / "r").exists()


def test_a_refused_connection(ragevalkit: Command, folder: Path) -> None:
    url = unreachable()
    ragevalkit(*RUN, "--endpoint", url).complains(2, url, "server running")


SILENT = """
[[rules]]
[rules.fault]
kind = "silence"
"""


def test_silence_before_anything_was_answered(ragevalkit: Command, folder: Path) -> None:
    with mocking(folder, SILENT) as url:
        done = ragevalkit(*RUN, "--endpoint", url, "--stall-timeout", "0.3")
    done.complains(2, "sent nothing for 0.3 s")


def many_questions(folder: Path, count: int) -> None:
    write_bank(
        folder, *(QUESTION | {"id": f"q{n}", "question": f"Question {n}?"} for n in range(count))
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda body: response(b"slow down", status="429 Too Many Requests"), ["429"]),
        (
            lambda body: event_stream(
                b'data: {"choices":[{"index":0,"delta":{"content":"The mast"}}]}\n\n'
            ),
            ["finish"],
        ),
        (lambda body: response(b"dead", status="503 Service Unavailable"), ["503"]),
    ],
    ids=["429 for ever", "cut half-way", "503 for ever"],
)
def test_ten_infrastructure_errors_in_a_row_stop_the_run(
    ragevalkit: Command, folder: Path, answer: Callable[[bytes], list[bytes]], words: list[str]
) -> None:
    many_questions(folder, 12)
    with raw_server(listing(answer)) as url:
        done = ragevalkit(*RUN, "--endpoint", url, "--retries", "0", "--no-probe")
    done.complains(3, "ten turns in a row", "continues the run", *words)
    turns = [json.loads(line) for line in (folder / "reports/r/turns.jsonl").open()]
    assert [turn["outcome"] for turn in turns] == ["infra_error"] * 10
    summary = json.loads((folder / "reports/r/summary.json").read_text())
    assert (summary["turns"], summary["scored"], summary["infra_errors"]) == (10, 0, 10)
    assert sum(summary["lost_to"].values()) == 10
    assert "lost 10 turns to: " in done.stdout
    assert words[0] in done.stdout
    assert summary["metrics"]["answered"] == {
        "k": 0,
        "n": 0,
        "value": None,
        "low": None,
        "high": None,
    }


def test_another_setting_names_the_field(ragevalkit: Command, folder: Path) -> None:
    assert ragevalkit(*RUN, "--endpoint", "mock").code == 0
    changed = ragevalkit(*RUN, "--endpoint", "mock", "--budget", "64")
    changed.complains(2, "agent.budget", "12000", "64", "--name")
    again = ragevalkit(*RUN, "--endpoint", "mock", "--limit", "1", "--concurrency", "4")
    assert again.code == 0, again.stderr


def test_a_full_disk(ragevalkit: Command, folder: Path) -> None:
    many_questions(folder, 40)
    (folder / "reports").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder / "reports")]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        done = ragevalkit(*RUN, "--endpoint", "mock")
        done.complains(1, "reports/r", "No space left", "continues the run")
        subprocess.run([*mount[:4], "remount,size=4m", *mount[5:]], check=True)
        assert ragevalkit(*RUN, "--endpoint", "mock").code == 0
        turns = [json.loads(line) for line in (folder / "reports/r/turns.jsonl").open()]
        assert sorted(turn["question_id"] for turn in turns) == sorted(f"q{n}" for n in range(40))
    finally:
        subprocess.run(["umount", str(folder / "reports")], check=True)


def test_a_damaged_run_folder(ragevalkit: Command, folder: Path) -> None:
    assert ragevalkit(*RUN, "--endpoint", "mock").code == 0
    turns = folder / "reports/r/turns.jsonl"
    turns.write_text("{}\n" + turns.read_text())
    ragevalkit(*RUN, "--endpoint", "mock").complains(2, "line 1", "damaged")
    (folder / "reports/r/run.json").write_text("{")
    ragevalkit(*RUN, "--endpoint", "mock").complains(2, "run.json")


@pytest.mark.parametrize("option", ["--bank", "--corpus"])
def test_a_name_that_no_file_can_have(ragevalkit: Command, folder: Path, option: str) -> None:
    ragevalkit(*RUN, option, "a" * 300).complains(2, "aaa", "too long")
    ragevalkit("score", "a" * 300).complains(2, "aaa", "too long")


def test_a_run_name_in_no_encoding(ragevalkit: Command, folder: Path) -> None:
    ragevalkit(*RUN, "--name", "\udcff").complains(2, "can't be used")


def test_standard_output_on_a_full_disk(ragevalkit: Command, folder: Path) -> None:
    command = [sys.executable, "-m", "ragevalkit", *RUN, "--endpoint", "mock", "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ragevalkit: No space left on device"


def test_an_endpoint_that_became_unusable_leaves_the_folder(
    ragevalkit: Command, folder: Path
) -> None:
    """All turns were lost, and the endpoint has become unusable: what is known of them stays."""
    down = {"now": True}

    def answer(path: str, body: bytes) -> list[bytes]:
        if path.endswith("/models"):
            return response(b'{"data": [{"id": "m"}]}')
        return response(b"no", status="503 Down" if down["now"] else "401 Unauthorized")

    with raw_server(answer) as url:
        run = [*RUN, "--endpoint", url, "--retries", "0", "--no-probe"]
        assert ragevalkit(*run).code == 3
        down["now"] = False
        ragevalkit(*run).complains(2, "401")
    kept = {path.name for path in (folder / "reports/r").iterdir()}
    assert {"run.json", "summary.json", "attempts.jsonl"} <= kept

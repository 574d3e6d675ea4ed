"""`ragevalkit run` from end to end, as its user sees it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import Command
from servers import completion, raw_server, response

import ragevalkit as package
from ragevalkit.errors import InputError
from ragevalkit.scoring.metrics import METRICS

SUMMARY_FIELDS = {
    "run",
    "turns",
    "scored",
    "infra_errors",
    "metrics",
    "outcomes",
    "defects",
    "timing",
}
QUANTILES = {"ttft_ms", "first_answer_ms", "turn_s", "tpot_ms", "rounds", "tool_rounds"}


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_empty_folder_is_enough(ragevalkit: Command) -> None:
    done = ragevalkit("run")
    assert done.code == 0, done.stderr
    assert "tarn: 116 turns (70 answerable, 46 not) over 85 pages, against baseline" in done.stderr
    for words in ("cited_correct_page", "/70", "95 % interval", "unanswerable", "harness"):
        assert words in done.stdout
    assert "Results are in reports/tarn-baseline/" in done.stdout
    folder = ragevalkit.folder / "reports" / "tarn-baseline"
    assert {path.name for path in folder.iterdir()} == {
        ".lock",
        "attempts.jsonl",
        "report.html",
        "run.json",
        "scores.jsonl",
        "server.json",
        "summary.json",
        "turns.jsonl",
    }
    turns = lines(folder / "turns.jsonl")
    assert len(turns) == 116
    assert {"question_id", "question_hash", "repeat", "outcome", "rounds", "bank_line"} <= set(
        turns[0]
    )
    rounds = sum(len(turn["rounds"]) for turn in turns)  # type: ignore[arg-type]
    assert len(lines(folder / "attempts.jsonl")) == rounds
    assert len(lines(folder / "scores.jsonl")) == 116


def test_the_summary_is_as_documented(ragevalkit: Command) -> None:
    (ragevalkit.folder / "paced.toml").write_text("[timing]\ngap_ms = 2\n")
    endpoint = ("--endpoint", "mock:paced.toml")
    done = ragevalkit("run", *endpoint, "--name", "r", "--limit", "4", "--json")
    summary = json.loads(done.stdout)
    assert summary == json.loads((ragevalkit.folder / "reports/r/summary.json").read_text())
    assert set(summary) >= SUMMARY_FIELDS
    assert set(summary["metrics"]) == set(METRICS)
    for rate in summary["metrics"].values():
        assert set(rate) == {"k", "n", "value", "low", "high"}
    assert set(summary["outcomes"]) == {"answerable", "unanswerable"}
    assert set(summary["timing"]) >= QUANTILES | {"composition"}
    for name in QUANTILES:
        assert set(summary["timing"][name]) == {"p50", "p90", "p99", "n", "censored"}
        assert summary["timing"][name]["p50"] is not None
        assert summary["timing"][name]["p99"] is None, "four turns have no p99"
    assert sum(summary["timing"]["composition"].values()) == pytest.approx(1)


def test_options_of_a_run(ragevalkit: Command) -> None:
    done = ragevalkit(
        *("run", "--endpoint", "mock", "--name", "r", "--tag", "two-pages", "--tag", "follow-up"),
        *("--repeats", "2", "--concurrency", "3", "--seed", "5", "--budget", "99", "--no-report"),
    )
    assert done.code == 0, done.stderr
    folder = ragevalkit.folder / "reports/r"
    assert not (folder / "report.html").exists()
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["concurrency"] == 3
    assert manifest["settings"]["tags"] == ["two-pages", "follow-up"]
    assert manifest["settings"]["repeats"] == 2
    assert manifest["settings"]["agent"]["budget"] == 99
    turns = lines(folder / "turns.jsonl")
    tagged = [
        {"two-pages", "follow-up"} & set(turn["bank_line"]["tags"])  # type: ignore[index]
        for turn in turns
    ]
    assert all(tagged)
    assert sorted({turn["repeat"] for turn in turns}) == [0, 1]  # type: ignore[type-var]


def test_a_larger_limit_continues(ragevalkit: Command) -> None:
    run = ("run", "--endpoint", "mock", "--name", "r")
    assert ragevalkit(*run, "--limit", "3").code == 0
    first = (ragevalkit.folder / "reports/r/turns.jsonl").read_text()
    done = ragevalkit(*run, "--limit", "5")
    assert "3 turns are on record" in done.stderr
    both = (ragevalkit.folder / "reports/r/turns.jsonl").read_text()
    assert both.startswith(first)
    assert len(both.splitlines()) == 5


def test_a_server_that_is_not_ours(ragevalkit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key comes from the environment and gets into no file."""
    keys = set()

    def answer(path: str, body: bytes) -> list[bytes]:
        if path == "/v1/models":
            return response(b'{"data": [{"id": "m1"}, {"id": "m2"}]}')
        if path != "/v1/chat/completions":
            return response(b"{}", status="404 Not Found")
        request = json.loads(body)
        keys.add(request["model"])
        searched = any(m["role"] == "tool" for m in request["messages"])
        if searched:
            return completion("NOT IN DOCUMENTS: nothing on that.")
        return completion(calls=[("c", "search", '{"query": "noise"}')])

    monkeypatch.setenv("TARN_KEY", "sk-verysecret")
    with raw_server(answer) as url:
        (ragevalkit.folder / "ragevalkit.toml").write_text(
            f'[endpoints.other]\nbase_url = "{url}"\napi_key_env = "TARN_KEY"\n'
            "[endpoints.other.extra_body]\nthinking = { budget = 5 }\n"
        )
        by_name = ragevalkit("run", "--endpoint", "other", "--limit", "3", "--name", "a")
        by_url = ragevalkit("run", "--endpoint", url, "--limit", "3", "--name", "b")
    assert by_name.code == by_url.code == 0, by_name.stderr + by_url.stderr
    assert "asking for the model 'm1'" in by_url.stderr
    assert keys == {"m1"}
    manifest = json.loads((ragevalkit.folder / "reports/a/run.json").read_text())
    assert manifest["settings"]["endpoint"]["model"] == "m1"
    assert manifest["settings"]["endpoint"]["extra_body"] == {"thinking": {"budget": 5}}
    for path in ragevalkit.folder.glob("reports/**/*"):
        assert path.is_dir() or b"sk-verysecret" not in path.read_bytes()
    summary = json.loads((ragevalkit.folder / "reports/a/summary.json").read_text())
    assert summary["outcomes"]["answerable"]["decline"] == 3


def test_hostile_text_does_nothing_on_the_page(ragevalkit: Command) -> None:
    evil = "</script><script>window.pwned=1</script><img src=x onerror=alert(1)>"
    (ragevalkit.folder / "ragevalkit.toml").write_text(
        f'[endpoints.e]\nbase_url = "http://x/v1"\nprecision = "{evil}"\n'
    )
    with raw_server(lambda path, body: []) as _:
        pass
    (ragevalkit.folder / "bank.jsonl").write_text(
        json.dumps({"id": evil, "question": evil, "answerable": False, "tags": [evil]}) + "\n"
    )
    done = ragevalkit(
        *("run", "--bank", "bank.jsonl", "--corpus", "tarn", "--endpoint", "mock", "--name", "r"),
        *("--tag", evil),
    )
    assert done.code == 0, done.stderr
    page = (ragevalkit.folder / "reports/r/report.html").read_text()
    assert "<script>window" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page


def test_a_judge_that_is_not_known_is_said_before_anything_is_asked(ragevalkit: Command) -> None:
    done = ragevalkit("run", "--endpoint", "mock", "--name", "r", "--judge", "nobody")
    done.complains(2, "no endpoint 'nobody'")
    assert not (ragevalkit.folder / "reports").exists()


def test_how_requests_were_made_is_on_record(ragevalkit: Command) -> None:
    run = ("run", "--endpoint", "mock", "--name", "r", "--limit")
    assert ragevalkit(*run, "1", "--retries", "1").code == 0
    assert ragevalkit(*run, "2", "--stall-timeout", "9").code == 0
    manifest = json.loads((ragevalkit.folder / "reports/r/run.json").read_text())
    requests, before = manifest["requests"], manifest["earlier"][0]["requests"]
    assert (before["retries"]["most"], requests["retries"]["most"]) == (1, 3)
    assert (before["stall_s"], requests["stall_s"]) == (120, 9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"repeats": 0},
        {"limit": 0},
        {"seed": 2**63},
        {"budget": 10**20},
        {"turn_timeout": float("nan")},
    ],
    ids=str,
)
def test_numbers_that_a_run_cannot_take(ragevalkit: Command, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        package.run("tarn", "mock", **wrong)
    assert not (ragevalkit.folder / "reports").exists()


def test_replies_are_classified_without_another_import() -> None:
    code = "import ragevalkit; print(ragevalkit.scoring.classify_reply('It is 42 dB.'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "answer\n"


def test_from_python(ragevalkit: Command) -> None:
    result = package.run("tarn", "mock", limit=2, name="r", report=False)
    assert result.exit_code == 0
    assert result.summary.turns == 2
    assert len(package.load_bank("tarn").questions) == 116


def test_from_a_notebook(ragevalkit: Command) -> None:
    """There a loop already runs."""

    async def cell() -> int:
        return package.run("tarn", "mock", limit=2, name="r", report=False).summary.turns

    assert asyncio.run(cell()) == 2


def test_a_wheel_in_an_empty_folder(tmp_path: Path) -> None:
    """Built and unpacked beside the dependencies, away from the checkout."""
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(tmp_path)]
    if subprocess.run([*build, "--no-build-isolation", str(root)], capture_output=True).returncode:
        subprocess.run([*build, str(root)], check=True, capture_output=True)
    wheel = next(tmp_path.glob("*.whl"))
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target"]
    subprocess.run([*install, str(site), str(wheel)], check=True, capture_output=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    code = "import ragevalkit, sys; print(ragevalkit.__file__); from ragevalkit.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", code + "main(['run', '--limit', '2'])"],
        cwd=empty,
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(site))
    assert (empty / "reports/tarn-baseline/summary.json").exists()

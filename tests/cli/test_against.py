"""`ragevalkit run --against` from end to end, as its user sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from command import Command
from servers import raw_server, response

import ragevalkit as package
from ragevalkit.errors import RagevalkitError

RUN = ("run", "--endpoint", "mock", "--no-probe", "--no-report")
BROKEN = """
[[rules]]
round = 0
[rules.reply]
answer = '<tool_call>{"name": "search", "arguments": {"query": "mast"}}</tool_call>'
"""
BUSY = '[[rules]]\nevery = 3\n[rules.fault]\nkind = "status"\nstatus = 429\n'
"""Loses every third question."""


def stored(*path: str) -> Any:
    return json.loads(Path("reports", *path).read_text())


def test_one_command_for_the_whole_experiment(ragevalkit: Command) -> None:
    run = ("run", "--endpoint", "mock", "--against", "baseline", "--limit", "12")
    done = ragevalkit(*run)
    assert done.code == 0, done.stderr
    assert "alternating with tarn-baseline, in blocks of 4 questions or more" in done.stderr
    for run_ in ("tarn-baseline", "tarn-mock"):
        assert f"{run_}: model {run_.removeprefix('tarn-')}; asking 12 turns" in done.stderr
        assert stored(run_, "summary.json")["turns"] == 12
        assert Path("reports", run_, "report.html").exists()
    for words in ("a: tarn-baseline, 12 turns", "b: tarn-mock, 12 turns", "cited_correct_page"):
        assert words in done.stdout
    assert "this in reports/tarn-baseline-vs-tarn-mock/" in done.stdout
    folder = Path("reports/tarn-baseline-vs-tarn-mock")
    assert {path.name for path in folder.iterdir()} == {
        "comparison.json",
        "comparison.md",
        "junit.xml",
        "report.html",
    }
    assert "cited_correct_page" in (folder / "comparison.md").read_text()
    assert Xml.parse(folder / "junit.xml").getroot().tag in {"testsuite", "testsuites"}
    again = ragevalkit(*run)
    assert again.stdout == done.stdout
    assert "asking" not in again.stderr


def test_json_is_the_comparison_alone(ragevalkit: Command) -> None:
    done = ragevalkit(*RUN, "--against", "baseline", "--limit", "6", "--json")
    printed = json.loads(done.stdout)
    assert printed == stored("tarn-baseline-vs-tarn-mock", "comparison.json")
    assert (printed["a"]["run"], printed["b"]["run"]) == ("tarn-baseline", "tarn-mock")
    later = ragevalkit("compare", "tarn-baseline", "tarn-mock", "--json")
    assert json.loads(later.stdout) == printed


def test_names(ragevalkit: Command) -> None:
    options = ("--limit", "2", "--name", "x", "--no-gate")
    assert ragevalkit(*RUN, "--against", "baseline", *options).code == 0
    assert ragevalkit(*RUN, "--against", "mock", "--limit", "2", "--no-gate").code == 0
    assert {path.name for path in Path("reports").iterdir()} == {
        "x-baseline",
        "x-mock",
        "x-baseline-vs-x-mock",
        "tarn-mock",
        "tarn-mock-again",
        "tarn-mock-again-vs-tarn-mock",
    }
    for name in ("../x", "", "x" * 150):
        ragevalkit(*RUN, "--against", "baseline", "--name", name).complains(2, "run name")


@pytest.mark.parametrize(
    ("scenario", "gate", "options", "code"),
    [
        ("", None, (), 0),
        (BROKEN, None, (), 10),
        (BROKEN, None, ("--no-gate",), 0),
        ("", '[metrics.answered]\nrequire = "no_worse"\n', (), 11),
        (BUSY, None, (), 3),
        (BUSY, "[limits.infra_errors]\nmost = 0.9\n", (), 0),
        (BUSY, "[limits.infra_errors]\nmost = 0.01\n", (), 10),
    ],
)
def test_exit_codes(
    ragevalkit: Command, scenario: str, gate: str | None, options: tuple[str, ...], code: int
) -> None:
    Path("b.toml").write_text(scenario)
    if gate is not None:
        Path("gate.toml").write_text(gate)
        options = ("--gate", "gate.toml")
    run = ("run", "--endpoint", "mock:b.toml", "--against", "mock", "--no-probe", "--no-report")
    done = ragevalkit(*run, "--limit", "16", "--retries", "0", *options)
    assert done.code == code, done.stdout + done.stderr
    compared = ragevalkit("compare", "tarn-mock", "tarn-mock-b.toml", *options)
    assert compared.code == code


def test_nothing_to_compare(ragevalkit: Command) -> None:
    Path("b.toml").write_text(BUSY.replace("every = 3\n", ""))
    run = ("run", "--endpoint", "mock:b.toml", "--against", "mock", "--no-probe", "--no-report")
    done = ragevalkit(*run, "--limit", "3", "--retries", "0")
    assert done.code == 3, done.stderr
    assert "nothing is compared" in done.stderr
    assert "tarn-mock-b.toml: 3 turns, 0 scored, 3 lost" in done.stdout
    assert ragevalkit(*run, "--limit", "3", "--retries", "0", "--json").stdout == ""


def profiles(url: str) -> None:
    Path("ragevalkit.toml").write_text(
        f'[endpoints.warm]\nbase_url = "{url}"\n[endpoints.warm.sampling]\ntemperature = 0.7\n'
        f'[endpoints.cold]\nbase_url = "{url}"\n'
    )


def test_what_could_not_be_compared_is_not_asked(ragevalkit: Command) -> None:
    asked = []

    def answer(path: str, body: bytes) -> list[bytes]:
        asked.append(path)
        return response(b"{}", status="404 Not Found")

    with raw_server(answer) as url:
        profiles(url)
        run = ("run", "--endpoint", "warm", "--against", "cold")
        ragevalkit(*run).complains(12, "warm can't be compared with cold", "sampling.temperature")
        ragevalkit(*run, "--allow", "prompt").complains(12, "sampling.temperature")
        ragevalkit(*run, "--allow", "smapling").complains(2, "smapling", "sampling")
    assert asked == []
    assert not Path("reports").exists()


def test_allowed_to_differ(ragevalkit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ragevalkit.toml").write_text(
        '[endpoints.warm]\nbase_url = "http://x/v1"\n[endpoints.warm.sampling]\ntemperature = 0.7\n'
    )
    monkeypatch.setattr("ragevalkit.cli.wiring.connect", to_mock())
    run = ("run", "--endpoint", "warm", "--against", "mock", "--limit", "4", "--no-probe")
    done = ragevalkit(*run, "--allow", "sampling", "--json")
    assert done.code == 0, done.stderr
    assert list(json.loads(done.stdout)["allowed"]) == ["endpoint.sampling.temperature"]


def to_mock() -> Any:
    """Has every profile asked of the mock."""
    from ragevalkit.cli.wiring import connect

    def connected(profile: Any) -> Any:
        return connect(profile.model_copy(update={"name": "mock", "built_in": True}))

    return connected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--gate", "gate.toml"), "--against"),
        (("--no-gate",), "--against"),
        (("--allow", "prompt"), "--against"),
        (("--against", "baseline", "--gate", "gate.toml", "--no-gate"), "exclude each other"),
        (("--against", "baseline", "--gate", "gate.toml"), "gate.toml: metrics.answred"),
        (("--against", "baseline", "--gate", "none.toml"), "none.toml can't be read"),
        (("--against", "nobody"), "no endpoint 'nobody'"),
        (("--against", "baseline", "--judge", "nobody"), "no endpoint 'nobody'"),
    ],
)
def test_wrong_options_are_said_before_anything_is_asked(
    ragevalkit: Command, options: tuple[str, ...], words: str
) -> None:
    Path("gate.toml").write_text("[metrics.answred]\nmargin = 0.1\n")
    ragevalkit(*RUN, *options).complains(2, words)
    assert not Path("reports").exists()


def test_from_python(ragevalkit: Command) -> None:
    result = package.run("tarn", "mock", against="baseline", limit=3, report=False, probe=False)
    assert result.against is not None
    assert (result.summary.run, result.against.summary.run) == ("tarn-mock", "tarn-baseline")
    assert (result.exit_code, result.broken_off) == (0, False)
    comparison = package.compare(result.against.summary.run, result.summary.run)
    assert comparison.pairs == 3
    with pytest.raises(RagevalkitError, match="needs against"):
        package.run("tarn", "mock", allow=["prompt"])


def test_a_judge_judges_both(ragevalkit: Command) -> None:
    done = ragevalkit(*RUN, "--against", "baseline", "--limit", "4", "--judge", "mock")
    assert done.code == 0, done.stderr
    for run in ("tarn-mock", "tarn-baseline"):
        assert Path("reports", run, "judge-mock.jsonl").exists()

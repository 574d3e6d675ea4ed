"""`ragevalkit bench guided` as a command: JSON, files, tables and complaints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Command

from ragevalkit.bench import session

MockUrl = Callable[[str], str]

SCENARIO = """
[wire]
engine = "vllm"
cached_tokens = "details"
[[rules]]
question = "function search"
tools = true
[[rules.reply.calls]]
name = "search"
arguments = { query = "rated voltage" }
[[rules]]
question = "Explain|JSON"
[rules.reply]
answer = 4
"""
BENCH = ("bench", "guided", "--blocks", "2", "--tokens", "8")


@pytest.fixture(autouse=True)
def no_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "FLOOR_S", 0.0)


def test_json_stands_alone_and_has_the_contracts_fields(
    ragevalkit: Command, mock_url: MockUrl, tmp_path: Path
) -> None:
    done = ragevalkit(
        *BENCH,
        "--endpoint",
        mock_url(SCENARIO),
        "--arms",
        "P,F,T0,T1,J,J0",
        "--json",
        "--margin",
        "7ms",
        "--name",
        "mine",
    )
    assert done.code == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["bench"], result["name"], result["blocks"]) == ("guided", "mine", 2)
    assert set(result["arms"]) == {"P", "F", "T0", "T1", "J", "J0"}
    for arm in result["arms"].values():
        assert arm["engaged"] in ("yes", "no", "unknown")
        assert arm["status"] in ("run", "not_supported")
    assert list(result["contrasts"]) == ["T1-P", "F-P", "T0-P", "T1-T0", "J-J0"]
    contrast = result["contrasts"]["T1-P"]
    assert (contrast["from"], contrast["to"]) == ("P", "T1")
    assert {"median", "low", "high", "verdict", "margin", "detectable"} <= set(contrast["ttft_ms"])
    assert {"median", "low", "high", "verdict", "margin", "detectable"} <= set(contrast["gap_ms"])
    assert contrast["ttft_ms"]["margin"] == 7.0
    assert set(result["floor"]) == {"ms", "lateness_ms", "instrument"}
    folder = tmp_path / "reports" / "mine"
    assert json.loads((folder / "result.json").read_text()) == result
    assert {path.name for path in folder.glob("[!.]*")} == {
        "bench.json",
        "report.html",
        "requests.jsonl",
        "result.json",
    }


def test_tables_and_sentences_for_people(ragevalkit: Command, mock_url: MockUrl) -> None:
    url = mock_url(SCENARIO)
    done = ragevalkit(*BENCH, "--endpoint", url)
    assert done.code == 0, done.stderr
    for words in (
        "tools, tool_choice none",
        "First-token time",
        "Time per token, where both outputs are the same",
        "First use of a grammar",
        "Offering search, cite and its 416 more tokens",
        "Prefix cache kept out by cache_salt: no prompt came from it.",
        "Results are in reports/guided-127.0.0.1",
    ):
        assert words in done.stdout
    again = ragevalkit(*BENCH, "--endpoint", url)
    assert again.stdout == done.stdout
    assert "looking at" not in again.stderr


def test_the_built_in_mock_needs_nothing(ragevalkit: Command) -> None:
    done = ragevalkit(*BENCH, "--arms", "P,T1", "--json")
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "guided-mock"


def test_numbers_of_tools(ragevalkit: Command, mock_url: MockUrl, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"name": "ping", "parameters": {"type": "object"}}))
    done = ragevalkit(
        *BENCH,
        "--endpoint",
        mock_url(SCENARIO),
        "--tools",
        "1,5,2",
        "--schemas",
        str(mine),
        "--name",
        "counts",
        "--json",
    )
    assert done.code == 0, done.stderr
    result = json.loads(done.stdout)
    assert [of["tools"] for of in result["tool_counts"]] == [1, 2, 5]
    assert [of["generated"] for of in result["tool_counts"]] == [0, 0, 2]
    lengths = [of["prompt_tokens"] for of in result["tool_counts"]]
    assert lengths == sorted(lengths)
    for of in result["tool_counts"]:
        assert (of["called"]["k"], of["called"]["n"]) == (2, 2)
        assert (of["right_tool"]["k"], of["well_formed"]["k"], of["defects"]) == (2, 2, {})
    table = ragevalkit(
        *BENCH, "--endpoint", "mock", "--tools", "1,5", "--name", "counts-of-mock"
    ).stdout
    assert "Of 5 tools 3 are made up." in table
    assert "number of tools, 2 blocks" in table


def test_calls_that_fall_apart_are_counted(ragevalkit: Command, mock_url: MockUrl) -> None:
    broken = SCENARIO.replace('arguments = { query = "rated voltage" }', 'arguments = "{oops"')
    done = ragevalkit(*BENCH, "--endpoint", mock_url(broken), "--tools", "1", "--json")
    [of] = json.loads(done.stdout)["tool_counts"]
    assert (of["called"]["k"], of["well_formed"]["k"], of["well_formed"]["n"]) == (2, 0, 2)
    assert of["defects"] == {"not_json": 2}


def test_a_server_without_tools_supports_no_number_of_them(
    ragevalkit: Command, mock_url: MockUrl
) -> None:
    scenario = SCENARIO + '[habits]\nrejects = { tools = "no tools here" }\n'
    done = ragevalkit(*BENCH, "--endpoint", mock_url(scenario), "--tools", "1,2", "--json")
    assert done.code == 0, done.stderr
    for of in json.loads(done.stdout)["tool_counts"]:
        assert (of["status"], of["ttft_ms"]["median"]) == ("not_supported", None)
        assert "no tools here" in of["evidence"]


def test_the_cost_in_the_turns_of_a_run(ragevalkit: Command) -> None:
    assert ragevalkit("run", "--limit", "3", "--name", "three", "--no-probe").code == 0
    arguments = (*BENCH, "--arms", "P,T1", "--of-run", "three")
    done = ragevalkit(*arguments, "--json")
    assert done.code == 0, done.stderr
    result = json.loads(done.stdout)
    share = result["of_run"]
    assert (share["run"], share["turns"]) == ("three", 3)
    assert share["cold_ms"] == result["contrasts"]["T1-P"]["ttft_ms"]["median"]
    assert share["warm_ms"] == result["warm_prefix"]["ttft_ms"]["median"]
    assert any("In the turns of three" in said for said in result["says"])
    # the result on record is read again, and needs no request for another run
    assert "In the turns of three" in ragevalkit(*arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--margin", "0"), "--margin takes a time above 0 such as 5ms"),
        (("--margin", "five"), "--margin takes a time"),
        (("--precision", "-1ms"), "--precision takes a time"),
        (("--gap-margin", "nan"), "--gap-margin takes a time"),
        (("--tools", "a"), "--tools takes numbers"),
        (("--tools", "0,1"), "from 1 to 512"),
        (("--tools", "9999"), "from 1 to 512"),
        (("--arms", "P,X"), "there is no arm 'X'"),
        (("--arms", "P"), "two or more"),
        (("--schemas", "nowhere.json"), "nowhere.json is no JSON file of tools"),
        (("--of-run", "nowhere"), "there is no run 'nowhere'"),
        (("--name", "../up"), "can't be used"),
        (("--endpoint", "nowhere"), "there is no endpoint 'nowhere'"),
        (("--endpoint", "http://127.0.0.1:9/v1"), "127.0.0.1:9"),
    ],
)
def test_bad_input_is_one_line(
    ragevalkit: Command, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    ragevalkit(*BENCH, *arguments).complains(2, words)
    assert not list(tmp_path.glob("reports/*"))


def test_the_folder_of_a_run_is_not_written_to(ragevalkit: Command, tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "guided-mock"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    ragevalkit(*BENCH).complains(2, "holds a run")


def test_times_may_be_given_in_seconds(ragevalkit: Command) -> None:
    done = ragevalkit(*BENCH, "--arms", "P,T1", "--margin", "0.02s", "--json")
    assert json.loads(done.stdout)["contrasts"]["T1-P"]["ttft_ms"]["margin"] == 20.0


def test_a_server_that_dies_ends_the_bench_with_3_and_it_is_continued(
    ragevalkit: Command, mock_url: MockUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragevalkit.endpoint.client import Retries

    monkeypatch.setattr(Retries, "wait_s", lambda *_: 0.0)
    dies = "[[rules]]\ntimes = 60\n[rules.reply]\nanswer = 4\n" + (
        '[[rules]]\ntimes = 12\n[rules.fault]\nkind = "status"\nstatus = 500\n'
    )
    url = mock_url(dies + SCENARIO)
    arguments = ("bench", "guided", "--endpoint", url, "--arms", "P,T1", "--blocks", "20")
    stopped = ragevalkit(*arguments, "--json")
    assert stopped.code == 3
    assert "the same command continues the bench" in stopped.stderr
    before = json.loads(stopped.stdout)
    assert before["stopped"]
    ended = ragevalkit(*arguments, "--json")
    assert ended.code == 0, ended.stderr
    after = json.loads(ended.stdout)
    assert (after["stopped"], after["blocks"]) == (None, 20)
    assert after["blocks"] > before["blocks"] > 0

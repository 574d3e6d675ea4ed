"""`ragevalkit bench budget` against servers that reason, reject, cut and die."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Command
from servers import completion, raw_server, response

MockUrl = Callable[[str], str]

THINKS = """
[wire]
engine = "vllm"
[[rules]]
tools = false
[rules.timing]
first_token_ms = 5
reasoning_gap_ms = 0.2
[rules.reply]
reasoning = 300
answer = "The pump runs at 42 dB and that is that."
"""
AGENT = """
[wire]
engine = "llamacpp"
[habits]
thinking = ["reasoning_budget_tokens"]
[habits.rejects]
reasoning_effort = "there is no such field"
[[rules]]
round = 0
[rules.reply]
reasoning = 30
[[rules.reply.calls]]
name = "search"
arguments = { query = "{question}" }
[[rules]]
round = [1, 2]
[rules.reply]
reasoning = 300
answer = "See {document}, page {page}: {quote}"
"""
FIELDS = {
    "budget",
    "runs",
    "lost",
    "answered",
    "answer_tokens",
    "reasoning_tokens",
    "ttft_ms",
    "first_answer_ms",
    "wall_ms",
    "finish",
    "before_answer_share",
    "tokens_estimated",
    "errors",
}


@pytest.fixture(autouse=True)
def no_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its measurement takes two seconds."""
    monkeypatch.setattr("ragevalkit.bench.session.FLOOR_S", 0)


def bench(ragevalkit: Command, url: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = ragevalkit("bench", "budget", "--endpoint", url, "--name", "b", "--json", *arguments)
    assert done.code == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def verdicts(result: dict[str, Any]) -> dict[str, str]:
    return {control["control"]: control["verdict"] for control in result["controls"]}


def test_a_model_that_reasons_for_300_tokens(
    ragevalkit: Command, tmp_path: Path, mock_url: MockUrl
) -> None:
    result = bench(ragevalkit, mock_url(THINKS), "--budgets", "1024,64,256")
    assert [rung["budget"] for rung in result["budgets"]] == [64, 256, 1024]
    for rung, spent, answer in zip(result["budgets"], (64, 256, 300), (0, 0, 11), strict=True):
        assert set(rung) == FIELDS
        assert rung["runs"] == 3
        assert rung["reasoning_tokens"] == [spent] * 3
        assert rung["answer_tokens"] == [answer] * 3
        assert rung["finish"] == ["stop" if answer else "length"] * 3
        assert [ms is None for ms in rung["first_answer_ms"]] == [not answer] * 3
        assert all(ttft >= 5 for ttft in rung["ttft_ms"])
    # none is early: the first answer token is due 300 gaps after the first token
    assert all(ms >= 5 + 300 * 0.2 for ms in result["budgets"][-1]["first_answer_ms"])
    assert result["smallest_that_answers"] == 1024
    assert result["sentence"] == (
        "no answer at 64 and 256 tokens; the smallest budget at which every run answers is 1,024"
    )
    assert verdicts(result) == {
        "enable_thinking false": "obeyed",
        "reasoning_effort none": "obeyed",
        "reasoning_effort low": "ignored",
        "reasoning_effort medium": "ignored",
        "reasoning_effort high": "ignored",
        "thinking_token_budget 64": "obeyed",
        "thinking_token_budget 256": "obeyed",
    }
    assert len(set(result["questions"])) == 3
    folder = tmp_path / "reports" / "b"
    assert json.loads((folder / "result.json").read_text()) == result
    records = [json.loads(line) for line in (folder / "requests.jsonl").open()]
    assert len(records) == result["planned"] == 3 * (3 + 7)
    assert all(record["round"]["clock"]["sent_ms"] is not None for record in records)


def test_a_server_that_takes_every_control_and_ignores_it(
    ragevalkit: Command, mock_url: MockUrl
) -> None:
    url = mock_url(THINKS + "\n[habits]\nthinking = []\n")
    result = bench(ragevalkit, url, "--budgets", "64,1024")
    assert set(verdicts(result).values()) == {"ignored"}
    (budget,) = [c for c in result["controls"] if c["asked"] == 64]
    assert budget["reasoning_tokens"] == [300] * 3
    assert budget["fields"] == {"thinking_token_budget": 64}
    assert "asked for 64, spent 300" in budget["evidence"]


def test_a_control_that_is_rejected_is_not_supported_by_the_servers_own_words(
    ragevalkit: Command, mock_url: MockUrl
) -> None:
    url = mock_url(THINKS + '\n[habits]\nrejects = { thinking_token_budget = "unknown field" }\n')
    result = bench(ragevalkit, url, "--budgets", "64,256,1024")
    (control,) = [c for c in result["controls"] if c["control"].startswith("thinking")]
    assert control["verdict"] == "not_supported"
    assert "unknown field" in control["evidence"]
    assert (control["runs"], control["answer_tokens"]) == (0, [])


def test_whole_turns_with_tools(ragevalkit: Command, tmp_path: Path, mock_url: MockUrl) -> None:
    result = bench(ragevalkit, mock_url(AGENT), "--agent", "--budgets", "16,64,1024")
    small, middle, large = result["budgets"]
    assert small["reasoning_tokens"] == [16] * 3
    assert middle["reasoning_tokens"] == [30 + 64] * 3
    assert middle["finish"] == ["budget_exhausted"] * 3
    assert large["reasoning_tokens"] == [330] * 3
    assert large["finish"] == ["reply"] * 3
    assert result["smallest_that_answers"] == 1024
    assert verdicts(result) == {
        "enable_thinking false": "ignored",
        "reasoning_effort none": "not_supported",
        "reasoning_effort low": "not_supported",
        "reasoning_effort medium": "not_supported",
        "reasoning_effort high": "not_supported",
        "reasoning_budget_tokens 16": "obeyed",
        "reasoning_budget_tokens 64": "obeyed",
    }
    line = (tmp_path / "reports" / "b" / "requests.jsonl").open().readline()
    assert json.loads(line)["turn"]["rounds"]


def test_the_baseline_does_not_reason(ragevalkit: Command) -> None:
    result = bench(ragevalkit, "baseline", "--budgets", "4,64")
    assert [rung["reasoning_tokens"] for rung in result["budgets"]] == [[0] * 3, [0] * 3]
    assert (result["smallest_that_answers"], result["smallest_that_ends"]) == (4, 64)
    assert result["controls"] == []
    assert "no reasoning was seen: there is no thinking to control" in result["notes"]


def test_tables_for_people(ragevalkit: Command, mock_url: MockUrl) -> None:
    url = mock_url(THINKS)
    done = ragevalkit("bench", "budget", "--endpoint", url, "--budgets", "64,1024", "--runs", "1")
    assert done.code == 0, done.stderr
    for words in (
        "Output budgets: requests without tools, 1 question",
        "never",
        "No answer at 64 tokens; the smallest budget at which every run answers is 1,024.",
        "Thinking controls, at an output budget of 1,024",
        "Results are in reports/budget-127.0.0.1-",
    ):
        assert words in done.stdout
    assert "8 steps" in done.stderr


def test_a_finished_bench_gives_its_result_without_asking(
    ragevalkit: Command, tmp_path: Path, mock_url: MockUrl
) -> None:
    url = mock_url(THINKS)
    first = bench(ragevalkit, url, "--budgets", "64,1024", "--no-controls")
    lines = (tmp_path / "reports" / "b" / "requests.jsonl").read_bytes()
    assert bench(ragevalkit, url, "--budgets", "64,1024", "--no-controls") == first
    assert (tmp_path / "reports" / "b" / "requests.jsonl").read_bytes() == lines
    done = ragevalkit("bench", "budget", "--endpoint", url, "--name", "b", "--budgets", "64,2048")
    done.complains(2, "budgets", "--name")


def test_a_bench_that_broke_off_is_continued(
    ragevalkit: Command, tmp_path: Path, mock_url: MockUrl
) -> None:
    url = mock_url(THINKS)
    whole = bench(ragevalkit, url, "--budgets", "64,1024", "--no-controls")
    path = tmp_path / "reports" / "b" / "requests.jsonl"
    kept = path.read_bytes().splitlines(keepends=True)[:2]
    path.write_bytes(b"".join(kept) + b'{"place": {"bud')
    (tmp_path / "reports" / "b" / "result.json").unlink()
    again = bench(ragevalkit, url, "--budgets", "64,1024", "--no-controls")
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[:2] == kept
    assert len(lines) == 6
    for rung, before in zip(again["budgets"], whole["budgets"], strict=True):
        assert rung["answer_tokens"] == before["answer_tokens"]


def dying(served: list[bytes]) -> Callable[[str, bytes], list[bytes]]:
    """Answers the first so many ladder requests, and nothing but 503 after them."""

    def answer(path: str, body: bytes) -> list[bytes]:
        if not path.endswith("/chat/completions"):
            return response(b'{"data": [{"id": "m"}]}')
        if b'"max_completion_tokens":77' in body or b'"max_tokens":77' in body:
            served.append(body)
            if len(served) > 2:
                return response(b"gone", status="503 Service Unavailable")
        return completion("Fine.")

    return answer


def test_a_server_that_dies_half_way_leaves_a_bench_to_be_continued(
    ragevalkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragevalkit.endpoint.client.Retries.wait_s", lambda *_: 0.0)
    served: list[bytes] = []
    with raw_server(dying(served)) as url:
        result = bench(ragevalkit, url, "--budgets", "77", "--runs", "4", "--no-controls", code=3)
        assert (result["budgets"][0]["runs"], result["lost"]) == (2, 2)
        assert result["smallest_that_answers"] is None
        assert any("503" in error for error in result["budgets"][0]["errors"])
        served.clear()
        served_twice = ["--budgets", "77", "--runs", "4", "--no-controls"]
        result = bench(ragevalkit, url, *served_twice)
        assert (result["budgets"][0]["runs"], result["lost"]) == (4, 0)
        assert len(served) == 2


def limited(path: str, body: bytes) -> list[bytes]:
    """Rejects budgets that don't fit a context of 8,192 tokens."""
    if not path.endswith("/chat/completions"):
        return response(b'{"data": [{"id": "m", "max_model_len": 8192}]}')
    request = json.loads(body)
    budget = request.get("max_completion_tokens") or request.get("max_tokens") or 0
    if budget >= 8192:
        message = f"max_completion_tokens is too large: {budget}"
        error = json.dumps({"error": {"message": message, "code": 400}})
        return response(error.encode(), status="400 Bad Request")
    return completion("Fine.")


def test_a_budget_beyond_the_context_is_said_and_no_crash(ragevalkit: Command) -> None:
    with raw_server(limited) as url:
        result = bench(ragevalkit, url, "--budgets", "64,12000")
    small, large = result["budgets"]
    assert small["finish"] == ["stop"] * 3
    assert large["finish"] == ["rejected"] * 3
    assert "max_completion_tokens is too large: 12000" in large["errors"][0]
    assert result["smallest_that_answers"] == 64
    assert "12,000 tokens are more than the context of 8,192 holds" in result["notes"]
    assert any(note.startswith("at 12,000: 3 of 3 rejected") for note in result["notes"])


def a_run_is_there(folder: Path) -> None:
    (folder / "reports" / "b").mkdir(parents=True)
    (folder / "reports" / "b" / "run.json").write_text("{}")


def budget_in_profile(folder: Path) -> None:
    (folder / "ragevalkit.toml").write_text(
        '[endpoints.mine]\nbase_url = "http://127.0.0.1:9/v1"\nextra_body = { max_tokens = 5 }\n'
    )


@pytest.mark.parametrize(
    ("arguments", "before", "words"),
    [
        (["--budgets", "64;256"], None, ["--budgets", "not '64;256'"]),
        (["--budgets", "0"], None, ["numbers from 1 to"]),
        (["--budgets", ""], None, ["--budgets"]),
        (["--budgets", "9999999999"], None, ["numbers from 1 to"]),
        (["--runs", "0"], None, ["--runs"]),
        (["--name", "../x"], None, ["run name '../x'"]),
        (["--bank", "nowhere"], None, ["nowhere"]),
        (["--endpoint", "http://127.0.0.1:9/v1"], None, ["127.0.0.1:9"]),
        (["--endpoint", "mine"], budget_in_profile, ["extra_body of mine sets max_tokens"]),
        (["some-run"], None, ["--from-runs"]),
        (["--from-runs"], None, ["--from-runs RUN"]),
        (["--from-runs", "no-such-run"], None, ["no-such-run"]),
        ([], a_run_is_there, ["holds a run", "--name"]),
    ],
)
def test_complaints(
    ragevalkit: Command,
    tmp_path: Path,
    arguments: list[str],
    before: Callable[[Path], None] | None,
    words: list[str],
) -> None:
    if before is not None:
        before(tmp_path)
    ragevalkit("bench", "budget", "--name", "b", *arguments).complains(2, *words)


def test_quality_against_budget_from_finished_runs(
    ragevalkit: Command, mock_url: MockUrl, tmp_path: Path
) -> None:
    url = mock_url(AGENT)
    options = ["--endpoint", url, "--limit", "4", "--no-probe", "--no-report"]
    for budget in ("1024", "64"):
        done = ragevalkit("run", *options, "--name", f"at-{budget}", "--budget", budget)
        assert done.code == 0, done.stderr
    done = ragevalkit("bench", "budget", "--from-runs", "at-1024", "at-64", "--json")
    assert done.code == 0, done.stderr
    curve = json.loads(done.stdout)
    assert [(p["budget"], p["run"], p["scored"]) for p in curve["points"]] == [
        (64, "at-64", 4),
        (1024, "at-1024", 4),
    ]
    small, large = curve["points"]
    assert (small["no_output"], small["budget_exhausted"]) == (4, 4)
    assert (large["no_output"], large["budget_exhausted"]) == (0, 0)
    assert small["correct"]["k"] == 0
    assert curve["notes"] == []
    done = ragevalkit("bench", "budget", "--from-runs", "at-1024", "at-64")
    assert "Quality against output budget: tarn" in done.stdout


def test_a_curve_is_over_one_bank_and_says_what_else_differs(
    ragevalkit: Command, tmp_path: Path
) -> None:
    bank = tmp_path / "own.jsonl"
    bank.write_text('{"id": "q", "question": "How?", "answerable": false, "corpus": "tarn"}\n')
    options = ["--no-report", "--no-probe"]
    for name, more in {
        "one": ["--bank", str(bank)],
        "two": ["--bank", str(bank), "--seed", "7"],
        "other": ["--limit", "1"],
    }.items():
        assert ragevalkit("run", *options, *more, "--name", name).code == 0
    done = ragevalkit("bench", "budget", "--from-runs", "one", "two")
    assert "Two differs from one in seed as well." in done.stdout
    ragevalkit("bench", "budget", "--from-runs", "one", "other").complains(2, "another bank")
    (tmp_path / "reports" / "two" / "scores.jsonl").write_text("")
    done = ragevalkit("bench", "budget", "--from-runs", "one", "two")
    done.complains(2, "has no score for 'q'", "ragevalkit score")

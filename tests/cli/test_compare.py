"""`ragevalkit compare` from end to end, over runs of the built-in endpoints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from command import Command, Done

import ragevalkit as package
from ragevalkit.compare import arm
from ragevalkit.errors import InputError
from ragevalkit.report.comparison import comparison_tables
from ragevalkit.scoring.metrics import METRICS

BROKEN = """
[[rules]]
name = "calls are left in the text"
round = 0
probability = 0.5
[rules.reply]
answer = '<tool_call>{"name": "search", "arguments": {"query": "mast"}}</tool_call>'
"""
BUSY = """
[[rules]]
question = "(?i)warranty|loud"
[rules.fault]
kind = "status"
status = 429
"""


N = 60
"""Questions of each run: the fewest at which no flip at all is within five points."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs a, same, other, broken and busy, made once; tests take copies."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NO_PROXY", "127.0.0.1")
        (folder / "broken.toml").write_text(BROKEN)
        (folder / "busy.toml").write_text(BUSY)
        for name, endpoint, repeats in (
            ("a", "baseline", 1),
            ("same", "baseline", 1),
            ("mock", "mock", 1),
            ("twice", "mock", 2),
            ("broken", "mock:broken.toml", 1),
            ("busy", "mock:busy.toml", 1),
        ):
            package.run(
                "tarn", endpoint, name=name, repeats=repeats, retries=0, report=False, limit=N
            )
    return folder / "reports"


@pytest.fixture
def compare(ragevalkit: Command, runs: Path) -> Any:
    """The command, in a folder with all of the runs."""
    shutil.copytree(runs, ragevalkit.folder / "reports")

    def call(*arguments: str) -> Done:
        return ragevalkit("compare", *arguments)

    return call


def edit(path: Path, change: Any) -> None:
    """Change a JSON file, or each line of a JSONL file; a line that becomes None is dropped."""
    if path.suffix == ".json":
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
        return
    lines = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))


def test_two_runs_of_one_endpoint(compare: Any) -> None:
    done = compare("a", "same")
    assert done.code == 0, done.stderr
    for words in (f"{N} pairs of {N} questions", "answered", "no_worse", "built-in gate: passed"):
        assert words in done.stdout
    assert "flipped questions" not in done.stdout


def test_a_worse_run_fails_the_built_in_gate(compare: Any) -> None:
    done = compare("mock", "broken")
    assert done.code == 10
    assert "built-in gate: regression: answered" in done.stdout
    assert "flipped questions, worst regressions first" in done.stdout
    assert "call:in_content" in done.stdout
    assert compare("mock", "broken", "--no-gate").code == 0


def test_the_json_is_as_documented(compare: Any) -> None:
    done = compare("a", "mock", "--json")
    assert done.code == 10
    found = json.loads(done.stdout)
    assert found["comparable"] is True
    assert {"endpoint.name", "endpoint.model"} <= set(found["factors"])
    assert found["factors"]["endpoint.name"] == {"a": "baseline", "b": "mock"}
    assert found["pairs"] == found["questions"] == N
    assert list(found["metrics"]) == list(METRICS)
    for metric in found["metrics"].values():
        assert {"a", "b", "difference", "low", "high", "p", "flips"} <= set(metric)
        assert {"verdict", "margin", "detectable"} <= set(metric)
        assert set(metric["a"]) == set(metric["b"]) == {"k", "n", "value"}
        assert set(metric["flips"]) == {"a_only", "b_only"}
        assert metric["verdict"] in ("better", "no_worse", "worse", "inconclusive", None)
    summary = json.loads(Path("reports/a/summary.json").read_text())
    answered = summary["metrics"]["refused_correctly"]
    assert found["metrics"]["refused_correctly"]["a"] == {
        name: answered[name] for name in ("k", "n", "value")
    }
    assert found["gate"]["verdict"] == "regression"
    assert done.stderr == ""


def test_terminal_markdown_and_json_agree(compare: Any) -> None:
    found = json.loads(compare("a", "mock", "--json").stdout)["metrics"]["evidence_retrieved"]
    told = compare("a", "mock", "--markdown", "out.md").stdout
    points = f"{100 * abs(found['difference']):.1f}"
    row = next(line for line in told.splitlines() if line.startswith("evidence_retrieved"))
    cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
    assert cells[:4] == [
        "evidence_retrieved",
        f"{found['a']['k']}/{found['a']['n']}",
        f"{found['b']['k']}/{found['b']['n']}",
        f"−{points}",
    ]
    markdown = Path("out.md").read_text()
    line = next(line for line in markdown.splitlines() if line.startswith("| evidence_retrieved"))
    assert [cell.strip() for cell in line.strip("|").split("|")][: len(cells)] == cells


def test_clocks_are_those_of_the_summary(compare: Any) -> None:
    found = json.loads(compare("a", "mock", "--json").stdout)["timing"]
    for side, name in (("a", "a"), ("b", "mock")):
        timing = json.loads(Path(f"reports/{name}/summary.json").read_text())["timing"]
        for clock in ("ttft_ms", "first_answer_ms", "turn_s", "tpot_ms"):
            expected = {part: timing[clock][part] for part in ("p50", "n", "censored")}
            if expected["n"] == N:
                assert found["clocks"][clock][side] == pytest.approx(expected), clock
        spent = {part: of[side] for part, of in found["composition"].items()}
        whole = sum(spent.values())
        shares = {part: spent[part] / whole for part in timing["composition"]}
        assert shares == pytest.approx(timing["composition"])


def test_large_runs_are_read_in_processes_of_their_own(
    compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = compare("a", "mock", "--json").stdout
    monkeypatch.setattr(arm, "_LARGE", 0)
    monkeypatch.setattr("ragevalkit.cli.waiting.LONG_WAIT", 0)
    done = compare("a", "mock", "--json")
    assert done.stdout == expected
    assert done.stderr == "reading the runs, 1 MB of turns\n"
    Path("reports/mock/scores.jsonl").write_text("{}\n")
    compare("a", "mock").complains(2, "scores.jsonl, line 1 is damaged")


def test_tables_fit_a_narrow_terminal(compare: Any) -> None:
    for b in ("mock", "broken"):
        result = package.compare("mock" if b == "broken" else "a", b)
        for table in comparison_tables(result, narrow=True):
            if table.title in ("What differs", "Gate", "Timing", "Where a turn's time went"):
                continue  # words, which are wrapped, and times, which are other ones each time
            columns = zip(table.columns, *table.rows, strict=True)
            width = sum(max(map(len, column)) + 3 for column in columns) - 3
            assert width <= 80, table.title


def test_repeats_are_compared_by_question(compare: Any) -> None:
    found = json.loads(compare("twice", "twice", "--json").stdout)
    assert (found["pairs"], found["questions"], found["repeated"]) == (2 * N, N, True)
    assert found["metrics"]["answered"]["method"] == "cluster_bootstrap"
    found = json.loads(compare("mock", "twice", "--json").stdout)
    assert found["unpaired"] == {"only_b": N}
    assert found["confounders"]["repeats"] == {"a": 1, "b": 2}


def test_the_same_twice_gives_the_same(compare: Any) -> None:
    assert compare("twice", "a", "--json").stdout == compare("twice", "a", "--json").stdout


@pytest.mark.parametrize(
    ("field", "group", "value", "allow"),
    [
        ("agent.prompt", "agent", "another", "prompt"),
        ("corpora.tarn", "corpora", "another", "corpus"),
        ("agent.tools", "agent", "another", "agent.tools"),
        ("agent.budget", "agent", 99, "budget"),
    ],
)
def test_runs_that_are_not_comparable(
    compare: Any, field: str, group: str, value: object, allow: str
) -> None:
    def change(manifest: dict[str, Any]) -> dict[str, Any]:
        manifest["settings"][group][field.partition(".")[2]] = value
        return manifest

    edit(Path("reports/same/run.json"), change)
    done = compare("a", "same")
    assert done.code == 12
    assert f"NOT COMPARABLE: {field}" in done.stdout
    found = json.loads(compare("a", "same", "--json").stdout)
    assert (found["comparable"], found["metrics"]) == (False, {})
    assert list(found["not_comparable"]) == [field]
    assert found["gate"]["verdict"] == "not_comparable"
    allowed = compare("a", "same", "--allow", allow)
    assert allowed.code == 0
    assert f"compared although these differ, as --allow says: {field}" in allowed.stdout
    assert compare("a", "same", "--no-gate").code == 0


def test_runs_of_different_banks(compare: Any, ragevalkit: Command) -> None:
    bank = Path("other.jsonl")
    lines = [
        json.dumps({"id": f"q{n}", "question": f"Who is {n}?", "answerable": False}) for n in (1, 2)
    ]
    bank.write_text("\n".join(lines) + "\n")
    run = ("run", "--bank", "other.jsonl", "--corpus", "tarn", "--endpoint", "mock", "--name", "o")
    assert ragevalkit(*run, "--no-report").code == 0
    done = compare("mock", "o")
    assert done.code == 12
    assert "bank" in done.stdout.split("NOT COMPARABLE: ")[1].split(" differ")[0]
    compare("mock", "o", *("--allow", "bank", "--allow", "corpus")).complains(
        2, "no scored turn in common"
    )


def test_an_edited_line_drops_its_pair(compare: Any) -> None:
    for name in ("turns", "scores"):
        path = Path(f"reports/same/{name}.jsonl")
        edit(
            path,
            lambda line: (
                line | ({"question_hash": "0" * 16} if line["question_id"] == "tarn-003" else {})
            ),
        )
    found = json.loads(compare("a", "same", "--json").stdout)
    assert (found["pairs"], found["unpaired"]) == (N - 1, {"edited": 1})


def test_a_question_that_the_bank_holds_twice_is_paired_by_its_id(compare: Any) -> None:
    first = json.loads(Path("reports/a/scores.jsonl").read_text().splitlines()[0])
    twin = {"question_hash": first["question_hash"]}
    for run in ("a", "same"):
        path = Path(f"reports/{run}/scores.jsonl")
        edit(path, lambda line: line | (twin if line["question_id"] == "tarn-003" else {}))
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    found = json.loads(compare("a", "same", "--json").stdout)
    assert (found["pairs"], found["unpaired"], found["questions"]) == (N, {}, N - 1)
    assert found["flipped"]["questions"] == 0, "none was paired with its twin"


def half(folder: Path) -> None:
    """A run as an interruption leaves it."""
    kept = {
        json.loads(line)["question_id"]
        for line in (folder / "turns.jsonl").read_text().splitlines()[:50]
    }
    for name in ("turns", "scores"):
        edit(folder / f"{name}.jsonl", lambda line: line if line["question_id"] in kept else None)


def test_a_half_finished_run(compare: Any) -> None:
    half(Path("reports/same"))
    done = compare("a", "same")
    assert done.code == 11
    head = done.stdout.partition("Metrics")[0]
    assert f"b is half finished: 50 of {N} turns" in head
    assert "50 pairs" in head
    Path("reports/same/summary.json").unlink()
    assert compare("a", "same").code == 11, "a run that was killed has no summary"
    half(Path("reports/broken"))
    assert compare("mock", "broken").code == 10, "a regression goes before"


def test_infrastructure_errors(compare: Any) -> None:
    done = compare("mock", "busy", "--json")
    found = json.loads(done.stdout)
    lost = found["b"]["infra_errors"]
    assert lost > 0
    assert found["unpaired"] == {"infra_error_b": lost}
    assert found["pairs"] == N - lost
    assert any("may not be a fair sample" in note for note in found["notes"])
    assert done.code == 3
    Path("gate.toml").write_text("limits.infra_errors.most = 0.5")
    assert compare("mock", "busy", "--gate", "gate.toml").code == 0, "so many were declared"
    Path("gate.toml").write_text("limits.infra_errors.most = 0.001")
    assert compare("mock", "busy", "--gate", "gate.toml").code == 10
    assert compare("mock", "busy", "--no-gate").code == 0


def test_a_gate_file(compare: Any) -> None:
    gate = Path("gate.toml")
    gate.write_text(
        "default.tier = 'advisory'\n[metrics.answered]\ntier = 'blocking'\nrequire = 'no_worse'\n"
        "margin = 0.001\n"
    )
    done = compare("a", "same", "--gate", "gate.toml", "--junit", "gate.xml")
    assert done.code == 11
    assert "no_worse by 0.001" in done.stdout
    assert "more questions would decide" in done.stdout
    assert "gate gate.toml (sha256 " in done.stdout
    suite = Xml.parse("gate.xml").getroot().find("testsuite")
    assert suite is not None
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    failed = [name for name, case in cases.items() if case.find("failure") is not None]
    assert failed == ["answered"]
    assert suite.get("tests") == str(len(cases))
    assert suite.get("failures") == "1"
    found = json.loads(compare("a", "same", "--gate", "gate.toml", "--json").stdout)
    assert found["metrics"]["answered"]["margin"] == 0.001
    assert len(found["gate"]["hash"]) == 64
    gate.write_text("metrics.answerd.margin = 0.1")
    compare("a", "same", "--gate", "gate.toml").complains(2, "answerd", "'answered'")
    compare("a", "same", "--gate", "gate.toml", "--no-gate").complains(2, "exclude each other")


def test_a_noise_floor(compare: Any) -> None:
    done = compare("a", "mock", "--floor", "same", "--json")
    found = json.loads(done.stdout)
    assert found["floor"]["run"] == "same"
    assert found["floor"]["pairs"] == N
    floor = found["metrics"]["answered"]["floor"]
    assert floor["difference"] == 0
    assert floor["inside"] is True
    assert found["metrics"]["refused_correctly"]["floor"]["inside"] is False
    told = compare("a", "mock", "--floor", "same").stdout
    assert "Noise floor" in told
    assert "inside the noise floor" in told


def test_a_floor_of_another_endpoint_is_said(compare: Any) -> None:
    done = compare("a", "same", "--floor", "mock")
    assert "the floor's run differs from a in endpoint.name" in done.stdout


def test_times_at_unequal_concurrency(compare: Any) -> None:
    edit(Path("reports/same/run.json"), lambda manifest: manifest | {"concurrency": 8})
    done = compare("a", "same", "--json")
    found = json.loads(done.stdout)
    assert done.code == 0
    assert found["confounders"]["concurrency"] == {"a": 1, "b": 8}
    assert found["timing"]["compared"] is False
    assert found["timing"]["clocks"]["turn_s"]["difference"] is None
    assert "times are not compared" in " ".join(found["notes"])


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("run.json", None, ["no run 'same'"]),
        ("run.json", "{", ["run.json is damaged"]),
        ("run.json", "{}", ["run.json is no manifest"]),
        ("turns.jsonl", None, ["turns.jsonl is missing"]),
        ("turns.jsonl", "{}\n", ["turns.jsonl, line 1 is damaged"]),
        ("turns.jsonl", "[]\n", ["turns.jsonl, line 1 is damaged"]),
        ("turns.jsonl", "", ["of which", "turns.jsonl has no turn", "ragevalkit score"]),
        ("scores.jsonl", None, ["scores.jsonl is missing", "ragevalkit score"]),
        ("scores.jsonl", "{}\n", ["scores.jsonl, line 1 is damaged", "ragevalkit score"]),
        ("scores.jsonl", "\x00", ["scores.jsonl, line 1 is damaged"]),
        ("scores.jsonl", "", ["holds no scores"]),
        ("scores.jsonl", '{"scorer": 1}\n', ["version 1 of the scorers", "ragevalkit score"]),
        ("scores.jsonl", '{"scorer": 99}\n', ["version 99 of the scorers"]),
    ],
)
def test_a_folder_that_is_damaged(
    compare: Any, file: str, content: str | None, words: list[str]
) -> None:
    path = Path("reports/same") / file
    path.unlink()
    if content is not None:
        path.write_text(content)
    for sides in (("a", "same"), ("same", "a")):
        done = compare(*sides)
        done.complains(2, *words)
        assert done.stdout == ""


def test_scores_that_are_behind_the_turns(compare: Any) -> None:
    path = Path("reports/same/scores.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    compare("a", "same").complains(2, "has no score for the turn", "ragevalkit score")


def test_a_last_line_that_a_crash_cut_off_is_left_out(compare: Any) -> None:
    with Path("reports/same/turns.jsonl").open("a") as turns:
        turns.write('{"question_id": "tarn-')
    assert compare("a", "same").code == 0


def test_runs_that_are_not_there(compare: Any) -> None:
    compare("a", "nobody").complains(2, "there is no run 'nobody'")
    compare("a", "same", "--floor", "nobody").complains(2, "there is no run 'nobody'")
    compare("a", "same", "--allow", "promt").complains(2, "--allow promt", "prompt")


def test_labels_that_were_corrected_on_one_side_drop_pairs(
    compare: Any, ragevalkit: Command
) -> None:
    turns = Path("reports/a/turns.jsonl").read_text().splitlines()
    bank = [json.loads(line)["bank_line"] for line in turns]
    bank[0]["answers"] = ["something else"]
    Path("fixed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in bank))
    assert ragevalkit("score", "same", "--bank", "fixed.jsonl").code == 0
    found = json.loads(compare("a", "same", "--json").stdout)
    assert found["unpaired"] == {"edited": 1}
    assert any(field.startswith("scored_with") for field in found["confounders"])


def test_how_many_flipped_questions_are_shown(compare: Any) -> None:
    for flips in ("0", "3"):
        done = compare("a", "mock", "--flips", flips, "--json")
        flipped = json.loads(done.stdout)["flipped"]
        assert len(flipped["shown"]) == int(flips)
        assert flipped["questions"] > 3
    losses = [question["loss"] for question in flipped["shown"]]
    assert losses == sorted(losses, reverse=True)
    first = flipped["shown"][0]
    assert first["a"]["outcome"]
    assert first["metrics"]


def test_from_python(compare: Any) -> None:
    result = package.compare("a", "broken", allow=["bank"])
    assert result.exit_code == 10
    assert result.metrics["answered"].verdict == "worse"
    import ragevalkit.compare.gate  # its import must not hide the function

    assert package.compare("a", "same", no_gate=True).exit_code == 0
    with pytest.raises(InputError, match="flips"):
        package.compare("a", "same", flips=-1)
    assert ragevalkit.compare is package.compare

"""The composite action: its steps, run in order against built-in endpoints, and its text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from ci.composite import ACTION, EXPRESSION, ROOT, STEPS, Job, use

import ragevalkit as package

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/quantisation-ab.yml").read_text("utf-8"))
DOCS = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BROKEN = "model = 'broken'\n[[rules]]\nround = 0\n[rules.reply]\nanswer = '<tool_call>{}'\n"
FEW = "--limit=20\n--no-probe\n--no-report"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the mock, and a scenario that breaks it."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NO_PROXY", "127.0.0.1")
        package.run("tarn", "mock", name="main", limit=20, probe=False, report=False)
    (folder / "broken.toml").write_text(BROKEN)
    (folder / "gate.toml").write_text("[metrics.answered]\nmargin = 0.3\nrequire = 'no_worse'\n")
    return folder


@pytest.fixture
def work(measured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured, tmp_path / "work"))


def names(job: Job) -> list[str]:
    return [path.name for path in job.kept]


def test_a_run_as_good_as_its_baseline_passes(work: Path, tmp_path: Path) -> None:
    job = use(
        work,
        tmp_path / "runner",
        bank="tarn",
        endpoint="mock",
        baseline="reports/main",
        gate="gate.toml",
        arguments=FEW,
    )
    assert job.code == 0, job.log
    assert job.outputs["exit-code"] == "0"
    assert job.summary.splitlines()[0].endswith("passed")
    assert names(job) == ["ab-17-1", "baseline-vs-ab-17-1"]
    folder = work / job.outputs["comparison"]
    assert json.loads((folder / "comparison.json").read_bytes())["gate"]["verdict"] == "passed"
    assert (folder / "junit.xml").is_file()
    assert job.installed.split()[-1] == str(ROOT)
    assert str(ROOT / "locks/run.txt") in job.installed


def test_a_worse_run_keeps_its_exit_code_its_summary_and_its_files(
    work: Path, tmp_path: Path
) -> None:
    job = use(
        work,
        tmp_path / "runner",
        bank="tarn",
        endpoint="mock:broken.toml",
        baseline="reports/main",
        name="tried",
        arguments=FEW,
    )
    assert job.code == 10, job.log
    assert "regression" in job.summary.splitlines()[0]
    assert names(job) == ["baseline-vs-tried", "tried"]


def test_both_arms_in_one_job(work: Path, tmp_path: Path) -> None:
    job = use(
        work,
        tmp_path / "runner",
        bank="tarn",
        endpoint="mock:broken.toml",
        against="mock",
        name="both",
        arguments=FEW,
    )
    assert job.code == 10, job.log
    assert "regression" in job.summary.splitlines()[0]
    runs = ["both-mock", "both-mock-broken.toml"]
    assert names(job) == sorted([*runs, "-vs-".join(runs)])
    assert job.outputs["comparison"] == "reports/both-mock-vs-both-mock-broken.toml"


def test_a_run_alone_makes_a_baseline(work: Path, tmp_path: Path) -> None:
    job = use(
        work, tmp_path / "runner", bank="tarn", endpoint="mock", arguments=f"{FEW}\n--limit=2"
    )
    assert job.code == 0, job.log
    assert names(job) == ["ab-17-1"]
    assert "nothing was compared" in job.summary


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"endpoint": "$(touch oops)"}, "touch oops"),
        ({"endpoint": "mock", "bank": "'; touch oops; '"}, "touch oops"),
        ({"endpoint": "mock", "arguments": "--limit=1; touch oops"}, "valid integer"),
        ({"endpoint": "mock", "name": "a/../b"}, "a name is made of"),
        ({"endpoint": "mock", "name": "a\nexit-code=0"}, "a name is made of"),
        ({"endpoint": "mock", "baseline": "x", "against": "y"}, "exclude each other"),
        ({"endpoint": "mock", "name": "main", "baseline": "reports/main"}, "is the run itself"),
        ({"endpoint": "mock", "gate": "gate.toml"}, "something to compare with"),
    ],
)
def test_bad_inputs_end_with_2_and_run_nothing(
    work: Path, tmp_path: Path, inputs: dict[str, str], words: str
) -> None:
    job = use(work, tmp_path / "runner", **{"bank": "tarn", **inputs})
    assert job.code == 2, job.log
    assert words in job.log
    assert not job.kept
    assert not (work / "oops").exists()


def test_inputs_reach_the_shell_by_the_environment_alone() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", ""), step["name"]


def test_every_expression_names_something_that_exists() -> None:
    outputs = set(re.findall(r'echo "([\w-]+)=[^\n]*>> "\$GITHUB_OUTPUT"', _run("run")))
    known = {f"inputs.{name}" for name in ACTION["inputs"]} | {"github.action_path"}
    known |= {f"steps.run.outputs.{name}" for name in outputs}
    text = json.dumps(ACTION)
    assert text.count("${{") == len(EXPRESSION.findall(text))
    named = set(EXPRESSION.findall(text)) | {
        term.split()[0]
        for step in STEPS
        for term in str(step.get("if", "always()")).split(" && ")
        if term != "always()"
    }
    assert named <= known
    assert {name for name in known if name.startswith("inputs.")} <= named


def test_every_variable_of_a_step_is_used_in_it() -> None:
    for step in STEPS:
        for variable in step.get("env", {}):
            assert re.search(rf"\${{?{variable}\b", step["run"]), variable


@pytest.mark.parametrize("step", [s for s in STEPS if "run" in s], ids=lambda s: str(s["name"]))
def test_every_script_is_bash(step: dict[str, str]) -> None:
    done = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_workflow_calls_the_action_as_it_is() -> None:
    (job,) = WORKFLOW["jobs"].values()
    (called,) = (step for step in job["steps"] if step["uses"] == "./")
    assert set(called["with"]) <= set(ACTION["inputs"])
    needed = {name for name, of in ACTION["inputs"].items() if of.get("required")}
    assert needed <= set(called["with"])
    # YAML reads the key `on` as true
    asked = WORKFLOW[True]["workflow_dispatch"]["inputs"]
    assert set(re.findall(r"inputs\.([\w-]+)", json.dumps(called))) == set(asked)
    assert "self-hosted" in job["runs-on"]
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_every_input_is_documented() -> None:
    documented = set(re.findall(r"^\| `([\w-]+)` \|", DOCS, re.M))
    assert set(ACTION["inputs"]) <= documented


def _run(step: str) -> str:
    return str(next(s["run"] for s in STEPS if s.get("id") == step))

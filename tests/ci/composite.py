"""Runs the shell steps of the composite action as a runner does, as far as this one needs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
"""The only form that the action uses: a name."""

_PYTHON = """#!/bin/sh
# python3 -m venv --clear FOLDER, with the ragevalkit under test in it
mkdir -p "$4/bin"
printf '#!/bin/sh\\necho "$@" >> "$RUNNER_TEMP/pip.txt"\\n' > "$4/bin/pip"
printf '#!/bin/sh\\nexec "%s" -m ragevalkit "$@"\\n' "$TESTED" > "$4/bin/ragevalkit"
chmod +x "$4/bin/pip" "$4/bin/ragevalkit"
"""


@dataclass
class Job:
    """What a use of the action came to."""

    code: int = 0
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    """Of the step `run`."""
    summary: str = ""
    kept: list[Path] = field(default_factory=list)
    """What the artifact holds."""
    installed: str = ""
    """What pip was asked for."""


def use(folder: Path, temporary: Path, **inputs: str) -> Job:
    """Run the action's steps in order, in a working folder; `_` in a name stands for `-`.

    Python isn't set up and nothing is installed: the ragevalkit under test is what `python3` makes.
    """
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert set(given) <= set(ACTION["inputs"])
    known = {f"inputs.{name}": of.get("default", "") for name, of in ACTION["inputs"].items()}
    known |= {f"inputs.{name}": value for name, value in given.items()}
    known["github.action_path"] = str(ROOT)
    environment = _environment(temporary)
    job = Job()
    for step in STEPS:
        if not _wanted(step, job, known):
            continue
        if step.get("uses", "").startswith("actions/upload-artifact@"):
            patterns = _filled(step["with"]["path"], known).split()
            job.kept = sorted({path for pattern in patterns for path in folder.glob(pattern)})
        if "run" not in step:
            continue
        _shell(step, folder, environment, known, job)
        for name, value in _pairs(temporary / "output").items():
            job.outputs[name] = known[f"steps.run.outputs.{name}"] = value
        added = (temporary / "path").read_text().split()
        environment["PATH"] = os.pathsep.join([*added, environment["PATH"]])
    job.summary = (temporary / "summary").read_text()
    job.installed = (temporary / "pip.txt").read_text()
    return job


def _environment(temporary: Path) -> dict[str, str]:
    programs = temporary / "programs"
    programs.mkdir(parents=True)
    (programs / "python3").write_text(_PYTHON)
    (programs / "python3").chmod(0o755)
    files = {"GITHUB_OUTPUT": "output", "GITHUB_PATH": "path", "GITHUB_STEP_SUMMARY": "summary"}
    for name in files.values():
        (temporary / name).touch()
    return {
        **os.environ,
        **{variable: str(temporary / name) for variable, name in files.items()},
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "TESTED": sys.executable,
        "RUNNER_TEMP": str(temporary),
        "GITHUB_JOB": "ab",
        "GITHUB_RUN_ID": "17",
        "GITHUB_RUN_ATTEMPT": "1",
    }


def _shell(
    step: dict[str, Any],
    folder: Path,
    environment: dict[str, str],
    known: dict[str, str],
    job: Job,
) -> None:
    assert step["shell"] == "bash"
    own = {name: _filled(value, known) for name, value in step.get("env", {}).items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=environment | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    job.log += done.stdout
    job.code = job.code or done.returncode


def _wanted(step: dict[str, Any], job: Job, known: dict[str, str]) -> bool:
    """Whether a runner would take this step."""
    terms = str(step["if"]).split(" && ") if "if" in step else []
    if job.code and "always()" not in terms:
        return False
    for term in terms:
        if term != "always()":
            name, is_not, nothing = term.partition(" != ")
            assert (is_not, nothing) == (" != ", "''")
            if not known.get(name):
                return False
    return True


def _filled(text: str, known: dict[str, str]) -> str:
    return EXPRESSION.sub(lambda found: known.get(found[1], ""), text)


def _pairs(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())

"""Both engines, each started once, and one short run against each.

Nothing here is skipped: an engine that isn't installed or doesn't start fails the tests.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.asked import BUDGET, QUESTIONS, ROUNDS, Asked, Engine

import ragevalkit
from ragevalkit.endpoint.profile import find_profile
from ragevalkit.endpoint.serving import serving
from ragevalkit.runs.folder import RunFolder
from ragevalkit.standin import start

ROOT = Path(__file__).parents[2]
_START_S = 300.0


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder with a bank of twelve questions, the same ones each time."""
    folder = tmp_path_factory.mktemp("engines")
    lines = (ROOT / "question_banks" / "tarn.jsonl").read_text(encoding="utf-8").splitlines()
    chosen = random.Random(5).sample(lines, QUESTIONS)
    (folder / "dozen.jsonl").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("RAGEVALKIT_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="session", params=["llama.cpp", "vLLM"])
def engine(request: pytest.FixtureRequest, desk: Path) -> Iterator[Engine]:
    if request.param == "llama.cpp":
        with start("local", timeout_s=_START_S) as local:
            yield Engine("llama.cpp", local.base_url)
        return
    with contextlib.chdir(ROOT):
        profile = find_profile("vllm-cpu")
    with serving(profile, log=desk / "vllm.log", timeout_s=_START_S) as served:
        yield Engine("vLLM", served.base_url)


@pytest.fixture(scope="session")
def asked(engine: Engine, desk: Path) -> Asked:
    name = engine.name.replace(".", "-").lower()
    result = ragevalkit.run(
        desk / "dozen.jsonl", engine.base_url, name=name, budget=BUDGET, rounds=ROUNDS
    )
    folder = RunFolder(desk / "reports" / name)
    manifest = json.loads((folder.path / "run.json").read_bytes())
    return Asked(engine, result.summary, manifest, list(folder.read_turns()))

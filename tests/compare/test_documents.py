"""docs/comparing.md and docs/files.md say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel

from ragevalkit.compare import result
from ragevalkit.compare.gate import LIMITS, load_gate
from ragevalkit.compare.pairing import UNPAIRED
from ragevalkit.compare.verdict import DEFAULT_MARGINS
from ragevalkit.scoring.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs"
COMPARING = (DOCS / "comparing.md").read_text(encoding="utf-8")
FILES = (DOCS / "files.md").read_text(encoding="utf-8")


def test_every_field_of_the_json_is_documented() -> None:
    section = FILES.partition("## A comparison")[2].partition("\n## ")[0]
    models = [m for m in vars(result).values() if isinstance(m, type) and issubclass(m, BaseModel)]
    assert result.Comparison in models
    for name in {field for model in models for field in model.model_fields} | set(UNPAIRED):
        assert re.search(rf"\b{name}\b", section), name


def test_the_example_of_a_gate_is_one(tmp_path: Path) -> None:
    example = tmp_path / "gate.toml"
    found = re.search(r"```toml\n(.*?)```", COMPARING, re.S)
    assert found is not None
    example.write_text(found[1])
    gate = load_gate(example)
    assert gate.margins["refused_correctly"] == 0.1
    assert set(gate.limits) == {"infra_errors", "first_answer_ms", "completion_tokens"}


def test_limits_and_metrics_without_a_verdict_are_named() -> None:
    for name in [*LIMITS, *(name for name in METRICS if name not in DEFAULT_MARGINS)]:
        assert f"`{name}`" in COMPARING, name

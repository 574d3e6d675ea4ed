"""A deployment that answers every request and is broken fails the built-in gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Command

import ragevalkit as package

BROKEN = Path(__file__).with_name("broken.toml")


@pytest.fixture
def compared(ragevalkit: Command) -> Any:
    """Exit code and JSON of the comparison, over the whole of tarn."""
    package.run("tarn", "mock", name="good", report=False)
    package.run("tarn", f"mock:{BROKEN}", name="broken", report=False)
    done = ragevalkit("compare", "good", "broken", "--json")
    return done.code, json.loads(done.stdout)


def test_the_gate_fails_and_names_what_broke(compared: Any) -> None:
    code, found = compared
    assert code == 10
    assert found["pairs"] == 116
    assert found["gate"]["verdict"] == "regression"
    failed = {line["name"] for line in found["gate"]["lines"] if line["status"] == "failed"}
    assert {"answered", "malformed_calls", "cited_correct_page"} <= failed
    assert found["metrics"]["malformed_calls"]["verdict"] == "worse"
    defects = {name: of["b"]["k"] for name, of in found["defects"].items() if not of["a"]["k"]}
    assert defects["call:in_content"] == found["metrics"]["malformed_calls"]["b"]["k"]
    assert defects["answer:leaked_markup"] > 50
    assert defects["citation:never_retrieved"] > 50

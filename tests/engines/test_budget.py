"""A ladder of budgets on real engines, up to beyond the context; and what a run's turns cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from engines.asked import Asked, Engine

from ragevalkit.bank import load_bank
from ragevalkit.bench.budget.ladder import Setup, measure
from ragevalkit.bench.budget.plan import Ladder
from ragevalkit.bench.folder import BenchFolder
from ragevalkit.bench.scored import scored_turns
from ragevalkit.cli.steps import Steps
from ragevalkit.endpoint.profile import find_profile
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.loop import run_to_end
from ragevalkit.scoring.costs import costs_of

pytestmark = pytest.mark.engines

BEYOND = 12_000
"""More than the 8,192 tokens of either engine's context."""


def test_a_ladder_that_ends_beyond_the_context(engine: Engine, desk: Path) -> None:
    bank = load_bank(desk / "dozen.jsonl")
    ladder = Ladder((4, 32, BEYOND), 2, tuple(bank.questions[:2]), seed=0)
    folder = BenchFolder(desk / "reports" / f"budget-{engine.name}")
    setup = Setup(folder, find_profile(engine.base_url), bank, ladder, {}, turn_s=20)
    result = run_to_end(measure(setup, Steps()))
    small, middle, beyond = result.budgets
    assert small.answer_tokens == [4, 4]
    assert small.finish == ["length", "length"]
    assert all(0 < tokens <= 32 for tokens in middle.answer_tokens if tokens is not None)
    assert result.smallest_that_answers == 4
    assert result.controls == []
    assert any("more than the context of 8,192" in note for note in result.notes)
    # llama.cpp takes such a budget, vLLM rejects it in its own words
    if engine.name == "vLLM":
        assert beyond.finish == ["overflow", "overflow"]
        assert "max_model_len" in beyond.errors[0]
    else:
        assert set(beyond.finish) <= {"stop", "length", "deadline"}


def test_the_median_turn_is_split_by_the_engines_own_figures(asked: Asked, desk: Path) -> None:
    folder = RunFolder(desk / "reports" / asked.summary.run)
    turn = costs_of(folder.name, scored_turns(folder)).median_turn
    assert turn is not None
    assert turn.parts_ms["prefill"] > 0
    assert sum(turn.parts_ms.values()) == pytest.approx(1000 * turn.wall_s, abs=1)

"""What lets a build pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from compare.arms import arm, table

from ragevalkit.compare.arm import Arm
from ragevalkit.compare.gate import Gate, built_in_gate, decide, load_gate
from ragevalkit.compare.pairing import pair
from ragevalkit.compare.result import GateResult
from ragevalkit.compare.timing import compare_timing, compare_tokens
from ragevalkit.compare.verdict import compare_metrics
from ragevalkit.errors import InputError


def gate(folder: Path, text: str) -> Gate:
    path = folder / "gate.toml"
    path.write_text(text)
    return load_gate(path)


def held(rules: Gate, a: Arm, b: Arm, why_not: str | None = None) -> GateResult:
    pairs = pair(a, b)
    metrics = compare_metrics(pairs, rules.margins)
    timing, tokens = compare_timing(pairs, why_not), compare_tokens(pairs)
    return decide(rules, True, {"a": a, "b": b}, metrics, timing, tokens)


def sides(both: int, a_only: int, b_only: int, n: int = 116) -> tuple[Arm, Arm]:
    a, b = table(n, both, a_only, b_only)
    return arm({"answered": list(a)}), arm({"answered": list(b)})


SAME, LOST, GAINED, UNCLEAR = (
    sides(110, 0, 0),
    sides(70, 40, 0),
    sides(70, 0, 40),
    sides(70, 22, 15),
)
NO_WORSE = "[metrics.answered]\nrequire = 'no_worse'\n"


@pytest.mark.parametrize(
    ("rules", "runs", "verdict"),
    [
        ("", SAME, "passed"),
        ("", GAINED, "passed"),
        ("", UNCLEAR, "passed"),
        ("", LOST, "regression"),
        ("default.tier = 'advisory'", LOST, "passed"),
        ("metrics.answered.tier = 'advisory'", LOST, "passed"),
        ("default.tier = 'advisory'\nmetrics.answered.tier = 'blocking'", LOST, "regression"),
        (NO_WORSE, SAME, "passed"),
        (NO_WORSE, GAINED, "passed"),
        (NO_WORSE, UNCLEAR, "inconclusive"),
        (NO_WORSE, LOST, "regression"),
        (NO_WORSE + "margin = 0.4", UNCLEAR, "passed"),
        (NO_WORSE + "margin = 0.01", SAME, "inconclusive"),
        (NO_WORSE + "tier = 'advisory'", UNCLEAR, "passed"),
        ("metrics.refused_correctly.require = 'no_worse'", SAME, "inconclusive"),
    ],
)
def test_rules_for_metrics(tmp_path: Path, rules: str, runs: tuple[Arm, Arm], verdict: str) -> None:
    assert held(gate(tmp_path, rules), *runs).verdict == verdict


def test_the_built_in_gate_blocks_on_worse_alone() -> None:
    assert held(built_in_gate(), *UNCLEAR).verdict == "passed"
    assert held(built_in_gate(), *LOST).verdict == "regression"


def test_inconclusive_says_how_many_more_questions(tmp_path: Path) -> None:
    result = held(gate(tmp_path, NO_WORSE), *UNCLEAR)
    line = next(line for line in result.lines if line.name == "answered")
    assert (line.status, line.require) == ("inconclusive", "no_worse by 0.05")
    assert "more questions would decide" in line.why


def timed(factor: float, came: bool = True) -> Arm:
    clock = [factor * value if came else float("inf") for value in (10.0, 20.0, 30.0)]
    return arm(
        {
            "answered": [1.0] * 3,
            "first_answer_ms": list(clock),
            "rounds": [factor * 2] * 3,
            "completion_tokens": [factor * 50] * 3,
        }
    )


@pytest.mark.parametrize(
    ("limit", "b", "status"),
    [
        ("first_answer_ms.most = 1.25", timed(1.2), "passed"),
        ("first_answer_ms.most = 1.25", timed(1.3), "failed"),
        ("first_answer_ms.most = 1.25", timed(1, came=False), "failed"),
        ("completion_tokens.most = 2", timed(2), "passed"),
        ("completion_tokens.most = 2", timed(2.1), "failed"),
        ("rounds.most = 1.5", timed(1.6), "failed"),
        ("reasoning_tokens.most = 2", timed(1), "inconclusive"),
        ("turn_s.most = 2", timed(1), "inconclusive"),
    ],
)
def test_limits(tmp_path: Path, limit: str, b: Arm, status: str) -> None:
    for tier in ("blocking", "advisory"):
        name = limit.partition(".")[0]
        rules = gate(tmp_path, f"limits.{limit}\nlimits.{name}.tier = '{tier}'")
        result = held(rules, timed(1), b)
        assert [line.status for line in result.lines if line.name == name] == [status]
        blocked = {"failed": "regression", "inconclusive": "inconclusive", "passed": "passed"}
        assert result.verdict == (blocked[status] if tier == "blocking" else "passed")


def test_times_that_are_not_compared_are_held_to_no_limit(tmp_path: Path) -> None:
    rules = gate(tmp_path, "limits.first_answer_ms.most = 1.25")
    result = held(rules, timed(1), timed(9), why_not="turns at once: a 1 and b 4")
    assert result.verdict == "inconclusive"
    assert "turns at once" in result.lines[-1].why


@pytest.mark.parametrize(
    ("most", "verdict"), [(0.5, "passed"), (0.2, "regression"), (0, "regression")]
)
def test_a_limit_on_infrastructure_errors(tmp_path: Path, most: float, verdict: str) -> None:
    """It is the share of either side's own turns."""
    a = arm({"answered": [1.0] * 4})
    b = arm({"answered": [1.0] * 4}, outcomes={2: "infra_error"})
    assert held(gate(tmp_path, f"limits.infra_errors.most = {most}"), a, b).verdict == verdict


def test_a_run_that_is_half_finished_decides_nothing() -> None:
    a = arm({"answered": [1.0] * 116})
    b = arm({"answered": [1.0] * 58}, planned=116)
    result = held(built_in_gate(), a, b)
    assert result.verdict == "inconclusive"
    assert "58 of 116" in result.lines[0].why


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("metrics.answerd.margin = 0.1", ["metrics.answerd", "nearest is 'answered'"]),
        ("metrics.answered.margn = 0.1", ["metrics.answered.margn", "nearest is 'margin'"]),
        ("metric.answered.margin = 0.1", ["there is no 'metric'", "nearest is 'metrics'"]),
        ("limits.first_anser_ms.most = 2", ["limits.first_anser_ms", "'first_answer_ms'"]),
        ("limits.turn_s.mots = 2", ["limits.turn_s.mots", "nearest is 'most'"]),
        ("limits.turn_s.tier = 'blocking'", ["limits.turn_s.most", "required"]),
        ("metrics.answered.tier = 'bloking'", ["metrics.answered.tier", "'blocking'"]),
        ("metrics.answered.require = 'better'", ["metrics.answered.require", "'no_worse'"]),
        ("metrics.answered.margin = 5", ["metrics.answered", "0.05 is 5 points"]),
        ("metrics.answered.margin = 0", ["metrics.answered.margin", "greater than 0"]),
        ("metrics.abstention_precision.margin = 0.1", ["gets no verdict"]),
        ("defaults.tier = 'advisory'", ["there is no 'defaults'", "nearest is 'default'"]),
        ("[metrics", ["is no TOML"]),
        ("answered = 1", ["there is no 'answered'"]),
        ("metrics = 3", ["metrics:"]),
    ],
)
def test_gate_files_that_are_wrong(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        gate(tmp_path, text)
    for word in ["gate.toml", *words]:
        assert word in str(error.value)


def test_a_gate_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        load_gate(tmp_path / "gate.toml")


def test_the_files_hash_and_margins_are_kept(tmp_path: Path) -> None:
    rules = gate(tmp_path, "metrics.defects_per_turn.margin = 2.0")
    assert rules.margins["defects_per_turn"] == 2.0
    assert rules.margins["answered"] == 0.05
    result = held(rules, *SAME)
    assert result.hash == rules.hash
    assert len(str(result.hash)) == 64
    assert str(result.file).endswith("gate.toml")

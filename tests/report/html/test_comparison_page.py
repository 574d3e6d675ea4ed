"""The page of a comparison: its first sentence, its tables, and the turns side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from compare.arms import arm, changed, table
from hypothesis import given
from hypothesis import strategies as st

import ragevalkit as package
from ragevalkit.compare.arm import Arm
from ragevalkit.compare.comparability import compare_manifests
from ragevalkit.compare.gate import Gate, built_in_gate, decide, load_gate
from ragevalkit.compare.pairing import pair
from ragevalkit.compare.result import ArmResult, Comparison, Flipped
from ragevalkit.compare.timing import compare_timing, compare_tokens
from ragevalkit.compare.verdict import DEFAULT_MARGINS, compare_metrics
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.comparison import comparison_tables
from ragevalkit.report.html.comparison_page import comparison_page
from ragevalkit.report.html.comparison_verdict import comparison_verdict
from ragevalkit.report.html.paired_turns import PairedTurns, read_paired_turns
from ragevalkit.report.html.parts import Page, Prose
from ragevalkit.report.tables import Table
from ragevalkit.runs.folder import RunFolder

N = 116
SAME, LOST, WON, UNCLEAR = (110, 0, 0), (70, 40, 0), (70, 0, 40), (70, 22, 15)
"""Pairs of 116 that are true on both sides, on a alone, and on b alone."""


def comparison(
    flips: dict[str, tuple[int, int, int]],
    *,
    gate: Gate | None = None,
    planned: int = N,
    b_manifest: dict[str, Any] | None = None,
) -> Comparison:
    """Two runs that differ so in these metrics.

    Args:
        planned: turns that b was to have.
    """
    columns = {name: table(N, *counts) for name, counts in flips.items()}
    of_a = arm({name: list(a) for name, (a, _) in columns.items()})
    of_b = arm(
        {name: list(b) for name, (_, b) in columns.items()}, planned=planned, manifest=b_manifest
    )
    of_a.name, of_b.name = "sixteen", "four"
    conditions = compare_manifests(of_a, of_b)
    pairs = pair(of_a, of_b)
    metrics = compare_metrics(pairs, gate.margins if gate else DEFAULT_MARGINS)
    timing, tokens = compare_timing(pairs, None), compare_tokens(pairs)
    comparable = conditions.comparable
    arms = {"a": of_a, "b": of_b}
    return Comparison(
        a=side(of_a),
        b=side(of_b),
        comparable=comparable,
        factors=conditions.factors,
        confounders=conditions.confounders,
        not_comparable=conditions.not_comparable,
        allowed=conditions.allowed,
        shared=conditions.shared,
        pairs=N,
        questions=N,
        repeated=False,
        unpaired={},
        notes=[],
        metrics=metrics if comparable else {},
        defects={},
        timing=timing if comparable else None,
        tokens=tokens if comparable else {},
        flipped=Flipped(questions=0, shown=[]),
        floor=None,
        gate=decide(gate, comparable, arms, metrics, timing, tokens),
    )


def side(of: Arm) -> ArmResult:
    return ArmResult(
        run=of.name,
        folder=str(of.path),
        planned=of.planned,
        turns=of.turns,
        scored=of.turns,
        infra_errors=0,
        lost_to={},
        unfinished=of.unfinished,
    )


@pytest.mark.parametrize(
    ("flips", "line", "tone"),
    [
        (
            {"answered": SAME, "searched_first": SAME},
            "Yes: four is as good as sixteen by all 2 metrics, within the margins.",
            "good",
        ),
        (
            {"answered": SAME, "correct_answer": WON},
            "Yes: four is as good as sixteen by all 2 metrics, within the margins, and better in "
            "correct_answer.",
            "good",
        ),
        (
            {"answered": SAME, "over_refused": WON, "correct_answer": UNCLEAR},
            "No: four is worse than sixteen in over_refused.",
            "bad",
        ),
        (
            {"answered": LOST, "searched_first": LOST, "evidence_retrieved": LOST}
            | dict.fromkeys(("cited_correct_page", "refused_correctly", "correct_answer"), LOST),
            "No: four is worse than sixteen in answered, searched_first, evidence_retrieved, "
            "cited_correct_page and 2 more.",
            "bad",
        ),
        (
            {"answered": SAME, "correct_answer": UNCLEAR},
            "Undecided: no loss of four against sixteen is established, nor that it is as good in "
            "correct_answer.",
            "open",
        ),
    ],
)
@pytest.mark.parametrize("gate", [None, built_in_gate()])
def test_the_first_sentence_decides(
    flips: dict[str, tuple[int, int, int]], line: str, tone: str, gate: Gate | None
) -> None:
    verdict = comparison_verdict(comparison(flips, gate=gate))
    assert (verdict.line, verdict.tone) == (line, tone)


@pytest.mark.parametrize(
    ("rules", "flips", "line", "tone"),
    [
        (
            "[metrics.answered]\nrequire = 'no_worse'",
            {"answered": SAME, "correct_answer": UNCLEAR},
            "Yes, by the gate: four is as good as sixteen in answered; undecided is "
            "correct_answer.",
            "good",
        ),
        (
            "[metrics.correct_answer]\nrequire = 'no_worse'",
            {"answered": SAME, "correct_answer": UNCLEAR},
            "Undecided: no loss of four against sixteen is established, nor that it is as good in "
            "correct_answer.",
            "open",
        ),
        (
            "[metrics.answered]\ntier = 'advisory'",
            {"answered": LOST},
            "No: four is worse than sixteen in answered.",
            "bad",
        ),
        (
            "[limits.turn_s]\nmost = 1.2",
            {"answered": SAME},
            "Not decided: the gate has no figure, turn_s: no pair has it.",
            "open",
        ),
    ],
)
def test_a_gate_file_says_what_is_asked(
    tmp_path: Path, rules: str, flips: dict[str, tuple[int, int, int]], line: str, tone: str
) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(rules)
    verdict = comparison_verdict(comparison(flips, gate=load_gate(path)))
    assert (verdict.line, verdict.tone) == (line, tone)
    assert any(line.startswith(f"Gate {path}") for line in verdict.because)


def test_a_limit_that_is_passed_is_a_no(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text("[limits.rounds]\nmost = 1.2")
    of = comparison({"answered": SAME, "rounds": WON}, gate=load_gate(path))
    verdict = comparison_verdict(of)
    assert verdict.tone == "bad"
    assert verdict.line.startswith("No: four is past what the gate allows, rounds: b/a is 1.57")


def test_half_a_run_decides_nothing() -> None:
    verdict = comparison_verdict(comparison({"answered": SAME}, planned=200, gate=built_in_gate()))
    assert (verdict.line, verdict.tone) == ("Not decided: four is half finished.", "open")


def test_what_is_not_comparable_is_not_compared() -> None:
    of = comparison({"answered": LOST}, b_manifest=changed("settings.agent.prompt", "p2"))
    verdict = comparison_verdict(of)
    assert verdict.line == (
        "Can't be compared: sixteen and four differ in agent.prompt, which must be the same."
    )
    assert verdict.tone == "open"


FLIPS = st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 20))


@given(FLIPS, FLIPS)
def test_as_good_is_said_only_where_it_is_shown(
    first: tuple[int, int, int], second: tuple[int, int, int]
) -> None:
    of = comparison({"answered": first, "correct_answer": second})
    verdict = comparison_verdict(of)
    verdicts = {metric.verdict for metric in of.metrics.values()} - {None}
    expected = "bad" if "worse" in verdicts else "open" if "inconclusive" in verdicts else "good"
    assert verdict.tone == expected
    assert verdict.line.startswith({"bad": "No:", "open": "Undecided:", "good": "Yes:"}[expected])


def test_the_reasons_have_the_tables_digits() -> None:
    of = comparison({"answered": SAME, "correct_answer": LOST, "over_refused": UNCLEAR})
    tables = {table.title: table for table in comparison_tables(of)}
    deciding = tables["How the verdicts came about"]
    adjusted = deciding.columns.index("adjusted interval")
    because = " ".join(comparison_verdict(of).because)
    for row, how in zip(tables["Metrics"].rows, deciding.rows, strict=True):
        if row[-1] in ("worse", "inconclusive"):
            for cell in (*row[1:4], how[adjusted]):
                assert cell in because


QUESTIONS = [
    {"id": "one", "question": "How loud is it?", "answerable": True, "answers": ["31 dB"]}
    | {"evidence": [{"document": "operator-guide", "page": 10}]},
    {"id": "two", "question": "Which Wi-Fi bands are there?", "answerable": False}
    | {"unanswerable_because": "no page speaks of Wi-Fi"},
    {"id": "three", "question": "What is the warranty?", "answerable": True, "answers": ["x"]}
    | {"evidence": [{"document": "safety-warranty", "page": 5}]},
]
DECLINES = '[[rules]]\nround = 0\n[rules.reply]\nanswer = "NOT IN DOCUMENTS: nothing."\n'

Runs = Callable[..., RunFolder]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs a bank's questions against the mock, or one that declines everything."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "declines.toml").write_text(DECLINES)

    def make(name: str, endpoint: str, questions: list[dict[str, Any]] = QUESTIONS) -> RunFolder:
        bank = tmp_path / f"{name}.jsonl"
        lines = (orjson.dumps(question | {"corpus": "tarn"}) for question in questions)
        bank.write_bytes(b"\n".join(lines))
        package.run(bank, endpoint, name=name, report=False, probe=False)
        return RunFolder(Path("reports", name))

    return make


def page(a: RunFolder, b: RunFolder) -> Page:
    return comparison_page(package.compare(a.path, b.path), a, b)


def blocks(of: Page, kind: type) -> list[Any]:
    return [block for section in of.sections for block in section.blocks if isinstance(block, kind)]


def test_every_table_of_a_comparison_is_on_its_page_once(runs: Runs) -> None:
    a, b = runs("a", "mock"), runs("b", "mock:declines.toml")
    of = package.compare(a.path, b.path)
    made = comparison_page(of, a, b)
    shown = blocks(made, Table)
    for wanted in comparison_tables(of):
        assert shown.count(wanted) == 1, wanted.title
    assert all(section.blocks for section in made.sections)
    assert len({section.id for section in made.sections}) == len(made.sections)
    assert blocks(made, Chart)


def test_replies_stand_beside_each_other_with_what_was_wanted(runs: Runs) -> None:
    made = page(runs("a", "mock"), runs("b", "mock:declines.toml"))
    flipped = next(section for section in made.sections if section.id == "flipped")
    tables = {table.title: table for table in flipped.blocks if isinstance(table, Table)}
    two = tables["two: Which Wi-Fi bands are there?"]
    rows = {row[0]: row[1:] for row in two.rows}
    assert two.columns == ["", "a", "b"]
    assert rows["reply"][1] == "NOT IN DOCUMENTS: nothing."
    assert rows["outcome"] == ["answer", "decline"]
    assert rows["refused_correctly"] == ["0", "1"]
    assert rows["cites"][1] == "nothing"
    assert "p. " in rows["cites"][0]
    assert two.notes == ["The documents don't answer it: no page speaks of Wi-Fi"]
    for title, wanted in (("one", ["31 dB", "operator-guide p. 10"]), ("three", ["x", "p. 5"])):
        notes = " ".join(next(t for name, t in tables.items() if name.startswith(title)).notes)
        assert all(words in notes for words in wanted)


def test_conditions_of_both_are_side_by_side(runs: Runs) -> None:
    made = page(runs("a", "mock"), runs("b", "mock:declines.toml"))
    conditions = made.sections[-1].blocks[0]
    assert isinstance(conditions, Table)
    assert conditions.columns == ["setting", "a", "b"]
    assert ["endpoint.name", "mock", "mock:declines.toml"] in conditions.rows


def test_runs_that_cannot_be_compared_still_have_a_page(runs: Runs) -> None:
    a, b = runs("a", "mock"), runs("b", "mock", QUESTIONS[:1])
    made = page(a, b)
    assert made.verdict.line.startswith("Can't be compared: a and b differ in bank")
    assert [section.id for section in made.sections] == ["differs", "conditions"]
    said = " ".join(line for prose in blocks(made, Prose) for line in prose.lines)
    assert "These must be the same, and aren't: bank." in said


def pairs(a: RunFolder, b: RunFolder) -> list[tuple[str | None, str | None]]:
    left_out: list[str] = []
    found = [
        (p.a.turn.question_id if p.a else None, p.b.turn.question_id if p.b else None)
        for p in read_paired_turns(a, b, left_out)
    ]
    assert not left_out
    return sorted(found, key=str)


def test_turns_are_paired_by_what_they_ask(runs: Runs) -> None:
    renamed = [{**QUESTIONS[0], "id": "uno"}, *reversed(QUESTIONS[1:])]
    edited = [{**QUESTIONS[0], "question": "How loud?"}, *QUESTIONS[1:]]
    a = runs("a", "mock")
    assert pairs(a, runs("b", "mock", renamed)) == [
        ("one", "uno"),
        ("three", "three"),
        ("two", "two"),
    ]
    assert pairs(a, runs("c", "mock", edited)) == sorted(
        [("one", None), (None, "one"), ("two", "two"), ("three", "three")], key=str
    )


def test_a_flip_is_a_metric_that_both_sides_define(runs: Runs) -> None:
    a, b = runs("a", "mock"), runs("b", "mock:declines.toml")
    flips = {p.a.turn.question_id: p.flipped for p in read_paired_turns(a, b, []) if p.a}
    assert "refused_correctly" in flips["two"]
    assert "over_refused" in flips["one"]
    assert "cited_correct_page" not in flips["two"]
    assert PairedTurns(None, None).flipped == []

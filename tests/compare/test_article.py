"""The worked example of docs/statistics.md: the article's counts and what is to be made of them."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from command import Command

from ragevalkit.compare.result import Comparison
from ragevalkit.runs.results import read_summary
from ragevalkit.stats import sign_flip

ROOT = Path(__file__).parents[2]
STATISTICS = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")


def loaded() -> Any:
    spec = spec_from_file_location("article", ROOT / "benchmarks" / "article.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


article = loaded()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("article")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGEVALKIT_CACHE", str(folder / "cache"))
        article.write_runs(folder)
    return folder


@pytest.fixture(scope="module")
def found(work: Path) -> dict[str, Comparison]:
    return {overlap: article.compare(work, overlap) for overlap in article.OVERLAPS}


@pytest.mark.parametrize("overlap", article.OVERLAPS)
def test_the_scorers_find_the_articles_counts(work: Path, overlap: str) -> None:
    """In percent, with the article's digits."""
    for arm, correct, refused, defects, per_answer in (
        (article.B, "95.7", "82.6", 13, "0.11"),
        (article.A, "97.0", "87.0", 27, "0.23"),
    ):
        summary = read_summary(article.run_folder(work, overlap, arm))
        assert summary is not None
        of = summary.metrics
        assert (summary.turns, summary.scored, summary.infra_errors) == (116, 116, 0)
        assert f"{100 * (of['citation_precision'].value or 0):.1f}" == correct
        assert f"{100 * (of['refused_correctly'].value or 0):.1f}" == refused
        assert f"{of['defects_per_turn'].value:.2f}" == per_answer
        assert sum(summary.defects.values()) == of["turns_with_defect"].k == defects
        assert of["answered"].k == of["searched_first"].k == 116
        assert of["malformed_calls"].k == of["over_refused"].k == 0
        assert of["evidence_retrieved"].k == 70
        assert summary.undefined_defects == {}
        if arm == article.B:
            assert summary.defects["answer:should_have_declined"] == 8, "eight of thirteen"


@pytest.mark.parametrize(
    ("metric", "k", "n", "flips", "verdicts"),
    [
        ("answered", (116, 116), 116, ((0, 0), (0, 0)), ("no_worse", "no_worse")),
        ("searched_first", (116, 116), 116, ((0, 0), (0, 0)), ("no_worse", "no_worse")),
        ("malformed_calls", (0, 0), 116, ((0, 0), (0, 0)), ("no_worse", "no_worse")),
        ("cited_correct_page", (65, 67), 70, ((0, 2), (3, 5)), ("no_worse", "no_worse")),
        ("refused_correctly", (40, 38), 46, ((2, 0), (8, 6)), ("inconclusive", "inconclusive")),
        ("turns_with_defect", (27, 13), 116, ((14, 0), (27, 13)), ("better", "no_worse")),
        ("defects_per_turn", (None, None), 116, ((14, 0), (27, 13)), ("better", "no_worse")),
    ],
)
def test_what_survives(
    found: dict[str, Comparison],
    metric: str,
    k: tuple[int | None, int | None],
    n: int,
    flips: tuple[tuple[int, int], tuple[int, int]],
    verdicts: tuple[str, str],
) -> None:
    """By the overlap of the failed turns: the most, none. No other metric has a verdict but two
    that never change."""
    for of, (a_only, b_only), verdict in zip(found.values(), flips, verdicts, strict=True):
        result = of.metrics[metric]
        assert (result.a.k, result.b.k, result.a.n) == (*k, n)
        assert result.flips.model_dump() == {"a_only": a_only, "b_only": b_only}
        assert result.verdict == verdict
        assert sum(m.verdict is not None for m in of.metrics.values()) == 9


def test_the_runs_are_comparable(found: dict[str, Comparison]) -> None:
    for of in found.values():
        assert of.comparable
        assert (of.pairs, of.questions, of.unpaired) == (116, 116, {})
        assert set(of.factors) == {
            f"endpoint.{field}" for field in ("name", "base_url", "precision", "hardware")
        }
        assert of.confounders == {}


def test_the_document_quotes_what_the_command_prints(
    ragevalkit: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["article.py", "--into", str(ragevalkit.folder)])
    article.main()
    printed = {line.rstrip() for line in capsys.readouterr().out.splitlines()}
    quoted = re.findall(r"```text\n(.*?)```", STATISTICS, re.S)
    lines = [line for block in quoted for line in block.splitlines() if line]
    assert len(lines) > 20
    for line in lines:
        assert line in printed, line
    assert (ragevalkit.folder / "reports" / "bf16-h200-none" / "turns.jsonl").exists()


def test_questions_that_were_asked_twice_are_fewer() -> None:
    """Were the 116 turns 58 questions asked twice, 14 flips could be 7 questions."""
    assert sign_flip([-1.0] * 7 + [0.0] * 51) == pytest.approx(2 / 2**7)
    assert f"p = {2 / 2**7:.3f}" in STATISTICS

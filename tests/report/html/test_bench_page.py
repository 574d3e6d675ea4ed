"""The page of a bench: what it found, its tables and charts, and what can't be shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel
from report.charts import bench_results as results

from ragevalkit.bench.budget.result import BudgetResult
from ragevalkit.bench.calibrate import Calibration
from ragevalkit.bench.guided.result import GuidedResult
from ragevalkit.bench.session import Floor
from ragevalkit.bench.stream_result import StreamResult
from ragevalkit.bench.sweep_result import SweepResult
from ragevalkit.errors import InputError
from ragevalkit.report.bench_budget import budget_tables
from ragevalkit.report.bench_guided import guided_tables
from ragevalkit.report.bench_stream import stream_tables
from ragevalkit.report.bench_sweep import sweep_tables
from ragevalkit.report.benches import calibration_tables
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.html.bench_page import bench_page
from ragevalkit.report.html.bench_verdict import bench_verdict
from ragevalkit.report.html.document import render
from ragevalkit.report.tables import Table

LIMITED = results.INSTRUMENT.model_copy(update={"client_limited": "it took a whole core"})
FLOOR = Floor(ms=0.4, lateness_ms=None, instrument=LIMITED)
BUDGET = results.budget().model_copy(update={"sentence": "no answer at 64 tokens", "floor": FLOOR})
GUIDED = results.guided().model_copy(
    update={"says": ["Offering 2 tools costs 57.0 ms.", "It is the prompt."], "floor": FLOOR}
)
CASES: list[tuple[BaseModel, Callable[[Any], list[Table]]]] = [
    (GUIDED, guided_tables),
    (GUIDED.model_copy(update={"arms": {}, "contrasts": {}}), guided_tables),
    (BUDGET, budget_tables),
    (results.stream(), stream_tables),
    (results.stream(("alone",)), stream_tables),
    (results.sweep(), sweep_tables),
    (results.calibration(), calibration_tables),
]


def kept(folder: Path, result: BaseModel) -> Path:
    """The folder of a bench, as the benches leave it."""
    folder.mkdir(exist_ok=True)
    if isinstance(result, Calibration):
        (folder / "calibration.json").write_text(result.model_dump_json())
        return folder
    kinds = {GuidedResult: "guided", BudgetResult: "budget", StreamResult: "stream"}
    settings = {"bench": kinds.get(type(result), "sweep"), "seed": 7}  # type: ignore[call-overload]
    manifest = {"settings": settings, "created_at": "2026-01-02T03:04:05.678+00:00"}
    (folder / "bench.json").write_bytes(orjson.dumps(manifest))
    (folder / "result.json").write_text(result.model_dump_json())
    return folder


@pytest.mark.parametrize(("result", "tables"), CASES)
def test_every_table_of_a_bench_is_on_its_page_once(
    tmp_path: Path, result: BaseModel, tables: Callable[[Any], list[Table]]
) -> None:
    page = bench_page(kept(tmp_path / "bench", result))
    blocks = [block for section in page.sections for block in section.blocks]
    for table in tables(result):
        assert blocks.count(table) == 1, table.title
    assert any(isinstance(block, Chart) for block in blocks)
    assert all(section.blocks for section in page.sections)
    assert len({section.id for section in page.sections}) == len(page.sections)
    assert (page.kind, page.title, page.turns) == ("bench", "bench", None)


@pytest.mark.parametrize(
    ("result", "line", "tone"),
    [
        (GUIDED, "Offering 2 tools costs 57.0 ms.", "none"),
        (BUDGET, "No answer at 64 tokens.", "none"),
        (
            results.stream(),
            "h200 is faster than spark: it decodes 2.200 (2.090 – 2.310) times as fast.",
            "none",
        ),
        (
            results.stream(("alone",)),
            "alone decodes at 95.8/s (91/s – 101/s), in replies of 2,048 tokens.",
            "none",
        ),
        (results.sweep(), "Beyond 8 streams at once, more of them bring few more tokens.", "none"),
        (
            results.calibration(),
            "At 64 streams, differences below 32 ms are this client's own.",
            "none",
        ),
        (GUIDED.model_copy(update={"says": [], "floor": None}), "Nothing is measured yet.", "none"),
        (BUDGET.model_copy(update={"budgets": []}), "Nothing is measured yet.", "none"),
        (
            results.sweep().model_copy(update={"knee": None, "lengths": []}),
            "Nothing is measured yet.",
            "none",
        ),
    ],
)
def test_the_first_sentence_says_what_was_found(result: BaseModel, line: str, tone: str) -> None:
    verdict = bench_verdict(result)
    assert (verdict.line, verdict.tone) == (line, tone)


def test_a_gain_that_is_not_shown_is_none() -> None:
    stream = results.stream()
    all_ = stream.gains[0].all.model_copy(update={"decode_verdict": "inconclusive"})
    stream.gains[0] = stream.gains[0].model_copy(update={"all": all_})
    assert bench_verdict(stream).line == (
        "Undecided: h200 decodes 2.200 (2.090 – 2.310) times as fast as spark, over 20 pairs."
    )


def test_a_client_that_cannot_keep_up_says_so_first() -> None:
    calibration = results.calibration()
    last = calibration.loads[-1].model_copy(update={"instrument": LIMITED})
    limited = calibration.model_copy(update={"loads": [*calibration.loads[:-1], last]})
    verdict = bench_verdict(limited)
    assert verdict.line == "This client doesn't keep up with 64 streams: it took a whole core."
    assert verdict.tone == "bad"
    assert "Client-limited, so don't trust the times: it took a whole core." in (
        bench_verdict(GUIDED).because
    )


def test_what_was_not_engaged_is_said() -> None:
    arm = {"sends": "a grammar", "status": "run", "engaged": "no", "evidence": "it was ignored"}
    result = GuidedResult.model_validate({**GUIDED.model_dump(), "arms": {"N": arm}})
    said = "Not engaged, so that nothing is said of its cost: N (a grammar)."
    assert said in bench_verdict(result).because


def test_an_unfinished_sweep_says_what_is_missing() -> None:
    sweep = SweepResult.model_validate(
        {**results.sweep().model_dump(), "cells": {"done": 3, "planned": 10}, "failed": "it died"}
    )
    assert bench_verdict(sweep).because[-2:] == [
        "3 of 10 cells are finished; the same command continues it.",
        "The endpoint failed: it died.",
    ]


def test_the_head_says_what_was_measured(tmp_path: Path) -> None:
    page = bench_page(kept(tmp_path / "bench", results.stream()))
    assert page.facts == [
        "endpoint spark, model m",
        "endpoint h200, model m",
        "bench stream",
        "begun 2026-01-02 03:04:05 UTC",
    ]
    conditions = page.sections[-1].blocks[0]
    assert isinstance(conditions, Table)
    assert ["seed", "7"] in conditions.rows


def test_a_servers_words_are_text(tmp_path: Path) -> None:
    evil = "</script><script>window.pwned=1</script><img src=x onerror=alert(1)>"
    arm = {"sends": evil, "status": "not_supported", "engaged": "no", "evidence": evil}
    result = GuidedResult.model_validate(
        {**GUIDED.model_dump(), "arms": {evil: arm}, "says": [evil], "endpoint": evil}
    )
    page = b"".join(render(bench_page(kept(tmp_path / "bench", result)))).decode()
    assert page.count("&lt;img src=x") >= 5
    assert "<img" not in page
    assert "<script>window" not in page


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("bench.json", b"{", "bench.json is damaged"),
        ("bench.json", b'{"settings": {"bench": "later"}}', "a bench 'later', which this version"),
        ("result.json", None, "isn't finished; the same command continues"),
        ("result.json", b'{"name": 1}', "result.json is damaged, or of another version"),
        ("result.json", b"\xff", "result.json is damaged, or of another version"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, file: str, content: bytes | None, words: str
) -> None:
    folder = kept(tmp_path / "bench", results.sweep())
    path = folder / file
    path.write_bytes(content) if content is not None else path.unlink()
    with pytest.raises(InputError, match=words):
        bench_page(folder)


def test_a_folder_without_a_bench_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no bench"):
        bench_page(tmp_path)

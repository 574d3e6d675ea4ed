"""The page of a run, from its folder to HTML."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import orjson
import pytest
from report.html.islands import of_page

import ragevalkit as package
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.html.document import render
from ragevalkit.report.html.parts import Page
from ragevalkit.report.html.run_page import run_page
from ragevalkit.report.tables import Table, run_tables
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.results import read_summary


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run of the packaged bank."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RAGEVALKIT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        package.run(limit=6, name="small", report=False)
    return folder / "reports" / "small"


@pytest.fixture
def run(recorded: Path, tmp_path: Path) -> RunFolder:
    """A copy of it, to be changed."""
    return RunFolder(Path(copytree(recorded, tmp_path / "small")))


def page_of(folder: RunFolder) -> Page:
    summary = read_summary(folder)
    assert summary is not None
    return run_page(folder, summary)


@pytest.fixture(scope="module")
def page(recorded: Path) -> Page:
    return page_of(RunFolder(recorded))


def tables_of(page: Page) -> dict[str, Table]:
    blocks = (block for section in page.sections for block in section.blocks)
    return {block.title: block for block in blocks if isinstance(block, Table)}


def test_it_shows_the_tables_of_the_terminal(page: Page, recorded: Path) -> None:
    summary = read_summary(RunFolder(recorded))
    assert summary is not None
    shown = tables_of(page)
    for table in run_tables(summary):
        assert shown[table.title] == table


def test_it_has_its_sections_and_charts(page: Page) -> None:
    assert [s.id for s in page.sections] == ["metrics", "defects", "timing", "tokens", "conditions"]
    charts = {s.id: [b.title for b in s.blocks if isinstance(b, Chart)] for s in page.sections}
    assert charts["metrics"] == ["Metrics with their intervals", "What the turns came to"]
    assert "First token, and first token of the answer" in charts["timing"]
    assert "Where a median turn's time went" in charts["timing"]


def test_conditions_name_prompt_sampling_hashes_and_the_server(page: Page) -> None:
    settings = dict(row[:2] for row in tables_of(page)["Conditions"].rows)
    assert settings["endpoint.name"] == "baseline"
    assert settings["endpoint.sampling.temperature"] == "0.0"
    assert {"agent.prompt", "agent.tools", "bank.hash", "fingerprint.model.id"} <= settings.keys()
    assert "What baseline is" in tables_of(page)


def test_every_turn_can_be_found_and_opened(page: Page, recorded: Path) -> None:
    islands = of_page(b"".join(render(page)).decode())
    index = islands["turns-index"]
    turns = [orjson.loads(line) for line in RunFolder(recorded).turns.read_bytes().splitlines()]
    assert [row[0] for row in index["rows"]] == [turn["question_id"] for turn in turns]
    for row, turn in zip(index["rows"], turns, strict=True):
        island, position = row[-1]
        [body] = islands[island][position]
        assert body["reply"] == turn["reply"]
        assert len(body["rounds"]) == len(turn["rounds"])


def test_a_damaged_line_is_said(run: RunFolder) -> None:
    with run.turns.open("ab") as file:
        file.write(b"{}\n")
    page = page_of(run)
    assert page.verdict.tone == "open"
    assert any("line 7 is damaged" in line for line in page.verdict.because)


def test_without_scores_the_turns_are_there_and_it_is_said(run: RunFolder) -> None:
    run.scores.unlink()
    page = page_of(run)
    assert "6 turns without scores; `ragevalkit score` makes them." in page.verdict.because
    assert page.turns is not None
    assert page.turns.turns == 6

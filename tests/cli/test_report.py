"""`ragevalkit report`, and the pages that the other commands write."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command import Command

import ragevalkit as package
from ragevalkit.report.comparison import comparison_tables
from ragevalkit.report.tables import run_tables
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.results import read_summary

N = 12
"""Questions of each run."""


class Text(HTMLParser):
    """The cells of a page's tables, and its first sentence."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: set[str] = set()
        self.verdict = ""
        self._in: str | None = None
        self._text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th") or ("id", "verdict-line") in attrs:
            self._in, self._text = tag, ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self._in:
            self._in = None
            if tag == "h2":
                self.verdict = self._text
            else:
                self.cells.add(self._text.strip())

    def handle_data(self, data: str) -> None:
        self._text += data if self._in else ""


def read(*path: str) -> Text:
    return Text(Path("reports", *path, "report.html").read_text())


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs a and b, and a calibration; made once, and tests take copies."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NO_PROXY", "127.0.0.1")
        for name, endpoint in (("a", "baseline"), ("b", "mock")):
            package.run("tarn", endpoint, name=name, limit=N, probe=False, report=False)
    return folder / "reports"


@pytest.fixture
def report(ragevalkit: Command, made: Path) -> Command:
    shutil.copytree(made, ragevalkit.folder / "reports")
    return ragevalkit


def test_a_run_has_a_page_with_the_terminals_digits(report: Command) -> None:
    done = report("report", "a")
    assert (done.code, done.stdout) == (0, "reports/a/report.html\n"), done.stderr
    page = read("a")
    summary = read_summary(RunFolder(Path("reports/a")))
    assert summary is not None
    for table in run_tables(summary):
        assert {cell.strip() for row in table.rows for cell in row} <= page.cells, table.title
    assert page.verdict


def test_two_runs_have_a_page_of_their_own(report: Command) -> None:
    done = report("report", "a", "reports/b")
    assert (done.code, done.stdout) == (0, "reports/a-vs-b/report.html\n"), done.stderr
    page = read("a-vs-b")
    for table in comparison_tables(package.compare("a", "b")):
        assert {cell.strip() for row in table.rows for cell in row} <= page.cells, table.title
    assert "than a" in page.verdict or "against a" in page.verdict


def test_json_says_what_is_in_the_page(report: Command) -> None:
    for runs, folder in ((("a",), "a"), (("a", "b"), "a-vs-b")):
        done = report("report", *runs, "--json")
        path = Path("reports", folder, "report.html")
        size = path.stat().st_size
        counts = {"bytes": size, "turns": N, "whole_turns": N}
        assert json.loads(done.stdout) == {"report": str(path), **counts}


def test_the_page_goes_where_it_is_wanted(report: Command) -> None:
    done = report("report", "a", "b", "--out", "mail.html")
    assert (done.code, done.stdout) == (0, "mail.html\n"), done.stderr
    assert Path("mail.html").read_text().startswith("<!doctype html>")
    assert not Path("reports/a-vs-b").exists()


def test_a_page_of_two_takes_what_compare_takes(report: Command) -> None:
    edit = json.loads(Path("reports/b/run.json").read_text())
    edit["settings"]["agent"]["prompt"] = "another"
    Path("reports/b/run.json").write_text(json.dumps(edit))
    Path("gate.toml").write_text("default.tier = 'advisory'")
    assert report("report", "a", "b").code == 0
    assert read("a-vs-b").verdict.startswith("Can't be compared: a and b differ in agent.prompt")
    options = ("--allow", "prompt", "--gate", "gate.toml", "--floor", "a")
    assert report("report", "a", "b", *options).code == 0
    page = read("a-vs-b")
    assert not page.verdict.startswith("Can't be compared")
    assert "allowed to differ" in page.cells
    assert "advisory" in page.cells
    assert "a2 − a" in page.cells


def test_a_bench_has_a_page(ragevalkit: Command) -> None:
    done = ragevalkit("bench", "calibrate", "--seconds", "0.2", "--rate", "100", "--name", "c")
    assert "Results are in reports/c/: report.html, calibration.json" in done.stdout
    written = Path("reports/c/report.html").read_bytes()
    Path("reports/c/report.html").unlink()
    done = ragevalkit("report", "c", "--json")
    assert json.loads(done.stdout)["turns"] == 0
    assert Path("reports/c/report.html").read_bytes() == written
    assert read("c").verdict.startswith("No floor is known at 1 stream")


def test_an_unfinished_run_has_a_page_that_says_so(report: Command) -> None:
    summary = json.loads(Path("reports/a/summary.json").read_text())
    Path("reports/a/summary.json").write_text(json.dumps(summary | {"planned": 100}))
    done = report("report", "a")
    assert done.code == 0
    assert "a is unfinished: 12 of 100 turns are on record" in done.stderr
    assert "12 of 100 turns" in Path("reports/a/report.html").read_text()


def test_long_waits_are_said(report: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragevalkit.cli.waiting.LONG_WAIT", 0)
    assert report("report", "a").stderr.startswith("writing reports/a/report.html, ")
    assert report("report", "a", "b").stderr.startswith("reading the runs, ")


def test_compare_writes_it_where_it_is_asked_to(report: Command) -> None:
    done = report("compare", "a", "b", "--no-gate", "--html")
    assert done.stdout.endswith("\nThe page is reports/a-vs-b/report.html\n")
    assert read("a-vs-b").verdict
    shutil.rmtree("reports/a-vs-b")
    done = report("compare", "a", "b", "--no-gate", "--html", "--json")
    assert json.loads(done.stdout)["a"]["run"] == "a"
    assert Path("reports/a-vs-b/report.html").exists()
    shutil.rmtree("reports/a-vs-b")
    report("compare", "a", "b", "--no-gate")
    assert not Path("reports/a-vs-b").exists()


def test_runs_that_alternate_get_pages_unless_told_otherwise(ragevalkit: Command) -> None:
    run = ("run", "--endpoint", "mock", "--against", "baseline", "--limit", "4", "--no-gate")
    assert ragevalkit(*run, "--no-probe", "--no-report").code == 0
    assert not list(Path("reports").glob("*/report.html"))
    assert ragevalkit(*run, "--no-probe").code == 0
    names = {path.parent.name for path in Path("reports").glob("*/report.html")}
    assert names == {"tarn-baseline", "tarn-mock", "tarn-baseline-vs-tarn-mock"}


def test_scoring_again_writes_a_page_that_is_there(report: Command) -> None:
    assert report("score", "a").code == 0
    assert not Path("reports/a/report.html").exists()
    Path("reports/a/report.html").write_text("old")
    assert report("score", "a").code == 0
    assert read("a").verdict


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody",), "there is no run and no bench 'nobody', neither under reports/ nor"),
        (("a", "b", "a"), "a page is of one run, of two runs, or of one bench"),
        (("a", "c"), "'c' is a bench; a page of two is one of two runs"),
        (("c", "a"), "'c' is a bench; a page of two is one of two runs"),
        (("x-vs-y",), "'x-vs-y' holds a comparison; `ragevalkit report A B` writes its page"),
        (("unscored",), "`ragevalkit score reports/unscored` does it"),
        (("a", "unscored"), "scores.jsonl is missing"),
        (("a", "--gate", "g"), "say how two runs are compared: name both"),
        (("a", "b", "--gate", "g"), "gate g can't be read"),
        (("a", "b", "--allow", "nothing"), "run.json has no such field"),
        (("a", "b", "--floor", "nobody"), "there is no run 'nobody'"),
        (("begun",), "reports/begun holds a bench that isn't finished"),
    ],
)
def test_bad_input_is_one_line(report: Command, arguments: tuple[str, ...], words: str) -> None:
    for name, file in (("c", "calibration.json"), ("x-vs-y", "comparison.json")):
        Path("reports", name).mkdir()
        Path("reports", name, file).write_text("{}")
    Path("reports/begun").mkdir()
    Path("reports/begun/bench.json").write_text('{"settings": {"bench": "sweep"}}')
    shutil.copytree("reports/a", "reports/unscored")
    for file in ("summary.json", "scores.jsonl"):
        Path("reports/unscored", file).unlink()
    report("report", *arguments).complains(2, words)


@pytest.mark.parametrize("runs", [("a",), ("a", "b")])
def test_a_file_that_cannot_be_written_is_said(report: Command, runs: tuple[str, ...]) -> None:
    report("report", *runs, "--out", "nowhere/x.html").complains(1, "can't write nowhere/x.html")
    report("report", *runs, "--out", "reports").complains(1, "can't write reports")
    Path("reports/a-vs-b").write_text("")
    if len(runs) == 2:
        report("report", *runs).complains(1, "can't write to reports/a-vs-b")

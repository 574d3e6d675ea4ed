"""Writing the page of a run, a comparison or a bench.

Public: `write_run`, `write_comparison`, `write_bench`, `Written`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragevalkit.report.html.document import render
from ragevalkit.runs.folder import replace_file

if TYPE_CHECKING:
    from ragevalkit.compare.result import Comparison
    from ragevalkit.report.html.parts import Page
    from ragevalkit.runs.folder import RunFolder
    from ragevalkit.scoring.summary import Summary


class Written(NamedTuple):
    """A page that was written."""

    path: Path
    bytes: int
    turns: int
    """Turns in its table, of a comparison pairs of turns; 0 on the page of a bench."""
    whole_turns: int
    """Those of them that can be opened; the others are left out to keep the file small."""


def write_run(folder: RunFolder, summary: Summary, to: Path | None = None) -> Written:
    """Write the page of a run.

    Args:
        to: the file; None: report.html in the run's folder.

    Raises:
        InputError: run.json is damaged.
        RunFolderError: the disk is full, or the file can't be written.
    """
    from ragevalkit.report.html.run_page import run_page

    return _write(run_page(folder, summary), folder.report if to is None else to)


def write_comparison(of: Comparison, a: RunFolder, b: RunFolder, to: Path) -> Written:
    """Write the page of a comparison of b with a.

    Raises:
        RunFolderError: the disk is full, or the file can't be written.
    """
    from ragevalkit.report.html.comparison_page import comparison_page

    return _write(comparison_page(of, a, b), to)


def write_bench(folder: Path, to: Path | None = None) -> Written:
    """Write the page of a bench.

    Args:
        to: the file; None: report.html in the bench's folder.

    Raises:
        InputError: the folder holds no finished bench, or a damaged one.
        RunFolderError: the disk is full, or the file can't be written.
    """
    from ragevalkit.report.html.bench_page import bench_page

    return _write(bench_page(folder), folder / "report.html" if to is None else to)


def _write(page: Page, path: Path) -> Written:
    pieces = render(page)
    replace_file(path, pieces)
    turns = page.turns
    return Written(
        path,
        bytes=sum(map(len, pieces)),
        turns=turns.turns if turns else 0,
        whole_turns=turns.whole_turns if turns else 0,
    )

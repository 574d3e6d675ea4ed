"""The page of a run.

Public: `run_page`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragevalkit.endpoint.probe import Probe
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.gaps import gaps
from ragevalkit.report.charts.run import defect_counts, metric_intervals, outcome_matrix
from ragevalkit.report.charts.times import composition, first_tokens
from ragevalkit.report.costs import costs_tables
from ragevalkit.report.endpoints import probe_tables
from ragevalkit.report.html.conditions import conditions_table
from ragevalkit.report.html.parts import Page, Prose, Section
from ragevalkit.report.html.run_figures import RunFigures
from ragevalkit.report.html.run_verdict import run_verdict
from ragevalkit.report.html.turns_island import TurnsIslandBuilder
from ragevalkit.report.numbers import counted
from ragevalkit.report.scored_turns import read_scored_turns
from ragevalkit.report.tables import Table, instrument_line, run_tables
from ragevalkit.report.tokens import tokens_table
from ragevalkit.runs.folder import RunFolder
from ragevalkit.scoring.costs import Costs, costs_of
from ragevalkit.scoring.score import Score
from ragevalkit.scoring.summary import Summary
from ragevalkit.turn.record import Turn


def run_page(folder: RunFolder, summary: Summary) -> Page:
    """The page of a run; its turns are read once, one at a time.

    Raises:
        InputError: run.json is damaged.
    """
    manifest = folder.read_manifest() or {}
    turns = TurnsIslandBuilder([summary.run])
    left_out: list[str] = []
    figures = RunFigures()

    def reading() -> Iterator[tuple[Turn, Score]]:
        for shown in read_scored_turns(folder, left_out):
            turns.add([shown])
            figures.add(shown)
            if shown.score is not None:
                yield shown.turn, shown.score

    costs = costs_of(summary.run, reading())
    return Page(
        kind="run",
        title=summary.run,
        verdict=run_verdict(
            summary,
            repeated=manifest.get("settings", {}).get("repeats", 1) != 1,
            unscored=figures.unscored,
            left_out=left_out,
        ),
        facts=list(_facts(summary, manifest)),
        sections=[s for s in _sections(summary, figures, costs, manifest) if s.blocks],
        turns=turns.island(),
    )


def _facts(summary: Summary, manifest: dict[str, Any]) -> Iterator[str]:
    settings = manifest.get("settings", {})
    endpoint, bank = settings.get("endpoint", {}), settings.get("bank", {})
    questions = bank.get("questions")
    asked = f" ({counted(questions, 'question')})" if isinstance(questions, int) else ""
    repeats = settings.get("repeats", 1)
    often = f", each asked {repeats} times" if repeats != 1 else ""
    yield f"{counted(summary.turns, 'turn')}, {summary.scored:,} scored"
    yield f"bank {bank.get('name', 'of unknown name')}{asked}{often}"
    yield f"endpoint {endpoint.get('name', 'of unknown name')}, model {endpoint.get('model')}"
    for name in ("precision", "hardware"):
        if endpoint.get(name):
            yield f"{name} {endpoint[name]}"
    if concurrency := manifest.get("concurrency"):
        yield f"{counted(concurrency, 'turn')} at once"
    if created := manifest.get("created_at"):
        yield f"begun {str(created).replace('T', ' ').removesuffix('+00:00')} UTC"


def _sections(
    summary: Summary, figures: RunFigures, costs: Costs, manifest: dict[str, Any]
) -> Iterator[Section]:
    tables = {table.title: table for table in run_tables(summary)}
    median, *of_costs = costs_tables(costs) if costs.median_turn else [None, *costs_tables(costs)]

    def some(*titles: str) -> list[Table]:
        return [tables[title] for title in titles if title in tables]

    yield Section(
        "metrics",
        "Quality",
        [
            metric_intervals(summary),
            outcome_matrix(summary),
            *some("Metrics", "Answers judged by a model", "Outcomes"),
        ],
    )
    counts = defect_counts(summary)
    yield Section("defects", "Defects", [*([counts] if counts else []), *some("Defects")])
    yield Section(
        "timing",
        "Timing",
        [
            *_time_charts(figures, costs),
            *some("Timing"),
            *([median] if median else []),
            *some("Where the turns' time went", "Client and server"),
        ],
    )
    yield Section("tokens", "Tokens", [tokens_table(figures.tokens), *of_costs])
    yield Section("conditions", "Conditions", [*_conditions(summary, manifest)])


def _time_charts(figures: RunFigures, costs: Costs) -> Iterator[Chart]:
    drawn = [first_tokens(figures.ttft_ms, figures.first_answer_ms), gaps(figures.gaps)]
    if costs.median_turn:
        drawn.append(composition(costs.median_turn.parts_ms))
    yield from filter(None, drawn)


def _conditions(summary: Summary, manifest: dict[str, Any]) -> Iterator[Table | Prose]:
    if summary.instrument is not None:
        yield Prose([instrument_line(summary.instrument)])
    yield conditions_table({summary.run: manifest})
    if probe := manifest.get("probe"):
        yield from probe_tables(Probe.model_validate(probe))

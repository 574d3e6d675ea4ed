"""The page of a comparison: is b as good as a, and what that rests on.

Public: `comparison_page`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragevalkit.report.charts import comparison as charts
from ragevalkit.report.comparison import comparison_tables, headline
from ragevalkit.report.html.comparison_verdict import comparison_verdict, listed
from ragevalkit.report.html.conditions import conditions_table
from ragevalkit.report.html.paired_turns import PairedTurns, read_paired_turns
from ragevalkit.report.html.parts import Page, Prose, Section
from ragevalkit.report.html.side_by_side import side_by_side
from ragevalkit.report.html.turns_island import TurnsIslandBuilder
from ragevalkit.report.numbers import counted, percent
from ragevalkit.report.tables import Table
from ragevalkit.runs.results import read_summary

if TYPE_CHECKING:
    from ragevalkit.compare.result import Comparison
    from ragevalkit.report.charts.chart import Chart
    from ragevalkit.runs.folder import RunFolder

_METRICS = ("Metrics", "Without a verdict", "Noise floor", "How the verdicts came about")
_MOST = 3
"""Lines that can't be read of which the page speaks one by one."""
_MUST_NOT_DIFFER = "corpora, prompt, tool schemas, sampling, output budget, agent"


def comparison_page(of: Comparison, a: RunFolder, b: RunFolder) -> Page:
    """The page of a comparison of b with a; the turns of both are read once, side by side."""
    turns = TurnsIslandBuilder([of.a.run, of.b.run])
    wanted = {(question.question_id, question.repeat) for question in of.flipped.shown}
    shown: dict[tuple[str, int], PairedTurns] = {}
    left_out: list[str] = []
    for pair in read_paired_turns(a, b, left_out):
        turns.add(pair, pair.flipped)
        if pair.a and (key := (pair.a.turn.question_id, pair.a.turn.repeat)) in wanted:
            shown[key] = pair
    verdict = comparison_verdict(of)
    verdict.because.extend(f"Left out: {line}." for line in left_out[:_MOST])
    sections = [*_sections(of, side_by_side(of, shown), _both_sides(a, b)), _conditions(of, a, b)]
    return Page(
        kind="comparison",
        title=f"{of.b.run} against {of.a.run}",
        verdict=verdict,
        facts=[line for line in headline(of) if line not in of.notes],
        sections=[section for section in sections if section.blocks],
        turns=turns.island(),
    )


def _both_sides(a: RunFolder, b: RunFolder) -> Chart | None:
    """Each run's own metrics; None where one has no summary, as it was killed."""
    summaries = [read_summary(folder) for folder in (a, b)]
    if summaries[0] is None or summaries[1] is None:
        return None
    return charts.both_sides(summaries[0], summaries[1])


def _sections(of: Comparison, flipped: list[Table], sides: Chart | None) -> Iterator[Section]:
    tables = {table.title: table for table in comparison_tables(of)}
    at = tables.get
    yield Section.of(
        "metrics",
        "Metrics",
        charts.differences(of),
        charts.flips(of),
        sides if of.comparable else None,
        *map(at, _METRICS),
    )
    yield Section.of("differs", "What differs", at("What differs"), _sameness(of))
    if flipped:
        yield Section.of("flipped", "What came out differently", _how_many(of), *flipped)
    yield Section.of("defects", "Defects", at("Defects"))
    yield Section.of(
        "timing",
        "Timing",
        charts.time_differences(of),
        at("Timing"),
        charts.both_compositions(of),
        at("Where a turn's time went"),
    )
    yield Section.of("tokens", "Tokens", at("Tokens a turn"))
    yield Section.of("gate", "Gate", at("Gate"))


def _sameness(of: Comparison) -> Prose:
    """What was checked for being the same."""
    shared = of.shared
    lines = [
        f"{counted(shared.questions, 'question')} are the same on both sides, by a hash of their "
        f"words, labels and references: {percent(shared.share)} of what was asked."
    ]
    if of.not_comparable:
        lines.append(f"These must be the same, and aren't: {listed(list(of.not_comparable))}.")
    elif of.allowed:
        lines.append(
            f"Compared although these differ, as --allow says: {listed(list(of.allowed))}."
        )
    else:
        lines.append(f"Nothing differs that must be the same: {_MUST_NOT_DIFFER}.")
    return Prose(lines)


def _how_many(of: Comparison) -> Prose:
    shown, questions = len(of.flipped.shown), counted(of.flipped.questions, "question")
    return Prose(
        [
            f"{shown} of the {questions} on which a metric with a verdict changed, worst "
            "regressions first. All turns are in the table at the end; its filter picks those "
            "that differ."
        ]
    )


def _conditions(of: Comparison, a: RunFolder, b: RunFolder) -> Section:
    names = [of.a.run, of.b.run]
    if names[0] == names[1]:  # two folders of one name
        names = [of.a.folder, of.b.folder]
    manifests = [folder.read_manifest() or {} for folder in (a, b)]
    table = conditions_table(dict(zip(names, manifests, strict=True)))
    return Section("conditions", "Conditions", [table])

"""Charts of a run: metrics, outcomes, defects.

Public: `metric_intervals`, `outcome_matrix`, `defect_counts`, `SHARE_AXIS`, `counts_defects`,
`hundredfold`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragevalkit.report.charts import links
from ragevalkit.report.charts.axes import linear, number_tick
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.charts.matrix import Cell, draw_matrix
from ragevalkit.report.charts.rows import Bar, Mark, Row, draw_rows
from ragevalkit.report.numbers import (
    MISSING,
    counted,
    interval,
    mean,
    mean_interval,
    percent,
    rate,
)

if TYPE_CHECKING:
    from ragevalkit.scoring.summary import Rate, Summary

SHARE_AXIS = linear("% of the turns it is over, with the 95 % interval", (0, 100), number_tick)

_CALLED_FOR = {"answerable": "answer", "unanswerable": "decline"}
"""The outcome that a question calls for."""


def metric_intervals(summary: Summary) -> Chart:
    """Each metric that is a share, as a point with its 95 % interval."""
    from ragevalkit.scoring.metrics import METRICS

    shares = {name: of for name, of in summary.metrics.items() if not counts_defects(name)}
    rows = []
    for descriptive in (False, True):
        rows += [
            _metric_row(name, of)
            for name, of in shares.items()
            if METRICS[name].descriptive is descriptive
        ]
    title = "Metrics with their intervals"
    notes = ["↓ lower is better. Hollow: its denominator depends on what the model did."]
    notes += [
        f"{name} is no share: {mean(of.value)} ({mean_interval(of.low, of.high)})."
        for name, of in summary.metrics.items()
        if counts_defects(name) and of.value is not None
    ]
    text = "; ".join(_metric_says(name, of) for name, of in shares.items()) + "."
    return Chart(title, draw_rows(rows, SHARE_AXIS, title), text, notes)


def counts_defects(name: str) -> bool:
    """Whether a metric counts defects, so that it can exceed 1."""
    return name == "defects_per_turn"


def _metric_row(name: str, of: Rate) -> Row:
    from ragevalkit.scoring.metrics import METRICS

    metric = METRICS[name]
    mark = Mark(
        hundredfold(of.value),
        hundredfold(of.low),
        hundredfold(of.high),
        look="faint" if metric.descriptive else "value",
    )
    return Row(
        name if metric.higher_is_better else f"{name} ↓",
        [mark],
        _ratio(of),
        links.turns(metric=name),
        _metric_says(name, of),
    )


def _ratio(of: Rate) -> str:
    if of.value is None:
        return MISSING
    return mean(of.value) if of.k is None else rate(of.k, of.n)


def _metric_says(name: str, of: Rate) -> str:
    if of.value is None:
        return f"{name}: undefined"
    return f"{name}: {_ratio(of)}, {percent(of.value)} ({interval(of.low, of.high)})"


def hundredfold(share: float | None) -> float | None:
    return None if share is None else 100 * share


def outcome_matrix(summary: Summary) -> Chart:
    """How many turns on answerable and unanswerable questions came to each outcome."""
    kinds = list(summary.outcomes)
    outcomes = [
        outcome
        for outcome in dict.fromkeys(name for of in summary.outcomes.values() for name in of)
        if any(of.get(outcome) for of in summary.outcomes.values()) or outcome != "infra_error"
    ]
    totals = {kind: sum(summary.outcomes[kind].values()) for kind in kinds}
    cells = [
        [_cell(summary, outcome, kind, totals[kind]) for kind in kinds] for outcome in outcomes
    ]
    heads = [f"{kind} ({totals[kind]:,})" for kind in kinds]
    title = "What the turns came to"
    text = "; ".join(
        f"{kind} questions: " + (", ".join(_outcomes(summary.outcomes[kind])) or "none")
        for kind in kinds
    )
    notes = ["✓ what the question calls for. The shade is the share of the column."]
    return Chart(title, draw_matrix(outcomes, heads, cells, title), f"{text}.", notes)


def _cell(summary: Summary, outcome: str, kind: str, total: int) -> Cell:
    count = summary.outcomes[kind].get(outcome, 0)
    share = count / total if total else 0.0
    called_for = _CALLED_FOR.get(kind) == outcome
    return Cell(
        text=f"{count:,}" + (f" · {percent(share)}" if count else ""),
        share=share,
        good=called_for,
        link=links.turns(outcome=outcome, answerable=int(kind == "answerable")) if count else "",
        says=f"{outcome} on {kind} questions: {counted(count, 'turn')}",
    )


def _outcomes(counts: dict[str, int]) -> Iterator[str]:
    return (f"{outcome} {count:,}" for outcome, count in counts.items() if count)


def defect_counts(summary: Summary) -> Chart | None:
    """Turns with each class of defects, the most frequent first; None where there are none."""
    from ragevalkit.scoring.defects import DEFECTS

    if not summary.defects:
        return None
    ordered = sorted(summary.defects.items(), key=lambda pair: -pair[1])
    rows = [
        Row(
            name,
            word=f"{count:,}",
            link=links.turns(defect=name),
            says=f"{name}: {counted(count, 'turn')}; {DEFECTS[name].meaning}",
            bars=[Bar(0, count)],
        )
        for name, count in ordered
    ]
    axis = linear(f"turns, of {summary.scored:,}", (0, ordered[0][1]), number_tick)
    title = "Defects by class"
    text = "; ".join(f"{name} in {counted(count, 'turn')}" for name, count in ordered)
    return Chart(title, draw_rows(rows, axis, title), f"{text}.")

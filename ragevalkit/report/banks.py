"""Tables of a bank: what lint found, what is in it, what it can detect.

Public: `findings_table`, `mix_tables`, `power_tables`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ragevalkit.report.numbers import MISSING
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.bank.lint import Linted
    from ragevalkit.bank.mix import Count, Mix
    from ragevalkit.bank.planning import Plan

MOST_ROWS = 10
"""Rows of one kind of finding, unless all are wanted."""


def findings_table(linted: Linted, every: bool = False) -> Table:
    """A finding a row, and below what to do about each kind."""
    rows = []
    counts = Counter[str]()
    for finding in linted.findings:
        counts[finding.name] += 1
        if not every and counts[finding.name] > MOST_ROWS:
            continue
        first = finding.positions[0] if finding.positions else None
        rows.append(
            [
                MISSING if first is None else str(linted.bank.lines[first]),
                "whole bank" if first is None else linted.bank.questions[first].id,
                finding.severity,
                finding.name,
                finding.message,
            ]
        )
    hints = {finding.name: finding.todo for finding in linted.findings}
    notes = [f"{name}: {todo}." for name, todo in hints.items()]
    notes += [
        f"{count - MOST_ROWS} more of {name} are shown with --all."
        for name, count in counts.items()
        if count > MOST_ROWS and not every
    ]
    columns = ["line", "question", "severity", "finding", "what"]
    return Table(f"Lint of {linted.bank.path}", columns, rows, notes, text_columns=5)


def mix_tables(name: str, mix: Mix) -> list[Table]:
    """Questions by tag and answerability, and by what they bring along."""
    total = [str(mix.answerable + mix.unanswerable), str(mix.answerable), str(mix.unanswerable)]
    rows = [["all", *total], *(_counted(tag, count) for tag, count in mix.tags.items())]
    if mix.untagged.total:
        rows.append(_counted("(no tag)", mix.untagged))
    columns = ["tag", "questions", "answerable", "unanswerable"]
    by_tag = Table(f"Bank {name}", columns, rows)
    groups = [
        [f"answer on {number} page{'s' if number > 1 else ''}", str(count), str(count), MISSING]
        for number, count in mix.groups.items()
    ]
    rows = [
        _counted("with history", mix.with_history),
        *groups,
        *(
            [what, str(count), str(count), MISSING]
            for what, count in (
                ("short reference", mix.short_reference),
                ("long references only", mix.long_reference),
                ("no reference", mix.no_reference),
            )
        ),
        ["says why it can't be answered", str(mix.with_reason), MISSING, str(mix.with_reason)],
    ]
    notes = [f"{mix.quotes} of {mix.evidence} evidence entries have a quote."]
    columns = ["what they have", "questions", "answerable", "unanswerable"]
    return [by_tag, Table("What questions bring along", columns, rows, notes)]


def power_tables(plan: Plan) -> list[Table]:
    """What the questions can tell of one run, and of a comparison."""
    from ragevalkit.scoring.metrics import METRICS

    over = {row.over: row.n for row in plan.denominators}
    rates = [
        [
            row.over,
            str(row.n),
            _points(row.half_width, "± "),
            ", ".join(
                name
                for name, metric in METRICS.items()
                if metric.over == row.over and not metric.descriptive and not metric.is_mean
            ),
        ]
        for row in plan.denominators
    ]
    one_run = Table(
        "One run",
        ["over", "n", f"at {plan.rate:.0%}", "rates"],
        rates,
        [f"Half the width of Wilson's 95 % interval at a rate of {plan.rate:.0%}, in points."],
        remarks=True,
    )
    rows = [
        [
            case.over,
            str(over[case.over]),
            f"{case.discordant:.0%}",
            _points(case.detectable),
            _more(case.more_to_detect),
            _points(case.margin),
            _more(case.more_for_margin),
        ]
        for case in plan.cases
    ]
    points = f"{100 * plan.target:g}"
    notes = [
        "Discordant: the share of questions that only one of two runs gets right; nobody knows it "
        "before, so plan for several.",
        "Detects: the smallest true difference, in points, that the exact McNemar test (two-sided, "
        "5 %) finds with 80 % power; – where even all discordant pairs going one way are too few.",
        "Margin: what 'no worse' can be shown within, with 80 % power, if the two are in truth "
        "equal (one-sided 5 %: Tango's 90 % interval).",
        f"More: how many more such questions {points} points would need; – where {points} points "
        "can't differ at that share.",
        _on_repeats(plan),
    ]
    columns = ["over", "n", "discordant", "detects", "more", "margin", "more"]
    return [one_run, Table("Comparing two runs", columns, rows, notes)]


def _on_repeats(plan: Plan) -> str:
    unit = "The question is the unit: repeats don't add to n"
    if plan.repeats == 1:
        return f"{unit}; --repeats N says what they do buy."
    return (
        f"{unit}. If two repeats of one question correlate by {plan.correlation:g} (assumed: only "
        f"a run can tell), {plan.repeats} repeats make intervals {1 - plan.interval_factor:.0%} "
        f"narrower, and no number of them more than {1 - plan.most_narrowed:.0%}; the table "
        "above is for one repeat."
    )


def _counted(name: str, count: Count) -> list[str]:
    return [name, str(count.total), str(count.answerable), str(count.unanswerable)]


def _points(share: float | None, sign: str = "") -> str:
    return MISSING if share is None else f"{sign}{100 * share:.1f}"


def _more(count: int | None) -> str:
    return MISSING if count is None else f"+{count:,}" if count else "enough"

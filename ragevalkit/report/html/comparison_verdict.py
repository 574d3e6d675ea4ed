"""The first sentence of a comparison's page: is b as good as a, in words for a decision.

Public: `comparison_verdict`, `listed`.

Only what the gate and the verdicts say is said here. That no difference was shown is never said as
if there were none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ragevalkit.report.comparison import comparison_tables, gate_sentence
from ragevalkit.report.html.parts import Verdict

if TYPE_CHECKING:
    from ragevalkit.compare.result import Comparison, GateLine

Tone = Literal["good", "bad", "open", "none"]

_NAMED = 4
"""Metrics that the sentence names; the others are counted."""

_GROUPS = (
    ("worse", "Worse"),
    ("inconclusive", "Undecided, which doesn't mean equal"),
    ("better", "Better"),
)


def comparison_verdict(of: Comparison) -> Verdict:
    """Yes, no, or not shown; with what it rests on."""
    line, tone = _line(of)
    gate = gate_sentence(of)
    because = [*_groups(of), f"{gate[:1].upper()}{gate[1:]}.", *_notes(of)]
    return Verdict(line, tone, because)


def _line(of: Comparison) -> tuple[str, Tone]:
    a, b = of.a.run, of.b.run
    if not of.comparable:
        fields = listed(list(of.not_comparable))
        return f"Can't be compared: {a} and {b} differ in {fields}, which must be the same.", "open"
    if worse := _with(of, "worse"):
        return f"No: {b} is worse than {a} in {_in_words(worse)}.", "bad"
    if failed := [line for line in _limits(of) if line.status == "failed"]:
        return f"No: {b} is past what the gate allows, {_because_of(failed)}.", "bad"
    if halves := [arm.run for arm in (of.a, of.b) if arm.unfinished]:
        verb = "is" if len(halves) == 1 else "are"
        return f"Not decided: {listed(halves)} {verb} half finished.", "open"
    if unclear := [line for line in _limits(of) if line.status == "inconclusive"]:
        return f"Not decided: the gate has no figure, {_because_of(unclear)}.", "open"
    return _not_worse(of)


def _not_worse(of: Comparison) -> tuple[str, Tone]:
    """Where no metric is worse: whether that is shown, or only not refuted."""
    a, b = of.a.run, of.b.run
    open_, better = _with(of, "inconclusive"), _with(of, "better")
    gain = f", and better in {_in_words(better)}" if better else ""
    if not open_:
        judged = len(better) + len(_with(of, "no_worse"))
        by = f"all {judged} metrics" if judged > 1 else "its one metric"
        return f"Yes: {b} is as good as {a} by {by}, within the margins{gain}.", "good"
    asked = [line.name for line in of.gate.lines if line.require.startswith("no_worse")]
    shown = [name for name in asked if name in of.metrics and name not in open_]
    if of.gate.verdict == "passed" and shown:
        return (
            f"Yes, by the gate: {b} is as good as {a} in {_in_words(shown)}{gain}; undecided is "
            f"{_in_words(open_)}.",
            "good",
        )
    return (
        f"Undecided: no loss of {b} against {a} is established, nor that it is as good in "
        f"{_in_words(open_)}.",
        "open",
    )


def _groups(of: Comparison) -> Iterator[str]:
    """A line for each verdict that occurs, with the numbers of its metrics."""
    if not of.comparable:
        return
    cells = _cells(of)
    for verdict, title in _GROUPS:
        if names := _with(of, verdict):
            yield f"{title}: {'; '.join(_numbers(of, name, cells[name]) for name in names)}."
    if safe := _with(of, "no_worse"):
        margins = [f"{cells[name]['margin']} {_unit(of, name)}" for name in safe]
        losing = [name for name in safe if of.metrics[name].small_loss]
        loss = f"; a loss inside it is established in {_in_words(losing)}" if losing else ""
        margin = listed(list(dict.fromkeys(margins)))
        yield f"No worse, by a margin of {margin}: {listed(safe)}{loss}."


def _cells(of: Comparison) -> dict[str, dict[str, str]]:
    """What the tables show of each metric, by column."""
    cells: dict[str, dict[str, str]] = {name: {} for name in of.metrics}
    for table in comparison_tables(of):
        if table.columns[0] == "metric":
            for row in table.rows:
                cells[row[0].removesuffix(" ↓")].update(zip(table.columns, row, strict=True))
    return cells


def _numbers(of: Comparison, name: str, cells: Mapping[str, str]) -> str:
    result = of.metrics[name]
    said = f"{name} {cells['a']} → {cells['b']}"
    if result.difference is not None:
        # the interval that decides, or an undecided one could lie on one side of 0
        kind = "95 %" if result.adjusted is None else "Holm's"
        reach = cells["95 % interval" if result.adjusted is None else "adjusted interval"]
        said += f" ({cells['b − a']} {_unit(of, name)}, {kind} interval {reach})"
    if cells["more"]:
        said += f", about {cells['more']} more questions would decide"
    return said


def _unit(of: Comparison, name: str) -> str:
    return "defects a turn" if of.metrics[name].a.k is None else "points"


def _notes(of: Comparison) -> list[str]:
    return [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in of.notes]


def _with(of: Comparison, verdict: str) -> list[str]:
    """The metrics that got a verdict, in their order."""
    return [name for name, result in of.metrics.items() if result.verdict == verdict]


def _limits(of: Comparison) -> list[GateLine]:
    """The gate's blocking lines that aren't on metrics, nor on runs being finished."""
    ours = {*of.metrics, "a finished", "b finished"}
    return [line for line in of.gate.lines if line.tier == "blocking" and line.name not in ours]


def _because_of(lines: Sequence[GateLine]) -> str:
    return listed([f"{line.name}: {line.why}" for line in lines])


def _in_words(names: Sequence[str]) -> str:
    shown = list(names[:_NAMED])
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED} more")
    return listed(shown)


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))

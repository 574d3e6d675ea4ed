"""A comparison as tables, the same in the terminal and in Markdown.

Public: `headline`, `comparison_tables`, `flipped_blocks`, `gate_sentence`, `CLOCKS`, `arrow`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ragevalkit.report.differences import between, p_value, points, points_between, signed
from ragevalkit.report.numbers import (
    MISSING,
    count,
    counted,
    mean,
    milliseconds,
    percent,
    rate,
    seconds,
)
from ragevalkit.report.tables import Table
from ragevalkit.report.turns import first_words

if TYPE_CHECKING:
    from ragevalkit.compare.comparability import Fields
    from ragevalkit.compare.result import (
        Comparison,
        FlippedQuestion,
        MeanResult,
        MetricResult,
        Side,
    )

_VALUE = 40
"""Characters of a setting's value that are shown."""

CLOCKS = {
    "ttft_ms": ("first token", milliseconds),
    "first_answer_ms": ("first answer token", milliseconds),
    "turn_s": ("whole turn", seconds),
    "tpot_ms": ("time per token", milliseconds),
}
"""What the clocks are called, and how their values are written."""


def headline(of: Comparison) -> list[str]:
    """What stands above the tables: the runs, the pairs, and what to know beforehand."""
    from ragevalkit.compare.pairing import left_over

    lines = [
        f"{side}: {arm.run}, {counted(arm.turns, 'turn')}, {arm.scored} scored, "
        f"{arm.infra_errors} lost to infrastructure errors"
        for side, arm in (("a", of.a), ("b", of.b))
    ]
    lines.append(
        f"{counted(of.pairs, 'pair')} of {counted(of.questions, 'question')}"
        + (f"; not paired: {left_over(of.unpaired)}" if of.unpaired else "")
    )
    if not of.comparable:
        lines.append(
            f"NOT COMPARABLE: {', '.join(of.not_comparable)} differ; `--allow FIELD` compares "
            "all the same"
        )
    return lines + of.notes


def gate_sentence(of: Comparison) -> str:
    """The gate's verdict in a sentence."""
    gate = of.gate
    if gate.verdict is None:
        return "no gate"
    by = f"gate {gate.file} (sha256 {str(gate.hash)[:16]})" if gate.file else "built-in gate"
    if gate.verdict == "not_comparable":
        return f"{by}: not comparable"
    held = [
        line.name
        for line in gate.lines
        if line.tier == "blocking"
        and line.status == {"regression": "failed"}.get(gate.verdict, "inconclusive")
    ]
    named = f": {', '.join(held)}" if held and gate.verdict != "passed" else ""
    return f"{by}: {gate.verdict}{named}"


def comparison_tables(of: Comparison, narrow: bool = False) -> list[Table]:
    """All tables of a comparison; those with nothing in them are left out.

    Args:
        narrow: none is wider than 80 columns.
    """
    tables = [_conditions(of)]
    if of.comparable:
        tables += [*_metrics(of, narrow), _undecided(of)]
        if of.floor is not None:
            tables.append(_floor(of))
        tables += [_defects(of), *_timing(of), _tokens(of)]
    tables.append(_gate(of))
    return [table for table in tables if table.rows]


def _conditions(of: Comparison) -> Table:
    kinds: list[tuple[str, Fields]] = [
        ("not comparable", of.not_comparable),
        ("allowed to differ", of.allowed),
        ("factor", of.factors),
        ("confounder", of.confounders),
    ]
    rows = [
        [kind, field, _setting(values.a), _setting(values.b)]
        for kind, fields in kinds
        for field, values in fields.items()
    ]
    notes = ["A factor is meant to differ; a confounder may explain a difference as well."]
    return Table("What differs", ["", "field", "a", "b"], rows, notes, text_columns=4)


def _setting(value: object) -> str:
    if value is None:
        return MISSING
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return first_words(written, _VALUE)


_WIDE = (
    ("Metrics", ("a", "b", "b − a", "95 % interval", "flips", "detects", "more", "verdict")),
    (
        "How the verdicts came about",
        ("p", "Holm p", "adjusted interval", "90 % interval", "margin", "test"),
    ),
)
_NARROW = (
    ("Metrics", ("a", "b", "b − a", "95 % interval", "verdict")),
    ("What was seen, and what could have been", ("flips", "detects", "margin", "more", "test")),
    ("How the verdicts came about", ("p", "Holm p", "adjusted interval", "90 % interval")),
)
"""Titles and columns of the tables of metrics."""


def _metrics(of: Comparison, narrow: bool) -> Iterator[Table]:
    """The metrics that get a verdict, cut into tables by columns."""
    cells = {
        f"{name}{arrow(name)}": _metric_cells(name, result)
        for name, result in of.metrics.items()
        if result.verdict is not None
    }
    notes = [_legend(of), _methods(of)]
    cut = _NARROW if narrow else _WIDE
    for position, (title, columns) in enumerate(cut):
        rows = [[name, *(found[column] for column in columns)] for name, found in cells.items()]
        texts = columns[-1] in ("verdict", "test")
        at_end = notes if position == len(cut) - 1 else []
        yield Table(title, ["metric", *columns], rows, at_end, remarks=texts)


def _metric_cells(name: str, result: MetricResult) -> dict[str, str]:
    """What a metric shows, by column."""
    small_loss = " (small loss)" if result.small_loss else ""
    return {
        "a": _side(result.a),
        "b": _side(result.b),
        "b − a": _change(name, result.difference),
        "95 % interval": _reach(name, result.low, result.high),
        "flips": f"{result.flips.a_only}:{result.flips.b_only}",
        "detects": _size(name, result.detectable),
        "verdict": f"{result.verdict}{small_loss}",
        "more": "" if result.more_questions is None else f"{result.more_questions:,}",
        "test": result.test.replace("_", " "),
        "p": p_value(result.p),
        "Holm p": p_value(result.p_adjusted),
        "adjusted interval": _reach(name, *_ends(result.adjusted)),
        "90 % interval": _reach(name, *_ends(result.one_sided)),
        "margin": _size(name, result.margin),
    }


def _legend(of: Comparison) -> str:
    unit = "questions whose mean is" if of.repeated else "pairs in which it is"
    return (
        "↓ lower is better. Differences are in points, those of defects_per_turn in defects. "
        f"Flips: {unit} higher on a : on b. Detects: the smallest difference that so many "
        "questions show 8 times in 10. More: about so many more questions would decide, if the "
        "truth is what was seen. Inconclusive doesn't mean equal."
    )


def _methods(of: Comparison) -> str:
    words = {"tango": "Tango's for rates", "cluster_bootstrap": "the cluster bootstrap's"}
    judged = [result for result in of.metrics.values() if result.adjusted]
    methods = {result.method for result in judged}
    levels = sorted({percent(r.adjusted.level) for r in judged if r.adjusted})
    between = f"{levels[0]} to {levels[-1]}" if len(levels) > 1 else "".join(levels)
    return (
        f"Intervals are {' and '.join(words[m] for m in words if m in methods)}. The adjusted one "
        f"({between}, by Holm) decides better and worse; the bad end of the 90 % one, against the "
        "margin, no_worse."
    )


def arrow(name: str) -> str:
    """What stands after the name of a metric of which lower is better."""
    from ragevalkit.scoring.metrics import METRICS

    return "" if METRICS[name].higher_is_better else " ↓"


def _undecided(of: Comparison) -> Table:
    columns = ("a", "b", "b − a", "95 % interval", "flips")
    rows = [
        [name, *(_metric_cells(name, result)[column] for column in columns)]
        for name, result in of.metrics.items()
        if result.verdict is None
    ]
    notes = [
        "Their denominators depend on what the model did, or no pair defines them. They are over "
        "the pairs in which both sides define them, and decide nothing."
    ]
    return Table("Without a verdict", ["metric", *columns], rows, notes)


def _floor(of: Comparison) -> Table:
    assert of.floor is not None
    rows = []
    for name, result in of.metrics.items():
        if result.floor is None:
            continue
        floor = result.floor
        rows.append(
            [
                name,
                _change(name, floor.difference),
                _reach(name, floor.low, floor.high),
                f"{floor.flips.a_only}:{floor.flips.b_only}",
                _change(name, result.difference),
                "inside the noise floor" if floor.inside else "",
            ]
        )
    columns = ["metric", "a2 − a", "95 % interval", "flips", "b − a", ""]
    notes = [
        f"a2 is {of.floor['run']}, another run of a's endpoint, over "
        f"{counted(of.floor['pairs'], 'pair')}: what it differs by is noise."
    ]
    return Table("Noise floor", columns, rows, notes, remarks=True)


def _defects(of: Comparison) -> Table:
    rows = [
        [
            name,
            _side(result.a),
            _side(result.b),
            points(result.difference),
            points_between(result.low, result.high),
            f"{result.flips.a_only}:{result.flips.b_only}",
        ]
        for name, result in of.defects.items()
    ]
    columns = ["defect", "a", "b", "b − a", "95 % interval", "flips"]
    notes = ["In points; the intervals are adjusted for nothing, so one in twenty misleads."]
    return Table("Defects", columns, rows, notes)


def _timing(of: Comparison) -> Iterator[Table]:
    timing = of.timing
    assert timing is not None
    rows = []
    for name, clock in timing.clocks.items():
        label, written = CLOCKS[name]
        rows.append(
            [
                label,
                written(clock.a.p50),
                written(clock.b.p50),
                signed(written, clock.difference),
                between(written, clock.low, clock.high),
            ]
        )
        if clock.a.censored or clock.b.censored:
            never = [f"{clock.a.censored}/{clock.a.n}", f"{clock.b.censored}/{clock.b.n}"]
            rows.append([f"{label} never came", *never, "", ""])
    rows += [_mean_row(name.replace("_", " "), of, count) for name, of in timing.counts.items()]
    columns = ["", "a", "b", "b − a", "95 % interval"]
    notes = [
        "First token: of a turn's first round; first answer token: from the turn's start. Clocks "
        "are medians, and the median over the questions of b − a, where what never came is later "
        "than all else; rounds are means."
    ]
    yield Table("Timing", columns, rows, notes)
    rows = [
        _mean_row(part.replace("_", " "), of, milliseconds)
        for part, of in timing.composition.items()
    ]
    yield Table("Where a turn's time went", ["part", *columns[1:]], rows)


def _tokens(of: Comparison) -> Table:
    rows = [_mean_row(name.replace("_", " "), mean, count) for name, mean in of.tokens.items()]
    return Table("Tokens a turn", ["", "a", "b", "b − a", "95 % interval"], rows)


def _mean_row(name: str, of: MeanResult, written: Any) -> list[str]:
    return [
        name,
        written(of.a),
        written(of.b),
        signed(written, of.difference),
        between(written, of.low, of.high),
    ]


def _gate(of: Comparison) -> Table:
    # the built-in gate's lines on metrics only say the verdicts again
    rows = [
        [line.name, line.tier, line.require, line.status, line.why]
        for line in of.gate.lines
        if of.gate.file or line.name not in of.metrics
    ]
    columns = ["gate", "tier", "requires", "status", "why"]
    return Table("Gate", columns, rows, [gate_sentence(of)], text_columns=5)


def flipped_blocks(of: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Each flipped question that is shown: its title, then what changed and both replies."""
    for question in of.flipped.shown:
        yield (
            _title(question),
            [
                "; ".join(_changed(question.metrics)),
                *(
                    f"{side}: {reply.outcome}"
                    + (f" ({', '.join(reply.defects)})" if reply.defects else "")
                    + f": {first_words(reply.reply, 300)}"
                    for side, reply in (("a", question.a), ("b", question.b))
                ),
            ],
        )


def _title(question: FlippedQuestion) -> str:
    repeat = f", repeat {question.repeat}" if question.repeat else ""
    return f"{question.question_id}{repeat}: {first_words(question.question, 120)}"


def _changed(metrics: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    return (f"{name} {count(a)} → {count(b)}" for name, (a, b) in metrics.items())


def _side(side: Side) -> str:
    return mean(side.value) if side.k is None else rate(side.k, side.n)


def _is_mean(name: str) -> bool:
    from ragevalkit.scoring.metrics import METRICS

    return METRICS[name].is_mean


def _change(name: str, difference: float | None) -> str:
    return signed(mean, difference) if _is_mean(name) else points(difference)


def _reach(name: str, low: float | None, high: float | None) -> str:
    return between(mean, low, high) if _is_mean(name) else points_between(low, high)


def _size(name: str, size: float | None) -> str:
    if size is None:
        return MISSING
    return mean(size) if _is_mean(name) else f"{100 * size:.1f}"


def _ends(bounds: Any) -> tuple[float | None, float | None]:
    return (bounds.low, bounds.high) if bounds else (None, None)

"""Tables of `show RUN --costs`.

Public: `costs_tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragevalkit.report.numbers import MISSING, count, counted, milliseconds, percent, seconds
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.scoring.costs import Costs, Each, Energy, MedianTurn

_TITLES = {
    "queue": "queue",
    "prefill": "prefill",
    "wait": "waiting (queue, prefill, network)",
    "reasoning": "reasoning",
    "tool_arguments": "tool arguments",
    "answer": "answer",
    "tools": "tools",
    "retries": "retries",
    "harness": "harness",
}


def costs_tables(costs: Costs) -> list[Table]:
    """The median turn, what a correct answer costs, and energy where it is known."""
    from ragevalkit.scoring.correct import MEANING

    notes = [
        f"Correct: {MEANING}.",
        "All scored turns' time and tokens, right and wrong, over the correct ones.",
        *(f"{note[:1].upper()}{note[1:]}." for note in costs.notes),
    ]
    per = Table(
        f"{costs.run}: {costs.correct} of {costs.scored} scored turns are correct",
        ["a correct one costs", "value", "95 % interval", "in all"],
        [
            ["time", *_each(costs.seconds_per_correct, seconds)],
            ["output tokens", *_each(costs.output_tokens_per_correct, count)],
            ["prompt tokens", *_each(costs.prompt_tokens_per_correct, count)],
        ],
        notes,
    )
    tables = [_median(costs.median_turn)] if costs.median_turn else []
    return [*tables, per, *([_energy(costs.energy)] if costs.energy else [])]


def _median(turn: MedianTurn) -> Table:
    wall_ms = sum(turn.parts_ms.values())
    rows = [
        [
            _title(turn, part),
            milliseconds(ms),
            percent(ms / wall_ms if wall_ms else None),
            _of(turn, part),
        ]
        for part, ms in turn.parts_ms.items()
        if ms or part in ("reasoning", "answer")
    ]
    return Table(
        "Where the median turn's time goes",
        ["part", "time", "share", "tokens"],
        rows,
        [
            f"Means over the {counted(turn.turns, 'turn')} in the middle by wall time: "
            f"{seconds(turn.wall_s)}, {turn.rounds:.1f} rounds."
        ],
    )


def _title(turn: MedianTurn, part: str) -> str:
    told = any(turn.parts_ms[name] for name in ("queue", "prefill"))
    return "waiting, the rest" if part == "wait" and told else _TITLES[part]


def _of(turn: MedianTurn, part: str) -> str:
    return count(turn.tokens[part]) if part in turn.tokens else ""


def _each(each: Each, written: Callable[[float | None], str]) -> list[str]:
    if each.low is None or each.high is None:
        between = MISSING
    else:
        between = f"{written(each.low)} – {written(each.high)}"
    return [written(each.value), between, written(each.total)]


def _energy(energy: Energy) -> Table:
    def both(total: float | None, above: float | None, unit: str) -> list[str]:
        return [_with(total, unit), _with(above, unit)]

    rows = [
        ["mean power", *both(energy.mean_watts, _less(energy), "W")],
        ["in all", *both(energy.joules, energy.joules_above_idle, "J")],
        [
            "an answer token",
            *both(energy.per_answer_token, energy.per_answer_token_above_idle, "J"),
        ],
        ["an output token", *both(energy.per_output_token, None, "J")],
        ["a correct one", *both(energy.per_correct, energy.per_correct_above_idle, "J")],
    ]
    source = (
        "the card's own counter of energy" if energy.source == "counter" else "watts times seconds"
    )
    notes = [
        f"Scope: {energy.scope}. Devices: {', '.join(energy.devices)}.",
        f"By {source}, over the {seconds(energy.seconds)} in which turns were asked; samples cover "
        f"{percent(energy.covered)} of them.",
        _idle(energy),
    ]
    return Table("Energy", ["", "as measured", "above idle"], rows, notes)


def _less(energy: Energy) -> float | None:
    return None if energy.idle_watts is None else energy.mean_watts - energy.idle_watts


def _idle(energy: Energy) -> str:
    if energy.idle_watts is None:
        return "Idle power isn't known: the log has too little before and after the turns."
    source = "as given" if energy.idle_source == "given" else "the median outside of the turns"
    return f"Idle: {_with(energy.idle_watts, 'W')}, {source}; taken off for the whole time."


def _with(value: float | None, unit: str) -> str:
    if value is None:
        return MISSING
    return f"{value:.3g} {unit}" if abs(value) < 1000 else f"{value:,.0f} {unit}"

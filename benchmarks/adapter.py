"""Runs side by side, as the table of the adapter's card in Markdown.

    python benchmarks/adapter.py RUN...

Prints each metric as k/n and per cent with its 95 % interval, a column a run, and the median turn.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ragevalkit.report.numbers import interval, mean, mean_interval, percent, rate, seconds
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.summary import Rate, Summary

SHOWN = (
    "answered",
    "searched_first",
    "evidence_retrieved",
    "cited_correct_page",
    "cited_given_retrieved",
    "refused_correctly",
    "over_refused",
    "correct_answer",
    "malformed_calls",
    "defects_per_turn",
)


def main(names: list[str]) -> None:
    files = [Path("reports") / name / "summary.json" for name in names]
    runs = [Summary.model_validate_json(file.read_bytes()) for file in files]
    print("| | " + " | ".join(names) + " |")
    print("| --- |" + " --- |" * len(names))
    for metric in SHOWN:
        print(f"| {metric} | " + " | ".join(cell(metric, r.metrics[metric]) for r in runs) + " |")
    leaked = [str(run.defects.get("answer:leaked_markup", 0)) for run in runs]
    print("| turns with leaked markup | " + " | ".join(leaked) + " |")
    medians = [seconds(run.timing.turn_s.p50) for run in runs]
    print("| median turn | " + " | ".join(medians) + " |")


def cell(name: str, of: Rate) -> str:
    if METRICS[name].is_mean:
        return f"{mean(of.value)} ({mean_interval(of.low, of.high)})"
    return f"{rate(of.k, of.n)}, {percent(of.value)} ({interval(of.low, of.high)})"


if __name__ == "__main__":
    main(sys.argv[1:])

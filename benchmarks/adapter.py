"""The scores of `local` beside the extractive baseline's, as the adapter's card shows them.

    python benchmarks/adapter.py [HELD_OUT.jsonl]

HELD_OUT has the questions of CLAPnq that training leaves out. They and tarn, or tarn alone, are
asked of both endpoints, in runs under `reports/` whose names hold the adapter's hash; what is
finished there is read. Prints Markdown.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import ragevalkit
from ragevalkit.cli.progress import Announcer
from ragevalkit.report import numbers
from ragevalkit.scoring.summary import Rate, Summary
from ragevalkit.standin.local import ADAPTER

RATES = (
    "searched_first",
    "malformed_calls",
    "evidence_retrieved",
    "cited_correct_page",
    "cited_given_retrieved",
    "refused_correctly",
    "over_refused",
    "correct_answer",
)
LEAKED = "answer:leaked_markup"
ENDPOINTS = ("local", "baseline")


def main(held_out: str | None) -> None:
    asked = {"tarn": "tarn"} | ({"held-out CLAPnq": held_out} if held_out else {})
    runs = {
        f"{endpoint}, {name}": summary(bank, endpoint)
        for name, bank in asked.items()
        for endpoint in ENDPOINTS
    }
    print("|  |", " | ".join(runs), "|")
    print("| --- |" + " --- |" * len(runs))
    for rate in RATES:
        cells = [cell(run.metrics[rate]) for run in runs.values()]
        print(f"| {rate} |", " | ".join(cells), "|")
    cells = [f"{run.defects.get(LEAKED, 0)} of {run.scored} turns" for run in runs.values()]
    print("| leaked markup |", " | ".join(cells), "|")
    print(
        "| median turn |",
        " | ".join(numbers.seconds(x.timing.turn_s.p50) for x in runs.values()),
        "|",
    )


def summary(bank: str, endpoint: str) -> Summary:
    hash_ = hashlib.sha256(ADAPTER.read_bytes()).hexdigest()[:8]
    name = f"adapter-{hash_}-{Path(bank).stem}-{endpoint}"
    with Announcer() as announcer:
        return ragevalkit.run(bank, endpoint, name=name, observer=announcer, report=False).summary


def cell(rate: Rate) -> str:
    value, interval = numbers.percent(rate.value), numbers.interval(rate.low, rate.high)
    return f"{numbers.rate(rate.k, rate.n)} = {value} ({interval})"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

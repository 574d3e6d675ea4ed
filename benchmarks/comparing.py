"""What a comparison takes, and how often it finds a difference that isn't there.

    python benchmarks/comparing.py time [--turns 116 100000] [--json]
    python benchmarks/comparing.py same [--comparisons 1000] [--questions 116] [--repeats 2]
        [--seed 0] [--processes 2] [--json]

`time` runs the built-in endpoints once, writes their turns over and over into two run folders of
`--turns` turns each, under a new question every second turn (two repeats), and takes the time of
`ragevalkit compare`, start-up included, and the peak memory of all its processes (Linux). The
smallest of three times counts: what a busy machine adds isn't the command's.

`same` draws pairs of runs, in two ways: from one and the same endpoint; and from two endpoints that
are equal on average, but of which each has its own chances question by question. Each question has
a chance of each outcome, which its repeats share; each turn is drawn by it, and all metrics come
from the same draws, so that they go together as they do in a run. It counts the comparisons in
which any metric comes out better or worse (or no worse with a small loss), which Holm should keep
at 5 %; beside it those in which any 95 % interval would have said so without Holm, and those that
would have come out if each turn were taken for a question of its own. A thousand of each kind take
five to ten minutes.

Both exit with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ragevalkit.compare.arm import Arm
from ragevalkit.compare.difference import difference_of
from ragevalkit.compare.pairing import Pairs, pair
from ragevalkit.compare.result import MetricResult
from ragevalkit.compare.verdict import DEFAULT_MARGINS, compare_metrics
from ragevalkit.report.numbers import percent
from ragevalkit.report.tables import Table
from ragevalkit.report.terminal import print_table
from ragevalkit.runs.folder import RunFolder
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.stats import holm

SMALL = 1000
"""Turns up to which a comparison is to take `SMALL_S`; above, `LARGE_S`."""
SMALL_S, LARGE_S, MOST_MIB, MOST_SHARE = 2.0, 20.0, 1024, 0.05
TRIES = 3
KINDS = ("one endpoint", "equal on average")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    timing = commands.add_parser("time")
    timing.add_argument("--turns", type=int, nargs="+", default=[116, 100_000])
    same = commands.add_parser("same")
    same.add_argument("--comparisons", type=int, default=1000, help="of each kind")
    same.add_argument("--questions", type=int, default=116)
    same.add_argument("--repeats", type=int, nargs="+", default=[2])
    same.add_argument("--seed", type=int, default=0)
    same.add_argument("--processes", type=int, default=2)
    for command in (timing, same):
        command.add_argument("--json", action="store_true", help="print JSON alone")
    options = parser.parse_args()
    if options.command == "time":
        results, table = times(options.turns), time_table
    else:
        results, table = same_endpoints(options), same_table
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        print_table(table(results))
    sys.exit(not all(result["within"] for result in results))


Result = dict[str, Any]


class Taken(NamedTuple):
    """What a command took."""

    seconds: float
    cpu_s: float
    peak_mib: float
    """Of all its processes together."""


def times(sizes: list[int]) -> list[Result]:
    """Seconds and peak memory of comparing two runs, by their turns."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, endpoint in (("a", "baseline"), ("b", "mock")):
            command(work, "run", "--endpoint", endpoint, "--name", name, "--no-report")
        for turns in sizes:
            for name in "ab":
                multiply(
                    RunFolder(work / "reports" / name),
                    RunFolder(work / "reports" / f"{name}{turns}"),
                    turns,
                )
            print(f"comparing two runs of {turns:,} turns, {TRIES} times", file=sys.stderr)
            size = sum(path.stat().st_size for path in work.glob(f"reports/*{turns}/turns.jsonl"))
            arguments = ("compare", f"a{turns}", f"b{turns}", "--no-gate", "--json")
            taken = [command(work, *arguments) for _ in range(TRIES)]
            seconds, peak_mib = min(of.seconds for of in taken), max(of.peak_mib for of in taken)
            most_s = SMALL_S if turns <= SMALL else LARGE_S
            results.append(
                {
                    "turns": turns,
                    "gigabytes": round(size / 1e9, 3),
                    "seconds": round(seconds, 2),
                    "most_seconds": most_s,
                    "cpu_seconds": round(min(of.cpu_s for of in taken), 2),
                    "peak_mib": round(peak_mib),
                    "most_mib": MOST_MIB,
                    "within": seconds < most_s and peak_mib < MOST_MIB,
                }
            )
    return results


def time_table(results: list[Result]) -> Table:
    columns = [
        "turns a side",
        "GB of turns",
        "seconds",
        "target",
        "CPU s",
        "peak MiB",
        "target",
        "",
    ]
    rows = [
        [
            f"{of['turns']:,}",
            f"{of['gigabytes']}",
            f"{of['seconds']}",
            f"< {of['most_seconds']:g}",
            f"{of['cpu_seconds']}",
            f"{of['peak_mib']}",
            f"< {of['most_mib']}",
            "within" if of["within"] else "MISSED",
        ]
        for of in results
    ]
    return Table("Comparing two runs", columns, rows, text_columns=0, remarks=True)


def command(work: Path, *arguments: str) -> Taken:
    """Run ragevalkit and say what it took, its child processes' part included."""
    environment = os.environ | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    began, peak_mib = time.perf_counter(), 0.0
    with (work / "stderr").open("w+") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "ragevalkit", *arguments],
            cwd=work,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            peak_mib = max(peak_mib, memory_mib(process.pid))
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        if process.returncode:
            stderr.seek(0)
            sys.exit(stderr.read())
    return Taken(seconds, ended[2].ru_utime + ended[2].ru_stime, peak_mib)


def memory_mib(pid: int) -> float:
    """Memory of a process and its children; what they share counts once (PSS)."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return 0.0
    own = next((line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:")), "0")
    return int(own) / 1024 + sum(memory_mib(int(child)) for child in children)


def multiply(of: RunFolder, into: RunFolder, turns: int) -> None:
    """Write a run's turns and scores again and again, as those of other questions."""
    into.path.mkdir()
    manifest = json.loads(of.manifest.read_text())
    manifest["settings"]["bank"]["questions"] = turns // 2
    manifest["settings"]["repeats"] = 2
    into.manifest.write_text(json.dumps(manifest))
    for source, target in ((of.turns, into.turns), (of.scores, into.scores)):
        lines = sorted(source.read_bytes().splitlines(), key=question_id)
        with target.open("wb") as file:
            file.writelines(renamed(lines, turns))


def question_id(line: bytes) -> str:
    return str(json.loads(line)["question_id"])


def renamed(lines: list[bytes], turns: int) -> Iterator[bytes]:
    names = [(json.loads(line)["question_id"], json.loads(line)["question_hash"]) for line in lines]
    for number in range(turns):
        place = number // 2 % len(lines)
        old_id, old_hash = (name.encode() for name in names[place])
        new = b"%016x" % (number // 2)
        yield (
            lines[place]
            .replace(b'"question_id":"%s"' % old_id, b'"question_id":"q-%s"' % new, 1)
            .replace(b'"question_hash":"%s"' % old_hash, b'"question_hash":"%s"' % new, 1)
            .replace(b'"repeat":0', b'"repeat":%d' % (number % 2), 1)
            + b"\n"
        )


class Found(NamedTuple):
    """What a comparison of two equal endpoints comes to: whether any metric differs."""

    verdict: bool
    unadjusted: bool
    turns_as_questions: bool


def same_endpoints(options: argparse.Namespace) -> list[Result]:
    """How often two equal endpoints come out different."""
    results = []
    with ProcessPoolExecutor(options.processes) as pool:
        for repeats in options.repeats:
            for kind in KINDS:
                seeds = np.random.SeedSequence(options.seed).spawn(options.comparisons)
                one = partial(compare_equal, kind, options.questions, repeats)
                found = []
                for of in pool.map(one, seeds, chunksize=5):
                    found.append(of)
                    if len(found) % 100 == 0:
                        print(f"{kind}: {len(found)} of {len(seeds)}", file=sys.stderr)
                counts = {name: sum(getattr(of, name) for of in found) for name in Found._fields}
                within = counts["verdict"] <= MOST_SHARE * len(found)
                shape = {"questions": options.questions, "repeats": repeats}
                results.append(
                    {"kind": kind, **shape, "comparisons": len(found), **counts, "within": within}
                )
    return results


def same_table(results: list[Result]) -> Table:
    columns = ["two runs of", "repeats", "better or worse", "target", "without Holm"]
    rows = [
        [
            of["kind"],
            f"{of['repeats']}",
            percent(of["verdict"] / of["comparisons"]),
            f"≤ {percent(MOST_SHARE)}",
            *(percent(of[n] / of["comparisons"]) for n in ("unadjusted", "turns_as_questions")),
            "within" if of["within"] else "MISSED",
        ]
        for of in results
    ]
    first = results[0]
    return Table(
        f"Differences that aren't there: {first['comparisons']:,} comparisons of "
        f"{first['questions']} questions",
        [*columns, "turns as questions", ""],
        rows,
        remarks=True,
    )


def compare_equal(kind: str, questions: int, repeats: int, seed: np.random.SeedSequence) -> Found:
    """Compare two runs of one endpoint, or of two that are equal on average."""
    random = np.random.default_rng(seed)
    a = Endpoint(random, questions)
    b = a if kind == KINDS[0] else Endpoint(random, questions)
    pairs = pair(a.run(random, "a", repeats), b.run(random, "b", repeats))
    metrics = compare_metrics(pairs, DEFAULT_MARGINS)
    return Found(
        verdict=any(map(differs, metrics.values())),
        unadjusted=any(
            of.verdict and of.low is not None and of.high is not None and of.low * of.high > 0
            for of in metrics.values()
        ),
        turns_as_questions=any(p is not None and p <= 0.05 for p in holm(turn_by_turn(pairs))),
    )


def turn_by_turn(pairs: Pairs) -> list[float | None]:
    """The p values of all metrics with a verdict, each pair taken for a question of its own."""
    apart = list(range(len(pairs)))
    return [
        difference_of(*pairs.values(name), apart, is_rate=not metric.is_mean, unit=1.0).p
        for name, metric in METRICS.items()
        if not metric.descriptive
    ]


def differs(of: MetricResult) -> bool:
    return of.verdict in ("better", "worse") or of.small_loss


class Endpoint:
    """Questions with chances of their own, which all of an endpoint's runs share."""

    def __init__(self, random: np.random.Generator, questions: int) -> None:
        self.questions = questions
        self.answerable = np.arange(questions) < round(questions * 70 / 116)
        # most questions come out the same nearly every time, some are a toss of a coin
        self.chances = {
            name: random.beta(0.6 * mean, 0.6 * (1 - mean), questions)
            for name, mean in (
                ("answered", 0.97),
                ("searched", 0.95),
                ("retrieved", 0.9),
                ("cited", 0.9),
                ("declined", 0.85),
                ("over_refused", 0.08),
                ("correct", 0.8),
                ("malformed", 0.05),
                ("other_defect", 0.1),
            )
        }

    def run(self, random: np.random.Generator, name: str, repeats: int) -> Arm:
        """A run: every question asked `repeats` times."""
        arm = Arm(name, Path(name), {}, self.questions * repeats)
        for repeat in range(repeats):
            columns = self._draw(random)
            for metric in METRICS:
                values = columns.get(metric, np.full(self.questions, np.nan))
                arm.values.setdefault(metric, array("d")).extend(values.tolist())
            for question in range(self.questions):
                arm.rows[f"{question:016x}", repeat, 0] = arm.turns
                arm.outcomes.append("answer")
        return arm

    def _draw(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        drawn = {
            name: random.random(self.questions) < chance for name, chance in self.chances.items()
        }
        answered = drawn["answered"]
        refused = answered & np.where(self.answerable, drawn["over_refused"], drawn["declined"])
        replied = answered & ~refused
        cited = replied & drawn["retrieved"] & drawn["cited"]
        correct = replied & drawn["correct"]
        defects = (
            (~answered).astype(float)
            + drawn["malformed"]
            + drawn["other_defect"]
            + (self.answerable & (refused | (replied & ~correct)))
            + (self.answerable & replied & ~cited)
            + (~self.answerable & replied)
        )

        def only(where: np.ndarray, values: np.ndarray) -> np.ndarray:
            return np.where(where, values.astype(float), np.nan)

        everywhere = np.ones(self.questions, dtype=bool)
        return {
            "answered": only(everywhere, answered),
            "searched_first": only(everywhere, drawn["searched"]),
            "evidence_retrieved": only(self.answerable, drawn["retrieved"]),
            "cited_correct_page": only(self.answerable, cited),
            "refused_correctly": only(~self.answerable, refused),
            "over_refused": only(self.answerable, refused),
            "correct_answer": only(self.answerable, correct),
            "malformed_calls": only(everywhere, drawn["malformed"]),
            "turns_with_defect": only(everywhere, defects > 0),
            "defects_per_turn": only(everywhere, defects),
        }


if __name__ == "__main__":
    main()

"""The article's comparison of a four-bit and a sixteen-bit model, made to its counts and compared.

    python benchmarks/article.py [--into FOLDER] [--json]

The article reports 116 turns an arm, 70 answerable and 46 not, and these counts:

    answered, searched first, no malformed call   116 of 116 on both sides
    refused correctly                             38 (four-bit) and 40 (sixteen-bit) of 46
    cited the correct page                        95.7 % and 97.0 %
    defects per answer                            0.11 and 0.23: 13 and 27 of 116

It says neither which turns failed in both arms nor what all of the defects are. Assumed is:

* 95.7 % is 67/70, and 97.0 % is no count out of 70. Of the two counts over nearly as many that
  round to it, 64/66 and 65/67, the latter is taken, over the answerable turns that cite a page:
  three cite none.
* A turn has one defect at most. Those that aren't a wrong refusal, page or missing citation are
  `call:repeated`, which touches no other metric.
* The turns that failed in both arms are as many as can be, or none at all: two runs of each arm.

Turns are written through the public record types, with the results of the real tools, and scored
and compared by the commands' own code. They have no times: those are the article's affair.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

import ragevalkit
from ragevalkit.agent.graph import Limits
from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import Toolbox, load_toolbox
from ragevalkit.bank import Bank, Evidence, Question, load_bank
from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.endpoint.profile import Profile
from ragevalkit.report.differences import between, p_value, points, points_between, signed
from ragevalkit.report.numbers import MISSING, mean, percent, rate
from ragevalkit.report.tables import Table
from ragevalkit.report.terminal import print_table
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.manifest import new_manifest, settings_of
from ragevalkit.runs.rescoring import rescore
from ragevalkit.runs.results import read_summary
from ragevalkit.stats import pairs_needed_for_margin, pairs_needed_to_detect
from ragevalkit.turn.composition import compose
from ragevalkit.turn.protocol import DECLINE_MARKER
from ragevalkit.turn.record import Call, Citation, Ended, Round, RoundClock, RoundState, Turn

if TYPE_CHECKING:
    from ragevalkit.compare.result import Comparison, MetricResult

ANSWERABLE, UNANSWERABLE = 70, 46
DOCUMENT = "pumps"
A, B = "bf16-h200", "nvfp4-spark"
"""The verdicts are on the four-bit arm."""

Failed = dict[str, Sequence[int]]
"""By what went wrong, the turns in which it did; questions have numbers from 0, the answerable ones
first. `answered`: a question that it should have declined."""

OVERLAPS: dict[str, dict[str, Failed]] = {
    "most": {
        A: {
            "answered": range(70, 76),
            "wrong_page": range(2),
            "no_page": range(2, 5),
            "repeated": [*range(5, 19), 76, 77],
        },
        B: {"answered": range(70, 78), "wrong_page": range(3), "repeated": range(5, 7)},
    },
    "none": {
        A: {
            "answered": range(70, 76),
            "wrong_page": range(2),
            "no_page": range(2, 5),
            "repeated": range(5, 21),
        },
        B: {"answered": range(76, 84), "wrong_page": range(21, 24), "repeated": range(24, 26)},
    },
}
"""The failed turns of both arms, where they overlap the most and not at all."""

SHOWN = (
    "answered",
    "searched_first",
    "malformed_calls",
    "cited_correct_page",
    "citation_precision",
    "refused_correctly",
    "turns_with_defect",
    "defects_per_turn",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, help="keep the runs in this folder")
    parser.add_argument("--json", action="store_true", help="print both comparisons as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ.setdefault("RAGEVALKIT_CACHE", f"{temporary}/cache")
        work = options.into or Path(temporary)
        write_runs(work)
        found = {overlap: compare(work, overlap) for overlap in OVERLAPS}
        if options.json:
            print(json.dumps({o: of.model_dump(mode="json") for o, of in found.items()}, indent=2))
            return
        print_table(article_table(work))
        for overlap, comparison in found.items():
            print_table(verdict_table(overlap, comparison))
        print_table(needed_table(found))


def compare(work: Path, overlap: str) -> Comparison:
    """As `ragevalkit compare` does it."""
    result: Comparison = ragevalkit.compare(
        run_folder(work, overlap, A).path, run_folder(work, overlap, B).path, no_gate=True
    )
    return result


def run_folder(work: Path, overlap: str, arm: str) -> RunFolder:
    return RunFolder(work / "reports" / f"{arm}-{overlap}")


def write_runs(work: Path) -> None:
    """Corpus and bank, then a run folder for each arm and overlap."""
    (work / "corpus").mkdir(parents=True, exist_ok=True)
    pages = (f"Pump {n} delivers {10 * n} litres a minute." for n in range(1, ANSWERABLE + 1))
    (work / "corpus" / f"{DOCUMENT}.txt").write_text("\f".join(pages))
    lines = (orjson.dumps(question(n).line()) + b"\n" for n in range(ANSWERABLE + UNANSWERABLE))
    (work / "pumps.jsonl").write_bytes(b"".join(lines))
    bank, corpus = load_bank(work / "pumps.jsonl"), open_corpus(work / "corpus")
    for overlap, arms in OVERLAPS.items():
        for arm, failed in arms.items():
            write_run(run_folder(work, overlap, arm), arm, failed, bank, corpus)


def question(number: int) -> Question:
    """The one with this number; what isn't asked of its page isn't in the documents."""
    pump = number % ANSWERABLE + 1
    if number < ANSWERABLE:
        return Question(
            id=f"pump-{pump:03}-output",
            question=f"What does pump {pump} deliver?",
            answerable=True,
            evidence=[Evidence(document=DOCUMENT, page=pump)],
        )
    return Question(
        id=f"pump-{pump:03}-year",
        question=f"In which year was pump {pump} built?",
        answerable=False,
        unanswerable_because="the documents name no years",
    )


def write_run(folder: RunFolder, arm: str, failed: Failed, bank: Bank, corpus: Corpus) -> None:
    """Manifest and turns, then scores and summary by the scorers."""
    folder.path.mkdir(parents=True, exist_ok=True)
    toolbox = load_toolbox()
    precision, hardware = arm.split("-")
    profile = Profile(
        name=arm, base_url=f"http://{hardware}/v1", precision=precision, hardware=hardware
    )
    settings = settings_of(
        bank=bank,
        corpora={"": corpus},
        profile=profile,
        model=None,
        prompt=load_prompt(),
        tools_hash=toolbox.hash,
        limits=Limits(),
        seed=0,
        repeats=1,
        tags=[],
    )
    manifest = new_manifest(folder.name, settings, limit=None, concurrency=1)
    folder.manifest.write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    with folder.turns.open("wb") as file:
        for number, one in enumerate(bank.questions):
            faults = {fault for fault, turns in failed.items() if number in turns}
            file.write(made_turn(one, faults, toolbox, corpus).model_dump_json().encode() + b"\n")
    rescore(folder, {"": corpus})


def made_turn(question: Question, faults: set[str], toolbox: Toolbox, corpus: Corpus) -> Turn:
    """A turn in which these things went wrong: it searches, cites what it found, and replies."""
    citations: list[Citation] = []
    rounds: list[Round] = []

    def call(name: str, arguments: Mapping[str, Any]) -> Call:
        made = Call(id=f"call-{len(rounds)}", name=name, arguments=orjson.dumps(arguments).decode())
        toolbox.execute(made, corpus, citations, cut_off=False)
        rounds.append(done("tool_calls", calls=[made]))
        return made

    for _ in range(2 if "repeated" in faults else 1):
        found = call("search", {"query": question.question}).returned
    pages = {page.page for page in found}
    right = {evidence.page for evidence in question.evidence}
    if question.answerable and "no_page" not in faults:
        page = min(pages - right if "wrong_page" in faults else pages & right)
        call("cite", {"document": DOCUMENT, "page": page})
    answers = question.answerable or "answered" in faults
    told = "It delivers what its page says." if question.answerable else "It was built in 1961."
    reply = told if answers else f"{DECLINE_MARKER}: the documents name no years."
    rounds.append(done("stop", content=reply))
    return Turn(
        question_id=question.id,
        question_hash=question.hash,
        repeat=0,
        outcome="answer" if answers else "decline",
        ended=Ended.REPLY,
        reply=reply,
        citations=citations,
        rounds=rounds,
        started_at="1970-01-01T00:00:00+00:00",
        wall_ms=0.0,
        composition_ms=compose(rounds, 0.0),
        corpus="",
        bank_line=question.line(),
    )


def done(finish_reason: str, content: str = "", calls: list[Call] | None = None) -> Round:
    """A round that went well, of which no time is known."""
    return Round(
        state=RoundState.DONE,
        finish_reason=finish_reason,
        content=content,
        calls=calls or [],
        clock=RoundClock(sent_ms=0.0, ended_ms=0.0),
    )


def article_table(work: Path) -> Table:
    """The article's own table, from the summaries; each side over its own turns."""
    summaries = [read_summary(run_folder(work, "most", arm)) for arm in (B, A)]
    columns: list[list[str]] = []
    for summary in summaries:
        assert summary is not None
        of = summary.metrics
        cites, defects = of["citation_precision"], sum(summary.defects.values())
        correct = of["cited_correct_page"].k
        columns.append(
            [
                *(
                    f"{percent(of[name].value)} ({rate(of[name].k, of[name].n)})"
                    for name in ("answered", "searched_first")
                ),
                f"{percent(cites.value)} ({rate(correct, cites.n)})",
                f"{percent(of['cited_correct_page'].value)} ({rate(correct, ANSWERABLE)})",
                f"{percent(of['refused_correctly'].value)} "
                f"({rate(of['refused_correctly'].k, UNANSWERABLE)})",
                f"{of['defects_per_turn'].value:.2f} ({rate(defects, summary.scored)})",
                rate(of["malformed_calls"].k, of["malformed_calls"].n),
            ]
        )
    names = (
        "answered",
        "searched first",
        "correct page, of the turns that cite",
        "correct page, of all answerable",
        "refused correctly",
        "defects per answer",
        "malformed calls",
    )
    rows = [list(row) for row in zip(names, *columns, strict=True)]
    return Table("The article's table", ["", B, A], rows)


def verdict_table(overlap: str, comparison: Comparison) -> Table:
    """What the comparison says where the failed turns overlap so."""
    columns = ["metric", A, B, "b − a", "95 % interval", "flips", "detects", "verdict"]
    rows = []
    for name in SHOWN:
        of = comparison.metrics[name]
        is_rate = of.a.k is not None
        rows.append(
            [
                name,
                *(rate(side.k, side.n) if is_rate else mean(side.value) for side in (of.a, of.b)),
                points(of.difference) if is_rate else signed(mean, of.difference),
                (points_between if is_rate else partial(between, mean))(of.low, of.high),
                f"{of.flips.a_only}:{of.flips.b_only}",
                points(of.detectable).lstrip("+") if is_rate else mean(of.detectable),
                of.verdict or MISSING,
            ]
        )
    return Table(f"Failed in both arms: {shared(overlap)}", columns, rows, remarks=True)


def needed_table(found: Mapping[str, Comparison]) -> Table:
    """The tests, and the questions that it would have taken."""
    columns = ["", "in both arms", "flips", "p", "Holm p", "to find it", "to rule out 5 points"]
    rows = [
        [
            name,
            shared(overlap),
            f"{of.flips.a_only}:{of.flips.b_only}",
            p_value(of.p),
            p_value(of.p_adjusted),
            *(MISSING if n is None else f"{n:,}" for n in questions_needed(of)),
        ]
        for name in SHOWN
        for overlap, comparison in found.items()
        if (of := comparison.metrics[name]).a.k is not None and of.difference
    ]
    judged = {sum(m.verdict is not None for m in of.metrics.values()) for of in found.values()}
    notes = [
        f"b is {B}. Flips: higher on a : on b. Detects: the smallest difference that so many "
        f"questions show 8 times in 10. Holm over {max(judged)} metrics.",
        "To find it: questions with which the exact McNemar test finds the difference seen 8 times "
        "in 10, were it the only metric. To rule out 5 points: with which equal arms are shown to "
        "be no worse, 8 times in 10. Both if as large a share of the questions flips as here.",
    ]
    return Table("What it would have taken", columns, rows, notes, text_columns=2)


def questions_needed(of: MetricResult) -> tuple[int | None, int | None]:
    """To find the difference seen, and to rule out a loss of 5 points where there is none."""
    a_only, b_only = of.flips.a_only, of.flips.b_only
    flipped = (a_only + b_only) / of.questions
    return (
        pairs_needed_to_detect(abs(b_only - a_only) / of.questions, flipped),
        pairs_needed_for_margin(0.05, flipped),
    )


def shared(overlap: str) -> str:
    return "as many as can be" if overlap == "most" else "none"


if __name__ == "__main__":
    main()

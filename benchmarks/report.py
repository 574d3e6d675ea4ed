"""Size, writing time, opening and filtering of a run's page in headless Chromium.

    python benchmarks/report.py [--turns 2000,20000] [--reasoning 2000,200] [--repetitions 7]
        [--json]

The turns are those of `baseline` over tarn, repeated until there are enough; two in three have a
defect. To the first round of each comes a reasoning of so many tokens with a gap each, in words
drawn at random from the corpus: harder to compress than prose. They are written through the public
record types and scored by `ragevalkit score`'s own code.

Writing is the CPU time of the whole page, charts and all, less that of reading the same turns; what
the first page of a process loads (Vega, scipy) is loaded before.

Opening is from the navigation until the script has drawn table and filters; a bare page is as many
bytes of base64 in one data block, opened until its load event. Filtering is from the event of a
select or of the text field until the next frame is drawn; bare is a frame without any change.
Medians; the pages are opened in turns.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

import ragevalkit
from ragevalkit.bank import load_bank
from ragevalkit.cli import wiring
from ragevalkit.report.html.write import write_run
from ragevalkit.report.scored_turns import read_scored_turns
from ragevalkit.report.tables import Table
from ragevalkit.report.terminal import print_table
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.rescoring import rescore
from ragevalkit.runs.results import read_summary
from ragevalkit.turn.record import Channel, Turn

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LIMITS = {"bytes": 6e6, "write_ms": 1.0, "open_ms": 1000.0, "filter_ms": 100.0}
"""What the page must reach: its size and times, the writing of one turn."""
_WATCH = """
new MutationObserver(() => { window.readyAt ??= performance.now(); })
  .observe(document, { subtree: true, attributes: true, attributeFilter: ["data-ready"] });
addEventListener("load", () => { window.loadedAt = performance.now(); });
"""
_FILTER = """
async ([name, value]) => {
  const frame = () => new Promise((done) =>
    requestAnimationFrame(() => setTimeout(() => done(performance.now()))));
  await frame();
  const field = document.querySelector(`#filters [name=${name}]`);
  const began = performance.now();
  if (field) {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  return (await frame()) - began;
}
"""
FILTERS = [("outcome", "decline"), ("defect", "answer:wrong"), ("text", "operator guide")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", default="2000,20000", type=numbers)
    parser.add_argument("--reasoning", default="2000,200", type=numbers)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary):
        os.environ.setdefault("RAGEVALKIT_CACHE", f"{temporary}/cache")
        ragevalkit.run("tarn", "baseline", name="template")
        written = [
            write(f"run-{turns}", turns, reasoning)
            for turns, reasoning in zip(options.turns, options.reasoning, strict=True)
        ]
        with chromium() as browser:
            found = [of | opened(browser, of, options.repetitions) for of in written]
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print_table(table(found))


def numbers(text: str) -> list[int]:
    return list(map(int, text.split(",")))


def write(name: str, turns: int, reasoning: int) -> dict[str, Any]:
    """A run of so many turns, and what its page took."""
    folder = made(name, turns, reasoning)
    summary = read_summary(folder)
    assert summary is not None
    began = time.process_time()
    for _ in read_scored_turns(folder, []):
        pass
    read = time.process_time() - began
    page = write_run(folder, summary)
    written = time.process_time() - began - read
    return {
        "turns": turns,
        "reasoning_tokens": reasoning,
        "path": str(page.path.resolve()),
        "bytes": page.bytes,
        "whole_turns": page.whole_turns,
        "read_ms": 1000 * read / turns,
        "write_ms": 1000 * (written - read) / turns,
    }


def made(name: str, turns: int, reasoning: int) -> RunFolder:
    """The template's turns again and again, each time with other thoughts, and their scores."""
    template, folder = RunFolder(Path("reports/template")), RunFolder(Path("reports") / name)
    shutil.copytree(template.path, folder.path)
    questions = list(template.read_turns())
    manifest = orjson.loads(folder.manifest.read_bytes())
    manifest["settings"]["repeats"] = -(-turns // len(questions))
    folder.manifest.write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    draw = random.Random(turns)
    words = re.findall(r"[\w.,;-]+", " ".join(call_results(questions)))
    with folder.turns.open("wb") as file:
        for number in range(turns):
            repeat, at = divmod(number, len(questions))
            turn = thinking(questions[at], repeat, draw.choices(words, k=reasoning), draw)
            file.write(turn.model_dump_json().encode() + b"\n")
    bank = load_bank("tarn")
    rescore(folder, wiring.open_corpora(bank, None))
    return folder


def call_results(turns: list[Turn]) -> Iterator[str]:
    return (c.result or "" for turn in turns for round_ in turn.rounds for c in round_.calls)


def thinking(turn: Turn, repeat: int, words: list[str], draw: random.Random) -> Turn:
    """The turn with these thoughts in its first round, a token each."""
    text = " ".join(words)
    gaps = [round(draw.lognormvariate(1.5, 0.5), 3) for _ in words[1:]]
    channel = Channel(
        tokens=len(words), characters=len(text), gaps_ms=gaps, event_tokens=[1] * len(gaps)
    )
    first, *others = turn.rounds
    thought = first.model_copy(update={"reasoning": text, "reasoning_channel": channel})
    return turn.model_copy(update={"repeat": repeat, "rounds": [thought, *others]})


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """The system's, else the one that Playwright has installed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), chromium_sandbox=False
        )
        yield browser
        browser.close()


def opened(browser: Browser, of: dict[str, Any], repetitions: int) -> dict[str, Any]:
    """Median times of a page and of a bare one, in milliseconds."""
    page, bare = Path(of["path"]), Path("bare.html").resolve()
    data = base64.b64encode(random.Random(0).randbytes(of["bytes"] * 3 // 4)).decode()
    block = f'<script type="application/octet-stream">{data}</script>'
    bare.write_text(f"<!doctype html><title>bare</title><p>{block}", encoding="ascii")
    times: dict[str, list[float]] = {}
    for _ in range(repetitions + 1):
        for name, path, until in (("open", page, "readyAt"), ("bare", bare, "loadedAt")):
            with window(browser, path, until) as shown:
                times.setdefault(f"{name}_ms", []).append(shown.evaluate(until))
                for field, value in FILTERS:
                    key = "filter" if path == page else "frame"
                    times.setdefault(f"{key}_{field}_ms", []).append(
                        shown.evaluate(_FILTER, [field, value])
                    )
    medians = {name: statistics.median(taken[1:]) for name, taken in times.items()}
    medians["filter_ms"] = max(medians[f"filter_{field}_ms"] for field, _ in FILTERS)
    medians["frame_ms"] = max(medians[f"frame_{field}_ms"] for field, _ in FILTERS)
    return medians


@contextlib.contextmanager
def window(browser: Browser, path: Path, until: str) -> Iterator[Page]:
    """A page that is ready: `window.<until>` holds when it became so."""
    page = browser.new_page()
    page.add_init_script(_WATCH)
    page.goto(path.as_uri())
    page.wait_for_function(f"() => window.{until}")
    page.wait_for_timeout(300)  # the words of the text filter are unpacked after that
    yield page
    page.close()


def table(found: list[dict[str, Any]]) -> Table:
    rows = [
        ["size, MB", *(f"{of['bytes'] / 1e6:.2f}" for of in found), "6 (2,000 turns)"],
        ["turns kept whole", *(f"{of['whole_turns']:,}" for of in found), ""],
        ["writing, ms a turn, without reading", *numbered(found, "write_ms", 3), "1"],
        ["reading, ms a turn", *numbered(found, "read_ms", 3), ""],
        ["opening, ms", *numbered(found, "open_ms"), "1,000"],
        ["bare page of this size, ms", *numbered(found, "bare_ms"), ""],
        ["opening : bare", *(f"{of['open_ms'] / of['bare_ms']:.1f}" for of in found), ""],
        *(
            [f"filtering by {field}, ms", *numbered(found, f"filter_{field}_ms"), "100"]
            for field, _ in FILTERS
        ),
        ["bare frame, ms", *numbered(found, "frame_ms"), ""],
        ["filtering : frame", *(f"{of['filter_ms'] / of['frame_ms']:.1f}" for of in found), ""],
    ]
    heads = [f"{of['turns']:,} turns × {of['reasoning_tokens']:,}" for of in found]
    return Table("The page of a run", ["", *heads, "limit"], rows)


def numbered(found: list[dict[str, Any]], name: str, digits: int = 0) -> list[str]:
    return [f"{of[name]:,.{digits}f}" for of in found]


if __name__ == "__main__":
    main()

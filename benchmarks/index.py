"""How long it takes to index a corpus and to search it, against tantivy used by hand.

    python benchmarks/index.py [--pages 100000] [--words 200] [--rounds 2] [--queries 400] [--json]

One run, the two sides in turns. `files to index` is `open_corpus` on Markdown files with page
markers: hashing, reading, splitting, the corpus hash, the index, the manifest. `index part` is our
writer fed with the same texts already in memory. Both stand against tantivy adding those texts to
an index with the same fields and writer settings. `query` is `Corpus.search` against building the
boolean query, searching, and fetching the five pages' fields. Target: a ratio of at most 3.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tantivy

# The checkout that this file lies in is measured, installed or not.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ragevalkit.corpus import Corpus, Page, open_corpus
from ragevalkit.corpus.index import HEAP_BYTES, IndexWriter, schema

PAGES_A_FILE = 500
QUERY_WORDS = 6
RESULTS = 5
TARGET = 3.0
Texts = list[tuple[str, list[str]]]


def make_texts(pages: int, words: int) -> tuple[Texts, list[str]]:
    """(document, page texts) with word frequencies like a language's, and queries of such words."""
    draw = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    weights = [1 / (rank + 3) for rank in range(len(letters))]
    vocabulary = list(
        dict.fromkeys(
            "".join(draw.choices(letters, weights, k=draw.randint(2, 9))) for _ in range(40_000)
        )
    )
    frequency = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(vocabulary))))
    texts: Texts = []
    for first in range(0, pages, PAGES_A_FILE):
        made = []
        for _ in range(first, min(first + PAGES_A_FILE, pages)):
            drawn = draw.choices(vocabulary, cum_weights=frequency, k=words)
            made.append("\n".join(" ".join(drawn[i : i + 15]) for i in range(0, words, 15)))
        texts.append((f"part{first // PAGES_A_FILE:04}", made))
    queries = [
        " ".join(draw.choices(vocabulary, cum_weights=frequency, k=QUERY_WORDS))
        for _ in range(2000)
    ]
    return texts, queries


def write_files(folder: Path, texts: Texts) -> None:
    """The corpus as Markdown files, a marker before each page."""
    folder.mkdir()
    for name, pages in texts:
        marked = (f"<!-- page: {index} -->\n{text}" for index, text in enumerate(pages, 1))
        (folder / f"{name}.md").write_text("\n\n".join(marked), encoding="utf-8")


def index_bare(folder: Path, texts: Texts) -> tantivy.Index:
    """What one writes with tantivy alone."""
    folder.mkdir()
    index = tantivy.Index(schema(), str(folder))
    writer = index.writer(HEAP_BYTES, 1)
    place = 0
    for name, pages in texts:
        for number, text in enumerate(pages, 1):
            entry = tantivy.Document()
            entry.add_text("document", name)
            entry.add_unsigned("page", number)
            entry.add_unsigned("place", place)
            entry.add_text("text", text)
            writer.add_document(entry)
            place += 1
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def index_part(folder: Path, texts: Texts) -> None:
    """Our writer, pages already in memory."""
    with IndexWriter(folder) as writer:
        for name, pages in texts:
            for number, text in enumerate(pages, 1):
                writer.add(name, Page(number, None, text))


def bare_search(index: tantivy.Index) -> Callable[[str], list[tuple[Any, ...]]]:
    """What one writes with tantivy alone, counting of all matches switched off as in ours."""
    searcher = index.searcher()
    fields = index.schema
    stems = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(40))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )

    def search(query: str) -> list[tuple[Any, ...]]:
        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(fields, "text", term))
            for term in dict.fromkeys(stems.analyze(query))
        ]
        hits = searcher.search(tantivy.Query.boolean_query(terms), RESULTS, count=False).hits
        found = []
        for score, address in hits:
            entry = searcher.doc(address)
            found.append((entry["document"][0], entry["page"][0], score, entry["text"][0]))
        return found

    return search


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure_queries(
    corpus: Corpus, bare: Callable[[str], object], queries: list[str], rounds: int
) -> tuple[float, float]:
    """Median milliseconds of a query, (ours, bare), each query asked of both in turns."""
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(rounds + 1):
        for number, query in enumerate(queries):
            sides = [(ours, corpus.search), (theirs, bare)]
            if (turn + number) % 2:
                sides.reverse()
            for times, search in sides:
                spent = seconds(lambda search=search, query=query: search(query))  # type: ignore[misc]
                if turn:
                    times.append(spent)
    return statistics.median(ours) * 1000, statistics.median(theirs) * 1000


def measure(pages: int, words: int, rounds: int, queries: int) -> list[dict[str, Any]]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory(prefix="ragevalkit-bench-") as name:
        work = Path(name)
        os.environ["RAGEVALKIT_CACHE"] = str(work / "cache")
        texts, drawn = make_texts(pages, words)
        write_files(work / "corpus", texts)
        whole: list[float] = []
        part: list[float] = []
        bare: list[float] = []
        index: tantivy.Index | None = None
        for turn in range(rounds):
            print(f"indexing, round {turn + 1} of {rounds} …", file=sys.stderr)
            shutil.rmtree(work / "cache", ignore_errors=True)
            whole.append(seconds(lambda: open_corpus(work / "corpus")))
            start = time.perf_counter()
            index = index_bare(work / f"bare{turn}", texts)
            bare.append(time.perf_counter() - start)
            part.append(seconds(lambda turn=turn: index_part(work / f"part{turn}", texts)))  # type: ignore[misc]
        assert index is not None
        print("searching …", file=sys.stderr)
        reopened = seconds(lambda: open_corpus(work / "corpus"))
        corpus = open_corpus(work / "corpus")
        search = bare_search(index)
        check_same(corpus, search, drawn[:50])
        ours_ms, bare_ms = measure_queries(corpus, search, drawn[:queries], 3)
        bare_s = statistics.median(bare)
        return [
            row("files to index", "s", statistics.median(whole), bare_s),
            row("index part", "s", statistics.median(part), bare_s),
            row("query, median", "ms", ours_ms, bare_ms),
            row("reopen from cache", "s", reopened, None),
        ]


def check_same(
    corpus: Corpus, bare: Callable[[str], list[tuple[Any, ...]]], queries: list[str]
) -> None:
    """Both sides must have found the same, or their times say nothing."""
    for query in queries:
        ours = [result.score for result in corpus.search(query)]
        theirs = [round(score, 4) for _, _, score, _ in bare(query)]
        if ours != theirs:
            raise SystemExit(f"The two sides disagree on {query!r}: {ours} and {theirs}")


def row(name: str, unit: str, ours: float, bare: float | None) -> dict[str, Any]:
    """One line of the table."""
    return {
        "what": name,
        "unit": unit,
        "ours": round(ours, 4),
        "bare": None if bare is None else round(bare, 4),
        "ratio": None if bare is None else round(ours / bare, 3),
        "target": None if bare is None else TARGET,
    }


def main() -> int:
    """Print the table; 1 where a ratio is over its target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=200, help="words a page")
    parser.add_argument("--rounds", type=int, default=2, help="times that each side indexes")
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    rows = measure(chosen.pages, chosen.words, max(1, chosen.rounds), chosen.queries)
    if chosen.json:
        print(json.dumps({"pages": chosen.pages, "words": chosen.words, "rows": rows}, indent=2))
    else:
        print(f"{chosen.pages:,} pages of {chosen.words} words, tantivy {version('tantivy')}")
        print(f"{'':<20}{'ours':>10}{'tantivy':>10}{'ratio':>8}{'target':>8}")
        for line in rows:
            ours = f"{line['ours']:.3f} {line['unit']}"
            bare = "" if line["bare"] is None else f"{line['bare']:.3f} {line['unit']}"
            ratio = "" if line["ratio"] is None else f"{line['ratio']:.2f}"
            target = "" if line["target"] is None else f"{line['target']:.1f}"
            print(f"{line['what']:<20}{ours:>10}{bare:>10}{ratio:>8}{target:>8}")
    return int(any(line["ratio"] is not None and line["ratio"] > TARGET for line in rows))


if __name__ == "__main__":
    sys.exit(main())

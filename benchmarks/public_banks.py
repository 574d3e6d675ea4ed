"""The public question sets of ../shared/data as banks, run against `baseline`.

    python benchmarks/public_banks.py [--data ../shared/data] [--into FOLDER] [--convert-only]

Writes FOLDER/clapnq.jsonl and FOLDER/uda_wiki.jsonl with their corpora (CLAPnq: one Markdown file an
article, a page a passage; UDA: the PDFs where they lie), runs both from there, and prints their
tables. FOLDER is reports/public by default. A question that can't be labelled is left out and
counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ragevalkit
from ragevalkit.cli.progress import Announcer
from ragevalkit.report.terminal import print_run

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--into", type=Path, default=ROOT / "reports" / "public")
    parser.add_argument("--convert-only", action="store_true")
    options = parser.parse_args()
    data = options.data.resolve()
    if not data.is_dir():
        sys.exit(f"there is no folder {options.data}; --data names the one with clapnq/, uda_wiki/")
    options.into.mkdir(parents=True, exist_ok=True)
    os.chdir(options.into)
    banks = [convert_clapnq(data / "clapnq"), convert_uda(data / "uda_wiki")]
    for bank in banks if not options.convert_only else ():
        with Announcer() as announcer:
            result = ragevalkit.run(bank, "baseline", observer=announcer)
        print_run(result.summary, Path("reports") / result.summary.run)


def convert_clapnq(source: Path) -> Path:
    """600 questions over 596 passages of 584 articles."""
    passages: dict[str, list[str]] = defaultdict(list)
    for page in read_lines(source / "pages.jsonl"):
        passages[page["doc"]].append(page["text"])
        assert len(passages[page["doc"]]) == page["page"], "passages come in their order"
    corpus = Path("corpora") / "clapnq"
    corpus.mkdir(parents=True, exist_ok=True)
    names = file_names(passages)
    for title, texts in passages.items():
        pages = (f"<!-- page: {n} -->\n{text}\n" for n, text in enumerate(texts, 1))
        (corpus / f"{names[title]}.md").write_text("".join(pages), encoding="utf-8")
    return write_bank(
        "clapnq",
        (
            {
                "id": q["id"],
                "question": q["question"],
                "answerable": q["answerable"],
                "evidence": [{"document": names[q["doc"]], "page": n} for n in q["pages"]],
                "answers": [answer for answer in q["answers"] if answer.strip()],
                "corpus": "clapnq",
            }
            for q in read_lines(source / "questions.jsonl")
        ),
    )


def convert_uda(source: Path) -> Path:
    """Questions over 7 PDFs; the tag says how sure the page labels are."""
    corpus = os.path.relpath(source / "pdfs")
    return write_bank(
        "uda_wiki",
        (
            {
                "id": q["id"],
                "question": q["question"],
                "answerable": q["answerable"],
                "evidence": [{"document": q["doc"], "page": n} for n in q["pages"]],
                "answers": [a for a in (q.get("short_answer"),) if a and q["answerable"]],
                "tags": [q["page_quality"]] if q.get("page_quality") else [],
                "corpus": corpus,
            }
            for q in read_lines(source / "questions.jsonl")
        ),
    )


def write_bank(name: str, questions: Iterable[dict[str, Any]]) -> Path:
    path = Path(f"{name}.jsonl")
    written = left_out = 0
    with path.open("w", encoding="utf-8") as bank:
        for question in questions:
            if question["answerable"] and not question["evidence"]:
                left_out += 1
                continue
            kept = {field: value for field, value in question.items() if value not in ([], None)}
            bank.write(json.dumps(kept, ensure_ascii=False) + "\n")
            written += 1
    print(f"{path}: {written} questions; {left_out} answerable ones without a page left out")
    return path


def file_names(titles: Iterable[str]) -> dict[str, str]:
    """A file name for each title, unique also where case doesn't count."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for title in titles:
        name = re.sub(r'[/\\:*?"<>|]', "-", title).lstrip(".")
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        names[title] = name
    return names


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()

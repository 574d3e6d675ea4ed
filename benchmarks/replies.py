"""How well the reply detector finds declines, on the labelled references of MTRAG-UN.

    python benchmarks/replies.py [--json] [--show wrong] [--data ../shared/data/mtrag_un]

UNANSWERABLE references should decline and ANSWERABLE ones should not; PARTIAL and UNDERSPECIFIED
stand apart in the confusion table. The detector was tuned with this set in view.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from ragevalkit.scoring.replies import Reply, classify_reply
from ragevalkit.stats import wilson

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "mtrag_un"

RELABELLED = {
    "81b7060c04d14d2240cb0c917046569e<::>4": (
        "ANSWERABLE",
        "answers 'Can my employer make me …?': 'Your employer cannot force you to invest in bonds'",
    ),
    "5c1f201f1b64ff892632acb37a806a25<::>3": (
        "ANSWERABLE",
        "says what Placer County is famous for, and declines nowhere",
    ),
    "3449f31be70b565a6580bda4a9349559<::>6": (
        "ANSWERABLE",
        "'The documents suggest several ways to increase your retirement income', and five follow",
    ),
    "65794db811e1616d0e3e18425a2060ca<::>6": (
        "PARTIAL",
        "doesn't know which president appointed the most judges, and names those with the fewest",
    ),
}
"""Wrong labels: id to the right label and the reason."""

EXPECTED = {
    "ANSWERABLE": Reply.ANSWER,
    "UNANSWERABLE": Reply.DECLINE,
    "PARTIAL": Reply.HEDGE,
    "UNDERSPECIFIED": Reply.ASK_BACK,
}


def rate(k: int, n: int) -> dict[str, float | int | None]:
    """k of n with its 95 % interval."""
    low, high = wilson(k, n) or (None, None)
    return {"k": k, "n": n, "value": k / n if n else None, "low": low, "high": high}


def declining(table: Counter[tuple[str, str]]) -> dict[str, dict[str, float | int | None]]:
    """Precision and recall of declining over ANSWERABLE and UNANSWERABLE."""
    hits = table["UNANSWERABLE", "decline"]
    said = hits + table["ANSWERABLE", "decline"]
    real = sum(n for (label, _), n in table.items() if label == "UNANSWERABLE")
    return {"precision": rate(hits, said), "recall": rate(hits, real)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", action="store_true", help="print JSON alone")
    parser.add_argument("--show", choices=["wrong"], help="list the disagreements")
    options = parser.parse_args()
    file = options.data / "questions.jsonl"
    if not file.is_file():
        print(f"skipped: {file} is missing", file=sys.stderr)
        if options.json:
            print(json.dumps({"skipped": f"{file} is missing"}))
        return 0

    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    classify_reply("load the phrases")
    began = time.perf_counter()
    replies = [classify_reply(row["reference"]) for row in rows]
    micros = (time.perf_counter() - began) / len(rows) * 1e6
    as_labelled: Counter[tuple[str, str]] = Counter()
    table: Counter[tuple[str, str]] = Counter()
    wrong = []
    for row, reply in zip(rows, replies, strict=True):
        label = RELABELLED.get(row["id"], (row["answerability"],))[0]
        as_labelled[row["answerability"], reply.value] += 1
        table[label, reply.value] += 1
        if reply != EXPECTED[label]:
            wrong.append(
                {"id": row["id"], "label": label, "reply": reply, "reference": row["reference"]}
            )
    result = {
        "replies": len(rows),
        "micros_per_reply": micros,
        "as_labelled": declining(as_labelled),
        "relabelled": declining(table),
        "confusion": {
            label: {reply.value: table[label, reply.value] for reply in Reply} for label in EXPECTED
        },
        "relabelled_ids": {
            id_: {"label": label, "reason": reason} for id_, (label, reason) in RELABELLED.items()
        },
    }
    if options.json:
        print(json.dumps(result | ({"wrong": wrong} if options.show else {}), indent=2))
        return 0
    print(f"MTRAG-UN references: {len(rows)}, {micros:.0f} µs each\n")
    for title, rates in (
        ("as labelled", declining(as_labelled)),
        (f"{len(RELABELLED)} wrong labels fixed", declining(table)),
    ):
        for name, r in rates.items():
            if r["value"] is None:
                print(f"declining, {title}: {name:9}    -  {r['k']}/{r['n']}")
            else:
                print(
                    f"declining, {title}: {name:9} {r['value']:.3f} "
                    f"[{r['low']:.3f}, {r['high']:.3f}]  {r['k']}/{r['n']}"
                )
    print(f"\n{'':15}" + "".join(f"{reply.value:>11}" for reply in Reply))
    for label in EXPECTED:
        print(f"{label:15}" + "".join(f"{table[label, reply.value]:11}" for reply in Reply))
    if options.show:
        print()
        for item in wrong:
            text = " ".join(item["reference"].split())
            print(f"{item['id']}  {item['label']} -> {item['reply'].value}: {text[:240]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

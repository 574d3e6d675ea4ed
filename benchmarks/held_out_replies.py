"""The reply detector on 320 replies that were written and labelled without knowledge of it.

    python benchmarks/held_out_replies.py [--json] [--show wrong]

The replies imitate the styles of several kinds of models, in wordings as varied as their author
could make them. The detector was mended once by the errors of the odd lines; the even lines are the
ones to quote. `benchmarks/replies.py` has the references that people wrote.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from replies import rate

from ragevalkit.scoring import Reply, classify_reply

FILE = Path(__file__).with_suffix(".jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON alone")
    parser.add_argument("--show", choices=["wrong"], help="list the disagreements of even lines")
    options = parser.parse_args()
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["read"] = classify_reply(row["text"]).value
    even = [row for row in rows if row["n"] % 2 == 0]
    result = {
        "even lines": declining(even),
        "odd lines (tuned on)": declining([row for row in rows if row["n"] % 2]),
        **{
            f"even, {style}": declining([row for row in even if row["style"] == style])
            for style in sorted({row["style"] for row in rows})
        },
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, rates in result.items():
        print(f"{name:24}" + "   ".join(f"{what} {written(r)}" for what, r in rates.items()))
    table = Counter((row["label"], row["read"]) for row in even)
    print(f"\n{'even lines':15}" + "".join(f"{reply.value:>11}" for reply in Reply))
    for label in dict.fromkeys(row["label"] for row in rows):
        print(f"{label:15}" + "".join(f"{table[label, reply.value]:11}" for reply in Reply))
    for row in even if options.show else ():
        if row["read"] != row["label"]:
            print(f"{row['n']:4} {row['label']} -> {row['read']}: {' '.join(row['text'].split())}")


def declining(rows: list[dict[str, Any]]) -> dict[str, dict[str, float | int | None]]:
    """Precision and recall of reading a decline, with 95 % intervals."""
    hits = sum(row["label"] == row["read"] == Reply.DECLINE for row in rows)
    return {
        "precision": rate(hits, sum(row["read"] == Reply.DECLINE for row in rows)),
        "recall": rate(hits, sum(row["label"] == Reply.DECLINE for row in rows)),
    }


def written(r: dict[str, float | int | None]) -> str:
    if not r["n"]:
        return "-"
    return f"{r['value']:.3f} [{r['low']:.3f}, {r['high']:.3f}] {r['k']}/{r['n']}"


if __name__ == "__main__":
    main()

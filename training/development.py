"""How well an adapter reads and decides, on the shelves that training leaves out.

    python training/development.py ADAPTER.gguf [--most N] [--clapnq BANK.jsonl --turns TURNS.jsonl]

For a change to the training, before the long way through whole runs: the results of a search stand
there, and so does the question; the thought is the model's. Prints how many of the questions whose
evidence the search finds have all of it on the first results, how many of its quotes are the
ones that it should have learned, and what would be declined if yes were worth more or less than it
is, in nats. With a bank of CLAPnq and the turns that were made of it, the questions are those of
the bank that are neither held out nor among the turns' thoughts.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from conversation import search_query
from shelves import DEVELOPMENT, Shelf, read_public, read_shelves
from turns import SEED, Lesson, exercises, is_answered

from ragevalkit.errors import RagevalkitError
from ragevalkit.standin.launch import start
from ragevalkit.turn.protocol import SEARCH_RESULTS

TEST = Lesson({"bound": 1000, "clapnq": 1000}, 12, results=(5,), found_again=0, part="turn")
LONGEST_THOUGHT = 300
"""Tokens."""
SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
UNSEEN = -12.0
"""Log-probability of a word that isn't among the likeliest."""


@dataclass(frozen=True)
class Decided:
    """What came of one question."""

    answers: bool
    """Whether the results answer it."""
    quotes: list[bool]
    """Of each quote, whether it is the right one, at least at its beginning."""
    margin: float
    """Log-odds of yes against no."""


def main(adapter: Path, most: int | None, clapnq: tuple[Path, Path] | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if clapnq is None:
            shelves = read_shelves(Path(folder), lambda name: name in DEVELOPMENT)
        else:
            shelves = [untaught(*clapnq)]
        made = list(exercises(TEST, shelves, random.Random(SEED)))
        for first, share_ in enumerate(on_first(shelves), 1):
            print(f"evidence on the first {first}: {share_}")
    turns = [turn for exercise in made for turn in exercise][:most]
    decided = []
    with start("local", adapter=adapter) as local:
        for at, turn in enumerate(turns, 1):
            decided += ask(local.base_url.removesuffix("/v1"), turn)
            print(f"\r{at} of {len(turns)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    answered = [d for d in decided if d.answers]
    others = [d for d in decided if not d.answers]
    print(f"{len(turns)} questions, {len(decided)} decided, {len(answered)} of them answered")
    print(f"quotes: {share(quote for d in decided for quote in d.quotes)}")
    print(f"a question that is answered has the larger margin: {ranked(answered, others):.1%}")
    for shift in SHIFTS:
        over, right = (share(d.margin <= -shift for d in some) for some in (answered, others))
        print(f"yes {shift:+.1f}: over-refused {over}, refused correctly {right}")


def untaught(bank: Path, turns: Path) -> Shelf:
    """CLAPnq's questions that training could have, but didn't teach to answer."""
    _, *lines = map(json.loads, turns.read_text(encoding="utf-8").splitlines())
    thoughts = [turn for x in lines for turn in x["turns"] if "\nAnswered: " in turn["text"]]
    taught = {id_ for turn in thoughts for id_ in turn["id"].split("+")}  # some are joined
    shelf = read_public(bank)
    return replace(shelf, questions=[q for q in shelf.questions if q.id not in taught])


def on_first(shelves: list[Shelf]) -> Iterator[str]:
    """How often all evidence that is found stands on the first result, the first two and so on."""
    every = [search for shelf in shelves for search in searches(shelf) if search[-1]]
    for first in range(1, SEARCH_RESULTS + 1):
        yield share(held[min(first, len(held)) - 1] for held in every)


def searches(shelf: Shelf) -> Iterator[list[bool]]:
    """For each answerable question: whether its first result, two, three … hold all evidence."""
    for question in shelf.questions:
        results = [r.as_dict() for r in shelf.corpus.search(search_query(question))]
        if question.answerable and results:
            numbers = range(1, len(results) + 1)
            yield [is_answered(question, results[:number]) for number in numbers]


def ask(address: str, turn: dict[str, Any]) -> Iterator[Decided]:
    """Nothing where the thought comes to no decision."""
    text = turn["text"]
    begin = text.index("<think>\n")
    wanted = text[begin : text.index("</think>", begin)]
    body = {
        "prompt": text[:begin],
        "n_predict": LONGEST_THOUGHT,
        "temperature": 0,
        "cache_prompt": True,
        "stop": ["</think>"],
        "n_probs": 5,
    }
    request = urllib.request.Request(
        f"{address}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    before = ""
    for token in answer["completion_probabilities"]:
        if before.endswith("\nAnswered:"):
            likeliest = {t["token"]: t["logprob"] for t in token["top_logprobs"]}
            margin = likeliest.get(" yes", UNSEEN) - likeliest.get(" no", UNSEEN)
            both = zip_longest(heads(wanted), heads(answer["content"]))
            yield Decided(turn["answers"], [one == other for one, other in both], margin)
            return
        before += token["token"]


def heads(thought: str) -> list[str]:
    """The beginnings of its quotes."""
    return [" ".join(line.split()[:5]) for line in thought.split("\n")[1:-2]]


def share(told: Any) -> str:
    held = list(told)
    return f"{sum(held)}/{len(held)} = {sum(held) / max(1, len(held)):.0%}"


def ranked(some: list[Decided], others: list[Decided]) -> float:
    """The area under the receiver's operating characteristic."""
    pairs = [(a.margin > b.margin) + (a.margin == b.margin) / 2 for a in some for b in others]
    return math.fsum(pairs) / max(1, len(pairs))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("--most", type=int, help="most questions that are asked")
    parser.add_argument("--clapnq", type=Path, help="as `bank import` writes it")
    parser.add_argument("--turns", type=Path, help="what turns.py made of it")
    options = parser.parse_args()
    if (options.clapnq is None) != (options.turns is None):
        parser.error("--clapnq and --turns go together")
    chosen = None if options.clapnq is None else (options.clapnq, options.turns)
    try:
        main(options.adapter, options.most, chosen)
    except RagevalkitError as error:
        sys.exit(str(error))

"""Make the turns that an adapter for `local` is trained on: whole turns, as the agent sends them.

    python training/turns.py OUT.jsonl --clapnq BANK.jsonl --held-out BANK.jsonl

Public: `Reading`, `Lesson`, `exercises`, `lesson_turns`, `rendered`, `conversation_hash`.

System prompt, tool schemas, search results and tool messages are the agent's own, rendered by the
template that llama.cpp is given, so a change to any of them asks for another training;
`conversation_hash` tells. The questions are those of the invented shelves in `training/material`
and two thirds of CLAPnq's.

In a turn the assistant searches for the question, quotes the nearest sentence in its reasoning,
says whether that answers, and then cites the sentence's page and replies, or declines.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment

from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bank import Question, load_bank
from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.standin.extraction import best_candidate
from ragevalkit.standin.local import ASSISTANT_TEMPLATE
from ragevalkit.standin.request import Passage
from ragevalkit.turn.protocol import DECLINE_MARKER, cite_result, search_result

MATERIAL = Path(__file__).parent / "material"
SEED = 6
UNANSWERED = 0.36
"""Share of turns that end in a decline; from three fifths on, small models decline everything."""
LONGEST_QUOTE = 45
"""Words of a quote; a longer one is cut."""
DECLINE = f"{DECLINE_MARKER}: the pages that were found don't say it."
HELD_OUT = 3
"""One in so many of CLAPnq's questions is kept for the test."""
DEVELOPMENT = ("hospital-lab", "storage-boxes", "three-gardens-society")
"""Shelves that are left out, to see how training comes on."""

EMPHASIS = {
    re.compile(r"\nThat answers it:( yes| no)\n"): 8.0,
    re.compile(r"Found:( \S+ \S+ \S+)"): 3.0,
    re.compile(r"\{\"document\": .+, \"page\":( \d+)\}"): 3.0,
}

_THOUGHT = re.compile(
    r"<think>\nAsked: [^\n]+\n(Found: [^\n]+\nThat answers it: (?:yes|no)\n</think>)"
)


@dataclass(frozen=True)
class Reading:
    """A stage that teaches reading alone: the pages of one search, and many questions on them.

    A question costs a quarter of what its turn does, among as many pages as the agent gets.
    """

    passes: int
    """How often each question comes."""
    questions: int = 12
    """Most questions of an exercise."""


@dataclass(frozen=True)
class Lesson:
    """A stage of the training."""

    turns: int
    results: dict[int, float]
    """How many search results a turn has, with weights: fewer cost less and teach the same."""
    prompt: bool
    """Whether system prompt and tools stand before the turn, as they do in the agent's requests."""


LESSONS = (Reading(2), Lesson(160, {2: 0.3, 3: 0.3, 5: 0.4}, prompt=True))


def main(out: Path, clapnq: Path, held_out: Path) -> None:
    rng = random.Random(SEED)
    asked = [*shelves(), *public(clapnq)]
    rng.shuffle(asked)
    development = [*shelves(DEVELOPMENT)]
    rng.shuffle(development)
    turns = []
    for number, lesson in enumerate(LESSONS, 1):
        if isinstance(lesson, Reading):
            made = exercises(lesson, list(shelves()), rng)
            print(f"lesson {number}: {len(made)} exercises")
        else:
            made, asked = lesson_turns(lesson, asked, rng)
            declined = sum(not turn["answers"] for turn in made)
            print(f"lesson {number}: {len(made)} turns, {declined} of them decline")
        turns += [turn | {"lesson": number} for turn in made]
    made, _ = lesson_turns(Lesson(60, {3: 1.0}, prompt=True), development, rng)
    turns += [turn | {"lesson": 0} for turn in made]
    with out.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"conversation_hash": conversation_hash()}) + "\n")
        file.writelines(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns)
    kept = [question for question in load_bank(clapnq).questions if is_held_out(question)]
    lines = [json.dumps(question.line(), ensure_ascii=False) + "\n" for question in kept]
    held_out.write_text("".join(lines), encoding="utf-8")
    print(f"held out: {len(kept)} questions, {sum(not q.answerable for q in kept)} unanswerable")


def shelves(names: tuple[str, ...] | None = None) -> Iterator[tuple[Question, Corpus]]:
    """The questions of some invented shelves; by default of all but those for development."""
    for folder in sorted(MATERIAL.iterdir()):
        if folder.is_dir() and (
            folder.name in names if names is not None else folder.name not in DEVELOPMENT
        ):
            corpus = open_corpus(folder / "corpus")
            for question in load_bank(folder / "bank.jsonl").questions:
                yield question, corpus


def public(bank: Path) -> Iterator[tuple[Question, Corpus]]:
    """CLAPnq's questions but for those that are held out."""
    corpus = open_corpus(bank.parent / "corpora" / bank.stem)
    for question in load_bank(bank).questions:
        if not is_held_out(question):
            yield question, corpus


def is_held_out(question: Question) -> bool:
    return int(question.hash, 16) % HELD_OUT == 0


def lesson_turns(
    lesson: Lesson, asked: list[tuple[Question, Corpus]], rng: random.Random
) -> tuple[list[dict[str, Any]], list[tuple[Question, Corpus]]]:
    """A lesson's turns, in the shares that it wants, and the questions that it has left over."""
    declines = round(lesson.turns * UNANSWERED)
    room = {True: lesson.turns - declines, False: declines}
    made, left = [], []
    for question, corpus in asked:
        if not any(room.values()):
            left.append((question, corpus))
            continue
        turn = make_turn(question, corpus, lesson, rng)
        if turn is not None and room[turn["answers"]]:
            room[turn["answers"]] -= 1
            made.append(turn)
        else:
            left.append((question, corpus))
    return made, left


def make_turn(
    question: Question, corpus: Corpus, lesson: Lesson, rng: random.Random
) -> dict[str, Any] | None:
    """The turn of a question; None where nothing was found."""
    query = search_query(question)
    found = [result.as_dict() for result in corpus.search(query)]
    wanted = rng.choices([*lesson.results], [*lesson.results.values()])[0]
    near = nearest(question, found)
    if near is None or not near.quote:
        return None
    others = [r for r in found if r is not near.page]
    kept = [near.page, *rng.sample(others, min(wanted - 1, len(others)))]
    results = [r for r in found if r in kept]
    page = near.page if near.answers else None
    text, spans = rendered(turn_messages(question, query, results, near.quote, page), lesson.prompt)
    return _lesson_line(question, near.answers, text, spans)


def _lesson_line(
    question: Question, answers: bool, text: str, spans: list[tuple[int, int]]
) -> dict[str, Any]:
    weights = emphasis(text, spans)
    line = {"id": question.id, "answers": answers, "text": text}
    return line | {"spans": spans, "emphasis": weights}


def exercises(
    lesson: Reading, asked: list[tuple[Question, Corpus]], rng: random.Random
) -> list[dict[str, Any]]:
    """Exercises in which each question comes as often as the lesson wants, or nearly."""
    made = []
    for _ in range(lesson.passes):
        left = {question.id: (question, corpus) for question, corpus in asked}
        while left:
            first, corpus = left.pop(rng.choice(list(left)))
            results = [r.as_dict() for r in corpus.search(search_query(first))]
            others = [q for q, c in left.values() if c is corpus]
            rng.shuffle(others)
            # those that the pages answer, and as many as may be that they don't
            others.sort(key=lambda q: not _evidence(q, results) and q.answerable)
            noes = 0
            chosen = []
            for question in [first, *others]:
                answers = bool(_evidence(question, results))
                enough = noes >= UNANSWERED * lesson.questions
                if answers or question is first or not (question.answerable or enough):
                    noes += not answers
                    chosen.append(question)
            chosen = chosen[: lesson.questions]
            rng.shuffle(chosen)
            for question in chosen:
                left.pop(question.id, None)
            made.append(exercise(chosen, results))
    return made


def exercise(questions: list[Question], results: list[dict[str, Any]]) -> dict[str, Any]:
    """The results of a search, and what the assistant is to think of them for each question."""
    messages = [{"role": "tool", "content": search_result(results)}]
    for question in questions:
        near = nearest(question, results)
        quote, answers = (near.quote, near.answers) if near else ("nothing", False)
        thought = reasoning(search_query(question), quote, answers)
        messages.append({"role": "assistant", "reasoning_content": thought, "content": ""})
    text = _render(messages, [], False)
    spans = [found.span(1) for found in _THOUGHT.finditer(text)]
    return _lesson_line(questions[0], True, text, spans)


class Near(NamedTuple):
    """The sentence that comes nearest to answering a question."""

    quote: str
    page: dict[str, Any]
    """The result that it stands on."""
    answers: bool


def nearest(question: Question, results: list[dict[str, Any]]) -> Near | None:
    """The labelled sentence where the results hold it; else the likeliest, None where none is."""
    if evidence := _evidence(question, results):
        page = next(r for r in results if _is_on(evidence[0], r))
        return Near(evidence[0].quote or "", page, True)
    passages = [Passage(r["document"], r["page"], r["text"]) for r in results]
    found = best_candidate(search_query(question), [passages])
    if found is None:
        return None
    page = next(r for r, p in zip(results, passages, strict=True) if p == found.passage)
    return Near(found.sentence, page, False)


def _evidence(question: Question, results: list[dict[str, Any]]) -> list[Any]:
    return [e for e in question.evidence if any(_is_on(e, result) for result in results)]


def search_query(question: Question) -> str:
    """The question; one that follows another with that before it."""
    earlier = [m.content for m in question.history if m.role == "user"][-1:]
    return " ".join([*earlier, question.question])


def turn_messages(
    question: Question,
    query: str,
    results: list[dict[str, Any]],
    quote: str,
    page: dict[str, Any] | None,
) -> list[dict[str, Any]]:
    """The conversation of a turn.

    Args:
        quote: the nearest sentence.
        page: the result that `quote` stands on; None where it doesn't answer the question.
    """
    thought = reasoning(query, quote, page is not None)
    messages = [
        {"role": "system", "content": load_prompt()},
        *({"role": m.role, "content": m.content} for m in question.history),
        {"role": "user", "content": question.question},
        _calling("search", {"query": query}),
        {"role": "tool", "content": search_result(results)},
    ]
    if page is None:
        return [
            *messages,
            {"role": "assistant", "reasoning_content": thought, "content": DECLINE},
        ]
    arguments = {"document": page["document"], "page": page["page"]}
    reply = " ".join((question.answers[0] if _is_short(question) else quote).split())
    return [
        *messages,
        _calling("cite", arguments) | {"reasoning_content": thought},
        {"role": "tool", "content": cite_result(**arguments, label=page["label"])},
        {"role": "assistant", "content": reply},
    ]


def reasoning(query: str, quote: str, answers: bool) -> str:
    quote = " ".join(quote.split()[:LONGEST_QUOTE])
    return f"Asked: {query}\nFound: {quote}\nThat answers it: {'yes' if answers else 'no'}"


def _is_short(question: Question) -> bool:
    return bool(question.answers) and len(question.answers[0].split()) <= LONGEST_QUOTE // 2


def _calling(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"role": "assistant", "tool_calls": [{"function": function}]}


def _is_on(evidence: Any, result: dict[str, Any]) -> bool:
    return bool(evidence.document == result["document"] and evidence.page == result["page"])


def rendered(messages: list[dict[str, Any]], prompt: bool) -> tuple[str, list[tuple[int, int]]]:
    """The conversation as text, and where in it the assistant's messages of the turn stand.

    Args:
        prompt: with system prompt and tools.
    """
    asked = max(at for at, m in enumerate(messages) if m["role"] == "user")
    first = 0 if prompt else 1
    tools = load_toolbox().schemas if prompt else []
    text = _render(messages[first:], tools, False)
    spans = []
    for at in range(asked + 1, len(messages)):
        if messages[at]["role"] == "assistant":
            begin = len(_render(messages[first:at], tools, True))
            end = len(_render(messages[first : at + 1], tools, False)) - 1
            spans.append((begin, end))
    return text, spans


def _render(messages: list[dict[str, Any]], tools: list[dict[str, Any]], reply: bool) -> str:
    filled = [{"content": None, "tool_calls": None, **message} for message in messages]
    return _template().render(messages=filled, tools=tools, add_generation_prompt=reply)


@cache
def _template() -> Any:
    environment = Environment()
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(ASSISTANT_TEMPLATE.read_text(encoding="utf-8"))


def emphasis(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """Where the turn is decided, with how many times more than another character it counts."""
    return [
        (found.start(1), found.end(1), weight)
        for pattern, weight in EMPHASIS.items()
        for begin, end in spans
        for found in pattern.finditer(text, begin, end)
    ]


def conversation_hash() -> str:
    """16 hex digits over what the model sees and is to write in one turn of either kind."""
    question = Question(id="q", question="How high?", answerable=True, answers=["3 m."])
    result = {"document": "guide", "page": 2, "label": "ii", "score": 1.5, "text": "It is 3 m."}
    texts = [
        rendered(turn_messages(question, "How high?", [result], "It is 3 m.", page), True)[0]
        for page in (result, None)
    ]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clapnq", type=Path, required=True, help="as `bank import` writes it")
    parser.add_argument("--held-out", type=Path, required=True, help="gets what isn't trained on")
    options = parser.parse_args()
    main(options.out, options.clapnq, options.held_out)

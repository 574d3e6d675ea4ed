"""Make the turns that an adapter for `local` is trained on: whole turns, as the agent sends them.

    python training/turns.py OUT.jsonl --clapnq BANK.jsonl --held-out OUT.jsonl --development OUT

Public: `Lesson`, `Asked`, `exercises`, `findings`, `is_answered`, `LESSONS`.

An exercise is one search of the agent and several questions on what it found, so that the results,
which are the bulk of a turn, are read once for all of them. Its first question is the one that was
searched for.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from conversation import (
    CITED,
    conversation_hash,
    emphasis,
    ending,
    opening,
    reading,
    rendered,
    search_query,
    thought,
)
from shelves import DEVELOPMENT, Shelf, is_held_out, read_public, read_shelves

from ragevalkit.bank import Evidence, Question, load_bank
from ragevalkit.standin.extraction import best_candidate, content_terms
from ragevalkit.standin.request import Passage
from ragevalkit.standin.sentences import read_units

SEED = 6
UNANSWERED = 0.36
"""Most of an exercise's questions that its pages don't answer."""
MOST_UNANSWERED = 0.42
"""The same, of all exercises of a kind: from three fifths on, small models decline everything."""
LEAST_WORDS = 4
"""Content words of a sentence that can be found again by half of them."""
FOLLOW_UPS = 3
"""How often a first call is taught to a question that follows another: they are few."""
TWOFOLD = 0.08
"""Share of questions that are asked together with another, so that two sentences are quoted."""


@dataclass(frozen=True)
class Lesson:
    """A stage of the training."""

    searches: dict[str, int]
    """Most exercises from each kind of shelf: `bound`, `plain` or `clapnq`."""
    questions: int
    """Most questions of an exercise."""
    results: tuple[int, ...]
    """How many of a search's results an exercise keeps, one of these at random."""
    found_again: int
    """Sentences of an exercise that are to be found again by some of their words: no questions, but
    as many as one likes."""
    part: Literal["search", "thought", "turn"]
    """What of a turn is taught: the first call, the thought on results without what comes before
    them, which costs less, or all of it."""
    misread: float = 0.0
    """Share of the answered questions that have the sentence which comes nearest by its words, and
    teach the yes alone: it is mostly a wrong one, as the model's own quotes are."""


LESSONS = (
    Lesson(
        {"bound": 30, "plain": 30}, 10, results=(1, 2), found_again=6, part="thought", misread=1 / 3
    ),
    Lesson(
        {"bound": 80, "plain": 10, "clapnq": 60},
        10,
        results=(3,),
        found_again=6,
        part="thought",
        misread=1 / 3,
    ),
    Lesson(
        {"bound": 90, "clapnq": 40}, 10, results=(5,), found_again=5, part="thought", misread=1 / 3
    ),
    Lesson({"bound": 24, "clapnq": 6}, 24, results=(), found_again=0, part="search"),
    Lesson(
        {"bound": 34, "plain": 4, "clapnq": 12},
        8,
        results=(0, 1, 2, 3, 4, 5, 5, 5, 5, 5),
        found_again=0,
        part="turn",
    ),
)


DECIDING = Lesson({"bound": 1000}, 12, results=(5,), found_again=0, part="turn", misread=1.0)
"""What threshold.py asks of the shelves that are left out."""


def main(out: Path, clapnq: Path, held_out: Path, development: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelves = read_shelves(Path(folder), lambda name: name not in DEVELOPMENT)
        write(LESSONS, [*shelves, read_public(clapnq)], out)
    with tempfile.TemporaryDirectory() as folder:
        shelves = read_shelves(Path(folder), lambda name: name in DEVELOPMENT)
        write([DECIDING], shelves, development)
    kept = [question for question in load_bank(clapnq).questions if is_held_out(question)]
    lines = [json.dumps(question.line(), ensure_ascii=False) + "\n" for question in kept]
    held_out.write_text("".join(lines), encoding="utf-8")
    print(f"held out: {len(kept)} questions, {sum(not q.answerable for q in kept)} unanswerable")


def write(lessons: Sequence[Lesson], shelves: Sequence[Shelf], out: Path) -> None:
    """A line for the conversation, then one for each exercise."""
    rng = random.Random(SEED)
    with out.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"conversation_hash": conversation_hash()}) + "\n")
        for number, lesson in enumerate(lessons, 1):
            made = list(exercises(lesson, shelves, rng))
            for turns in made:
                file.write(json.dumps({"turns": turns}, ensure_ascii=False) + "\n")
            answers = [turn["answers"] for turns in made for turn in turns]
            print(
                f"{out.stem}, lesson {number}: {len(made)} searches, {len(answers)} questions, "
                f"{answers.count(False)} of them unanswered"
            )


@dataclass(frozen=True)
class Asked:
    """A question and what a search for it finds."""

    question: Question
    results: list[dict[str, Any]]

    @property
    def first(self) -> tuple[str, int]:
        """The likeliest page."""
        return _page(self.results[0])


def exercises(
    lesson: Lesson, shelves: Sequence[Shelf], rng: random.Random
) -> Iterator[list[dict[str, Any]]]:
    """The turns of each exercise, in an order that mixes the shelves."""
    calls_alone = lesson.part == "search"
    made: list[list[Asked]] = []
    for kind, most in lesson.searches.items():
        mine = [shelf for shelf in shelves if _kind(shelf) == kind]
        found = [asked for shelf in mine for asked in _found(shelf, lesson, rng)]
        rng.shuffle(found)
        made += islice(found if calls_alone else _balanced(found), most)
    rng.shuffle(made)
    for asked in made:
        if calls_alone:
            yield [_search(a.question) for a in asked]
        else:
            turns = [_turn(asked[0], a, lesson, rng) for a in asked]
            yield [*turns, *_found_again(asked[0], lesson, rng)]


def _kind(shelf: Shelf) -> str:
    return "bound" if "bound" in shelf.name else "clapnq" if shelf.name == "clapnq" else "plain"


def _found(shelf: Shelf, lesson: Lesson, rng: random.Random) -> Iterator[list[Asked]]:
    """The questions of each exercise that the lesson can have from the shelf."""
    if lesson.part == "search":
        return _first_calls(shelf, lesson, rng)
    if lesson.part == "thought" and _kind(shelf) == "clapnq":
        return _strangers(shelf, lesson, rng)
    return _searches(shelf, lesson, rng)


def _first_calls(shelf: Shelf, lesson: Lesson, rng: random.Random) -> Iterator[list[Asked]]:
    """The shelf's questions, nothing searched yet; each comes once, but a follow-up more often."""
    questions = [
        Asked(question, [])
        for question in shelf.questions
        for _ in range(FOLLOW_UPS if question.history else 1)
    ]
    rng.shuffle(questions)
    for at in range(0, len(questions), lesson.questions):
        yield questions[at : at + lesson.questions]


def _searches(shelf: Shelf, lesson: Lesson, rng: random.Random) -> Iterator[list[Asked]]:
    """Questions that share the first one's results; each question of the shelf comes once."""
    left = [_ask(shelf, question) for question in shelf.questions]
    left = [asked for asked in left if asked.results]
    rng.shuffle(left)
    while left:
        first = _with_fewer(left.pop(), rng.choice(lesson.results), rng)
        pages = {_page(result) for result in first.results}
        chosen = [first]
        room = {True: lesson.questions - 1, False: round(UNANSWERED * lesson.questions)}
        for asked in left:
            answers = is_answered(asked.question, first.results)
            near = asked.first in pages and not asked.question.answerable
            if (answers or near) and room[answers] and len(chosen) < lesson.questions:
                room[answers] -= 1
                chosen.append(Asked(asked.question, first.results))
        questions = {asked.question.id for asked in chosen}
        left = [asked for asked in left if asked.question.id not in questions]
        yield _with_twofold(chosen, rng)


def _strangers(shelf: Shelf, lesson: Lesson, rng: random.Random) -> Iterator[list[Asked]]:
    """Questions that no search has in common, on the likeliest pages of them all."""
    asked = [a for a in (_ask(shelf, question) for question in shelf.questions) if a.results]
    rng.shuffle(asked)
    answered = [a for a in asked if is_answered(a.question, a.results)]
    others = [a for a in asked if not is_answered(a.question, a.results)]
    while answered and others:
        pages = rng.choice(lesson.results)
        near_misses = round(MOST_UNANSWERED * pages)
        group = [others.pop() for _ in others[:near_misses]]
        group += [answered.pop() for _ in answered[: pages - near_misses]]
        results = {_page(r): r for a in group for r in _with_fewer(a, 1, rng).results}
        mixed = rng.sample(list(results.values()), len(results))
        yield [Asked(a.question, mixed) for a in rng.sample(group, len(group))]


def _balanced(found: Iterable[list[Asked]]) -> Iterator[list[Asked]]:
    """The searches without those that would leave too few of the questions answered."""
    unanswered = questions = 0
    for asked in found:
        more = sum(not is_answered(a.question, a.results) for a in asked)
        if unanswered + more <= MOST_UNANSWERED * (questions + len(asked)):
            unanswered += more
            questions += len(asked)
            yield asked


def _with_fewer(asked: Asked, results: int, rng: random.Random) -> Asked:
    """The question with so many of its results, in order, and among them its evidence."""
    pages = {(e.document, e.page) for e in asked.question.evidence}
    kept = [r for r in asked.results if _page(r) in pages] or asked.results[:1]
    kept = kept[:results]
    others = [r for r in asked.results if r not in kept]
    kept = kept + rng.sample(others, max(0, min(results - len(kept), len(others))))
    return Asked(asked.question, [r for r in asked.results if r in kept])


def _ask(shelf: Shelf, question: Question) -> Asked:
    return Asked(question, [r.as_dict() for r in shelf.corpus.search(search_query(question))])


def _with_twofold(asked: list[Asked], rng: random.Random) -> list[Asked]:
    """Some questions on two pages of the results beside those that came."""
    first, *others = asked
    single = [a for a in others if _may_be_joined(a.question) and a.question.answerable]
    for one, two in zip(single[::2], single[1::2], strict=False):
        apart = _page_of(one.question) != _page_of(two.question)
        if apart and rng.random() < 2 * TWOFOLD:
            others[others.index(one)] = Asked(_joined(one.question, two.question), one.results)
    return [first, *others]


def _may_be_joined(question: Question) -> bool:
    word = question.question.split()[0].lower()
    return not question.history and word in ("what", "who", "how", "when", "where", "which")


def _joined(one: Question, two: Question) -> Question:
    begin = two.question[0].lower() + two.question[1:]
    return Question(
        id=f"{one.id}+{two.id}",
        question=f"{one.question.rstrip('?. ')}, and {begin}",
        answerable=True,
        evidence=[*one.evidence, *(e.model_copy(update={"group": 1}) for e in two.evidence)],
    )


def _search(question: Question) -> dict[str, Any]:
    """The first call for a question."""
    text, spans = rendered(opening(question, [])[:-1], tools=True)
    return _taught(question.id, question.answerable, text, spans)


def _turn(first: Asked, asked: Asked, lesson: Lesson, rng: random.Random) -> dict[str, Any]:
    """A question's turn as text, with what counts in it."""
    quotes, cited = findings(asked.question, asked.results)
    whole = lesson.part == "turn"
    misread = bool(lesson.misread and cited) and rng.random() < lesson.misread
    if misread:
        quotes = _nearest(asked.question, asked.results)
    rest = ending(quotes, cited) if whole else [_thinking(thought(quotes, bool(cited)))]
    text, spans = _after_results(first, asked.question, rest, lesson)
    if whole and asked is not first:
        spans = spans[1:]  # the search was for the first
    if misread:
        spans = [_decision(text, spans)]
    return _taught(asked.question.id, bool(cited), text, spans)


def _thinking(reasoning: str) -> dict[str, Any]:
    return {"role": "assistant", "reasoning_content": reasoning, "content": ""}


def _after_results(
    first: Asked, question: Question, rest: list[dict[str, Any]], lesson: Lesson
) -> tuple[str, list[tuple[int, int]]]:
    """A turn on the results of the first question: its text, and where the assistant writes."""
    instead = (first.question, question)
    if lesson.part == "turn":
        return rendered([*opening(first.question, first.results), *rest], True, instead)
    # nothing follows a thought, as there are no tools to call
    text, ((begin, _),) = rendered([*reading(first.question, first.results), *rest], False, instead)
    end = text.index("</think>\n", begin) + len("</think>\n")
    # the question stands after the results alone
    results = text.index("<|im_start|>user\n<tool_response>")
    return text[results:end], [(begin - results, end - results)]


def _taught(id_: str, answers: bool, text: str, spans: list[tuple[int, int]]) -> dict[str, Any]:
    marked = emphasis(text, spans)
    return {"id": id_, "answers": answers, "text": text, "spans": spans, "emphasis": marked}


def _found_again(first: Asked, lesson: Lesson, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Sentences of the results that are to be found by some of their words."""
    sentences = [
        unit.text
        for result in first.results
        for unit in read_units(result["text"])
        if not unit.heading and len(content_terms(unit.text)) >= LEAST_WORDS
    ]
    for sentence in rng.sample(sentences, min(lesson.found_again, len(sentences))):
        words = content_terms(sentence)
        words = rng.sample(words, rng.randint(2, max(2, len(words) // 2)))
        question = Question(id="found again", question=" ".join(words), answerable=True)
        rest = [_thinking(thought([sentence], True))]
        text, spans = _after_results(first, question, rest, lesson)
        end, _ = _decision(text, spans)
        yield _taught(question.id, True, text[:end], [(spans[-1][0], end)])


def _decision(text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Where one of the assistant's messages says whether the results answer, to its end."""
    begin, end = next(span for span in spans if "Answered: " in text[slice(*span)])
    return text.index("Answered: ", begin, end), end


def findings(
    question: Question, results: Sequence[dict[str, Any]]
) -> tuple[list[str], list[dict[str, Any]]]:
    """The sentences that answer, and which results are cited for them, in their order.

    Where they don't answer: the sentence that comes nearest, and no results.
    """
    evidence = {(e.document, e.page): e for e in question.evidence}
    quotes, holding = [], []
    for result in results:
        labelled = evidence.get(_page(result))
        quote = _labelled_sentence(labelled, result["text"]) if labelled else None
        if quote is not None:
            quotes.append(quote)
            holding.append(result)
    if is_answered(question, holding):
        others = [result for result in results if result not in holding]
        cited = holding + others[: max(0, CITED - len(holding))]
        return quotes, [result for result in results if result in cited]
    return _nearest(question, results), []


def _nearest(question: Question, results: Sequence[dict[str, Any]]) -> list[str]:
    """The sentence of the results that shares most with the question; none where none does."""
    earlier = " ".join(m.content for m in question.history[-2:] if m.role == "user")
    passages = [Passage(r["document"], r["page"], r["text"]) for r in results]
    candidate = best_candidate(question.question, [passages], earlier)
    return [candidate.sentence] if candidate else []


def _labelled_sentence(evidence: Evidence, text: str) -> str | None:
    """The unit of the text that holds the labelled quote, or begins it; None: it was cut out."""
    wanted = " ".join((evidence.quote or "").split())
    if wanted not in " ".join(text.split()):
        return None
    units = [unit.text for unit in read_units(text) if not unit.heading]
    words = set(wanted.split())
    return max(units, key=lambda unit: len(words & set(unit.split())), default=wanted)


def is_answered(question: Question, results: Sequence[dict[str, Any]]) -> bool:
    """Whether each part of the question has an evidence page among the results."""
    pages = {_page(result) for result in results}
    groups = {e.group for e in question.evidence}
    held = {e.group for e in question.evidence if (e.document, e.page) in pages}
    return question.answerable and held == groups


def _page(result: dict[str, Any]) -> tuple[str, int]:
    return result["document"], result["page"]


def _page_of(question: Question) -> tuple[str, int]:
    return question.evidence[0].document, question.evidence[0].page


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clapnq", type=Path, required=True, help="as `bank import` writes it")
    parser.add_argument("--held-out", type=Path, required=True, help="gets what isn't trained on")
    parser.add_argument(
        "--development", type=Path, required=True, help="gets the exercises of shelves left out"
    )
    options = parser.parse_args()
    main(options.out, options.clapnq, options.held_out, options.development)

"""For every defect a scenario of the mock that shows it, and a near miss that must not.

The turns are real: agent, HTTP and streams; only the model is scripted.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from servers import mocking

from ragevalkit.agent.graph import Agent, Limits
from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bank import Question
from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.endpoint.client import ChatClient, Retries
from ragevalkit.endpoint.profile import Profile
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.score import Score, score_turn
from ragevalkit.turn.record import Turn

GUIDE = """<!-- page: i -->
Contents: the mast, its weight
<!-- page: 1 -->
The mast is 12 metres tall. It stands on a con-
crete foot, and “nobody” may climb it.
<!-- page: 2 -->
The mast weighs 80 kilograms.
"""
TALL = Question(
    id="tall",
    question="How tall is the mast?",
    answerable=True,
    evidence=[{"document": "guide", "page": 2}],
    answers=["12 metres"],
)
COLOUR = Question(id="colour", question="What colour is the mast?", answerable=False)

RIGHT = "The mast is 12 metres tall."
DECLINE = "NOT IN DOCUMENTS: the guide gives no colour."


def say(text: str, *, round_: int = 2, finish: str = "stop") -> str:
    """A rule: in this round the model says `text`."""
    return (
        f"[[rules]]\nround = {round_}\ntools = true\n[rules.reply]\n"
        f"answer = {json.dumps(text)}\nfinish = {json.dumps(finish)}\n"
    )


def call(
    name: str, arguments: dict[str, Any] | str, *, round_: int, finish: str = "", id_: str = ""
) -> str:
    """A rule: in this round the model calls a tool."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    rule = f"[[rules]]\nround = {round_}\ntools = true\n"
    rule += f"[rules.reply]\nfinish = {json.dumps(finish)}\n" if finish else ""
    rule += f"[[rules.reply.calls]]\nname = {json.dumps(name)}\narguments = {json.dumps(raw)}\n"
    return rule + (f"id = {json.dumps(id_)}\n" if id_ else "")


def cite(page: int, quote: str | None = None, *, round_: int = 1, document: str = "guide") -> str:
    arguments = {"document": document, "page": page} | ({"quote": quote} if quote else {})
    return call("cite", arguments, round_=round_)


def search(query: str = "How tall is the mast?", *, round_: int = 0, id_: str = "") -> str:
    return call("search", {"query": query}, round_=round_, id_=id_)


def fault(kind: str, *, round_: int, times: int = 9, **more: Any) -> str:
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in more.items())
    rule = f"[[rules]]\nround = {round_}\ntools = true\ntimes = {times}\n"
    return f'{rule}[rules.fault]\nkind = "{kind}"\n{lines}'


GOOD = cite(2) + say(RIGHT)
"""Search (the mock's default), the right page, the right answer."""
HERMES = '<tool_call>\n{"name": "search", "arguments": {"query": "mast"}}\n</tool_call>'


@dataclass(frozen=True)
class Case:
    """A defect beside its near miss."""

    defect: str
    shows: str
    """Scenario that shows the defect."""
    misses: str
    """Scenario that comes close and is clean of it."""
    asks: Question = TALL
    also: set[str] = field(default_factory=set)
    """Other defects of the first scenario, which have a root cause of their own."""
    misses_asks: Question | None = None
    limits: Limits = Limits(rounds=6)
    misses_limits: Limits | None = None


CASES = [
    Case("answer:should_have_declined", cite(3) + say("It is red."), say(DECLINE), asks=COLOUR),
    Case("answer:wrong", cite(2) + say("It is 15 metres tall."), cite(2) + say("It's 12 m tall.")),
    Case("answer:without_search", say(RIGHT, round_=0), GOOD),
    Case(
        "answer:budget_exhausted",
        '[[rules]]\nround = 2\n[rules.reply]\nreasoning = 40\nfinish = "length"\n' + cite(2),
        '[[rules]]\nround = 2\n[rules.reply]\nreasoning = 40\nanswer = "12 metres"\n' + cite(2),
    ),
    Case("answer:truncated", cite(2) + say("The mast is", finish="length"), GOOD),
    Case("answer:empty", cite(2) + say(""), cite(2) + say("12 metres")),
    Case(
        "answer:repetition",
        cite(2) + say(RIGHT + " The mast is very tall indeed." * 8, finish="length"),
        cite(2) + say(RIGHT + "".join(f" Point {n} says the same." for n in range(8))),
    ),
    Case(
        "answer:round_limit",
        search() + search("mast", round_=1) + search("foot", round_=2),
        GOOD,
        limits=Limits(rounds=3),
    ),
    Case(
        "answer:turn_timeout",
        fault("silence", round_=1),
        GOOD,
        limits=Limits(turn_s=0.4),
        misses_limits=Limits(),
    ),
    Case(
        "answer:context_overflow",
        fault("status", round_=1, status=400, body="maximum context length is 4096 tokens"),
        fault("status", round_=1, status=503, times=1) + GOOD,
    ),
    Case(
        "answer:server_rejected",
        fault("status", round_=1, status=422, body="no such message"),
        fault("status", round_=1, status=429, times=1) + GOOD,
    ),
    Case(
        "answer:leaked_markup",
        cite(2) + say("</think>" + RIGHT + "<|im_end|>"),
        cite(2) + say(RIGHT + " The template ends with `<|im_end|>`, x < 3 > 2."),
    ),
    Case("refusal:should_have_answered", say(DECLINE), say(DECLINE), misses_asks=COLOUR),
    Case("refusal:without_search", say(DECLINE, round_=0), say(DECLINE, round_=1), asks=COLOUR),
    Case(
        "refusal:hedged",
        say("NOT IN DOCUMENTS: no colour is given. However, masts are usually grey."),
        say(DECLINE),
        asks=COLOUR,
    ),
    Case("citation:missing", say(RIGHT, round_=1), GOOD),
    Case("citation:wrong_page", cite(3) + say(RIGHT), cite(2) + cite(3, round_=2) + GOOD),
    Case("citation:page_label", cite(1) + say(RIGHT), GOOD),
    Case(
        "citation:never_retrieved",
        search("weighs kilograms") + cite(2) + say(RIGHT),
        search("weighs kilograms")
        + search("tall", round_=1)
        + cite(2, round_=2)
        + say(RIGHT, round_=3),
    ),
    Case("citation:no_such_page", cite(4) + say(RIGHT), GOOD),
    Case(
        "citation:quote_not_on_page",
        cite(2, "The mast is 14 metres tall.") + say(RIGHT),
        cite(2, 'a  CONCRETE foot, and "nobody" may … climb it') + say(RIGHT),
    ),
    Case(
        "call:not_json",
        call("search", '{"query": "tall"', round_=0)
        + search(round_=1)
        + cite(2, round_=2)
        + say(RIGHT, round_=3),
        call("search", '{"query": "a \\"tall\\" mast"}', round_=0) + GOOD,
    ),
    Case(
        "call:truncated",
        call("search", '{"query": "how ta', round_=0, finish="length")
        + search(round_=1)
        + cite(2, round_=2)
        + say(RIGHT, round_=3),
        call("search", '{"query": "how tall"}', round_=0, finish="length") + GOOD,
    ),
    Case(
        "call:unknown_tool",
        call("find", {"query": "x"}, round_=0)
        + search(round_=1)
        + cite(2, round_=2)
        + say(RIGHT, round_=3),
        GOOD,
    ),
    Case(
        "call:schema",
        call("cite", {"document": "guide", "page": "2"}, round_=1)
        + cite(2, round_=2)
        + say(RIGHT, round_=3),
        call("cite", '{"page": 2.0, "document": "guide"}', round_=1) + say(RIGHT),
    ),
    Case(
        "call:in_content",
        cite(2) + say(HERMES),
        cite(2) + say(RIGHT + ' The log shows {"level": "info", "name": "mast"}.'),
    ),
    Case(
        "call:in_reasoning",
        f"[[rules]]\nround = 2\n[rules.reply]\nreasoning = {json.dumps(HERMES)}\n" + cite(2),
        f"[[rules]]\nround = 2\n[rules.reply]\nreasoning = {json.dumps(HERMES)}\n"
        f"answer = {json.dumps(RIGHT)}\n" + cite(2),
    ),
    Case(
        "call:duplicate_id",
        search(id_="call_1")
        + call("cite", {"document": "guide", "page": 2}, round_=1, id_="call_1")
        + say(RIGHT),
        search(id_="call_1")
        + call("cite", {"document": "guide", "page": 2}, round_=1, id_="call_2")
        + say(RIGHT),
    ),
    Case(
        "call:repeated",
        search() + search(round_=1) + cite(2, round_=2) + say(RIGHT, round_=3),
        search()
        + search("how tall is the mast", round_=1)
        + cite(2, round_=2)
        + say(RIGHT, round_=3),
    ),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    path = tmp_path_factory.mktemp("corpus") / "guide.md"
    path.write_text(GUIDE, encoding="utf-8")
    return open_corpus(path)


def ask(folder: Path, scenario: str, question: Question, corpus: Corpus, limits: Limits) -> Turn:
    async def one_turn(url: str) -> Turn:
        client = ChatClient(
            Profile(name="mock", base_url=url), concurrency=1, retries=Retries(2, 0.0)
        )
        client.proven = True
        agent = Agent(client, "mock", load_toolbox(), load_prompt(), limits)
        try:
            return await agent.ask(question, corpus)
        finally:
            await client.close()

    with mocking(folder, scenario) as url:
        return asyncio.run(one_turn(url))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.defect)
def test_the_defect_is_found(case: Case, corpus: Corpus, tmp_path: Path) -> None:
    score = score_turn(ask(tmp_path, case.shows, case.asks, corpus, case.limits), corpus)
    assert set(score.defects) == {case.defect} | case.also
    assert score.outcome in DEFECTS[case.defect].outcomes
    assert score.metrics["turns_with_defect"] is True
    assert score.metrics["defects_per_turn"] == 1 + len(case.also)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.defect)
def test_the_near_miss_is_clean(case: Case, corpus: Corpus, tmp_path: Path) -> None:
    question = case.misses_asks or case.asks
    limits = case.misses_limits or case.limits
    turn = ask(tmp_path, case.misses, question, corpus, limits)
    score = score_turn(turn, corpus)
    assert score.defects == [], turn.error


def test_every_defect_has_its_two_scenarios() -> None:
    assert [case.defect for case in CASES] == list(DEFECTS)


def test_without_the_corpus_what_needs_its_pages_is_undefined(
    corpus: Corpus, tmp_path: Path
) -> None:
    turn = ask(tmp_path, cite(1) + say(RIGHT), TALL, corpus, Limits())
    with_pages, without = score_turn(turn, corpus), score_turn(turn, None)
    assert with_pages.defects == ["citation:page_label"]
    assert with_pages.undefined_defects == []
    assert without.undefined_defects == ["citation:page_label", "citation:quote_not_on_page"]
    assert not {"citation:page_label", "citation:quote_not_on_page"} & set(without.defects)


def test_recovered_calls_are_counted_apart(corpus: Corpus, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.defect == "call:not_json")
    score: Score = score_turn(ask(tmp_path, case.shows, TALL, corpus, Limits()), corpus)
    assert score.recovered_calls == 1
    assert score.metrics["malformed_calls"] is True

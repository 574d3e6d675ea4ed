"""A rule's probability: what is drawn, from what, and how often it comes true."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import orjson
import pytest

from ragevalkit.standin.request import ChatRequest, parse_request, read_conversation
from ragevalkit.standin.rulebook import Rulebook
from ragevalkit.standin.scenario import Scenario, load_scenario

QUESTIONS, REPEATS, SHARE = 100, 20, 0.05
FAULT = {"kind": "status", "status": 500}


def request(question: str, repeat: int | None, rounds: int = 0) -> ChatRequest:
    """A request in the `rounds`-th round of a turn."""
    messages: list[Any] = [
        {"role": "system", "content": "Answer from the documents."},
        {"role": "user", "content": question},
    ]
    messages += [{"role": "assistant", "content": f"round {at}"} for at in range(rounds)]
    seed = {} if repeat is None else {"seed": 7 + repeat}
    return parse_request(orjson.dumps({"messages": messages, **seed}))


def rulebook(seed: int = 0, *rules: dict[str, Any]) -> Rulebook:
    given = rules or ({"probability": SHARE, "fault": FAULT},)
    return Rulebook(Scenario.model_validate({"seed": seed, "rules": list(given)}))


def hit(book: Rulebook, asked: ChatRequest) -> bool:
    return book.choose(asked, read_conversation(asked.messages)).fault is not None


def draws(book: Rulebook) -> list[list[bool]]:
    """For every question the draws of its repeats."""
    return [
        [hit(book, request(f"What is item {number}?", repeat)) for repeat in range(REPEATS)]
        for number in range(QUESTIONS)
    ]


def binomial_interval(level: float, n: int, p: float) -> tuple[int, int]:
    """The counts between which a binomial variable lies with at least this probability."""
    tail, below, low = (1 - level) / 2, 0.0, None
    for count in range(n + 1):
        below += math.comb(n, count) * p**count * (1 - p) ** (n - count)
        if low is None and below > tail:
            low = count
        if below >= 1 - tail:
            assert low is not None
            return low, count
    raise AssertionError


def chi_square_quantile(share: float, degrees: int) -> float:
    """Wilson and Hilferty's approximation."""
    part = 2 / (9 * degrees)
    return degrees * (1 - part + NormalDist().inv_cdf(share) * math.sqrt(part)) ** 3


@pytest.mark.parametrize("seed", range(5))
def test_five_percent_of_2000_turns(seed: int) -> None:
    """Within the 99.9 % interval, and no more alike within a question than chance has it."""
    drawn = draws(rulebook(seed))
    hits = sum(map(sum, drawn))
    low, high = binomial_interval(0.999, QUESTIONS * REPEATS, SHARE)
    assert low <= hits <= high
    rate = hits / (QUESTIONS * REPEATS)
    spread = sum((sum(d) - REPEATS * rate) ** 2 for d in drawn) / (REPEATS * rate * (1 - rate))
    assert (
        chi_square_quantile(0.0005, QUESTIONS - 1)
        <= spread
        <= chi_square_quantile(0.9995, QUESTIONS - 1)
    )


def test_drawn_once_a_turn_and_reproducibly() -> None:
    first, again = rulebook(), rulebook()
    for number in range(200):
        asked = [request(f"What is item {number}?", 3, rounds) for rounds in range(4)]
        assert len({hit(book, one) for book in (first, again) for one in asked}) == 1


def test_seed_rule_question_and_repeat_each_draw_anew() -> None:
    assert draws(rulebook(0)) != draws(rulebook(1))
    never = {"probability": 0.0, "fault": FAULT}
    rule = {"probability": SHARE, "fault": FAULT}
    assert draws(rulebook(0, rule)) != draws(rulebook(0, never, rule))
    half = rulebook(0, {"probability": 0.5, "fault": FAULT})
    assert len({hit(half, request("Same?", repeat)) for repeat in (None, *range(12))}) == 2
    assert len({hit(half, request(f"Other {n}?", 0)) for n in range(12)}) == 2


def test_two_rules_of_one_share_are_independent() -> None:
    timing = {"headers_ms": 1.0}
    book = rulebook(0, {"probability": 0.5, "fault": FAULT}, {"probability": 0.5, "timing": timing})
    seen = set()
    for repeat in range(40):
        asked = request("Both?", repeat)
        chosen = book.choose(asked, read_conversation(asked.messages))
        seen.add((chosen.fault is None, chosen.timing.headers_ms))
    assert len(seen) == 4


def test_every_is_of_questions_whatever_the_repeat() -> None:
    book = rulebook(0, {"every": 3, "fault": FAULT})
    drawn = draws(book)
    assert all(len(set(repeats)) == 1 for repeats in drawn)
    low, high = binomial_interval(0.999, QUESTIONS, 1 / 3)
    assert low <= sum(repeats[0] for repeats in drawn) <= high


def test_times_per_turn_counts_each_repeat() -> None:
    book = rulebook(0, {"times": 1, "per": "turn", "fault": FAULT})
    assert [hit(book, request("Q?", repeat)) for repeat in (0, 0, 1, 1)] == [
        True,
        False,
        True,
        False,
    ]


def test_scenario_file_with_nothing_but_a_share(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[[rules]]\nprobability = 0\n[rules.fault]\nkind = "html"')
    assert not hit(Rulebook(load_scenario(path)), request("Q?", 0))

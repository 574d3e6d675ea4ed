"""Clocks of two runs."""

from __future__ import annotations

import math

import pytest
from compare.arms import arm, changed

from ragevalkit.compare.arm import Arm
from ragevalkit.compare.pairing import pair
from ragevalkit.compare.result import ClockResult
from ragevalkit.compare.timing import compare_timing, compare_tokens, why_not_timed

NEVER = math.inf


def clock(a: list[float | None], b: list[float | None], repeats: int = 1) -> ClockResult:
    sides = [arm({"first_answer_ms": values}, repeats=repeats) for values in (a, b)]
    return compare_timing(pair(*sides), None).clocks["first_answer_ms"]


def test_the_median_of_the_questions_differences() -> None:
    a = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0]
    result = clock([*a], [value + 10 for value in a])
    assert result.difference == 10
    assert (result.low, result.high) == (10, 10)
    assert (result.a.p50, result.b.p50, result.questions) == (400, 410, 7)


def test_what_never_came_is_later_than_all_else_and_counted() -> None:
    result = clock([1.0, 1.0, 1.0, NEVER, NEVER], [2.0, NEVER, NEVER, 5.0, NEVER])
    assert (result.a.censored, result.b.censored) == (2, 3)
    assert (result.a.p50, result.b.p50) == (1.0, None)
    # of the four that tell, b was later by 1, twice by more than can be said, once earlier
    assert result.questions == 4
    assert result.difference is None
    same = clock([1.0, 1.0, 1.0], [2.0, 2.0, NEVER])
    assert same.difference == 1


def test_an_undefined_time_is_left_out() -> None:
    result = clock([1.0, None, 3.0], [2.0, 5.0, None])
    assert (result.a.n, result.a.censored, result.difference) == (1, 0, 1)


def test_repeats_are_brought_to_their_questions_median_first() -> None:
    result = clock([0.0] * 6, [1.0, 1.0, 100.0, 3.0, 3.0, 3.0], repeats=3)
    assert result.questions == 2
    assert result.difference == 2


def test_few_questions_have_no_interval() -> None:
    assert clock([1.0, 2.0], [2.0, 3.0]).low is None


def at_once(number: int, earlier: list[int] | None = None) -> Arm:
    manifest = changed("concurrency", number)
    if earlier:
        manifest["earlier"] = [{"concurrency": before} for before in earlier]
    return arm({"turn_s": [1.0, 2.0], "wait": [1.0, 2.0], "rounds": [1.0, 2.0]}, manifest=manifest)


@pytest.mark.parametrize(
    ("a", "b", "compared"),
    [
        (at_once(1), at_once(1), True),
        (at_once(1), at_once(4), False),
        (at_once(4), at_once(4, [4]), True),
        (at_once(4), at_once(4, [1]), False),
        (at_once(4, [1]), at_once(4, [1]), False),
    ],
)
def test_times_compare_only_at_one_concurrency(a: Arm, b: Arm, compared: bool) -> None:
    why_not = why_not_timed(a, b)
    assert (why_not is None) == compared
    timing = compare_timing(pair(a, b), why_not)
    assert timing.compared == compared
    assert (timing.clocks["turn_s"].difference is not None) == compared
    assert (timing.composition["wait"].difference is not None) == compared
    assert timing.clocks["turn_s"].a.p50 == 1.5, "each side's own times stand all the same"
    assert timing.counts["rounds"].difference == 0, "rounds aren't times"


def test_tokens_that_nobody_counts_are_left_out() -> None:
    a = arm({"completion_tokens": [10.0, 20.0], "cached_tokens": [None, None]})
    b = arm({"completion_tokens": [30.0, None], "cached_tokens": [5.0, 5.0]})
    tokens = compare_tokens(pair(a, b))
    assert set(tokens) == {"completion_tokens"}
    assert tokens["completion_tokens"].difference == 20

"""The sign-flip test: other implementations, McNemar, exactness, ties, draws."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from ragevalkit.stats import mcnemar_exact, sign_flip

sevenths = st.integers(-7, 7).map(lambda k: k / 7)


@settings(max_examples=60, deadline=None)
@given(st.lists(sevenths, min_size=1, max_size=9))
def test_it_is_the_share_of_all_sign_patterns(differences: list[float]) -> None:
    seen = abs(sum(differences)) - 1e-9
    patterns = list(itertools.product((-1, 1), repeat=len(differences)))
    beyond = sum(
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True))) >= seen
        for signs in patterns
    )
    assert sign_flip(differences) == pytest.approx(beyond / len(patterns))


def test_it_is_that_of_scipy() -> None:
    chance = random.Random(2)
    differences = [chance.gauss(0.4, 1) for _ in range(14)]
    other = permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert sign_flip(differences) == pytest.approx(other, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300), st.floats(0.1, 9))
def test_over_whole_steps_it_is_mcnemar(lost: int, won: int, equal: int, step: float) -> None:
    differences = [-step] * lost + [step] * won + [0.0] * equal
    assert sign_flip(differences) == pytest.approx(mcnemar_exact(lost, won), rel=1e-6)


def test_differences_that_are_equal_but_for_rounding_are_tied() -> None:
    """2/3 - 1/3 and 1/3 are not the same float; a test that parts them gives half this p."""
    third, another = 1 / 3, 1 - 2 / 3
    assert third != another
    assert sign_flip([third, another, -third, -another, another]) == pytest.approx(1)


@pytest.mark.parametrize("differences", [[], [0.0], [0.0] * 50])
def test_nothing_that_differs_is_no_evidence(differences: list[float]) -> None:
    assert sign_flip(differences) == 1


def test_drawn_patterns_come_near_the_exact_share() -> None:
    """19 different sizes are counted out; once more each, they are drawn."""
    chance = random.Random(8)
    sizes = [chance.random() for _ in range(19)]
    exact = sign_flip([*sizes[:13], *(-size for size in sizes[13:])])
    mixed = [*sizes[:13], *(-size for size in sizes[13:]), *[1e-6 * size for size in sizes]]
    drawn = sign_flip(mixed, draws=20_000)
    assert drawn == pytest.approx(exact, abs=0.01)
    assert drawn == sign_flip(mixed, draws=20_000)
    assert drawn != sign_flip(mixed, seed=1, draws=20_000)


def test_a_drawn_p_is_never_nothing() -> None:
    chance = random.Random(4)
    assert sign_flip([1 + chance.random() for _ in range(60)], draws=999) == 1 / 1000


def test_many_different_sizes_end_in_the_normal() -> None:
    """900 are drawn, 1,100 taken as normal; the same shift in standard errors gives the same p."""
    for count in (900, 1100):
        values = np.random.default_rng(3).normal(size=count)
        values += 2 / count**0.5 * values.std() - values.mean()
        assert sign_flip(list(values)) == pytest.approx(0.0455, abs=0.008)

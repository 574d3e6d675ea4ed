"""Comparisons of questions asked several times, simulated: levels and coverage.

Of the questions most are answered alike each time, and a share is unstable: there each side has a
probability of its own. Without an effect the two sides are equal on average, not question by
question, which is what tests over turns take for a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ragevalkit.stats import (
    bootstrap,
    cluster_bootstrap_difference,
    cluster_bootstrap_median,
    holm,
    holm_levels,
    mcnemar_exact,
    sign_flip,
)


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "RESAMPLES", 1000)


def arms(
    chance: np.random.Generator, questions: int, repeats: int, unstable: float, lost: float = 0
) -> tuple[Any, Any]:
    """Right or wrong, question by repeat, of a and of b; b never gets the share `lost` right."""
    kind = chance.random(questions)
    rates = [np.where(kind < unstable, chance.random(questions), 1.0) for _ in "ab"]
    rates[1][(kind >= unstable) & (kind < unstable + lost)] = 0
    a, b = (chance.random((questions, repeats)) < rate[:, None] for rate in rates)
    return a, b


def differences(
    seed: int, trials: int, questions: int, repeats: int, unstable: float, lost: float = 0
) -> Iterator[list[float]]:
    chance = np.random.default_rng(seed)
    for _ in range(trials):
        a, b = arms(chance, questions, repeats, unstable, lost)
        yield list(b.mean(axis=1) - a.mean(axis=1))


def test_a_test_over_turns_finds_differences_that_are_not_there() -> None:
    """And the one over questions doesn't."""
    chance = np.random.default_rng(11)
    over_turns = over_questions = 0
    for _ in range(300):
        a, b = arms(chance, 100, 5, 1.0)
        over_turns += mcnemar_exact(int((a & ~b).sum()), int((b & ~a).sum())) <= 0.05
        over_questions += sign_flip(list(b.mean(axis=1) - a.mean(axis=1)), draws=499) <= 0.05
    assert over_turns / 300 > 0.12
    assert over_questions / 300 < 0.085


@pytest.mark.parametrize("repeats", [2, 3])
@pytest.mark.parametrize("unstable", [0.1, 0.5])
def test_the_sign_flip_test_holds_its_level(repeats: int, unstable: float) -> None:
    found = [sign_flip(d, draws=499) <= 0.05 for d in differences(5, 400, 58, repeats, unstable)]
    assert sum(found) / len(found) < 0.085


@pytest.mark.parametrize("questions", [46, 116])
@pytest.mark.parametrize(("unstable", "lost"), [(0.05, 0), (0.2, 0), (0.05, 0.01), (0.2, 0.05)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_of_a_rate_covers_its_difference(
    questions: int, unstable: float, lost: float, level: float
) -> None:
    """Each way, as verdicts read one end."""
    below = above = 0
    for d in differences(3, 250, questions, 2, unstable, lost):
        interval = cluster_bootstrap_difference(d, level, unit=1)
        assert interval is not None
        below += interval.high < -lost
        above += interval.low > -lost
    most = 250 * ((1 - level) / 2 + 0.035)
    assert below <= most
    assert above <= most


def test_without_its_unit_the_interval_of_a_rare_loss_misses_it() -> None:
    """Why the unit is there: in a third of the samples the lost question isn't among them."""
    missed = 0
    for d in differences(3, 250, 46, 2, 0.05, 0.01):
        interval = cluster_bootstrap_difference(d)
        missed += interval is None or interval.high < -0.01 or interval.low > -0.01
    assert missed > 50


@pytest.mark.parametrize("of", [cluster_bootstrap_difference, cluster_bootstrap_median])
def test_the_interval_of_times_covers_their_difference(of: Any) -> None:
    chance = np.random.default_rng(9)
    missed = 0
    for _ in range(300):
        question = chance.lognormal(1, 0.5, size=46)
        a, b = (question * chance.lognormal(0, 0.6, size=46) for _ in "ab")
        interval = of(list(b - a))
        missed += not interval.low <= 0 <= interval.high
    assert missed / 300 <= 0.08


def test_a_run_against_itself_has_no_winner() -> None:
    """Eight metrics, Holm over them: in at most 5 % of comparisons is there any difference."""
    by_interval = by_p = 0
    runs = [differences(seed, 120, 58, 2, 0.4) for seed in range(8)]
    for metrics in zip(*runs, strict=True):
        p_values = [sign_flip(d, draws=999) for d in metrics]
        excluded = []
        for d, level in zip(metrics, holm_levels(p_values), strict=True):
            assert level is not None
            interval = cluster_bootstrap_difference(d, level, unit=1)
            assert interval is not None
            excluded.append(interval.low > 0 or interval.high < 0)
        by_interval += any(excluded)
        by_p += any(p is not None and p <= 0.05 for p in holm(p_values))
    assert by_interval <= 12
    assert by_p <= 12

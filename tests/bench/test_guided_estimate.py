"""Differences between arms: order, interval, verdict, and how many blocks they need."""

from __future__ import annotations

import itertools
import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.bench.guided.estimate import (
    FEWEST_BLOCKS,
    Verdict,
    blocks_for,
    estimate,
    nothing_known,
)
from ragevalkit.bench.guided.order import order

ARMS = ("P", "F", "T0", "T1", "J")


@given(st.integers(0, 500), st.integers(0, 10))
def test_every_arm_is_asked_once_a_block_and_blocks_mirror_each_other(
    block: int, seed: int
) -> None:
    asked = order(ARMS, 2 * block, seed)
    assert sorted(asked) == sorted(ARMS)
    assert order(ARMS, 2 * block + 1, seed) == asked[::-1]


def test_orders_differ_from_pair_to_pair() -> None:
    assert len({tuple(order(ARMS, block, 0)) for block in range(0, 40, 2)}) > 10


@given(st.floats(-100, 100), st.integers(1, 20), st.integers(0, 5))
def test_a_steady_drift_cancels_over_two_blocks(slope: float, pair: int, seed: int) -> None:
    sums = dict.fromkeys(ARMS, 0.0)
    times = itertools.count()
    for block in (2 * pair, 2 * pair + 1):
        for arm in order(ARMS, block, seed):
            sums[arm] += slope * next(times)
    assert max(sums.values()) - min(sums.values()) <= 1e-6 + 1e-9 * abs(slope)


def noisy(middle: float, n: int = 60, spread: float = 1.0) -> list[float]:
    source = random.Random(7)
    return [middle + source.gauss(0, spread) for _ in range(n)]


@pytest.mark.parametrize(
    ("middle", "spread", "doubtful", "verdict"),
    [
        (57.0, 1.0, False, Verdict.COSTS),
        (57.0, 1.0, True, Verdict.COSTS),
        (-57.0, 1.0, False, Verdict.SAVES),
        (0.0, 1.0, False, Verdict.EQUIVALENT),
        (2.0, 0.5, False, Verdict.EQUIVALENT),  # a cost inside the margin counts as none
        (0.0, 1.0, True, Verdict.INCONCLUSIVE),  # nothing isn't shown where an arm is in doubt
        (2.0, 0.5, True, Verdict.COSTS),
        (0.0, 60.0, False, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(middle: float, spread: float, doubtful: bool, verdict: Verdict) -> None:
    assert estimate(noisy(middle, spread=spread), 5.0, doubtful=doubtful).verdict is verdict


@given(st.lists(st.floats(-1000, 1000), min_size=6, max_size=80))
def test_the_interval_holds_the_median_and_needs_no_order(differences: list[float]) -> None:
    found = estimate(differences, 5.0)
    assert found.median is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.median <= found.high
    assert found.median == pytest.approx(median(differences), abs=1e-4)
    assert estimate(differences[::-1], 5.0) == found
    assert found.pairs == len(differences)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_too_few_pairs_have_no_interval_and_no_verdict(n: int) -> None:
    found = estimate([57.0] * n, 5.0)
    assert (found.low, found.high, found.detectable) == (None, None, None)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert (found.median is None) == (n == 0)


def test_more_pairs_detect_less() -> None:
    few, many = (estimate(noisy(0.0, n), 5.0).detectable for n in (15, 240))
    assert few is not None
    assert many is not None
    assert many < few / 2


def test_what_is_detectable_is_found_four_times_in_five() -> None:
    source = random.Random(5)
    runs = [[source.gauss(0, 1) for _ in range(60)] for _ in range(200)]
    sizes = [found for run in runs if (found := estimate(run, 0.001).detectable) is not None]
    smallest = median(sizes)
    costs = sum(
        estimate([d + smallest for d in run], 0.001).verdict is Verdict.COSTS for run in runs
    )
    assert 0.7 <= costs / len(runs) <= 0.9


def test_where_nothing_is_known_all_numbers_are_null() -> None:
    found = nothing_known(Verdict.NOT_ENGAGED, 5.0)
    assert (found.median, found.low, found.high, found.detectable) == (None,) * 4


def test_a_finer_precision_takes_more_blocks_by_its_square() -> None:
    pilot = noisy(57.0, 12, spread=20.0)
    coarse, fine = blocks_for(pilot, 5.0), blocks_for(pilot, 1.0)
    assert coarse >= FEWEST_BLOCKS
    assert fine == pytest.approx(25 * coarse, rel=0.05)


def test_one_slow_request_does_not_blow_up_the_plan() -> None:
    pilot = noisy(57.0, 12)
    assert blocks_for([*pilot[:-1], 10_000.0], 1.0) <= 2 * blocks_for(pilot, 1.0)


@pytest.mark.parametrize("pilot", [[], [3.0], [3.0] * 6])
def test_a_pilot_without_spread_takes_the_fewest(pilot: list[float]) -> None:
    assert blocks_for(pilot, 5.0) == FEWEST_BLOCKS


def test_intervals_hold_the_truth_under_spikes() -> None:
    source = random.Random(3)
    held = 0
    for _ in range(100):
        differences = [
            57
            + source.gauss(0, 2)
            + (source.random() < 0.1) * source.expovariate(1 / 30)
            - (source.random() < 0.1) * source.expovariate(1 / 30)
            for _ in range(60)
        ]
        found = estimate(differences, 5.0)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 57 <= found.high
    assert held >= 90

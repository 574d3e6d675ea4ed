"""The sign-flip test of paired differences.

Public: `sign_flip`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

DRAWS = 10_000
EXACT = 1 << 20
"""The most sums over which the test is exact: any 20 differences, and far more where many are of
one size."""

_DIGITS = 9
"""Differences whose sizes agree to so many digits, measured by the largest, are of one size."""
_BATCH = 4_000_000
"""Signs held in memory at once."""
_MANY = 1_000
"""Different sizes from which on the sum of random signs is taken as normal."""


def sign_flip(differences: Sequence[float], seed: int = 0, draws: int = DRAWS) -> float:
    """Two-sided p of no difference, by flipping the signs of the questions' differences.

    If neither side is better, each question's difference could as well have had the other sign. p
    is the share of sign patterns whose sum is as far from 0 as the one seen. Over differences of
    -1, 0 and 1 this is `mcnemar_exact`. 1 where all are 0.

    Exact wherever the patterns have at most `EXACT` different sums; else `draws` random patterns
    and p = (b + 1) / (draws + 1), which is never 0. Differences are brought to nine digits first,
    so that 2/3 - 1/3 and 1/3 are tied. With over `_MANY` different sizes the sum of random signs
    is taken as the normal variable that it then is.

    Args:
        differences: one a question: the mean of its repeats on b, less that on a.

    Source: Fisher 1935, The Design of Experiments, section 21; the random version as in Phipson and
    Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39.
    """
    import numpy as np

    values = np.asarray(differences, dtype=float)
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return 1.0
    scaled = np.round(values / largest, _DIGITS)
    sizes, counts = np.unique(np.abs(scaled[scaled != 0]), return_counts=True)
    seen = abs(scaled.sum()) - 10.0**-_DIGITS * counts.sum()
    if np.log1p(counts).sum() <= np.log(EXACT) + 1e-9:
        sums, weights = _all_sums(sizes, counts)
        return min(1.0, float(weights[np.abs(sums) >= seen].sum()))
    if len(sizes) > _MANY:
        from scipy.special import ndtr

        return float(2 * ndtr(-seen / np.sqrt(counts @ sizes**2)))
    return _random_share(sizes, counts, seen, seed, draws)


def _all_sums(sizes: Array, counts: Any) -> tuple[Array, Array]:
    """Every sum that signs can give, with its probability: of `counts` equal sizes only how many
    are positive matters."""
    import numpy as np
    from scipy.special import gammaln

    sums, weights = np.zeros(1), np.ones(1)
    for size, count in zip(sizes, counts, strict=True):
        positive = np.arange(count + 1)
        logs = gammaln(count + 1) - gammaln(positive + 1) - gammaln(count - positive + 1)
        chance = np.exp(logs - count * np.log(2))
        sums = np.add.outer(sums, size * (2.0 * positive - count)).ravel()
        weights = np.multiply.outer(weights, chance).ravel()
    return sums, weights


def _random_share(sizes: Array, counts: Any, seen: float, seed: int, draws: int) -> float:
    import numpy as np

    random = np.random.default_rng(seed)
    once = counts == 1
    batch = max(1, _BATCH // len(sizes))
    beyond = 0
    for start in range(0, draws, batch):
        size = min(batch, draws - start)
        coins = random.integers(2, size=(size, int(once.sum())), dtype=np.int8)
        positive = random.binomial(counts[~once], 0.5, size=(size, int((~once).sum())))
        sums = 2.0 * (coins @ sizes[once] + positive @ sizes[~once]) - counts @ sizes
        beyond += int((np.abs(sums) >= seen).sum())
    return (beyond + 1) / (draws + 1)

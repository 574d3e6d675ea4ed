"""Intervals for means over clusters.

Public: `cluster_bootstrap_mean`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragevalkit.stats.intervals import Interval

RESAMPLES = 10_000
_BATCH = 4_000_000
"""Draws held in memory at once."""


def cluster_bootstrap_mean(
    clusters: Iterable[Sequence[float]], confidence: float = 0.95, seed: int = 0
) -> Interval | None:
    """Percentile interval of the mean of all values, resampling whole clusters.

    None where all clusters have the same mean, or there is only one: then resampling says nothing
    of the spread, and an interval without width would be taken for certainty. The same values and
    seed give the same interval, in whatever order they come.

    Source: Davison and Hinkley 1997, Bootstrap Methods and their Application, section 2.4 and 3.8.
    """
    import numpy as np  # a tenth of a second that only runs with such a mean need

    filled = sorted((sum(cluster), len(cluster)) for cluster in clusters if cluster)
    count = len(filled)
    if len({total / size for total, size in filled}) < 2:
        return None
    sums, sizes = np.array(filled, dtype=float).T
    random = np.random.default_rng(seed)
    batch = max(1, _BATCH // count)
    means = []
    for start in range(0, RESAMPLES, batch):
        drawn = random.integers(count, size=(min(batch, RESAMPLES - start), count))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(float(low), float(high))

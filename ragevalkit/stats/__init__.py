"""Statistics as pure functions; each names its source.

Public: `Interval`, `wilson`, `clustered_wilson`, `design_effect`, `cluster_bootstrap_mean`,
`Percentiles`, `percentiles`, `mcnemar_power`, `smallest_detectable_difference`,
`pairs_needed_to_detect`, `non_inferiority_power`, `non_inferiority_margin`,
`pairs_needed_for_margin`, `repeats_interval_factor`.
"""

from ragevalkit.stats.bootstrap import cluster_bootstrap_mean
from ragevalkit.stats.intervals import Interval, clustered_wilson, design_effect, wilson
from ragevalkit.stats.percentiles import Percentiles, percentiles
from ragevalkit.stats.power import (
    mcnemar_power,
    non_inferiority_margin,
    non_inferiority_power,
    pairs_needed_for_margin,
    pairs_needed_to_detect,
    repeats_interval_factor,
    smallest_detectable_difference,
)

__all__ = [
    "Interval",
    "Percentiles",
    "cluster_bootstrap_mean",
    "clustered_wilson",
    "design_effect",
    "mcnemar_power",
    "non_inferiority_margin",
    "non_inferiority_power",
    "pairs_needed_for_margin",
    "pairs_needed_to_detect",
    "percentiles",
    "repeats_interval_factor",
    "smallest_detectable_difference",
    "wilson",
]

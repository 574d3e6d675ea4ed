"""Statistics as pure functions; each names its source.

Public: `Interval`, `wilson`, `clustered_wilson`, `design_effect`, `cluster_bootstrap_mean`,
`cluster_bootstrap_difference`, `cluster_bootstrap_median`, `cluster_bootstrap_ratio`,
`Percentiles`, `percentiles`, `tango_interval`, `newcombe_interval`, `mcnemar_exact`, `sign_flip`,
`holm`, `holm_levels`, `non_inferiority`, `tost`, `mcnemar_power`, `smallest_detectable_difference`,
`pairs_needed_to_detect`, `non_inferiority_power`, `non_inferiority_margin`,
`pairs_needed_for_margin`, `repeats_interval_factor`, `deviation_bound`, `smallest_detectable_mean`,
`questions_to_decide`.
"""

from ragevalkit.stats.bootstrap import (
    cluster_bootstrap_difference,
    cluster_bootstrap_mean,
    cluster_bootstrap_median,
    cluster_bootstrap_ratio,
)
from ragevalkit.stats.equivalence import non_inferiority, tost
from ragevalkit.stats.intervals import Interval, clustered_wilson, design_effect, wilson
from ragevalkit.stats.means import (
    deviation_bound,
    questions_to_decide,
    smallest_detectable_mean,
)
from ragevalkit.stats.multiplicity import holm, holm_levels
from ragevalkit.stats.paired import mcnemar_exact, newcombe_interval, tango_interval
from ragevalkit.stats.percentiles import Percentiles, percentiles
from ragevalkit.stats.permutation import sign_flip
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
    "cluster_bootstrap_difference",
    "cluster_bootstrap_mean",
    "cluster_bootstrap_median",
    "cluster_bootstrap_ratio",
    "clustered_wilson",
    "design_effect",
    "deviation_bound",
    "holm",
    "holm_levels",
    "mcnemar_exact",
    "mcnemar_power",
    "newcombe_interval",
    "non_inferiority",
    "non_inferiority_margin",
    "non_inferiority_power",
    "pairs_needed_for_margin",
    "pairs_needed_to_detect",
    "percentiles",
    "questions_to_decide",
    "repeats_interval_factor",
    "sign_flip",
    "smallest_detectable_difference",
    "smallest_detectable_mean",
    "tango_interval",
    "tost",
    "wilson",
]

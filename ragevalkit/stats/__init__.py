"""Statistics as pure functions; each names its source.

Public: `Interval`, `wilson`, `clustered_wilson`, `design_effect`, `Percentiles`, `percentiles`.
"""

from ragevalkit.stats.intervals import Interval, clustered_wilson, design_effect, wilson
from ragevalkit.stats.percentiles import Percentiles, percentiles

__all__ = [
    "Interval",
    "Percentiles",
    "clustered_wilson",
    "design_effect",
    "percentiles",
    "wilson",
]

"""Charts as values: static SVG, drawn when a page is written.

Public: `Chart`.
"""

from ragevalkit.report.charts.chart import Chart

__all__ = ["Chart"]

"""Margins: which end counts, and that a margin isn't inside itself."""

from __future__ import annotations

import pytest

from ragevalkit.stats import Interval, non_inferiority, tost


@pytest.mark.parametrize(
    ("low", "high", "higher", "lower", "equivalent"),
    [
        (-0.04, 0.04, True, True, True),
        (-0.04, 0.20, True, False, False),
        (-0.20, 0.04, False, True, False),
        (-0.20, 0.20, False, False, False),
        (0.06, 0.20, True, False, False),
        (-0.20, -0.06, False, True, False),
        (-0.05, 0.05, False, False, False),
    ],
)
def test_the_bad_end_lies_inside_the_margin(
    low: float, high: float, higher: bool, lower: bool, equivalent: bool
) -> None:
    interval = Interval(low, high)
    assert non_inferiority(interval, 0.05) is higher
    assert non_inferiority(interval, 0.05, higher_is_better=False) is lower
    assert tost(interval, 0.05) is equivalent


@pytest.mark.parametrize("margin", [0, -0.05, float("nan")])
def test_a_margin_is_above_0(margin: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        non_inferiority(Interval(0, 1), margin)
    with pytest.raises(ValueError, match="above 0"):
        tost(Interval(0, 1), margin)

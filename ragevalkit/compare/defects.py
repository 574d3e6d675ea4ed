"""Turns with each defect on both sides, paired.

Public: `compare_defects`.
"""

from __future__ import annotations

import math
from array import array

from ragevalkit.compare.arm import Arm
from ragevalkit.compare.difference import difference_of
from ragevalkit.compare.pairing import Pairs
from ragevalkit.compare.result import DefectResult
from ragevalkit.compare.verdict import flips, side
from ragevalkit.scoring.defects import DEFECTS

LEVEL = 0.95


def compare_defects(pairs: Pairs) -> dict[str, DefectResult]:
    """Defects that a pair has on either side; pairs in which it can't be told are left out."""
    seen = _seen(pairs.a, pairs.a_rows) | _seen(pairs.b, pairs.b_rows)
    return {name: _defect(pairs, name) for name in DEFECTS if name in seen}


def _seen(arm: Arm, rows: list[int]) -> set[str]:
    return {name for row in rows for name in arm.defects[row]}


def _defect(pairs: Pairs, name: str) -> DefectResult:
    import numpy as np

    a, b = (
        np.frombuffer(_column(arm, rows, name))
        for arm, rows in ((pairs.a, pairs.a_rows), (pairs.b, pairs.b_rows))
    )
    of = difference_of(a, b, pairs.questions, is_rate=True, unit=1.0)
    interval = of.interval(LEVEL)
    return DefectResult(
        a=side(of.k_a, of, of.a),
        b=side(of.k_b, of, of.b),
        difference=of.estimate,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        flips=flips(of),
    )


def _column(arm: Arm, rows: list[int], name: str) -> array[float]:
    return array(
        "d",
        (
            math.nan if name in arm.undefined_defects[row] else float(name in arm.defects[row])
            for row in rows
        ),
    )

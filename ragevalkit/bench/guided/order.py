"""In which order the arms of a block are asked.

Public: `order`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence


def order(arms: Sequence[str], block: int, seed: int) -> list[str]:
    """Each arm once: an even block's order is drawn, and the odd block after it is its mirror.

    What drifts steadily over the bench so falls on both sides of every difference alike.
    """
    drawn = list(arms)
    random.Random(f"{seed} {block // 2}").shuffle(drawn)
    return drawn[::-1] if block % 2 else drawn

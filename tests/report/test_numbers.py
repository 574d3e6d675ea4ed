"""How numbers are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragevalkit.report import numbers


@pytest.mark.parametrize(
    ("write", "arguments", "text"),
    [
        (numbers.percent, (0.957,), "95.7 %"),
        (numbers.percent, (1.0,), "100.0 %"),
        (numbers.percent, (None,), "–"),
        (numbers.rate, (38, 46), "38/46"),
        (numbers.rate, (0, 46), "0/46"),
        (numbers.rate, (0, 0), "–"),
        (numbers.interval, (0.6928, 0.9095), "69.3 – 91.0 %"),
        (numbers.interval, (None, None), "–"),
        (numbers.milliseconds, (0.0123,), "0.0123 ms"),
        (numbers.milliseconds, (97.24,), "97.2 ms"),
        (numbers.milliseconds, (999.6,), "1,000 ms"),
        (numbers.milliseconds, (18_290.0,), "18.3 s"),
        (numbers.milliseconds, (None,), "–"),
        (numbers.seconds, (0.0121,), "12.1 ms"),
        (numbers.seconds, (10.4,), "10.4 s"),
        (numbers.seconds, (1204.0,), "1,204 s"),
        (numbers.seconds, (None,), "–"),
        (numbers.count, (4.6,), "4.6"),
        (numbers.count, (3.0,), "3"),
        (numbers.count, (1200.0,), "1,200"),
        (numbers.count, (None,), "–"),
    ],
)
def test_numbers(write: Callable[..., str], arguments: tuple[Any, ...], text: str) -> None:
    assert write(*arguments) == text

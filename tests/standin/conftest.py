"""Stand-ins served inside the test's process, and the tool definitions that agents send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import serving

from ragevalkit.standin.baseline import Baseline

TOOLS: list[Any] = [
    json.loads(path.read_text())
    for path in sorted((Path(__file__).parents[2] / "tool_schemas").glob("*.json"))
    if json.loads(path.read_text())["function"]["name"] in ("search", "cite")
]


@pytest.fixture(scope="session")
def baseline_url() -> Iterator[str]:
    with serving(Baseline()) as url:
        yield url


@pytest.fixture(scope="session")
def tools() -> list[Any]:
    return TOOLS

"""Fixtures for the tests of the endpoint's client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragevalkit.endpoint import tokens


@pytest.fixture(autouse=True)
def no_vocabulary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Estimates are four characters a token, whatever lies on this machine."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    tokens._encoding.cache_clear()
    yield
    tokens._encoding.cache_clear()

"""Fixtures for all tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import Command
from hypothesis import settings
from servers import mocking

# a build runs the same examples each time; on a desk every run looks at others
settings.register_profile("desk", deadline=None)
settings.register_profile("build", deadline=None, derandomize=True)
settings.load_profile("build" if os.environ.get("CI") else "desk")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Indexes are shared by the tests of a session, and with nobody else."""
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def mock_url(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Serves a scenario, given as TOML, and gives its base URL."""
    with contextlib.ExitStack() as stack:
        yield lambda toml: stack.enter_context(mocking(tmp_path, toml))


@pytest.fixture
def ragevalkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command line, in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Command(tmp_path, capsys)

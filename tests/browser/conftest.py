"""Chromium, the pages that it opens, and what no page may do in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser.installed import AXE, chromium
from browser.made import Folder, make_reports
from browser.visits import Visits

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_WAIT_MS = 20_000


@pytest.fixture(scope="session")
def executable() -> Path:
    found = chromium()
    if found is None:
        pytest.skip("there is no Chromium; `make test-browser` installs one")
    return found


@pytest.fixture(scope="session")
def reports(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return make_reports(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="session")
def browser(executable: Path) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # root has no sandbox, and the pages are our own
        launched = playwright.chromium.launch(executable_path=executable, chromium_sandbox=False)
        yield launched
        launched.close()


@pytest.fixture
def visits(browser: Browser) -> Iterator[Visits]:
    """Opens pages; afterwards none of them may have complained, asked for anything, or run
    anything but its own script."""
    made = Visits(browser, _WAIT_MS)
    yield made
    made.close()
    assert made.complaints == []
    assert made.requests == []
    assert made.dialogs == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    if not AXE.exists():
        pytest.skip("axe-core isn't here; `make test-browser` fetches it where there is npm")
    return AXE.read_text(encoding="utf-8")

"""What `make test-browser` puts on the machine, and where it is found.

Public: `chromium`, `AXE`, `AXE_VERSION`, `AXE_SHA256`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

AXE_VERSION = "4.14.1"
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""Of axe.min.js."""
AXE = Path(sys.prefix) / "axe-core" / "axe.min.js"


def chromium() -> Path | None:
    """The system's Chromium, else the one that Playwright has installed, else None."""
    if found := shutil.which("chromium"):
        return Path(found)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
    return own if own.exists() else None

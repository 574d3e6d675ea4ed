"""Visits of pages, watched.

Public: `Visits`, `ready`, `shows`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Route


class Visits:
    """Opens pages from the disk and keeps what they complain of, ask for and pop up."""

    def __init__(self, browser: Browser, wait_ms: float) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self._browser = browser
        self._wait_ms = wait_ms
        self._contexts: list[BrowserContext] = []

    def open(self, page: Path, address: str = "", **settings: Any) -> Page:
        """A page in a window of its own, ready for use.

        Args:
            address: what follows the file's name, from `#` on.
            settings: of Playwright's `new_context`.
        """
        context = self._browser.new_context(**settings)
        context.set_default_timeout(self._wait_ms)
        self._contexts.append(context)
        context.route("**/*", lambda route: self._asked(route, page))
        opened = context.new_page()
        opened.on("console", lambda said: self._said(said.type, said.text))
        opened.on("pageerror", lambda error: self.complaints.append(str(error)))
        opened.on("dialog", self._popped_up)
        opened.goto(page.as_uri() + address)
        if settings.get("java_script_enabled", True):
            ready(opened)
        return opened

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _asked(self, route: Route, page: Path) -> None:
        if route.request.url.split("#")[0] == page.as_uri():
            route.continue_()
        else:
            self.requests.append(route.request.url)
            route.abort()

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def _popped_up(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def ready(page: Page) -> None:
    """Wait until the script is done; the page of a bench has nothing to wait for."""
    page.wait_for_function(
        "() => !document.getElementById('turns') || document.documentElement.dataset.ready"
    )


def shows(page: Page, turns: int) -> None:
    """The table comes to be of so many turns."""
    expect(page.locator("#filters .shown")).to_have_text(re.compile(rf"^{turns:,} of "))

"""axe-core finds nothing serious or critical."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from browser.made import Folder
from browser.visits import Visits

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

PAGES = ["faulty", "baseline", "clean-vs-faulty", "guided", "budget"]
TURNS = ["faulty", "clean-vs-faulty"]
SCHEMES = ["light", "dark"]


def faults(page: Page, axe: str) -> list[str]:
    """What axe calls serious or critical, with where it is."""
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{of['id']} ({of['help']}): {', '.join(str(n['target'][0]) for n in of['nodes'][:5])}: "
        f"{of['nodes'][0]['failureSummary']}"
        for of in found
        if of["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page(visits: Visits, reports: Folder, axe: str, name: str, scheme: str) -> None:
    page = visits.open(reports.page(name), color_scheme=scheme)
    assert faults(page, axe) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", TURNS)
def test_an_open_turn(visits: Visits, reports: Folder, axe: str, name: str, scheme: str) -> None:
    page = visits.open(reports.page(name), "#turn=pump-18~0", color_scheme=scheme)
    for folded in page.locator("#turn details").all():
        folded.locator("summary").first.click()
    assert faults(page, axe) == []


def test_it_finds_what_is_wrong(visits: Visits, reports: Folder, axe: str) -> None:
    page = visits.open(reports.page("faulty"))
    page.evaluate("document.getElementById('verdict-line').style.color = '#eee'")
    assert any("color-contrast" in fault for fault in faults(page, axe))


@pytest.mark.parametrize("name", ["faulty", "clean-vs-faulty"])
def test_all_of_it_is_reached_by_keyboard(visits: Visits, reports: Folder, name: str) -> None:
    page = visits.open(reports.page(name))
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "To the result"
    page.locator("#filters select").first.focus()
    page.keyboard.press("End")
    page.wait_for_function("() => location.hash.includes('outcome=')")
    page.locator("#rows tbody th a").first.focus()
    page.keyboard.press("Enter")
    page.locator("#turn[open]").wait_for()
    assert page.locator("#turn-title").evaluate("of => of === document.activeElement")
    page.keyboard.press("Escape")
    page.locator("#turn[open]").wait_for(state="hidden")

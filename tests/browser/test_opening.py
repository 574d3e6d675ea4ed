"""Every page as its readers have it: from the disk, without script, on a phone, on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser.made import Folder
from browser.visits import Visits

if TYPE_CHECKING:
    from playwright.sync_api import Page

KINDS = {
    "run": "faulty",
    "comparison": "clean-vs-faulty",
    "bench guided": "guided",
    "bench budget": "budget",
}
PHONE = {"width": 360, "height": 740}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize("name", KINDS.values(), ids=KINDS),
]


def overflow(page: Page, selector: str = "html") -> int:
    """Pixels by which something is wider than its place."""
    found: int = page.locator(selector).evaluate("of => of.scrollWidth - of.clientWidth")
    return found


def test_it_opens_from_the_disk(visits: Visits, reports: Folder, name: str) -> None:
    page = visits.open(reports.page(name))
    assert page.locator("#verdict").is_visible()
    assert (
        page.evaluate("document.querySelectorAll('[src], link, iframe, object, embed').length") == 0
    )
    assert page.evaluate("document.querySelectorAll('script:not([type])').length") == 1


def test_it_is_there_without_script(visits: Visits, reports: Folder, name: str) -> None:
    page = visits.open(reports.page(name), java_script_enabled=False)
    assert page.locator("#verdict-line").inner_text().strip()
    tables = [table for table in page.locator("main table").all() if table.is_visible()]
    assert len(tables) > 1
    assert all(table.locator("tbody tr").count() for table in tables)
    charts = page.locator("figure svg")
    assert charts.count() > 0
    assert all(chart.is_visible() for chart in charts.all())
    for control in page.locator("button, input, select, form, dialog").all():
        assert not control.is_visible()
    for address in page.locator("a[href]:visible").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    ):
        assert page.locator(f"[id='{address.removeprefix('#')}']").count() == 1, address


def test_it_fits_a_phone(visits: Visits, reports: Folder, name: str) -> None:
    page = visits.open(reports.page(name), viewport=PHONE)
    assert overflow(page) == 0
    row = page.locator("#rows tbody th a").first
    if row.count():
        row.click()
        page.locator("#turn[open]").wait_for()
        assert overflow(page, "#turn") == 0
        assert overflow(page) == 0


def test_it_prints(visits: Visits, reports: Folder, name: str) -> None:
    page = visits.open(reports.page(name))
    page.emulate_media(media="print")
    assert page.locator("#verdict-line").is_visible()
    assert page.locator("main table").first.is_visible()
    assert all(chart.is_visible() for chart in page.locator("figure svg").all())
    for control in page.locator("button, input, select, form, nav, .pager").all():
        assert not control.is_visible()


def test_an_open_turn_prints_alone(visits: Visits, reports: Folder, name: str) -> None:
    page = visits.open(reports.page(name))
    row = page.locator("#rows tbody th a").first
    if not row.count():
        pytest.skip("a bench has no turns")
    row.click()
    page.locator("#turn[open]").wait_for()
    page.emulate_media(media="print")
    assert page.locator("#turn .round").first.is_visible()
    assert not page.locator("#verdict").is_visible()
    assert not page.get_by_role("button", name="Close").is_visible()

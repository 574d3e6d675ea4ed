"""A bank, its documents and a model full of markup run nothing, and are read as they are.

Each test is made twice: as readers have the page, and with the content-security policy out of
force, as the escaping must do without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser.hostile import HALF_READ, HOSTILE, HOSTILE_RUN, PAYLOADS, POTENT
from browser.made import Folder
from browser.visits import Visits

from ragevalkit.report.turns import visible

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PAGES = [HOSTILE_RUN, f"{HOSTILE_RUN}-vs-{HOSTILE_RUN}"]
SAID = f"{HOSTILE} {HALF_READ}"

both_policies = pytest.mark.parametrize("bypass_csp", [False, True], ids=["csp", "no csp"])
both_pages = pytest.mark.parametrize("name", PAGES, ids=["run", "comparison"])


def nothing_ran(page: Page) -> None:
    """No flag is set, and nothing is in the page that its own templates and script don't make."""
    assert page.evaluate("window.ran") is None
    foreign = "img, iframe, object, embed, video, plaintext, base, meta[http-equiv=refresh], [src]"
    assert page.locator(foreign).count() == 0
    assert page.locator("script:not([type])").count() == 1
    assert page.locator("style").count() == 1
    assert (
        page.evaluate(
            "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
            ".filter(name => name.startsWith('on') || name === 'style')"
        )
        == []
    )
    links = page.locator("a[href]").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)


@pytest.mark.parametrize("payload", POTENT)
def test_what_would_run_elsewhere(browser: Browser, payload: str) -> None:
    page = browser.new_page()
    page.set_content(f"<!doctype html><p>{payload}</p>")
    page.wait_for_function("() => window.ran")
    page.close()


@both_policies
@both_pages
def test_nothing_runs(visits: Visits, reports: Folder, name: str, bypass_csp: bool) -> None:
    page = visits.open(reports.page(name), bypass_csp=bypass_csp)
    nothing_ran(page)
    rows = page.locator("#rows tbody tr")
    assert rows.count() == 4
    for at in range(rows.count()):
        rows.nth(at).locator("th a").click()
        turn = page.locator("#turn[open]")
        turn.wait_for()
        for folded in turn.locator("details").all():
            folded.locator("summary").click()
        turn.hover()
        nothing_ran(page)
        page.keyboard.press("Escape")
        turn.wait_for(state="hidden")
    for payload in PAYLOADS:
        page.get_by_label("Words in question or reply").fill(payload)
        page.wait_for_function("() => location.hash.includes('text=')")
    nothing_ran(page)


@both_policies
@both_pages
def test_addresses_run_nothing(
    visits: Visits, reports: Folder, name: str, bypass_csp: bool
) -> None:
    page = visits.open(reports.page(name), f"#turn={HOSTILE}~0", bypass_csp=bypass_csp)
    nothing_ran(page)
    for payload in PAYLOADS:
        for address in (f"#turn={payload}~0", f"#turns?tag={payload}&defect={payload}"):
            page.evaluate("to => { location.hash = to; }", address)
            nothing_ran(page)


def turn_of(page: Page, what: str) -> Any:
    page.locator("#rows tbody th a", has_text=what).click()
    turn = page.locator("#turn[open]")
    turn.wait_for()
    return turn


def test_all_of_it_is_read_as_it_is(visits: Visits, reports: Folder) -> None:
    page = visits.open(reports.page(HOSTILE_RUN))
    assert page.locator("h1").inner_text() == HOSTILE_RUN
    assert page.title().startswith(HOSTILE_RUN)
    turn = turn_of(page, "searches")
    assert turn.locator("#turn-title").text_content() == visible(f"searches {HOSTILE}")
    assert visible(f"The pump that searches: {HOSTILE}") in texts(turn, ".question p")
    assert visible(f"user: {HOSTILE}") in texts(turn, ".history")
    assert visible(HOSTILE) in texts(turn, "dd")
    assert visible(SAID) in texts(turn, ".said")
    reasoning = turn.locator("details", has_text="Reasoning").first
    assert reasoning.locator("p").text_content() == visible(SAID)
    result = turn.locator(".results li").first
    assert "<img src=x onerror=window.ran='document'>/a</script>" in result.inner_text()
    assert visible(HOSTILE) in result.locator("p").text_content()
    assert any(visible(HOSTILE) in text for text in texts(turn, "table td, table th"))


def test_broken_calls_are_read_as_they_are(visits: Visits, reports: Folder) -> None:
    turn = turn_of(visits.open(reports.page(HOSTILE_RUN)), "breaks calls")
    assert visible(SAID) in texts(turn, "pre")
    assert any(f"{POTENT[1]}, id {visible(HOSTILE)}" in text for text in texts(turn, "h5"))


def test_errors_and_finish_reasons_are_read_as_they_are(visits: Visits, reports: Folder) -> None:
    page = visits.open(reports.page(HOSTILE_RUN))
    turn = turn_of(page, "leaves calls")
    assert any(f"finish reason {visible(HOSTILE)}" in text for text in texts(turn, "h4"))
    page.keyboard.press("Escape")
    turn = turn_of(page, "is rejected")
    assert PAYLOADS[0] in turn.text_content()


def test_the_policy_stops_what_gets_in(visits: Visits, reports: Folder) -> None:
    page = visits.open(reports.page(HOSTILE_RUN))
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = 'injected'";
            document.body.append(script);
            document.body.insertAdjacentHTML("beforeend", "<svg onload=\\"window.ran = 'svg'\\">");
        }"""
    )
    page.wait_for_timeout(0)
    assert page.evaluate("window.ran") is None
    blocked = [said for said in visits.complaints if "Content Security Policy" in said]
    assert len(blocked) == len(visits.complaints) == 2
    visits.complaints.clear()


def test_the_file_holds_none_of_it(reports: Folder) -> None:
    for name in PAGES:
        page = Path(reports.page(name)).read_text(encoding="utf-8")
        for payload in (*POTENT, "</script><script>", "\u2028", "\u202e"):
            assert payload not in page
        assert page.count("<script>") == 1


def texts(within: Any, selector: str) -> list[str]:
    found: list[str] = within.locator(selector).evaluate_all("all => all.map(e => e.textContent)")
    return found

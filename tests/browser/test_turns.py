"""Filters, the ways from a chart or a table to its turns, and the address of a turn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

import pytest
from browser.made import SCENARIOS, Folder
from browser.oracle import Oracle
from browser.visits import Visits, shows
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

PAGES = {"faulty": ("faulty",), "clean-vs-faulty": ("clean", "faulty")}
"""Pages with turns, and the runs behind them."""


def opened(visits: Visits, reports: Folder, name: str, address: str = "") -> tuple[Page, Oracle]:
    return visits.open(reports.page(name), address), Oracle(reports, *PAGES[name])


def wanted_by(address: str) -> dict[str, str]:
    return dict(parse_qsl(address.partition("?")[2]))


def address_of(page: Page) -> str:
    """What the page itself has as its address; Playwright's own copy may be a moment late."""
    found: str = page.evaluate("location.hash")
    return found


def options(page: Page, field: str) -> set[str]:
    values = page.locator(f"#filters [name={field}] option").evaluate_all(
        "options => options.map(option => option.value)"
    )
    return set(values) - {""}


def test_the_scenario_brings_about_what_it_names(reports: Folder) -> None:
    named = re.findall(r'^name = "(\w+:\w+)"', (SCENARIOS / "faulty.toml").read_text(), re.M)
    assert set(named) <= Oracle(reports, "faulty").values("defect")
    assert len(named) > 25


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("field", ["outcome", "defect", "metric", "tag", "answerable", "flipped"])
def test_every_value_of_a_filter(visits: Visits, reports: Folder, name: str, field: str) -> None:
    page, oracle = opened(visits, reports, name)
    shows(page, len(oracle))
    if field == "flipped" and len(PAGES[name]) == 1:
        assert not page.locator("#filters [name=flipped]").count()
        return
    offered = options(page, field)
    named = {value for value in oracle.values(field) if field != "defect" or ":" in value}
    assert named <= offered <= oracle.values(field)
    for value in sorted(offered):
        page.select_option(f"#filters [name={field}]", value)
        turns = oracle.count({field: value})
        shows(page, turns)
        if value in named:
            label = page.locator(f"#filters [name={field}] option:checked").inner_text()
            assert label.endswith(f"({turns})")
        assert wanted_by(address_of(page)) == {field: value}
    page.click("#filters [type=reset]")
    shows(page, len(oracle))


def test_filters_add_up_and_words_are_found_as_they_are_typed(
    visits: Visits, reports: Folder
) -> None:
    page, oracle = opened(visits, reports, "faulty")
    page.get_by_label("Words in question or reply").press_sequentially("DELIVERS 3")
    shows(page, oracle.count({"text": "delivers 3"}))
    assert 0 < oracle.count({"text": "delivers 3"}) < 20
    wanted = {"text": "delivers 3", "tag": "even"}
    page.select_option("#filters [name=tag]", "even")
    shows(page, oracle.count(wanted))
    assert wanted_by(address_of(page)) == {"text": "DELIVERS 3", "tag": "even"}
    page.reload()
    shows(page, oracle.count(wanted))
    assert page.get_by_label("Words in question or reply").input_value() == "DELIVERS 3"
    page.get_by_label("Words in question or reply").fill("no turn says this")
    shows(page, 0)
    assert page.get_by_text("No turn is like that.").is_visible()


def test_a_filter_asks_one_arm_for_all_of_it(visits: Visits, reports: Folder) -> None:
    address = "#turns?outcome=answer&defect=citation:missing&flipped=1"
    page, oracle = opened(visits, reports, "clean-vs-faulty", address)
    shows(page, oracle.count(wanted_by(address)))
    assert oracle.count(wanted_by(address))


@pytest.mark.parametrize("name", PAGES)
def test_every_mark_of_a_chart_leads_to_its_turns(
    visits: Visits, reports: Folder, name: str
) -> None:
    page, oracle = opened(visits, reports, name)
    links = page.locator("figure svg a")
    assert links.count() > 10
    for link in links.all():
        address = link.get_attribute("href") or ""
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_function("to => location.hash === to", arg=address)
        if address.startswith("#turn="):
            page.locator("#turn[open]").wait_for()
            page.keyboard.press("Escape")
            page.locator("#turn[open]").wait_for(state="hidden")
        else:
            shows(page, oracle.count(wanted_by(address)))


@pytest.mark.parametrize("name", PAGES)
def test_every_mark_of_a_chart_takes_a_click(visits: Visits, reports: Folder, name: str) -> None:
    page, _ = opened(visits, reports, name)
    deaf = page.locator("figure svg a").evaluate_all(
        """links => links.filter(link => {
            link.scrollIntoView({ block: "center" });
            const { x, y, width, height } = link.getBoundingClientRect();
            return !link.contains(document.elementFromPoint(x + width / 2, y + height / 2));
        }).map(link => link.getAttribute("href"))"""
    )
    assert deaf == []


def test_a_mark_is_clicked(visits: Visits, reports: Folder) -> None:
    page, oracle = opened(visits, reports, "faulty")
    link = page.locator("figure svg a[href*=defect]").first
    link.click()
    shows(page, oracle.count(wanted_by(link.get_attribute("href") or "")))
    assert page.locator("#turns-title").evaluate(
        "title => title.getBoundingClientRect().top < innerHeight"
    )
    page.go_back()
    page.wait_for_function("() => !location.hash")


@pytest.mark.parametrize("name", PAGES)
def test_every_row_of_a_table_leads_to_its_turns(
    visits: Visits, reports: Folder, name: str
) -> None:
    page, oracle = opened(visits, reports, name)
    addresses = page.locator("main > section:not(#turns) table a").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert len(addresses) > 10
    for address in dict.fromkeys(addresses):
        page.evaluate("to => { location.hash = to; }", address)
        shows(page, oracle.count(wanted_by(address)))


def test_a_turn_opens_by_its_address(visits: Visits, reports: Folder) -> None:
    turn = visits.open(reports.page("baseline"), "#turn=tarn-007~1").locator("#turn[open]")
    assert turn.get_by_role("heading", level=2).inner_text() == "tarn-007 repeat 1"
    (line,) = (
        line
        for line in reports.lines("baseline", "turns.jsonl")
        if (line["question_id"], line["repeat"]) == ("tarn-007", 1)
    )
    said = turn.inner_text()
    for text in (line["bank_line"]["question"], line["reply"], line["started_at"]):
        assert text in said
    assert len(line["rounds"]) == turn.locator(".round").count() > 1
    calls = [call["arguments"] for round_ in line["rounds"] for call in round_["calls"]]
    assert turn.get_by_label("raw arguments").all_inner_texts() == calls


def test_a_turn_opens_from_the_table_and_the_back_button_closes_it(
    visits: Visits, reports: Folder
) -> None:
    page, _ = opened(visits, reports, "faulty", "#turns?defect=answer")
    row = page.locator("#rows tbody th a").nth(2)
    id_ = row.inner_text()
    row.click()
    turn = page.locator("#turn[open]")
    assert turn.get_by_role("heading", level=2).inner_text() == id_
    assert address_of(page) == f"#turn={id_}~0"
    page.keyboard.press("ArrowRight")
    page.wait_for_function("id => !location.hash.includes(id)", arg=id_)
    page.go_back()
    page.wait_for_function("id => location.hash.includes(id)", arg=id_)
    page.go_back()
    turn.wait_for(state="hidden")
    expect(page).to_have_url(re.compile(r"#turns\?defect=answer$"))
    page.go_forward()
    turn.wait_for()
    page.keyboard.press("Escape")
    turn.wait_for(state="hidden")
    expect(page).to_have_url(re.compile(r"#turns\?defect=answer$"))


def test_both_arms_stand_side_by_side(visits: Visits, reports: Folder) -> None:
    page = visits.open(reports.page("clean-vs-faulty"), "#turn=pump-02~0")
    sides = page.locator("#turn[open] .side")
    assert sides.count() == 2
    clean, faulty = sides.all()
    assert clean.get_by_role("heading", name="clean").is_visible()
    assert faulty.get_by_role("heading", name="faulty").is_visible()
    assert "It delivers 1 litre an hour." in faulty.inner_text()
    assert "answer:wrong" in faulty.inner_text()
    assert "Pump 2 delivers 20 litres a minute." in clean.inner_text()
    left, right = clean.bounding_box(), faulty.bounding_box()
    assert left is not None
    assert right is not None
    assert left["x"] + left["width"] <= right["x"]


def test_long_reasoning_is_folded_and_there_as_a_whole(visits: Visits, reports: Folder) -> None:
    page = visits.open(reports.page("faulty"), "#turn=pump-30~0")
    (line,) = (x for x in reports.lines("faulty", "turns.jsonl") if x["question_id"] == "pump-30")
    whole = line["rounds"][0]["reasoning"]
    assert len(whole) > 10_000
    folded = page.locator("#turn details").filter(has_text="Reasoning").first
    assert not folded.locator("p").is_visible()
    folded.locator("summary").click()
    page.wait_for_function(
        "length => document.querySelector('#turn details p').textContent.length === length",
        arg=len(whole),
    )
    assert folded.locator("p").text_content() == whole


def test_results_say_what_is_evidence_and_what_was_cited(visits: Visits, reports: Folder) -> None:
    page = visits.open(reports.page("clean"), "#turn=pump-07~0")
    marked = page.locator("#turn .results li.evidence")
    assert marked.count() == 1
    assert "pumps p. 7" in marked.inner_text()
    assert marked.locator(".is-cited").is_visible()
    marked.locator("summary").click()
    assert "Pump 7 delivers 70 litres a minute." in marked.locator("p").inner_text()


@pytest.mark.parametrize(
    "address",
    [
        "#turn=nothing~0",
        "#turn=~",
        f"#turn={quote('%')}~x",
        "#turns?",
        "#turns?outcome=%ff&&=&x=1&answerable=2",
        "#turns?metric=toString&defect=__proto__&tag=constructor",
        "#%",
    ],
)
def test_addresses_that_lead_nowhere_do_no_harm(
    visits: Visits, reports: Folder, address: str
) -> None:
    page, oracle = opened(visits, reports, "faulty", address)
    page.click("#filters [type=reset]")
    shows(page, len(oracle))


def test_the_table_is_paged_and_ordered(visits: Visits, reports: Folder) -> None:
    page, oracle = opened(visits, reports, "faulty")
    rows = page.locator("#rows tbody tr")
    assert rows.count() == 50
    page.get_by_role("button", name="next").click()
    assert rows.count() == len(oracle) - 50
    page.get_by_role("button", name="rounds").click()
    rounds = page.locator("#rows tbody td:nth-child(5)").all_inner_texts()
    assert rounds == sorted(rounds, key=int, reverse=True)
    assert page.locator("#rows th[aria-sort=descending]").inner_text() == "rounds"

"""The document: what is in it, what may run, and that strings stay strings."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.html.document import render
from ragevalkit.report.html.parts import Page, Prose, Section, Verdict
from ragevalkit.report.tables import Table

EVIL = "</script><script>evil()</script><img src=x onerror=evil()>\u2028\ud800<!--"
CHART = Chart("A chart", '<svg viewBox="0 0 1 1" aria-label="x"></svg>', "in words", ["a note"])


def page(text: str = "plain", **fields: object) -> Page:
    """A page that says `text` wherever it can."""
    table = Table(text, [text, "n"], [[text, "1"]], [text])
    chart = Chart(text, CHART.svg, text, [text])
    given_ = {
        "kind": "run",
        "title": text,
        "verdict": Verdict(text, "none", [text]),
        "facts": [text],
        "sections": [Section("s", text, [chart, table, Prose([text])])],
    }
    return Page(**(given_ | fields))  # type: ignore[arg-type]


def html(of: Page) -> str:
    return b"".join(render(of)).decode()


class Elements(HTMLParser):
    """Start tags in order, with their attributes."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_what_runs_is_named_by_its_hash() -> None:
    document = html(page())
    [policy] = [
        a["content"] for t, a in Elements(document).found if t == "meta" and "http-equiv" in a
    ]
    assert policy is not None
    for tag, source in (("script", "script-src"), ("style", "style-src")):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", document, re.S)
        digest = b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert document.index("Content-Security-Policy") < document.index("<style>")


def test_nothing_is_styled_or_run_from_an_attribute_and_nothing_is_loaded() -> None:
    for tag, attributes in Elements(html(page(EVIL))).found:
        assert not any(name == "style" or name.startswith("on") for name in attributes), tag
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")


def same_elements(text: str) -> None:
    plain, hostile = Elements(html(page())).found, Elements(html(page(text))).found
    assert [tag for tag, _ in plain] == [tag for tag, _ in hostile]


def test_hostile_strings_make_no_elements() -> None:
    same_elements(EVIL)


@settings(max_examples=40)
@given(st.text(st.characters(), min_size=1).filter(str.strip))
def test_no_string_makes_an_element(text: str) -> None:
    same_elements(text)


def test_sections_come_in_their_order_after_the_verdict() -> None:
    sections = [Section("one", "First", [Prose(["x"])]), Section("two", "Second", [CHART])]
    document = html(page(verdict=Verdict("So it is.", "good", ["because"]), sections=sections))
    places = [document.index(f'id="{name}"') for name in ("verdict", "one", "two")]
    assert places == sorted(places)
    assert document.count(CHART.svg) == 1


@pytest.mark.parametrize(
    ("kind", "tone", "words"),
    [
        ("run", "none", "Result"),
        ("run", "open", "! Result, with doubts"),
        ("comparison", "good", "✓ Good"),
        ("comparison", "bad", "✗ Not good"),
        ("bench", "open", "? Open"),
    ],
)
def test_the_tone_is_said_in_words(kind: str, tone: str, words: str) -> None:
    document = html(page(kind=kind, verdict=Verdict("It is.", tone)))  # type: ignore[arg-type]
    assert f'<p class="tone">{words}</p>' in document


def test_headings_have_no_gaps() -> None:
    levels = [int(tag[1]) for tag, _ in Elements(html(page())).found if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_replies_keep_their_lines() -> None:
    table = Table("t", ["a"], [["one\ntwo"]])
    assert ">one\ntwo</th>" in html(page(sections=[Section("s", "S", [table])]))

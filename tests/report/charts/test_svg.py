"""What gets into a page from a drawing, and what never does."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from report.charts.svgs import parsed, words

from ragevalkit.report.charts import links
from ragevalkit.report.charts.axes import linear, number_tick
from ragevalkit.report.charts.drawing import plain
from ragevalkit.report.charts.layers import Key
from ragevalkit.report.charts.rows import Mark, Row, draw_rows
from ragevalkit.report.charts.svg import UnsafeDrawing, clean

HOSTILE = "</text></svg><script>alert(1)</script><img src=x onerror=alert(1)>\u2028\ud800\x00\uffff"


def drawing(inside: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="10" height="20">{inside}</svg>'
    )


@pytest.mark.parametrize(
    ("inside", "kept"),
    [
        ('<path d="M0,0h1" fill="none" style="fill:red"/>', '<path d="M0,0h1" fill="none"/>'),
        ('<path d="M0,0h1" onclick="alert(1)"/>', '<path d="M0,0h1"/>'),
        ("<script>alert(1)</script>", ""),
        ("<style>*{color:red}</style>", ""),
        ('<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>', ""),
        ('<image href="https://elsewhere.example/x.png"/>', ""),
        ('<g class="mark-group" opacity="1"><line x2="3.14159"/></g>', '<line x2="3.14"/>'),
        ('<g transform="translate(0,0)"/>', ""),
        ('<text font-family="serif">a &lt;b&gt;</text>', "<text>a &lt;b&gt;</text>"),
        ('<path class="background" d="M0,0h1" stroke="none"/>', ""),
        (
            '<a xlink:href="https://vega.github.io/x/#turns?a=1&amp;b=2"><path d="M0,0h1" '
            'aria-label="two &lt;turns&gt;"/></a>',
            '<a href="#turns?a=1&amp;b=2"><title>two &lt;turns&gt;</title><path d="M0,0h1"/></a>',
        ),
    ],
)
def test_only_what_is_known_is_kept(inside: str, kept: str) -> None:
    svg = clean(drawing(inside), label='a "label"')
    role = "group" if "<a " in kept else "img"
    assert svg == (
        f'<svg viewBox="0 0 10 20" role="{role}" aria-label="a &quot;label&quot;">{kept}</svg>'
    )


@pytest.mark.parametrize(
    "inside",
    [
        '<path d="M0,0" fill="url(#x)"/>',
        '<path d="M0,0" fill="red"/>',
        '<path d="M0,0" stroke="url(https://elsewhere.example)"/>',
        '<a xlink:href="https://elsewhere.example/"><path d="M0,0"/></a>',
        '<a xlink:href="javascript:alert(1)"><path d="M0,0"/></a>',
        '<a xlink:href="https://elsewhere.example/#conditions"><path d="M0,0"/></a>',
        '<path d="M0,0" transform="url(x)&quot;"/>',
    ],
)
def test_what_must_not_be_there_is_an_error(inside: str) -> None:
    with pytest.raises(UnsafeDrawing):
        clean(drawing(inside), label="l")


def rows(text: str) -> str:
    row = Row(
        text,
        [Mark(1.0, 0.5, 1.5)],
        text,
        links.turns(tag=text),
        text,
        about=text,
    )
    return draw_rows(
        [row, Row("other", [Mark(0.5)])],
        linear("x", (0, 1), number_tick),
        text or "title",
        ends=("left", "right"),
        keys=[Key("a", text)],
    )


def test_hostile_text_is_text() -> None:
    svg = rows(HOSTILE)
    assert "<script" not in svg
    assert "<img" not in svg
    shown = words(svg)
    assert any(word.startswith("</text></svg><script>") for word in shown)
    assert max(map(len, shown)) <= 60, "texts are cut"


@settings(max_examples=15, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=40))
@example("\n")
def test_any_text_can_stand_in_a_drawing(text: str) -> None:
    root = parsed(rows(text))
    assert len(list(root.iter("a"))) == 1


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 60))
def test_plain_text_is_short_and_can_be_written(text: str, characters: int) -> None:
    shown = plain(text, characters)
    assert len(shown) <= characters + 1
    shown.encode()
    assert shown.isprintable() or shown.strip()
    assert not set(shown) & set("\x00\x1b\n\u2028\u202e\ufffe\uffff")


@pytest.mark.parametrize(
    ("wanted", "address"),
    [
        ({"outcome": "decline", "answerable": 0}, "#turns?outcome=decline&answerable=0"),
        ({"defect": "answer:wrong"}, "#turns?defect=answer%3Awrong"),
        ({"tag": "a&b=c #é"}, "#turns?tag=a%26b%3Dc%20%23%C3%A9"),
        ({"tag": "\ud800"}, "#turns?tag=%EF%BF%BD"),
        ({"tag": "\U0001f600"}, "#turns?tag=%F0%9F%98%80"),
    ],
)
def test_addresses_are_written_as_a_browser_writes_them(
    wanted: dict[str, str | int], address: str
) -> None:
    assert links.turns(**wanted) == address


def test_the_address_of_a_turn() -> None:
    assert links.turn("q/1 ~", 2) == "#turn=q%2F1%20~~2"

"""Citations written in a reply, each form beside what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.scoring.text_citations import RANGE_PAGES, citations_in_text
from ragevalkit.turn.record import PageRef

DOCUMENTS = [
    "operator-guide",
    "operator-guide-r2",
    "admin-guide.md",
    "notes",
    "Annual Report 2019.pdf",
    "rack v1.2 manual",
    "Straße_öl",
]


def cited(text: str, documents: list[str] = DOCUMENTS) -> list[tuple[str, int]]:
    return [(ref.document, ref.page) for ref in citations_in_text(text, documents)]


OPERATOR_12 = [
    "It draws 280 W [operator-guide p. 12].",
    "(operator-guide, page 12)",
    "operator-guide, p. 12",
    "operator-guide p12",
    "OPERATOR-GUIDE, P. 12",
    "Operator Guide, page 12",
    "operator_guide page 12",
    "[operator-guide#page=12]",
    "[operator-guide:12]",
    "[operator-guide: 12]",
    "[operator-guide.pdf:12]",
    "(operator-guide, 12)",
    "(see [operator-guide, 12])",
    "【operator-guide p.12】",
    "【operator-guide:12】",
    "page 12 of the operator-guide",
    "p. 12 of operator-guide",
    "p. 12 in the operator-guide.pdf says so",
    "page 12 of the document `operator-guide`",
    "[operator-guide](operator-guide.pdf#page=12)",
    "[page 12](files/operator-guide.pdf#page=12)",
    "[operator-guide, p. 12](operator-guide.pdf)",
    "[operator guide](operator%20guide.pdf#page=12)",
    "Source: operator-guide, page 12",
    "**Source:** *operator-guide*, **page 12**",
    "Source: `operator-guide`, page 12.",
    'Source: "operator-guide", page 12.',
    '<cite document="operator-guide" page="12"/>',
    '<cite page="12" document="operator-guide"/>',
    '{"document": "operator-guide", "page": 12}',
    "operator-guide (page 12)",
    "operator-guide – p. 12",
    "operator-guide\npage 12",
    "| operator-guide | p. 12 |",
    "operator-guide, section 4.2, page 12",
    "The operator-guide says on page 12 that",
    "operator-guide p.\u00a012",
    "operator\u2011guide p. 12",
    "operator-guide p. 12, page 12 of operator-guide",
    "(operator-guide p. 12) and 5 people",
    "operator-guide, page 12, 5 units fit",
    "operator-guide, page 12 and 3 units fit",
]


@pytest.mark.parametrize("text", OPERATOR_12)
def test_one_page(text: str) -> None:
    assert cited(text) == [("operator-guide", 12)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "operator-guide",
        "in operator-guide 2019",
        "(operator-guide, 2019)",
        "operator-guide 12",
        "operator-guide, 12",
        "operator-guide version 12",
        "[operator-guide 2.6]",
        "[operator-guide:2.6]",
        "(operator-guide, 12 units)",
        "operator-guide, p. 12.5",
        "operator-guide p. 123456",
        "operator-guide, page 0",
        "operator-guide, step 12",
        "operator-guide up 12",
        "operator-guide.\n\nPage 12 is blank",
        "page 12",
        "p. 12 says",
        "the guide, page 12",
        "my-operator-guide p. 12",
        "operator-guide-r3 p. 12",
        "operator-guides p. 12",
        "operator-guidep. 12",
        "page 12 off operator-guide",
        "webpage 12 of operator-guide",
        "(notes, 12)",
        "[notes:12]",
        "admin-guide.pdf, p. 12",
    ],
)
def test_no_page(text: str) -> None:
    assert cited(text) == []


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("operator-guide, pp. 12-13", [12, 13]),
        ("operator-guide, pp. 12–13", [12, 13]),
        ("operator-guide, p. 12-13", [12, 13]),
        ("operator-guide, pages 12 to 14", [12, 13, 14]),
        ("operator-guide, pp. 112-15", [112, 113, 114, 115]),
        ("[operator-guide.pdf, pages 3, 5 and 7]", [3, 5, 7]),
        ("operator-guide, pages 3, 5, and 7 say", [3, 5, 7]),
        ("operator-guide, pages 3 & 5-7", [3, 5, 6, 7]),
        ("[operator-guide:3, 5]", [3, 5]),
        ("(operator-guide, p. 3; p. 5)", [3, 5]),
        ("(operator-guide, page 3, 5)", [3, 5]),
        ("operator-guide pp. 9, 9, 4", [9, 4]),
        ("operator-guide pp. 7-3", [7, 3]),
        ("operator-guide pp. 1-300", list(range(1, RANGE_PAGES + 1))),
        ("pages 3 and 4 of the operator-guide", [3, 4]),
        ("operator-guide p. 3 ... operator-guide p. 2 ... operator-guide p. 3", [3, 2]),
    ],
)
def test_several_pages(text: str, pages: list[int]) -> None:
    assert cited(text) == [("operator-guide", page) for page in pages]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("operator-guide-r2 p. 3", [("operator-guide-r2", 3)]),
        (
            "[operator-guide p. 1; operator-guide-r2 p. 2]",
            [("operator-guide", 1), ("operator-guide-r2", 2)],
        ),
        ("[operator-guide:1; admin-guide:2]", [("operator-guide", 1), ("admin-guide.md", 2)]),
        ("(operator-guide, 1; admin-guide, 2)", [("operator-guide", 1), ("admin-guide.md", 2)]),
        (
            "page 1 of the operator-guide, page 2 of the admin-guide",
            [("operator-guide", 1), ("admin-guide.md", 2)],
        ),
        ("page 1 of the operator-guide and p. 2 of notes", [("operator-guide", 1), ("notes", 2)]),
        ("admin-guide.md#page=4", [("admin-guide.md", 4)]),
        ("Annual Report 2019, p. 7", [("Annual Report 2019.pdf", 7)]),
        ("annual-report-2019.pdf p. 7", [("Annual Report 2019.pdf", 7)]),
        ("[Annual Report 2019, 7]", [("Annual Report 2019.pdf", 7)]),
        ("[rack v1.2 manual:7]", [("rack v1.2 manual", 7)]),
        ("STRASSE öl, S. 3, p. 4", []),
        ("STRASSE_ÖL, p. 4", [("Straße_öl", 4)]),
        ("Straße_o\u0308l p. 4", [("Straße_öl", 4)]),
        ("notes, page 2", [("notes", 2)]),
        ("[notes.txt:2]", [("notes", 2)]),
    ],
)
def test_names(text: str, expected: list[tuple[str, int]]) -> None:
    assert cited(text) == expected


def test_names_that_differ_little() -> None:
    both = ["guide.pdf", "guide.md", "a-b", "a b"]
    assert cited("guide.md p. 1, guide.pdf p. 2", both) == [("guide.md", 1), ("guide.pdf", 2)]
    assert cited("guide p. 1", both) == []
    assert cited("guide p. 1", [*both, "guide"]) == [("guide", 1)]
    assert cited("a b p. 1; a-b p. 2; a_b p. 3", both) == [("a b", 1), ("a-b", 2)]
    assert cited("p. 1", []) == cited(". p. 1", [".", "", "--"]) == []


PARTS = st.sampled_from(
    [
        "operator-guide",
        "notes",
        "admin-guide.md",
        "p.",
        "page",
        "pages",
        "pp",
        "12",
        "3-5",
        "9",
        " ",
        ", ",
        ": ",
        "; ",
        " and ",
        " of the ",
        "[",
        "]",
        "(",
        ")",
        "#page=",
        "\n\n",
        '"',
        "-",
    ]
)


@given(
    st.one_of(st.text(max_size=80), st.lists(PARTS, max_size=15).map("".join)),
    st.one_of(st.just(DOCUMENTS), st.lists(st.text(max_size=8), max_size=4)),
)
@settings(max_examples=1000, deadline=None)
def test_any_text_gives_known_documents_each_page_once(text: str, documents: list[str]) -> None:
    found = citations_in_text(text, documents)
    assert all(isinstance(ref, PageRef) and ref.page > 0 for ref in found)
    assert {ref.document for ref in found} <= set(documents)
    pairs = [(ref.document, ref.page) for ref in found]
    assert len(pairs) == len(set(pairs))


NAMES = st.from_regex(r"\A[a-z]{1,6}([- _.][a-z0-9]{1,5}){0,3}\Z")


@given(NAMES, st.integers(1, 99999))
@settings(deadline=None)
def test_a_name_beside_a_page_is_a_citation(name: str, page: int) -> None:
    for text in (f"So it is [{name} p. {page}].", f"See page {page} of the {name}."):
        assert cited(text, [name]) == [(name, page)]


@pytest.mark.parametrize(
    "unit",
    [
        "p. 1, ",
        "p 1 and ",
        "operator-guide ",
        "operator-",
        "[",
        "1-",
        "pages ",
        " ",
        "\n",
        "-",
        "p",
        "operator-guide p. 1, ",
        "p. 1 of ",
        "(operator-guide, 1; ",
        "operator-guide, section 1 ",
        "annual report ",
        "1",
        "a",
    ],
)
def test_long_adversarial_replies_finish(unit: str) -> None:
    documents = [*DOCUMENTS, *(f"operator-{i}" for i in range(5000))]
    assert len(citations_in_text(unit * (100_000 // len(unit)), documents)) <= 1

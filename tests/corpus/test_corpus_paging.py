"""Page breaks in running text, and the part of a page that a result shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.corpus.excerpt import excerpt
from ragevalkit.corpus.highlight import Highlighter
from ragevalkit.corpus.index import analyzer
from ragevalkit.corpus.paging import PAGE_CHARS, cut_by_length, split_at_markers


def solid(text: str) -> str:
    return "".join(text.split())


long_text = st.lists(
    st.one_of(
        st.sampled_from(["\n\n", "\n", " ", "\n \n", "word ", "a" * 700, "漢" * 3500, "\u2003"]),
        st.text(max_size=50),
    ),
    max_size=40,
).map("".join)


@given(text=long_text, paragraph_break=st.sampled_from(["\n\n", "\n"]))
def test_cutting_loses_nothing_but_blanks(text: str, paragraph_break: str) -> None:
    pages = [page for _, page in cut_by_length(text, paragraph_break)]
    assert solid("".join(pages)) == solid(text)
    assert all(0 < len(page) <= PAGE_CHARS and page.strip() for page in pages)
    assert pages == [page for _, page in cut_by_length(text, paragraph_break)]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("", []),
        (" \n\n \t", []),
        ("a", [1]),
        ("a" * 3000, [3000]),
        ("a" * 3001, [3000, 1]),
        ("a" * 1499 + "\n\n" + "b" * 1499, [3000]),
        ("a" * 1500 + "\n\n" + "b" * 1500, [1500, 1500]),
        ("a" * 10 + "\n\n" + "b" * 3005 + "\n\nc", [10, 3000, 8]),
        ("a" * 2990 + " " + "b" * 100, [2990, 100]),
    ],
)
def test_lengths(text: str, sizes: list[int]) -> None:
    assert [len(page) for _, page in cut_by_length(text)] == sizes


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("no mark <!-- page: 3 --> on its own line", None),
        ("<!-- page: iv -->\nfour\n<!-- page: v -->\nfive", [("iv", "four"), ("v", "five")]),
        ("before\n<!-- page: 1 -->\none", [(None, "before"), ("1", "one")]),
        ("\n \n  <!--page:1-->  \none", [("1", "one")]),
        ("<!-- PAGE: A-1 -->\none\n<!-- page: -->\ntwo", [("A-1", "one"), ("", "two")]),
        ("<!-- page: 1 -->\n<!-- page: 2 -->\ntwo", [("1", ""), ("2", "two")]),
        ("one\ftwo", [(None, "one"), (None, "two")]),
        ("one\ftwo\f\n", [(None, "one"), (None, "two")]),
        ("\ftwo\f", [(None, ""), (None, "two")]),
        ("one\f\fthree", [(None, "one"), (None, ""), (None, "three")]),
        (
            "<!-- page: 1 -->\none\n\f\n<!-- page: 2 -->\ntwo\n\f",
            [("1", "one"), ("2", "two")],
        ),
    ],
)
def test_marks(text: str, pages: list[tuple[str | None, str]] | None) -> None:
    found = split_at_markers(text)
    if found is not None:
        found = [(None if label is None else label.strip(), page.strip()) for label, page in found]
    assert found == pages


words = st.lists(
    st.sampled_from(["court", "Courts", "kings,", "of", "x", "Ünï", "漢字", "\n", "🎉"])
)


@given(words=words, terms=st.sets(st.sampled_from(["court", "king", "of", "ünï"])))
def test_excerpt_is_a_window_of_the_text(words: list[str], terms: set[str]) -> None:
    text = " ".join(words)
    hits = Highlighter(analyzer()).hits(text, terms)
    shown = excerpt(text, hits, 100)
    assert len(shown) <= 100
    assert shown.strip("…") in text
    if len(text) <= 100:
        assert shown == text


@given(words=words)
def test_hits_are_what_the_analysis_says(words: list[str]) -> None:
    text = " ".join(words)
    stems = analyzer()
    terms = {"court", "king", "of", "ünï", "漢字"}
    found = [term for _, _, term in Highlighter(stems).hits(text, terms)]
    assert found == [term for term in stems.analyze(text) if term in terms]
    assert all(
        stems.analyze(text[start:end]) == [term]
        for start, end, term in Highlighter(stems).hits(text, terms)
    )


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("company", "Companies"),
        ("hope", "hoping"),
        ("possible", "possibility"),
        ("king's", "“King"),
        ("İstanbul", "istanbul"),
        ("relation", "(relational)"),
    ],
)
def test_a_word_is_found_by_its_stem(query: str, word: str) -> None:
    stems = analyzer()
    text = f"İ… {word} – and more"
    wanted = {stems.analyze(query.replace("İ", "I"))[0]}
    [(start, end, _)] = Highlighter(stems).hits(text, wanted)
    assert text[start:end] == word.strip("“()")


def test_excerpt_takes_the_window_with_most_terms_from_a_line_start() -> None:
    filler = "\n".join("nothing to see on this line" for _ in range(100))
    text = f"the court sat\n{filler}\nIn 1801 the king and the court met.\n{filler}"
    hits = Highlighter(analyzer()).hits(text, ["king", "court"])
    shown = excerpt(text, hits, 400)
    assert "the king and the court" in shown
    assert shown.startswith("…nothing to see")
    assert shown.endswith("…")
    assert 300 < len(shown) <= 400


def test_excerpt_near_the_end_is_filled_from_before() -> None:
    text = "word " * 400 + "king"
    shown = excerpt(text, Highlighter(analyzer()).hits(text, ["king"]), 300)
    assert shown.endswith(" king")
    assert shown.startswith("…word")
    assert len(shown) > 280

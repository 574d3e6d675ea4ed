"""The marker of a refusal, and the form of tool results."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.turn.protocol import (
    DECLINE_MARKER,
    cite_result,
    search_result,
    split_marker,
    tool_error,
)

MARKED = {
    "NOT IN DOCUMENTS": "",
    "NOT IN DOCUMENTS.": "",
    "not in documents\nThe guide is silent.": "The guide is silent.",
    "Not In Documents: the guide is silent.": "the guide is silent.",
    "  \n NOT IN DOCUMENTS the guide": "the guide",
    "**NOT IN DOCUMENTS**": "",
    "**NOT IN DOCUMENTS** – no figure": "no figure",
    "**NOT IN DOCUMENTS:** no figure": "no figure",
    "__NOT IN DOCUMENTS__ no figure": "no figure",
    "*NOT IN DOCUMENTS*: no figure": "no figure",
    "`NOT IN DOCUMENTS`; no figure": "no figure",
    "# NOT IN DOCUMENTS\n\nNo figure": "No figure",
    "> NOT IN DOCUMENTS\nNo figure": "No figure",
    "[NOT IN DOCUMENTS] No figure": "No figure",
    "(NOT IN DOCUMENTS) No figure": "No figure",
    "[**NOT IN DOCUMENTS**]: No figure": "No figure",
    "[NOT IN DOCUMENTS:] No figure": "No figure",
    '"NOT IN DOCUMENTS" - no figure': "no figure",
    "NOT IN DOCUMENTS — no figure": "no figure",
    "NOT IN DOCUMENTS!": "",
    'NOT IN DOCUMENTS: "quoted" words': '"quoted" words',
    "NOT IN DOCUMENTS: **bold** words": "**bold** words",
    "NOT IN DOCUMENTS (see above)": "(see above)",
    "\ufeffNOT IN DOCUMENTS: no figure": "no figure",
    "NOT IN DOCUMENTS\nNOT IN DOCUMENTS": "NOT IN DOCUMENTS",
}


@pytest.mark.parametrize(("reply", "rest"), MARKED.items())
def test_marker_is_split_off(reply: str, rest: str) -> None:
    assert split_marker(reply) == (True, rest)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   ",
        "It is NOT IN DOCUMENTS",
        "Answer: NOT IN DOCUMENTS",
        "The fee is 5 EUR.\nNOT IN DOCUMENTS",
        "CANNOT IN DOCUMENTS",
        "NOT IN DOCUMENTSTORE",
        "NOT IN DOCUMENTS2",
        "NOT IN DOCUMENTSÄ",
        "NOT IN THE DOCUMENTS",
        "NOT IN DOCUMENT",
        "NOT-IN-DOCUMENTS",
    ],
)
def test_other_replies_are_left_whole(reply: str) -> None:
    assert split_marker(reply) == (False, reply)


@settings(deadline=None)
@given(st.text())
def test_what_is_split_off_is_a_start(text: str) -> None:
    marked, rest = split_marker(text)
    assert text.endswith(rest)
    assert marked or rest == text


@settings(deadline=None)
@given(
    st.sampled_from(["{}", "**{}**", "[{}]", '"{}"', "({})"]), st.from_regex(r"\A[A-Z]\w+( \w+)*\Z")
)
def test_marker_then_words_leaves_the_words(form: str, words: str) -> None:
    assert split_marker(f"{form.format(DECLINE_MARKER)}: {words}") == (True, words)


def test_search_result_has_the_contracts_shape() -> None:
    results = [
        {"document": "guide", "page": 4, "label": "iv", "score": 3.5, "text": "Höhe: 4 „m“\n\0"},
        {"document": "guide", "page": 5, "label": None, "score": 1.0, "text": ""},
    ]
    assert json.loads(search_result(iter(results))) == {"results": results}
    assert json.loads(search_result([])) == {"results": []}


def test_cite_result_and_error_are_json() -> None:
    assert json.loads(cite_result("a/b", 7, None)) == {
        "cited": {"document": "a/b", "page": 7, "label": None}
    }
    assert json.loads(tool_error('no "guide"\n')) == {"error": 'no "guide"\n'}

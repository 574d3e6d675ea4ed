"""Search: what it finds, in which order, and that no text makes it fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import tantivy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.corpus.index import analyzer
from ragevalkit.corpus.search import QUERY_CHARS, QUERY_TERMS
from ragevalkit.turn.protocol import RESULT_TEXT_CHARS, SEARCH_RESULTS

FILES = {
    "kings.md": "<!-- page: i -->\nLouis was king of France.\n<!-- page: ii -->\nPalaces burned.",
    "courts.md": "The supreme court hears appeals.\fJudges of the courts sit in robes.",
    "cjk.txt": "最高裁判所は東京にある。Tokyo 🎉",
    "long.txt": "<!-- page: 9 -->\n"
    + "filler words here. " * 300
    + "The aardvark ate the zebra. "
    + "more filler. " * 300,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    root = tmp_path_factory.mktemp("docs")
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGEVALKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        return open_corpus(root)


@pytest.mark.parametrize(
    ("query", "document", "found"),
    [
        ("king", None, [("kings", 1, "i")]),
        ("KINGS?", None, [("kings", 1, "i")]),
        ("palace burning", None, [("kings", 2, "ii")]),
        ("courts appeal", None, [("courts", 1, None), ("courts", 2, None)]),
        ("court", "kings", []),
        ("king", "KINGS.md", [("kings", 1, "i")]),
        ("king", "unknown", []),
        ("東京", None, []),
        ("最高裁判所は東京にある", None, [("cjk", 1, None)]),
        ("tokyo", None, [("cjk", 1, None)]),
        ("", None, []),
        ("?!… 🎉 --", None, []),
        ("zzzzzz", None, []),
        ("\ud800 king \udfff", None, [("kings", 1, "i")]),
        ('text:king AND "unbalanced NOT (', None, [("kings", 1, "i")]),
        ("king\0", None, [("kings", 1, "i")]),
    ],
)
def test_found(
    corpus: Corpus, query: str, document: str | None, found: list[tuple[str, int, str | None]]
) -> None:
    results = corpus.search(query, document)
    assert [(result.document, result.page, result.label) for result in results] == found


def test_result_is_a_record_for_the_tool_message(corpus: Corpus) -> None:
    [result] = corpus.search("king")
    assert result.as_dict() == {
        "document": "kings",
        "page": 1,
        "label": "i",
        "score": result.score,
        "text": "Louis was king of France.",
    }
    assert result.score == round(result.score, 4) > 0


def test_a_document_filter_leaves_scores_alone(corpus: Corpus) -> None:
    assert corpus.search("court appeals", "courts") == corpus.search("court appeals")


def test_long_pages_are_cut_around_the_terms(corpus: Corpus) -> None:
    [result] = corpus.search("aardvark zebra")
    assert len(result.text) <= RESULT_TEXT_CHARS
    assert "The aardvark ate the zebra." in result.text
    assert result.text.startswith("…")
    assert result.text.endswith("…")
    assert result.text.strip("…") in corpus.page(result.document, result.page).text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    query=st.one_of(
        st.text(st.characters(exclude_categories=[])),
        st.lists(
            st.sampled_from(["king", '"', "(", "AND", "text:", "^2", "~", "*", "\0", "🎉"])
        ).map(" ".join),
    ),
    document=st.one_of(st.none(), st.sampled_from(["kings", "COURTS"]), st.text()),
    limit=st.integers(-1, 100),
)
def test_no_text_makes_search_fail(
    corpus: Corpus, query: str, document: str | None, limit: int
) -> None:
    results = corpus.search(query, document, limit)
    assert len(results) <= max(0, limit)
    assert results == corpus.search(query, document, limit)
    assert all(len(result.text) <= RESULT_TEXT_CHARS for result in results)


def test_only_the_beginning_of_a_huge_query_counts(corpus: Corpus) -> None:
    many = " ".join(f"w{number}" for number in range(QUERY_TERMS - 1))
    assert corpus.search(f"{many} king")
    assert not corpus.search(f"{many} other king")
    assert corpus.search("x " * 20_000 + "king") == []
    assert corpus.search("king " * 4000) == corpus.search("king")
    assert corpus.search("-" * (QUERY_CHARS - 4) + "king king")
    assert len(corpus.search("of the " + "a" * 20_000)) <= SEARCH_RESULTS


@pytest.mark.parametrize("copies", [3, 40, 700])
def test_ties_stand_in_order_of_the_corpus(corpus_of: Callable[..., Corpus], copies: int) -> None:
    page = "the same words on each page"
    corpus = corpus_of(
        {"b.md": "\f".join([page] * copies), "a.md": page, "c.md": f"{page} words words"}
    )
    order = [(result.document, result.page) for result in corpus.search("same word")]
    assert order[0] == ("c", 1)
    assert order[1:] == [("a", 1), ("b", 1), ("b", 2), ("b", 3)][:4]


@given(text=st.text())
def test_queries_are_analysed_as_the_index_analyses(text: str) -> None:
    text = text.encode("utf-8", "replace").decode() + " Running the companies' C++ Ünïcode naïve"
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
    index = tantivy.Index(builder.build())
    writer = index.writer(15_000_000, 1)
    document = tantivy.Document()
    document.add_text("text", text)
    writer.add_document(document)
    writer.commit()
    index.reload()
    indexed = dict(index.searcher().terms_with_prefix("text", ""))
    assert set(indexed) == set(analyzer().analyze(text))


def test_threads_get_the_same_answers(corpus: Corpus) -> None:
    queries = ["king of the court", "filler aardvark", "judges", "palace"] * 50
    expected = [corpus.search(query) for query in queries]
    found: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: found.append([corpus.search(query) for query in queries] == expected)
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_pages_without_text_are_never_found(
    corpus_of: Callable[..., Corpus], make_pdf: Callable[..., bytes]
) -> None:
    corpus = corpus_of({"scan.pdf": make_pdf(["", ""])})
    assert corpus.search("anything at all") == []
    assert corpus.documents["scan"].pages_without_text == [1, 2]


def test_the_corpus_path_is_kept(write: Callable[..., Path]) -> None:
    root = write({"a.md": "x"})
    assert open_corpus(root).path == root

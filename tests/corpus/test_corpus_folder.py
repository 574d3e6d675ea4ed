"""Folders, names, and what an opened corpus says of itself."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.errors import InputError

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "uda_wiki"


def test_names_order_and_skipped(corpus_of: Callable[..., Corpus]) -> None:
    corpus = corpus_of(
        {
            "b.md": "b",
            "sub/deep/c.txt": "c",
            "sub/c.html": "<p>c",
            "a.md": "a",
            "a.txt": "also a",
            "a.md.txt": "named like a file",
            "notes.v2.md": "n",
            "photo.jpg": b"\xff",
            "README": "no suffix",
            ".hidden.md": "h",
            ".git/config.txt": "h",
            "sub/.x/y.md": "h",
        }
    )
    assert {name: info.file for name, info in corpus.documents.items()} == {
        "a.md": "a.md",
        "a.md.txt": "a.md.txt",
        "a.txt": "a.txt",
        "b": "b.md",
        "notes.v2": "notes.v2.md",
        "sub/c": "sub/c.html",
        "sub/deep/c": "sub/deep/c.txt",
    }
    assert list(corpus.documents) == sorted(
        corpus.documents, key=lambda n: corpus.documents[n].file
    )
    assert corpus.skipped == [".git/", ".hidden.md", "README", "photo.jpg", "sub/.x/"]
    assert corpus.page_count == 7


def test_resolve(corpus_of: Callable[..., Corpus]) -> None:
    corpus = corpus_of(
        {
            "Report.md": "x",
            "twice.md": "x",
            "Twice.txt": "x",
            "sub/Käfer.html": "x",
            "n.md": "x",
            "n.txt": "x",
        }
    )
    cases = {
        "Report": "Report",
        "Report.md": "Report",
        "report": "Report",
        "REPORT.MD": "Report",
        "Report.txt": None,
        "twice": "twice",
        "Twice": "Twice",
        "TWICE": None,
        "twice.TXT": "Twice",
        "sub/käfer": "sub/Käfer",
        "sub/Ka\u0308fer.html": "sub/Käfer",
        "Käfer": None,
        "n": None,
        "n.txt": "n.txt",
        "": None,
        "\ud800": None,
    }
    assert {name: corpus.resolve(name) for name in cases} == cases


def test_single_file(write: Callable[..., Path]) -> None:
    corpus = open_corpus(write({"my.report.md": "hello", "other.md": "x"}) / "my.report.md")
    assert list(corpus.documents) == ["my.report"]
    assert corpus.resolve("my.report.md") == "my.report"
    assert corpus.skipped == []


def test_what_is_known_of_documents(
    corpus_of: Callable[..., Corpus], make_pdf: Callable[..., bytes]
) -> None:
    labels = {0: {"style": "ROMAN_LOWER"}}
    corpus = corpus_of({"p.pdf": make_pdf(["one", "", "three"], labels), "t.txt": "text"})
    info = corpus.documents["p"]
    assert (info.pages, info.labels, info.pages_without_text, info.pagination) == (
        3,
        ["i", "ii", "iii"],
        [2],
        "pdf",
    )
    info = corpus.documents["t"]
    assert (info.pages, info.labels, info.pages_without_text, info.pagination) == (
        1,
        [None],
        [],
        "length",
    )
    page = corpus.page("p", 3)
    assert (page.index, page.label, page.text) == (3, "iii", "three")
    assert corpus.page("p", 2).text == ""
    assert corpus.page("t", 1).text == "text"
    for document, index in [("p", 0), ("p", 4), ("P", 1), ("none", 1)]:
        with pytest.raises(LookupError):
            corpus.page(document, index)


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({}, "", "holds no document: put files there that end in .htm,"),
        ({"a.jpg": "x", ".b.md": "x"}, "", "holds no document (only .b.md, a.jpg): "),
        ({"a.md": "x", "b/empty.md": ""}, "", "empty.md has no text"),
        ({"a.jpg": "x"}, "a.jpg", "a.jpg can't be read: a document ends in .htm,"),
        ({"a.md": "x"}, "nowhere", "There is no corpus at "),
    ],
)
def test_bad_corpus(
    write: Callable[..., Path], files: dict[str, str], path: str, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as error:
        open_corpus(write(files) / path)
    assert "\n" not in str(error.value)


@pytest.mark.skipif(os.name != "posix", reason="file names are Unicode there")
def test_a_file_name_that_is_not_utf8(write: Callable[..., Path]) -> None:
    root = write({"a.md": "x"})
    try:
        (root / os.fsdecode(b"caf\xe9.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    with pytest.raises(InputError, match="rename it"):
        open_corpus(root)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data at {DATA}")
def test_real_pdfs_have_the_texts_of_the_public_set() -> None:
    corpus = open_corpus(DATA / "pdfs")
    rows = [json.loads(line) for line in (DATA / "pages.jsonl").open(encoding="utf-8")]
    assert corpus.page_count == len(rows) == 153
    for row in rows:
        name = corpus.resolve(row["doc"])
        assert name is not None
        page = corpus.page(name, row["page"])
        assert page.label == row["page_label"]
        expected = row["text"].replace("\ufffe", "").replace("\u00ad", "")
        assert page.text.split() == expected.split(), (name, page.index)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data at {DATA}")
def test_real_questions_find_a_page_of_their_evidence() -> None:
    corpus = open_corpus(DATA / "pdfs")
    found = asked = 0
    for line in (DATA / "questions.jsonl").open(encoding="utf-8"):
        question = json.loads(line)
        if question["answerable"] and question["page_quality"] == "verified":
            results = corpus.search(question["question"], corpus.resolve(question["doc"]))
            asked += 1
            found += any(result.page in question["pages"] for result in results)
    assert asked == 44
    # Most ask for words that stand on every page of one article: BM25 finds 18.
    assert found >= 17

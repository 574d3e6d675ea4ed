"""Markdown, HTML and text: bytes in, pages out."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.corpus import Document, read_document
from ragevalkit.errors import InputError


def read(name: str, content: str | bytes) -> Document:
    data = content.encode() if isinstance(content, str) else content
    return read_document(Path("docs", name), data, Path(name).stem, name)


def pages(document: Document) -> list[tuple[str | None, str]]:
    assert [page.index for page in document.pages] == list(range(1, len(document.pages) + 1))
    return [(page.label, page.text) for page in document.pages]


@pytest.mark.parametrize("name", ["a.md", "a.MARKDOWN", "a.txt", "a.Htm"])
def test_a_byte_order_mark_and_line_ends_go(name: str) -> None:
    document = read(name, "\ufeffone\r\n\r\nt\u00adwo".encode())
    assert document.pagination == "length"
    assert pages(document)[0][1].split() == ["one", "two"]


@pytest.mark.parametrize("name", ["a.md", "a.html", "a.txt"])
def test_what_is_not_utf8_is_named_with_its_offset(name: str) -> None:
    with pytest.raises(InputError, match=rf"docs.{name} is not UTF-8 at byte 3"):
        read(name, b"abc\xff")


@pytest.mark.parametrize("name", ["a.md", "a.html", "a.txt", "a.pdf"])
@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_file_is_named(name: str, content: str) -> None:
    with pytest.raises(InputError, match=re.escape(str(Path("docs", name)))):
        read(name, content)


def test_markdown_with_markers() -> None:
    document = read("a.md", "# T\n<!-- page: iv -->\n# Four\n\ntext\n<!-- page: -->\nlast")
    assert document.pagination == "marker"
    assert pages(document) == [(None, "# T"), ("iv", "# Four\n\ntext"), (None, "last")]


def test_text_with_form_feeds() -> None:
    document = read("a.txt", "\f one \n\ftwo\f")
    assert document.pagination == "marker"
    assert pages(document) == [(None, ""), (None, "one"), (None, "two")]


HTML = [
    ("<p>a<p>b", "a\nb"),
    ("<div>a <b>b</b>\n c<br>d</div>e", "a b c\nd\ne"),
    ("<html><head><title>t</title><style>s{}</style><body><p>x</p>", "x"),
    ("<script>var a = '<p>no</p>'</script>yes<!-- no -->", "yes"),
    ("<pre>a\n  b</pre>", "a\nb"),
    ("&lt;b&gt; &amp; caf&eacute;&nbsp;x&#xD800;&#173;y&#13;z", "<b> & café x\ufffdy z"),
    ("<ul><li>a<li>b</ul>", "a\nb"),
    (
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>after",
        "k | v\na | 1\nafter",
    ),
    ("<table><tr><td>a<td>1<tr><td>b<td>2</table>", "a | 1\nb | 2"),
    ("<table><tr><td><p>a</p><p>b</p></td><td>1<br>2</td></tr></table>", "a b | 1 2"),
    (
        "<table><tr><td><table><tr><td>in</td><td>ner</td></tr></table></td><td>o</td></tr></table>",
        "in ner | o",
    ),
    ("<table><caption>c</caption><tbody><tr><td>a</td></tr></tbody></table>", "c\na"),
    ("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body>x</body></html>", "x"),
    ("https://example.org/", "https://example.org/"),
    ("<div>" * 3000 + "deep" + "</div>" * 3000, "deep"),
]


@pytest.mark.parametrize(("source", "text"), HTML)
def test_html_text(source: str, text: str, recwarn: pytest.WarningsRecorder) -> None:
    assert pages(read("a.html", source)) == [(None, text)]
    assert not recwarn.list


PARTS = [
    *(
        "<p>",
        "</p>",
        "<table>",
        "</table>",
        "<tr>",
        "<td>",
        "</td>",
        "<pre>",
        "</pre>",
        "text",
        " ",
    ),
    *(
        "<!-- page: 1 -->",
        '<i role="doc-pagebreak">',
        "</i>",
        "<![CDATA[x]]>",
        "<!DOCTYPE",
        "<![",
        "&#",
    ),
    *(
        "<!--",
        "-->",
        "<?x",
        "<script>",
        "</script>",
        '<a href="',
        "\0",
        "\ud7ff",
        "&shy;",
        "<svg/>",
    ),
]


@given(source=st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=5))).map("".join))
def test_html_of_any_kind_gives_pages_or_says_why_not(source: str) -> None:
    with contextlib.suppress(InputError):
        document = read("a.html", source.encode("utf-8", "replace"))
        assert all(page.text == page.text.strip() for page in document.pages)
        assert document.pages[0].text or document.pagination == "marker"


@pytest.mark.parametrize(
    "mark",
    [
        "<!-- page: iv -->",
        "<!--PAGE:iv-->",
        '<span role="doc-pagebreak" aria-label="iv"></span>',
        '<span role="doc-pagebreak" aria-label=" Page iv. " title="no">no</span>',
        '<hr role="separator doc-pagebreak" title="iv">',
        '<span epub:type="pagebreak" title="iv"/>',
        '<a epub:type="pagebreak" id="p4">iv</a>',
    ],
)
def test_html_marks(mark: str) -> None:
    document = read("a.xhtml.html", f"<title>t</title><body><p>a {mark}b</p>{mark}<p>c</p>")
    assert document.pagination == "marker"
    assert pages(document) == [(None, "a"), ("iv", "b"), ("iv", "c")]


def test_html_marks_without_text_before_or_label() -> None:
    source = '<title>t</title><div role="doc-pagebreak"></div><p>a<div role="doc-pagebreak">'
    assert pages(read("a.html", source)) == [(None, "a"), (None, "")]


def test_html_page_break_around_the_page_keeps_its_text() -> None:
    source = f'<section epub:type="pagebreak" title="7"><p>{"long text " * 10}</p></section>'
    assert pages(read("a.html", source)) == [("7", ("long text " * 10).strip())]


def test_html_without_marks_is_cut_between_lines() -> None:
    document = read("a.html", "".join(f"<p>{letter * 1400}</p>" for letter in "abc"))
    assert document.pagination == "length"
    assert [len(page.text) for page in document.pages] == [2801, 1400]


def test_pdf_labels_and_pages_without_text(make_pdf: Callable[..., bytes]) -> None:
    labels = {0: {"style": "ROMAN_LOWER", "start": 4}, 2: {"style": "ARABIC", "prefix": "c"}}
    document = read("a.pdf", make_pdf(["four", "", "first\nline"], labels))
    assert document.pagination == "pdf"
    assert pages(document) == [("iv", "four"), ("v", ""), ("c1", "first\nline")]


def test_pdf_without_labels_has_none(make_pdf: Callable[..., bytes]) -> None:
    assert pages(read("a.pdf", make_pdf(["x"]))) == [(None, "x")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pdf: b"", "is empty"),
        (lambda pdf: b"not a PDF", "damaged"),
        (lambda pdf: pdf[:300], "damaged"),
    ],
)
def test_bad_pdf(
    make_pdf: Callable[..., bytes], change: Callable[[bytes], bytes], message: str
) -> None:
    with pytest.raises(InputError, match=rf"docs.a\.pdf .*{message}"):
        read("a.pdf", change(make_pdf(["x"])))


def test_encrypted_pdf(make_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(InputError, match=r"docs.a\.pdf is encrypted"):
        read("a.pdf", make_pdf(["x"], encrypt="secret"))


def test_pdf_from_several_threads(make_pdf: Callable[..., bytes]) -> None:
    texts = [f"page number {number}" for number in range(40)]
    data = make_pdf(texts)
    found: list[list[str]] = []
    threads = [
        threading.Thread(
            target=lambda: found.append([page.text for page in read("a.pdf", data).pages])
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [texts] * 4


def test_long_pdf_reports_pages(make_pdf: Callable[..., bytes]) -> None:
    told: list[int] = []
    read_document(Path("a.pdf"), make_pdf(["x"] * 45), "a", "a.pdf", told.append)
    assert told == [20, 40]


def test_unknown_suffix() -> None:
    with pytest.raises(InputError, match=r"a\.docx can't be read: it must end in \.htm, "):
        read("a.docx", "x")

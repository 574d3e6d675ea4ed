"""Markdown and JUnit of a comparison, whatever stands in questions, replies and names."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ragevalkit.compare.comparability import Shared, Values
from ragevalkit.compare.result import (
    ArmResult,
    Comparison,
    Flipped,
    FlippedQuestion,
    GateLine,
    GateResult,
    Reply,
)
from ragevalkit.report.junit import comparison_junit
from ragevalkit.report.markdown import comparison_markdown, escaped

HOSTILE = [
    "</system-out><script>alert(1)</script>",
    "]]> & <!-- -- > &amp;",
    "| a | b |\n|---|---|\n# title",
    "![x](http://evil/x.png) [link](javascript:alert(1)) <img src=x onerror=alert(1)>",
    "@everyone #1 `code` **bold** $x$ ~~gone~~ https://evil.example www.evil.example",
    "\x00\x1b[31m\x07\u202e\ufffe\ud800\u2028",
    "1. one\n2. two\n- three\n+ four\n=== \n> quote",
    "\\| \\` &#60;b&#62;",
]


def comparison(text: str) -> Comparison:
    """A comparison in which everything that others name is `text`."""
    arm = ArmResult(
        run=text,
        folder=text,
        planned=1,
        turns=1,
        scored=1,
        infra_errors=0,
        lost_to={text: 1},
        unfinished=False,
    )
    reply = Reply(outcome="answer", defects=[], reply=text)
    flipped = FlippedQuestion(
        question_id=text, repeat=0, question=text, loss=1, metrics={}, a=reply, b=reply
    )
    lines = [
        GateLine(name=text, tier=tier, require="x", status=status, why=text)
        for tier, status in (
            ("blocking", "passed"),
            ("blocking", "failed"),
            ("blocking", "inconclusive"),
            ("advisory", "failed"),
            ("advisory", "inconclusive"),
        )
    ]
    return Comparison(
        a=arm,
        b=arm,
        comparable=False,
        factors={text: Values(a=text, b=[text])},
        confounders={},
        not_comparable={},
        allowed={},
        shared=Shared(questions=1, of_a=1, of_b=1, share=1),
        pairs=1,
        questions=1,
        repeated=False,
        unpaired={},
        notes=[text],
        metrics={},
        defects={},
        timing=None,
        tokens={},
        flipped=Flipped(questions=1, shown=[flipped]),
        floor=None,
        gate=GateResult(verdict="regression", file=text, hash="0" * 64, lines=lines),
    )


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))


def rendered(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of the page that the Markdown makes, with the names of their attributes."""
    reader = MarkdownIt("gfm-like", {"linkify": False})
    return Tags(reader.render(comparison_markdown(comparison(text)))).tags


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_no_markup_in_markdown(text: str) -> None:
    assert rendered(text) == rendered("plain")


@given(st.text(max_size=60))
def test_any_text_is_no_markup_in_markdown(text: str) -> None:
    assert rendered(f"x{text}") == rendered("plain")


def test_names_stay_readable() -> None:
    assert escaped("cited_correct_page: 67/70, +1.3 (−3.7…14.5)") == (
        "cited_correct_page: 67/70, +1.3 (−3.7…14.5)"
    )
    assert "@" not in escaped("@everyone")
    assert "://" not in escaped("https://evil.example")


def junit(text: str) -> Xml.Element:
    return Xml.fromstring(comparison_junit(comparison(text)))


@pytest.mark.parametrize("text", HOSTILE)
def test_junit_is_well_formed(text: str) -> None:
    suite = junit(text).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("5", "2")


@given(st.text())
def test_junit_of_any_text_is_well_formed(text: str) -> None:
    assert len(junit(text).findall("testsuite/testcase")) == 5


def test_only_blocking_lines_fail() -> None:
    cases = junit("plain").findall("testsuite/testcase")
    kinds = [None if (f := case.find("failure")) is None else f.get("type") for case in cases]
    assert kinds == [None, "failed", "inconclusive", None, None]


def test_runs_that_are_not_comparable_are_one_failure() -> None:
    of = comparison("plain")
    gate = GateResult(verdict="not_comparable", file=None, hash=None, lines=[])
    changed = of.model_copy(
        update={"gate": gate, "not_comparable": {"agent.prompt": Values(a="p1", b="p2")}}
    )
    cases = Xml.fromstring(comparison_junit(changed)).findall("testsuite/testcase")
    assert [case.get("name") for case in cases] == ["comparable"]
    failure = cases[0].find("failure")
    assert failure is not None
    assert "agent.prompt: p1 and p2" in str(failure.text)

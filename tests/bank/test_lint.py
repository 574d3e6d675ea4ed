"""Each fault is planted once and found; its near miss is not; a tag silences it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.bank import load_bank
from ragevalkit.bank.lint import KINDS, Linted, lint_bank
from ragevalkit.bank.lint.quantities import asks_for
from ragevalkit.bank.lint.wording import alike_pairs
from ragevalkit.bank.lint.words import holds, read_words, sentences, short_references
from ragevalkit.corpus import Corpus, open_corpus

Line = dict[str, Any]

GUIDE = """<!-- page: i -->
# Mill Guide
The invented mill in twelve leaves.
<!-- page: ii -->
The wheel was cast at Harrow in three parts by a founder called Brindle.
<!-- page: 1 -->
The pond holds 900 cubic metres of water when the gate is shut.
<!-- page: 2 -->
Grease the upper bearing every six weeks with tallow.
The miller rings a copper bell at dusk.
<!-- page: 3 -->
The stones weigh 840 kg each and turn at 95 revolutions a minute.
<!-- page: 4 -->
<!-- page: 5 -->
The sluice opens at 14 bar of oil pressure and closes at nine.
<!-- page: 6 -->
Flour of the finest grade is sieved through silk with 120 threads an inch.
The loft stores 75 sacks, and its floor bears four tonnes.
"""
LEDGER = """<!-- page: 1 -->
Repairs of the year. The roof was tarred in spring for the price of two pigs.
<!-- page: 2 -->
In the ledger the stones are said to weigh 840 kg each, as the guide has it too.
<!-- page: 3 -->
Accidents: a carter lost 75 marks at dice. Nothing about the loft is written here.
Of the Barley mill it is told that in Frost it grinds 12 sacks of flour a day.
It was not so in Thaw.
"""


def about(number: int, question: str, page: int, quote: str, *answers: str, **more: Any) -> Line:
    evidence: Line = {"document": "guide", "page": page}
    if quote:
        evidence["quote"] = quote
    line = {"id": f"q-{number}", "question": question, "answerable": True, "evidence": [evidence]}
    return line | ({"answers": list(answers)} if answers else {}) | more


def nothing(number: int, question: str, **more: Any) -> Line:
    because = {"unanswerable_because": "no page says so"}
    return {"id": f"q-{number}", "question": question, "answerable": False} | because | more


POND = about(1, "How large is the pond?", 3, "holds 900 cubic metres", "900 cubic metres")
FOUNDER = about(2, "Whom did the wheel come from?", 2, "founder called Brindle", "Brindle")
LOFT = about(3, "What load does the loft's floor take?", 8, "floor bears four tonnes", "4 tonnes")
CLEAN = [
    POND,
    FOUNDER,
    LOFT,
    nothing(4, "Which tree gave the wood for the axle?"),
    nothing(5, "What is the miller's dog called?"),
    nothing(6, "How did the flood of last century end?"),
]

SIEVE = "How fine is the silk that sieves the best flour?"
THREADS = "sieved through silk with 120 threads an inch"
STONES = "How much do the stones weigh?"
WEIGHT = "The stones weigh 840 kg each"
LEDGER_2 = {"document": "ledger", "page": 2, "quote": "stones are said to weigh 840 kg"}
LONG = "a very long reference that says in more than a dozen words what the page says in three"

PLANTED: dict[str, tuple[str, Line, Line]] = {
    "no such document": (
        "no_such_page",
        about(7, SIEVE, 8, "", "120 threads")
        | {"evidence": [{"document": "atlas", "page": 1, "quote": THREADS}]},
        about(7, SIEVE, 8, THREADS, "120 threads")
        | {"evidence": [{"document": "Guide.md", "page": 8, "quote": THREADS}]},
    ),
    "no such page": (
        "no_such_page",
        about(7, SIEVE, 9, THREADS, "120 threads"),
        about(7, SIEVE, 8, THREADS, "120 threads"),
    ),
    "a quote of another page": (
        "quote_not_on_page",
        about(7, SIEVE, 7, THREADS, "120 threads"),
        about(7, SIEVE, 8, "Sieved through … 120   thr-\neads, AN INCH", "120 threads"),
    ),
    "a quote that is nowhere": (
        "quote_not_on_page",
        about(7, SIEVE, 8, "sieved through wool with 120 threads", "120 threads"),
        about(7, SIEVE, 8, "sieved [...] 120 threads", "120 threads"),
    ),
    "the parts of a quote in the wrong order": (
        "quote_not_on_page",
        about(7, SIEVE, 8, "120 threads … sieved", "120 threads"),
        about(7, SIEVE, 8, "sieved … 120 threads", "120 threads"),
    ),
    "a printed label, by the quote": (
        "page_is_printed_label",
        about(7, SIEVE, 6, THREADS, "120 threads")
        | {"evidence": [{"document": "guide", "page": 5, "quote": "opens at 14 bar"}]},
        about(7, SIEVE, 8, THREADS, "120 threads"),
    ),
    "a printed label, by the answer": (
        "page_is_printed_label",
        about(7, "What lets the sluice open?", 5, "", "14 bar", tags=["lint-ok:no_quote"]),
        about(7, "What lets the sluice open?", 7, "", "14 bar", tags=["lint-ok:no_quote"]),
    ),
    "a page without text": (
        "evidence_without_text",
        about(7, SIEVE, 6, "", "120 threads", tags=["lint-ok:no_quote"]),
        about(7, SIEVE, 8, "", "120 threads", tags=["lint-ok:no_quote"]),
    ),
    "a second page with the answer": (
        "answer_elsewhere",
        about(7, STONES, 5, WEIGHT, "840 kg"),
        about(7, STONES, 5, WEIGHT, "840 kg")
        | {"evidence": [{"document": "guide", "page": 5, "quote": WEIGHT}, LEDGER_2]},
    ),
    "a second page with the number": (
        "answer_elsewhere",
        about(7, STONES, 5, WEIGHT, "840"),
        about(7, "How many sacks can the loft store?", 8, "The loft stores 75 sacks", "75"),
    ),
    "an answer to an unanswerable question": (
        "unanswerable_found",
        nothing(7, "How often should I grease the upper bearing?"),
        nothing(7, "How often should I grease the lower bearing of mill 2?"),
    ),
    "an answer about another machine": (
        "unanswerable_found",
        nothing(7, "How much flour does the Barley mill grind a day in Frost?"),
        nothing(7, "How much flour does the Barley mill grind a day in Thaw?"),
    ),
    "an answer without the quantity": (
        "unanswerable_found",
        nothing(7, "What does the miller ring at dusk?"),
        nothing(7, "How many times does the miller ring the bell at dusk?"),
    ),
    "twice the same": (
        "near_duplicate",
        about(7, "So how large is the pond?", 3, "holds 900 cubic metres", "900 cubic metres"),
        about(7, "How large is the pond 2?", 3, "holds 900 cubic metres", "900 cubic metres"),
    ),
    "twice the same, with a name": (
        "near_duplicate",
        nothing(7, "Which tree gave wood for the axle?"),
        nothing(7, "Which tree gave the wood for the Harrow axle?"),
    ),
    "twice the same, after something else": (
        "near_duplicate",
        nothing(7, "What is the miller's dog called"),
        nothing(
            7,
            "What is the miller's dog called",
            history=[{"role": "user", "content": "Has he got one?"}],
        ),
    ),
    "its own answer": (
        "gives_itself_away",
        about(7, "Is it a silk with 120 threads an inch?", 8, THREADS, "120 threads"),
        about(7, "Is it 120 threads or 130 for fine flour?", 8, THREADS, "120 threads"),
    ),
    "a page in the question": (
        "gives_itself_away",
        about(7, "What silk is on page 8?", 8, THREADS, "120 threads"),
        about(7, "What silk is best for 8 pages of rice paper?", 8, THREADS, "120 threads"),
    ),
    "according to the text": (
        "gives_itself_away",
        nothing(7, "According to the text, where was Brindle born?"),
        nothing(7, "Going by what he told people, where was Brindle born?"),
    ),
    "its document": (
        "gives_itself_away",
        about(7, "What silk does guide.md want?", 8, THREADS, "120 threads"),
        about(7, "What silk does the guide want?", 8, THREADS, "120 threads"),
    ),
    "a long reference": (
        "long_reference",
        about(7, SIEVE, 8, THREADS, LONG),
        about(7, SIEVE, 8, THREADS, LONG, "120 threads"),
    ),
    "no reason": (
        "unanswerable_without_reason",
        {"id": "q-7", "question": "Who owns the meadow?", "answerable": False},
        nothing(7, "Who owns the meadow?"),
    ),
    "no quote": (
        "no_quote",
        about(7, SIEVE, 8, "", "120 threads"),
        about(7, SIEVE, 8, THREADS, "120 threads"),
    ),
    "no reference": (
        "no_reference",
        about(7, SIEVE, 8, THREADS),
        about(7, SIEVE, 8, THREADS, "120 threads"),
    ),
    "a silencer that is misspelt": (
        "unknown_silencer",
        nothing(7, "Who owns the meadow?", tags=["lint-ok:no_quotes"]),
        nothing(7, "Who owns the meadow?", tags=["lint-ok"]),
    ),
}
ERRORS = {"no_such_page", "quote_not_on_page", "evidence_without_text", "evidence_page_base"}

Lint = Callable[[list[Line]], Linted]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    folder = tmp_path / "mill"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    (folder / "ledger.md").write_text(LEDGER)
    return open_corpus(folder)


@pytest.fixture
def lint(tmp_path: Path, corpus: Corpus) -> Lint:
    def run(lines: list[Line]) -> Linted:
        path = tmp_path / "bank.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return lint_bank(load_bank(path), {"": corpus})

    return run


def found(linted: Linted) -> list[tuple[str, tuple[int, ...]]]:
    return [(finding.name, finding.positions[:1]) for finding in linted.findings]


def test_the_clean_bank_is_clean(lint: Lint, corpus: Corpus) -> None:
    assert corpus.documents["guide"].labels[:4] == ["i", "ii", "1", "2"]
    assert corpus.documents["guide"].pages_without_text == [6]
    assert found(lint(CLEAN)) == []


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(lint: Lint, case: str) -> None:
    name, fault, _ = PLANTED[case]
    linted = lint([*CLEAN, fault])
    place = () if name in ("no_quote", "no_reference") else (6,)
    assert found(linted) == [(name, place)]
    finding = linted.findings[0]
    if name in ERRORS or case == "a printed label, by the quote":
        assert (finding.severity, linted.errors) == ("error", 1)
    else:
        assert (finding.severity, linted.errors) == ("advice", 0)
    assert finding.message
    assert finding.todo == KINDS[name].todo


@pytest.mark.parametrize("case", PLANTED)
def test_its_near_miss_is_not(lint: Lint, case: str) -> None:
    assert found(lint([*CLEAN, PLANTED[case][2]])) == []


@pytest.mark.parametrize("case", PLANTED)
def test_a_tag_silences_it_in_its_line(lint: Lint, case: str) -> None:
    name, fault, _ = PLANTED[case]
    tags = [*fault.get("tags", []), f"lint-ok:{name}"]
    linted = lint([*CLEAN, fault | {"tags": tags}])
    assert found(linted) == []
    assert linted.silenced == (0 if name in ("no_quote", "no_reference") else 1)


def test_another_tag_silences_nothing(lint: Lint) -> None:
    name, fault, _ = PLANTED["a quote of another page"]
    assert found(lint([*CLEAN, fault | {"tags": ["lint-ok:no_such_page"]}])) == [(name, (6,))]


def test_every_finding_is_planted() -> None:
    whole_bank = {"one_sided", "evidence_page_base"}
    assert {name for name, _, _ in PLANTED.values()} | whole_bank == set(KINDS)


def test_where_the_quote_is(lint: Lint) -> None:
    [finding] = lint([*CLEAN, PLANTED["a quote of another page"][1]]).findings
    assert finding.pages == [("guide", 8)]
    assert "guide p. 8" in finding.message
    [finding] = lint([*CLEAN, PLANTED["a quote that is nowhere"][1]]).findings
    assert finding.pages == []
    assert '"with 120 threads"' in finding.message


def test_a_printed_label_beyond_the_document_is_named(lint: Lint, tmp_path: Path) -> None:
    pages = "".join(f"<!-- page: {n + 40} -->\nLeaf {n} tells of crop {n}.\n" for n in range(1, 4))
    (tmp_path / "mill" / "almanac.md").write_text(pages)
    corpus = open_corpus(tmp_path / "mill")
    line = about(1, "Which crop?", 42, "", "crop 2")
    line["evidence"] = [{"document": "almanac", "page": 42, "quote": "tells of crop 2"}]
    path = tmp_path / "bank.jsonl"
    path.write_text(json.dumps(line) + "\n" + json.dumps(nothing(2, "Why?")))
    [finding] = lint_bank(load_bank(path), {"": corpus}).findings
    assert (finding.name, finding.severity) == ("page_is_printed_label", "error")
    assert finding.pages == [("almanac", 2)]


def off_by(pages: int) -> list[Line]:
    lines = [POND, FOUNDER, LOFT, about(7, SIEVE, 8, THREADS, "120 threads")]
    return [
        line | {"evidence": [e | {"page": e["page"] + pages} for e in line["evidence"]]}
        for line in lines
    ]


def test_a_bank_that_counts_pages_from_0_is_told_once(lint: Lint) -> None:
    [finding] = lint([*off_by(-1), *CLEAN[3:]]).findings
    assert (finding.name, finding.severity) == ("evidence_page_base", "error")
    assert "4 of 4" in finding.message
    assert "counted from 0" in finding.message


def test_a_bank_that_counts_pages_from_2(lint: Lint) -> None:
    lines = [*off_by(1)[:2], about(8, STONES, 6, WEIGHT, "840 kg"), off_by(1)[3]]
    names = [name for name, _ in found(lint([*lines, *CLEAN[3:]]))]
    assert names.count("evidence_page_base") == 0, "two of its pages are no pages with text"
    lines[2] = about(8, "When should I grease?", 5, "every six weeks", "six weeks")
    [finding, missing] = lint([*lines, *CLEAN[3:]]).findings
    assert finding.name == "evidence_page_base"
    assert "3 of 3" in finding.message
    assert missing.name == "no_such_page"


def test_two_wrong_pages_are_no_page_base(lint: Lint) -> None:
    names = [name for name, _ in found(lint([*off_by(-1)[:2], *CLEAN[2:]]))]
    assert names == ["quote_not_on_page", "quote_not_on_page"]


NEVER = [nothing(7 + n, f"What of the {w}?") for n, w in enumerate(["kiln", "barn", "cart", "cow"])]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([POND, FOUNDER, LOFT], "none of 3 questions is unanswerable"),
        ([POND, *NEVER], "1 of 5 questions are answerable"),
        ([POND, *NEVER[:3]], None),
        ([POND, FOUNDER, LOFT, NEVER[0]], None),
    ],
    ids=["no unanswerable", "a fifth answerable", "a quarter answerable", "three quarters"],
)
def test_one_sided(lint: Lint, lines: list[Line], message: str | None) -> None:
    findings = lint(lines).findings
    assert [f.message for f in findings if f.name == "one_sided"] == ([message] if message else [])
    silent = [lines[0] | {"tags": ["lint-ok:one_sided"]}, *lines[1:]]
    assert "one_sided" not in {finding.name for finding in lint(silent).findings}


NAMES = "amber birch cedar delta ember fjord gorse hazel ivory juniper kelp larch"
WORDS = NAMES.split()


def tagged(answerable: list[str], unanswerable: list[str]) -> list[Line]:
    lines = [
        about(
            n, f"Does {word} say {WORDS[n - 1]}?", 3, "900 cubic metres", "900 metres", tags=[tag]
        )
        for n, (word, tag) in enumerate(zip(WORDS, answerable, strict=False))
    ]
    return lines + [
        nothing(20 + n, f"Is there {word} in {WORDS[n - 1]}?", tags=[tag])
        for n, (word, tag) in enumerate(zip(WORDS, unanswerable, strict=False))
    ]


def test_a_subject_with_answerable_questions_only(lint: Lint) -> None:
    linted = lint(tagged(["water"] * 10, ["stone"] * 2 + ["water"] * 8))
    assert "one_sided" not in dict(found(linted))
    linted = lint(tagged(["water"] * 10, ["stone"] * 4 + ["wood"] * 8))
    assert "one_sided" not in dict(found(linted)), "tags that name kinds of either sort"
    linted = lint(tagged(["water"] * 11, ["stone"] * 4))
    assert "one_sided" not in dict(found(linted))
    linted = lint([*tagged(["water"] * 10, []), *(nothing(30 + n, f"{w}?") for n, w in WORDS_OF)])
    [message] = [f.message for f in linted.findings if f.name == "one_sided"]
    assert message == 'all 10 questions tagged "water" are answerable'


WORDS_OF = list(enumerate(["Who sings", "Why so late", "When is supper", "Where to now"]))


def test_short_references_are_those_of_scoring() -> None:
    assert short_references(["yes", "64 GB", LONG]) == [("64", "gb")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Tarn 1S, firmware 2.6.2", ["tarn", "1s", "firmwar", "2.6.2"]),
        ("eight weeks, 1,880 GB", ["8", "week", "1880", "gb"]),
        ("F-22 at 14 bar", ["f", "22", "at", "14", "bar"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert read_words(text) == words


def test_holds() -> None:
    assert holds(["a", "b", "a", "c"], ["a", "c"])
    assert not holds(["a", "b"], ["b", "a"])
    assert not holds(["a"], [])


def test_sentences_join_wrapped_lines_and_part_rows() -> None:
    text = (
        "The pond holds water when the gate is shut, and\n"
        "is drained in spring. Then the bed is raked by\n"
        "hand.\nProperty Mill A Mill B\nDepth 3 m 4 m\n\n| a | b |\nA note"
    )
    assert sentences(text) == [
        "The pond holds water when the gate is shut, and is drained in spring.",
        "Then the bed is raked by hand.",
        "Property Mill A Mill B",
        "Depth 3 m 4 m",
        "| a | b |",
        "A note",
    ]


@pytest.mark.parametrize(
    ("question", "passage", "shown"),
    [
        ("How long does it take?", "It takes 20 minutes.", True),
        ("How long does it take?", "It takes 20 sacks.", False),
        ("How long does it take?", "It takes eight weeks.", True),
        ("How warm does it get?", "up to 44 °C", True),
        ("How warm does it get?", "up to 44 kg", False),
        ("How loud is it?", "31 dB(A)", True),
        ("How many of the 12 sacks?", "12 sacks", False),
        ("How many of the 12 sacks?", "9 of 12 sacks", True),
        ("How many tokens?", "240 in Full, not measured in Quiet", False),
        ("What does it cost?", "It costs 12 marks", False),
        ("What does it cost?", "It costs 12 €", True),
        ("When was it built?", "in May 1843", True),
        ("When was it built?", "by a founder", False),
    ],
)
def test_quantities(question: str, passage: str, shown: bool) -> None:
    kind = asks_for(question)
    assert kind is not None
    assert kind.is_in(passage, question) == shown


def test_questions_without_a_quantity() -> None:
    assert asks_for("Who built the mill?") is None


@settings(max_examples=200)
@given(st.lists(st.frozensets(st.sampled_from("abcdefg")), max_size=8), st.sampled_from([0.5, 0.8]))
def test_alike_pairs_are_those_of_comparing_all(sets: list[frozenset[str]], least: float) -> None:
    expected = {
        (one, other)
        for one, other in itertools.combinations(range(len(sets)), 2)
        if sets[one] and len(sets[one] & sets[other]) >= least * len(sets[one] | sets[other]) - 1e-9
    }
    pairs = list(alike_pairs(sets, least))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected

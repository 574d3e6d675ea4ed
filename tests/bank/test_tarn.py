"""The repo's own bank, against its corpus."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from ragevalkit.bank import Bank, check_evidence, load_bank
from ragevalkit.corpus import Corpus, open_corpus

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(ROOT / "question_banks" / "tarn.jsonl")


@pytest.fixture
def corpus() -> Corpus:
    return open_corpus(ROOT / "corpora" / "tarn")


def folded(text: str) -> str:
    """Letters and digits alone, in lower case and compatibility form."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).lower())


def test_it_is_large_and_mixed_enough(bank: Bank) -> None:
    answerable = Counter(question.answerable for question in bank.questions)
    assert len(bank.questions) >= 24
    assert answerable[False] * 3 >= len(bank.questions)
    assert answerable[True] * 3 >= len(bank.questions)
    assert {question.corpus for question in bank.questions} == {"tarn"}
    assert len({question.hash for question in bank.questions}) == len(bank.questions)


def test_every_unanswerable_question_says_why(bank: Bank) -> None:
    for question in bank.questions:
        assert question.answerable != bool(question.unanswerable_because), question.id
        assert question.answerable or not question.answers, question.id


def test_evidence_is_in_the_corpus_and_quotes_are_on_their_pages(
    bank: Bank, corpus: Corpus
) -> None:
    check_evidence(bank, {"tarn": corpus})
    for question in bank.questions:
        for evidence in question.evidence:
            name = corpus.resolve(evidence.document)
            assert name is not None
            assert evidence.quote, question.id
            page = folded(corpus.page(name, evidence.page).text)
            assert folded(evidence.quote) in page, f"{question.id}: {evidence.quote}"


def test_groups_are_numbered_from_0_without_holes(bank: Bank) -> None:
    for question in bank.questions:
        groups = {evidence.group for evidence in question.evidence}
        assert groups == set(range(len(groups))), question.id


def test_pdfs_are_those_of_their_sources() -> None:
    pytest.importorskip("reportlab")
    script = ROOT / "corpora" / "sources" / "build_pdfs.py"
    check = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert (check.returncode, check.stderr) == (0, "")


def test_the_small_bank_is_a_part_of_it(bank: Bank) -> None:
    small = load_bank(ROOT / "question_banks" / "tarn-24.jsonl")
    assert len(small.questions) == 24
    assert {q.hash for q in small.questions} <= {q.hash for q in bank.questions}
    # as many that the documents don't answer as in the whole, or nearly
    assert 0.35 < sum(not q.answerable for q in small.questions) / 24 < 0.5

"""What the adapter of `local` is trained on: sound labels, and nothing that it is tested on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shelves import MATERIAL

from ragevalkit.bank import load_bank
from ragevalkit.bank.loading import check_evidence
from ragevalkit.corpus import Corpus, open_corpus

ROOT = Path(__file__).parents[2]
SHELVES = sorted(folder for folder in MATERIAL.iterdir() if folder.is_dir())
WORDS = 8
"""So many words in a row are no coincidence."""


def runs_of_words(text: str) -> Iterator[tuple[str, ...]]:
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    yield from zip(*(words[at:] for at in range(WORDS)), strict=False)


def pages(corpus: Corpus) -> Iterator[str]:
    for name, info in corpus.documents.items():
        yield from (corpus.page(name, at).text for at in range(1, info.pages + 1))


def everything(corpus: Path, bank: Path) -> Iterator[str]:
    yield from pages(open_corpus(corpus))
    for question in load_bank(bank).questions:
        yield from (question.question, *question.answers, *(m.content for m in question.history))


@pytest.fixture(scope="module")
def tested_on() -> set[tuple[str, ...]]:
    texts = everything(ROOT / "corpora" / "tarn", ROOT / "question_banks" / "tarn.jsonl")
    return {run for text in texts for run in runs_of_words(text)}


@pytest.mark.parametrize("shelf", SHELVES, ids=lambda shelf: shelf.name)
def test_nothing_of_the_tested_bank_is_in_it(shelf: Path, tested_on: set[tuple[str, ...]]) -> None:
    texts = list(everything(shelf / "corpus", shelf / "bank.jsonl"))
    assert not any("tarn" in text.lower().split() for text in texts)
    assert not {run for text in texts for run in runs_of_words(text)} & tested_on


@pytest.mark.parametrize("shelf", SHELVES, ids=lambda shelf: shelf.name)
def test_labels_hold(shelf: Path) -> None:
    bank, corpus = load_bank(shelf / "bank.jsonl"), open_corpus(shelf / "corpus")
    check_evidence(bank, dict.fromkeys({q.corpus or "" for q in bank.questions}, corpus))
    for question in bank.questions:
        for evidence in question.evidence:
            assert evidence.quote
            assert evidence.quote in corpus.page(evidence.document, evidence.page).text

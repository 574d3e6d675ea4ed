"""Named layouts: the three public sets exactly, every other one on a small invented file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Command
from reportlab.pdfgen.canvas import Canvas

from ragevalkit.bank import Question, load_bank
from ragevalkit.bank.importing import LAYOUTS, Imported, Request, import_bank
from ragevalkit.corpus import open_corpus

SMALL = Path(__file__).parent / "layouts"
DATA = Path(__file__).parents[3] / "shared" / "data"
BAKERY = ["Sales of bread: 41 crowns", "Debts: 3 crowns", "Ovens: 9 crowns"]


def shared(name: str) -> Path:
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"the public data set isn't at hand: {folder}")
    return folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def imported(into: Path, layout: str, *sources: Path, **options: Any) -> Imported:
    names = [str(source) for source in sources]
    return import_bank(Request(names, into, layout, **options))


def questions(made: Imported) -> dict[str, Question]:
    return {question.id: question for question in load_bank(made.bank).questions}


def places(question: Question) -> list[tuple[str, int]]:
    return [(evidence.document, evidence.page) for evidence in question.evidence]


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """PDFs of three pages, one of them in a folder of its own."""
    folder = tmp_path / "reports"
    for name in ("BAKERY_2031_10K", "BAKERY_2031", "old/bakery"):
        path = folder / f"{name}.pdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas = Canvas(str(path))
        for text in BAKERY:
            canvas.drawString(72, 720, text)
            canvas.showPage()
        canvas.save()
    return folder


def test_clapnq_is_what_the_converted_set_says(tmp_path: Path) -> None:
    folder = shared("clapnq")
    made = imported(tmp_path, "clapnq", folder / "original")
    converted, pages = lines(folder / "questions.jsonl"), lines(folder / "pages.jsonl")
    bank = questions(made)
    corpus = open_corpus(tmp_path / "corpora" / "clapnq")

    assert (made.tally.read, made.tally.written, made.tally.answerable) == (600, 600, 300)
    assert (made.documents, made.pages) == (len({p["doc"] for p in pages}), 596) == (584, 596)
    assert list(bank) == [q["id"] for q in converted]
    named = dict(zip(dict.fromkeys(p["doc"] for p in pages), corpus_order(tmp_path), strict=True))
    for wanted in converted:
        question = bank[wanted["id"]]
        assert (question.question, question.answerable) == (
            wanted["question"],
            wanted["answerable"],
        )
        assert places(question) == [(named[wanted["doc"]], page) for page in wanted["pages"]]
        references = dict.fromkeys(a for a in wanted["answers"] if a.strip() and a != "NA")
        assert question.answers == [answer.strip() for answer in references]
    for page in pages:
        assert corpus.page(named[page["doc"]], page["page"]).text.split() == page["text"].split()
    quoted = [e for question in bank.values() for e in question.evidence if e.quote]
    assert len(quoted) >= 299
    assert all(e.quote in corpus.page(e.document, e.page).text for e in quoted if e.quote)
    assert not any(made.tally.left_out.values())


def corpus_order(folder: Path) -> list[str]:
    """Documents in the order in which the source brings them, named as the corpus does."""
    from ragevalkit.bank.importing.passages import file_name

    taken: set[str] = set()
    titles = dict.fromkeys(page["doc"] for page in lines(DATA / "clapnq" / "pages.jsonl"))
    names = [file_name(title, taken) for title in titles]
    assert set(names) == {path.stem for path in (folder / "corpora" / "clapnq").iterdir()}
    return names


def test_mtrag_is_what_the_converted_set_says(tmp_path: Path) -> None:
    folder = shared("mtrag_un")
    converted, pages = lines(folder / "questions.jsonl"), lines(folder / "pages.jsonl")
    page_of = {page["passage_id"]: (page["doc"], page["page"]) for page in pages}
    made = imported(tmp_path, "mtrag", folder)
    kept = imported(tmp_path, "mtrag", folder, keep_partial=True, name="partial")
    corpus = open_corpus(tmp_path / "corpora" / "mtrag")

    assert (made.tally.read, made.tally.written, made.tally.answerable) == (507, 382, 285)
    assert (made.tally.left_out["partial"], made.tally.left_out["underspecified"]) == (47, 78)
    assert (kept.tally.written, kept.tally.answerable) == (429, 332)
    assert "partial" not in kept.tally.left_out
    assert (made.documents, made.pages) == (len({p["doc"] for p in pages}), 1152) == (771, 1152)
    bank, all_answerable = questions(made), questions(kept)
    labels = {"ANSWERABLE", "UNANSWERABLE"}
    assert list(bank) == [q["id"] for q in converted if q["answerability"] in labels]
    assert list(all_answerable) == [q["id"] for q in converted if q["answerable"] is not None]
    for question in all_answerable.values():
        wanted = next(q for q in converted if q["id"] == question.id)
        assert question.answerable is wanted["answerable"]
        assert question.question == wanted["question"].strip()
        assert [(m.role, m.content) for m in question.history] == [
            (m["role"], m["content"].strip()) for m in wanted["history"]
        ]
        gold = [page_of[passage] for passage in wanted["passages"]]
        assert places(question) == (gold if wanted["answerable"] else [])
        assert ("partial" in question.tags) == (wanted["answerability"] == "PARTIAL")
        assert question.answers == ([wanted["reference"].strip()] if wanted["answerable"] else [])
    for page in pages:
        assert corpus.page(page["doc"], page["page"]).text.split() == page["text"].split()


def test_uda_is_what_the_converted_set_says(tmp_path: Path) -> None:
    folder = shared("uda_wiki")
    converted, pages = lines(folder / "questions.jsonl"), lines(folder / "pages.jsonl")
    made = imported(tmp_path, "uda", folder, name="uda_wiki")
    bank = questions(made)

    assert (made.tally.read, made.tally.written, made.tally.answerable) == (151, 143, 73)
    assert made.tally.left_out["answerable_without_evidence"] == 8
    assert (made.documents, made.pages) == (7, len(pages)) == (7, 153)
    assert list(bank) == [q["id"] for q in converted if q.get("page_quality") != "unmapped"]
    for wanted in converted:
        if (question := bank.get(wanted["id"])) is not None:
            assert question.question == wanted["question"].strip()
            assert question.answerable is wanted["answerable"]
            assert places(question) == [(wanted["doc"], page) for page in wanted["pages"]]
            assert question.tags == [q for q in (wanted.get("page_quality"),) if q]
    assert sum(question.tags == ["verified"] for question in bank.values()) == 44


def test_clapnq(tmp_path: Path) -> None:
    made = imported(tmp_path, "clapnq", SMALL)
    bank = questions(made)
    heavy = bank["clapnq-c1"]
    assert places(heavy) == [("Lamp-Guide", 1)]
    assert heavy.evidence[0].quote == "It weighs two kilograms ."
    assert heavy.answers == ["Two kilograms."], "NA stands where an annotator gave none"
    assert [bank[name].answerable for name in ("clapnq-c2", "clapnq-c3")] == [False, False]
    assert (made.documents, made.pages) == (1, 2), "the passage without the answer is in the corpus"


def test_mtrag(tmp_path: Path) -> None:
    made = imported(tmp_path, "mtrag", SMALL / "mtrag-reference.jsonl")
    bank = questions(made)
    assert places(bank["m<::>1"]) == [("lamp", 2)], "pages are in order of offsets"
    assert [m.role for m in bank["m<::>2"].history] == ["user", "assistant"]
    assert bank["m<::>2"].answers == [], "an abstention is no reference"
    assert bank["m<::>2"].tags == ["shop", "factoid", "follow-up"]
    assert made.tally.left_out["unknown_answerability"] == 1
    assert (made.tally.left_out["partial"], made.tally.left_out["underspecified"]) == (1, 1)
    assert (made.documents, made.pages) == (2, 3)


def test_squad2(tmp_path: Path) -> None:
    made = imported(tmp_path, "squad2", SMALL / "squad-dev-v2.0.json")
    bank = questions(made)
    assert [q.answerable for q in bank.values()] == [True, False, True, True]
    assert bank["l1"].answers == ["1987"]
    assert places(bank["l3"]) == [("Lamp- a guide", 2)]
    assert places(bank["s1"]) == [("LAMP- A GUIDE_", 1)], "names differ where case doesn't count"


def test_squad2_as_the_hub_has_it(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    answers = {"text": ["1987", "1987"], "answer_start": [32, 32]}
    first = {"id": "a", "title": "Lamp", "context": "Sold in 1987.", "question": "When?"}
    rows = [
        first | {"answers": answers},
        first | {"id": "b", "question": "Who?", "answers": {"text": [], "answer_start": []}},
        first | {"id": "c", "context": "It is green.", "answers": {"text": ["green"]}},
    ]
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    bank = questions(imported(tmp_path, "squad2", source))
    assert [q.answerable for q in bank.values()] == [True, False, True]
    assert [places(q) for q in bank.values()] == [[("Lamp", 1)], [], [("Lamp", 2)]]


def test_qasper(tmp_path: Path) -> None:
    made = imported(tmp_path, "qasper", SMALL / "qasper-dev-v0.3.json")
    bank = questions(made)
    paper = "1234.00001"
    assert places(bank["o1"]) == [(paper, 2), (paper, 4)], "the abstract is page 1"
    assert bank["o1"].answers == ["Twelve microphones", "12"]
    assert bank["o2"].answerable is False, "two of three annotators"
    assert bank["o3"].answers == ["no"]
    assert made.tally.left_out["annotators_disagree"] == 1
    assert made.tally.left_out["evidence_not_in_text"] == 1
    page = open_corpus(tmp_path / "corpora" / "qasper").page(paper, 4).text
    assert page.split() == ["##", "Results", "We", "heard", "forty", "owls."]


def test_qasper_as_the_hub_has_it(tmp_path: Path) -> None:
    released = json.loads((SMALL / "qasper-dev-v0.3.json").read_text(encoding="utf-8"))
    (name, paper), *_ = released.items()

    def columns(items: list[dict[str, Any]]) -> dict[str, list[Any]]:
        return {field: [item[field] for item in items] for field in items[0]}

    qas = [asked | {"answers": columns(asked["answers"])} for asked in paper["qas"]]
    row = paper | {"id": name, "full_text": columns(paper["full_text"]), "qas": columns(qas)}
    source = tmp_path / "rows.json"
    source.write_text(json.dumps([row]), encoding="utf-8")
    hub = imported(tmp_path, "qasper", source, name="hub")
    release = imported(tmp_path, "qasper", SMALL / "qasper-dev-v0.3.json", name="release")
    hashes = [[q.hash for q in load_bank(made.bank).questions] for made in (hub, release)]
    assert hashes[0] == hashes[1]


def test_financebench(tmp_path: Path, reports: Path) -> None:
    source = SMALL / "financebench_open_source.jsonl"
    made = imported(tmp_path, "financebench", source, documents=reports)
    bank = questions(made)
    assert places(bank["f1"]) == [("BAKERY_2031_10K", 1)], "its pages count from 0"
    assert places(bank["f2"]) == [("BAKERY_2031_10K", 2), ("BAKERY_2031_10K", 3)]
    assert bank["f1"].answers == ["41"]
    assert bank["f1"].tags == ["metrics-generated", "information extraction"]
    assert (made.page_base, made.tally.shifted) == (0, 3)
    assert made.tally.remarks["page_beyond_document"] == 1
    assert made.tally.left_out["evidence_not_in_documents"] == 1
    assert bank["f1"].corpus == "reports"


def test_mmlongbench(tmp_path: Path, reports: Path) -> None:
    source = SMALL / "mmlongbench-samples.json"
    made = imported(tmp_path, "mmlongbench", source, documents=reports)
    bank = list(questions(made).values())
    assert [q.answerable for q in bank] == [True, True, False, False]
    assert places(bank[1]) == [("old/bakery", 1), ("old/bakery", 3)], "found in its folder"
    assert bank[1].answers == ["bread, ovens"]
    assert bank[1].tags == ["financial report", "answer: list", "table", "chart"]
    assert bank[0].id == "mmlongbench-1"
    left_out, remarks = made.tally.left_out, made.tally.remarks
    assert left_out["answerable_without_evidence"] == 1
    assert left_out["evidence_not_in_documents"] == 3
    assert remarks["unanswerable_with_evidence"] == 1
    assert remarks["page_below_first"] == 1
    assert remarks["page_beyond_document"] == 2
    assert remarks["document_missing"] == 1


def test_uda_table(tmp_path: Path, reports: Path) -> None:
    made = imported(tmp_path, "uda", SMALL / "fin_qa.csv", documents=reports)
    bank = list(questions(made).values())
    assert [places(q) for q in bank] == [[("BAKERY_2031", 2)], [("BAKERY_2031", 3)]]
    assert bank[0].answers == ["3 crowns", "3"]
    assert bank[1].question == "how many ovens | stoves?"
    assert made.tally.left_out["answerable_without_evidence"] == 1, "nq has no page"


def test_uda_bench(tmp_path: Path, reports: Path) -> None:
    source = tmp_path / "bench_fin.json"
    asked = {"question": "debts?", "q_uid": "B/page_2.pdf-1", "answers": {"str_answer": "3"}}
    source.write_text(json.dumps({"BAKERY_2031": [asked]}), encoding="utf-8")
    bank = list(questions(imported(tmp_path, "uda", source, documents=reports)).values())
    assert places(bank[0]) == [("BAKERY_2031", 2)]
    assert bank[0].answers == ["3"]


def test_another_layout_is_one_line(ragevalkit: Command) -> None:
    source = str(SMALL / "clapnq_dev_answerable.jsonl")
    for layout in LAYOUTS:
        if layout != "clapnq":
            done = ragevalkit("bank", "import", source, "--into", "b", "--layout", layout)
            done.complains(2, "clapnq_dev_answerable.jsonl, line 1")


def test_the_help_names_every_layout(ragevalkit: Command) -> None:
    shown = " ".join(ragevalkit("bank", "import", "--help").stdout.split())
    assert ", ".join(LAYOUTS) in shown

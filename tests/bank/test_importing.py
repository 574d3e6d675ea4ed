"""Tables of one's own: formats, mappings, what is counted, and errors of one line."""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command import Command

from ragevalkit.bank import Question, load_bank
from ragevalkit.bank.importing import (
    LEFT_OUT,
    REMARKS,
    Imported,
    Request,
    hub,
    import_bank,
    parse_mapping,
    values,
)
from ragevalkit.errors import InputError

TABLE: list[dict[str, Any]] = [
    {
        "id": "007",
        "question": "How heavy is it, all in all?",
        "answerable": True,
        "document": "guide",
        "page": 2,
        "answers": ["1.2 kg", "1200 g"],
        "tags": ["weight"],
        "history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    },
    {
        "id": "NA",
        "question": 'Who says "none"?\nAnd why?',
        "answerable": False,
        "document": None,
        "page": None,
        "answers": [],
        "tags": ["people", "quoting; hard"],
        "history": [],
    },
]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("guide", "faq"):
        pages = (f"<!-- page: {n} -->\n{name} page {n}\n" for n in (1, 2, 3))
        (folder / f"{name}.md").write_text("".join(pages), encoding="utf-8")
    return folder


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    cells = [
        {k: json.dumps(v) if isinstance(v, (list, bool)) else v for k, v in row.items()}
        for row in rows
    ]
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        case ".json":
            path.write_text(json.dumps({"version": 1, "rows": rows}, indent=1), encoding="utf-8")
        case ".parquet":
            import pandas

            pandas.DataFrame(rows).to_parquet(path)
        case _:
            with path.open("w", encoding="utf-8-sig", newline="") as stream:
                separator = "\t" if path.suffix == ".tsv" else ";"
                table = csv.DictWriter(stream, list(cells[0]), delimiter=separator)
                table.writeheader()
                table.writerows(cells)
    return path


def take(source: Path, *mapped: str, **options: Any) -> tuple[Imported, list[Question]]:
    request = Request(
        [str(source)], source.parent / "out", mapping=parse_mapping(mapped), **options
    )
    made = import_bank(request)
    return made, load_bank(made.bank).questions


def one(tmp_path: Path, row: dict[str, Any], *mapped: str, **options: Any) -> Question:
    return take(write(tmp_path / "rows.jsonl", [row]), *mapped, **options)[1][0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".json", ".jsonl"])
def test_every_format_gives_the_same_bank(tmp_path: Path, documents: Path, suffix: str) -> None:
    made, questions = take(write(tmp_path / f"table{suffix}", TABLE), documents=documents)
    assert [question.line() for question in questions] == [
        {
            "id": "007",
            "question": "How heavy is it, all in all?",
            "answerable": True,
            "evidence": [{"document": "guide", "page": 2}],
            "answers": ["1.2 kg", "1200 g"],
            "history": TABLE[0]["history"],
            "tags": ["weight"],
            "corpus": "../documents",
        },
        {
            "id": "NA",
            "question": 'Who says "none"?\nAnd why?',
            "answerable": False,
            "tags": ["people", "quoting; hard"],
            "corpus": "../documents",
        },
    ]
    assert (made.documents, made.pages) == (2, 6)


def test_a_folder_that_datasets_saved(tmp_path: Path) -> None:
    import datasets

    saved = datasets.DatasetDict({name: datasets.Dataset.from_list(TABLE) for name in ("a", "b")})
    saved.save_to_disk(str(tmp_path / "saved"))
    with pytest.raises(InputError, match=r"several splits \(a, b\); --split takes one"):
        take(tmp_path / "saved")
    made, questions = take(tmp_path / "saved", split="a")
    assert [question.id for question in questions] == ["007", "NA"]
    assert made.bank.name == "saved.jsonl"


def test_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name in ("train-00000-of-00002", "train-00001-of-00002", "test"):
        write(folder / f"{name}.parquet", [TABLE[0] | {"id": name}])
    with pytest.raises(InputError, match=r"several splits \(test, train\)"):
        take(folder)
    _, questions = take(folder, split="train")
    assert [q.id for q in questions] == ["train-00000-of-00002", "train-00001-of-00002"]


def test_mapping(tmp_path: Path) -> None:
    row = {
        "Nr": 4.0,
        "Frage": "Wie schwer?",
        "unlösbar": "no",
        "wo": {"doc": "guide", "seiten": ["2", "3"]},
        "Antwort": "1.2 kg;1200 g",
        "Thema": "size, weight",
    }
    mapped = ("id=Nr", "question=Frage", "answerable=!unlösbar", "document=wo.doc")
    question = one(
        tmp_path, row, *mapped, "page=wo.seiten", "answers=Antwort", "tags=Thema", page_base=0
    )
    assert question.line() == {
        "id": "4",
        "question": "Wie schwer?",
        "answerable": True,
        "evidence": [{"document": "guide", "page": 3}, {"document": "guide", "page": 4}],
        "answers": ["1.2 kg", "1200 g"],
        "tags": ["size", "weight"],
    }


EVIDENCE: list[tuple[dict[str, Any], list[tuple[str, int, str | None, int]]]] = [
    ({"document": "a", "page": "2"}, [("a", 2, None, 0)]),
    ({"document": "a", "page": "2.0"}, [("a", 2, None, 0)]),
    ({"document": "a", "page": "2-4"}, [("a", n, None, 0) for n in (2, 3, 4)]),
    ({"document": "a", "page": "[2, 3]", "group": "0;1"}, [("a", 2, None, 0), ("a", 3, None, 1)]),
    ({"document": "a; b", "page": "2; 3"}, [("a", 2, None, 0), ("b", 3, None, 0)]),
    ({"document": "a; b", "page": 2, "quote": "x; y"}, [("a; b", 2, "x; y", 0)]),
    ({"document": "a", "page": "2,3", "quote": "['x', 'y']"}, [("a", 2, "x", 0), ("a", 3, "y", 0)]),
    ({"document": "a", "page": "2,3", "quote": "x"}, [("a", 2, None, 0), ("a", 3, None, 0)]),
    ({"evidence": '[{"document": "a", "page": 2, "group": 1}]'}, [("a", 2, None, 1)]),
    ({"document": "a", "page": "2;2"}, [("a", 2, None, 0)]),
]


@pytest.mark.parametrize(("cells", "wanted"), EVIDENCE, ids=[str(c) for c, _ in EVIDENCE])
def test_evidence(
    tmp_path: Path, cells: dict[str, Any], wanted: list[tuple[str, int, str | None, int]]
) -> None:
    question = one(tmp_path, {"question": "Where?"} | cells)
    assert question.answerable, "as there is evidence, and nothing else says it"
    assert [(e.document, e.page, e.quote, e.group) for e in question.evidence] == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        *((value, True) for value in (True, "TRUE", 1, "1", "yes", " Yes ", 1.0, "ANSWERABLE")),
        *((value, False) for value in (False, "false", 0, "0", "no", 0.0, ["UNANSWERABLE"])),
        *((value, None) for value in (None, "", "maybe", 2, float("nan"), "PARTIAL")),
    ],
)
def test_booleans(value: Any, wanted: bool | None) -> None:
    assert values.boolean(value) is wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("a;b", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ('["a;b", "c"]', ["a;b", "c"]),
        ("['a', 'b']", ["a", "b"]),
        ("['Pure-text (Plain-text)']", ["Pure-text (Plain-text)"]),
        ("[unclosed", ["[unclosed"]),
        ("[1] see note", ["[1] see note"]),
        (["a", "", None, "a"], ["a"]),
        (3.0, ["3"]),
        (None, []),
        (float("nan"), []),
    ],
)
def test_lists(value: Any, wanted: list[str]) -> None:
    assert values.texts(value, ";") == wanted


@pytest.mark.parametrize(
    "value",
    [
        '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]',
        [{"speaker": "user", "text": "Hi"}, {"speaker": "agent", "text": "Yes?"}],
        [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes?"}],
        ["Hi", "Yes?"],
        "Hi\nYes?",
    ],
)
def test_histories(value: Any) -> None:
    assert values.messages(value) == [("user", "Hi"), ("assistant", "Yes?")]


def test_rows_of_json_may_lack_a_mapped_column(tmp_path: Path) -> None:
    rows = [{"q": "Who?"}, {"q": "Where?", "where": {"doc": "a", "page": 2}}]
    mapped = ("question=q", "document=where.doc", "page=where.page")
    _, questions = take(write(tmp_path / "rows.jsonl", rows), *mapped)
    assert [question.answerable for question in questions] == [False, True]


def test_the_only_document_needs_no_column(tmp_path: Path, documents: Path) -> None:
    (documents / "faq.md").unlink()
    question = one(tmp_path, {"question": "Where?", "page": 2}, documents=documents)
    assert question.evidence[0].document == "guide"


GOOD = {"question": "Where?", "document": "guide", "page": 1}
PITFALLS: list[dict[str, Any]] = [
    GOOD | {"id": "a", "answerable": True, "answers": ["word " * 13, "short"]},
    GOOD | {"id": "a", "answerable": True},
    GOOD | {"id": "", "answerable": True, "question": " where? ", "history": ["Hi", "Yes?"]},
    GOOD | {"id": "c", "answerable": False, "question": "Who?"},
    GOOD | {"id": "d", "answerable": True, "question": "  "},
    GOOD | {"id": "e", "answerable": "maybe", "question": "Perhaps?"},
    GOOD | {"id": "f", "answerable": True, "question": "No page?", "page": None},
    GOOD | {"id": "g", "answerable": True, "question": "Page 0?", "page": 0},
    GOOD | {"id": "h", "answerable": True, "question": "Page 9, or 3?", "page": "9;3"},
    GOOD | {"id": "i", "answerable": True, "question": "9 and 3?", "page": "9;3", "group": "0;1"},
    GOOD | {"id": "j", "answerable": True, "question": "Elsewhere?", "document": "lost"},
]


def test_pitfalls_are_counted(tmp_path: Path, documents: Path) -> None:
    made, questions = take(write(tmp_path / "rows.jsonl", PITFALLS), documents=documents)
    assert [q.id for q in questions] == ["a", "a-2", "rows-3", "c", "h"]
    assert [len(q.evidence) for q in questions] == [1, 1, 1, 0, 1]
    assert (made.tally.read, made.tally.written, made.tally.answerable) == (11, 5, 4)
    assert made.tally.left_out == {
        "empty_question": 1,
        "unknown_answerability": 1,
        "answerable_without_evidence": 1,
        "evidence_not_in_documents": 3,
    }
    assert made.tally.remarks == {
        "unanswerable_with_evidence": 1,
        "page_below_first": 1,
        "page_beyond_document": 2,
        "document_missing": 1,
        "duplicate_id": 1,
        "missing_id": 1,
        "duplicate_question": 1,
        "long_reference": 1,
    }
    assert made.tally.examples["document_missing"] == [f"{tmp_path / 'rows.jsonl'}, line 11"]
    assert made.tally.read - made.tally.written == sum(made.tally.left_out.values())


def test_the_command_reports_the_same_as_a_table_and_as_json(ragevalkit: Command) -> None:
    write(ragevalkit.folder / "rows.jsonl", PITFALLS)
    done = ragevalkit("bank", "import", "rows.jsonl", "--into", "out")
    assert done.code == 0, done.stderr
    assert "rows.jsonl, line 6" in done.stdout
    assert "Pages weren't checked: --documents" in done.stdout
    assert "--page-base 0" in done.stdout, "a page 0 is a sign of another base"
    done = ragevalkit("bank", "import", "rows.jsonl", "--into", "out", "--overwrite", "--json")
    report = json.loads(done.stdout)
    assert report["written"] == report["answerable"] + report["unanswerable"] == 7
    assert report["left_out"].keys() <= LEFT_OUT.keys()
    assert report["remarks"].keys() <= REMARKS.keys()
    assert report["checked"] is False
    done = ragevalkit("bank", "import", "rows.jsonl", "--into", "b", "--limit", "2", "--json")
    assert json.loads(done.stdout)["read"] == 2


ERRORS: list[tuple[str, str, list[str], list[str]]] = [
    ("t.csv", "question,page,document\nWhere?,x,guide\n", [], ["t.csv, line 2", "'page'", "'x'"]),
    ("t.csv", "question,page\nWhere?,2\n", [], ["t.csv, line 2", "'document'"]),
    ("t.csv", 'question,page\n"a\nb",2,3\n', [], ["t.csv, line 2", "3 columns", "head has 2"]),
    ("t.csv", 'question,page\n"Where?,2\n', [], ["t.csv, line 2", "not a table"]),
    ("t.csv", "a,a\n1,2\n", [], ["t.csv, line 1", "'a'", "twice"]),
    ("t.csv", "", [], ["t.csv is empty"]),
    ("t.csv", "Frage\nWo?\n", [], ["t.csv, line 2", "'question'", "--map question=", "Frage"]),
    ("t.csv", "question\nWo?\n", ["--map", "page=S"], ["line 2, column 'S'", "no such column"]),
    ("t.jsonl", '{"question": "a"}\n{"question": \n', [], ["t.jsonl, line 2", "not JSON"]),
    ("t.jsonl", '{"question": "a"}\n[1]\n', [], ["t.jsonl, line 2", "a JSON object"]),
    ("t.jsonl", '{"question": "a", "history": [{"role": "system"}]}', [], ["'history'", "system"]),
    ("t.json", "7", [], ["t.json", "an array of objects"]),
    ("t.parquet", "PAR1", [], ["t.parquet", "Parquet"]),
    ("t.jsonl", "version https://git-lfs.github.com/spec/v1\n", [], ["Git LFS pointer"]),
    ("t.xlsx", "", [], ["t.xlsx", ".csv"]),
    ("t.jsonl", '{"question": "a"}', ["--map", "frage=q"], ["no field 'frage'"]),
    ("t.jsonl", '{"question": "a"}', ["--map", "question"], ["field=column"]),
    ("t.jsonl", '{"question": "a"}', ["--layout", "squad"], ["no layout 'squad'", "squad2"]),
    ("t.jsonl", '{"question": " "}', [], ["none of 1 questions can be kept", "empty_question: 1"]),
    ("t.jsonl", '{"question": "a"}', ["--documents", "nowhere"], ["no corpus at nowhere"]),
    ("t.jsonl", '{"question": "a"}', ["--into", "t.jsonl"], ["takes a folder"]),
    ("t.jsonl", '{"question": "a"}', ["--into", "."], ["is the source itself"]),
    ("t.jsonl", '{"question": "a"}', ["--name", "../t"], ["--name takes"]),
    ("t.jsonl", '{"question": "a"}', ["--keep-partial"], ["mtrag"]),
    (
        "t.jsonl",
        '{"question": "a"}',
        ["--layout", "clapnq", "--page-base", "0"],
        ["passages, from 1"],
    ),
]


@pytest.mark.parametrize(("name", "content", "options", "words"), ERRORS)
def test_errors_are_one_line(
    ragevalkit: Command, name: str, content: str, options: list[str], words: list[str]
) -> None:
    (ragevalkit.folder / name).write_text(content, encoding="utf-8")
    into = [] if "--into" in options else ["--into", "out"]
    ragevalkit("bank", "import", name, *into, *options).complains(2, *words)
    assert not (ragevalkit.folder / "out").exists(), "nothing is written"


def test_other_encodings_are_one_line(ragevalkit: Command) -> None:
    (ragevalkit.folder / "t.csv").write_bytes("question\nWie schön?\n".encode("latin-1"))
    ragevalkit("bank", "import", "t.csv", "--into", "out").complains(2, "t.csv", "UTF-8")


def test_a_bank_is_not_replaced_unasked(ragevalkit: Command) -> None:
    write(ragevalkit.folder / "t.jsonl", TABLE)
    assert ragevalkit("bank", "import", "t.jsonl", "--into", "out").code == 0
    done = ragevalkit("bank", "import", "t.jsonl", "--into", "out")
    done.complains(2, "t.jsonl exists", "--overwrite")
    assert ragevalkit("bank", "import", "t.jsonl", "--into", "out", "--overwrite").code == 0


def test_missing_sources(ragevalkit: Command) -> None:
    ragevalkit("bank", "import", "nowhere.csv", "--into", "out").complains(2, "nowhere.csv", "hf:")
    (ragevalkit.folder / "empty").mkdir()
    ragevalkit("bank", "import", "empty", "--into", "out").complains(2, "empty holds none")


def test_the_hub_offline_is_one_line_at_once(ragevalkit: Command) -> None:
    began = time.monotonic()
    done = ragevalkit("bank", "import", "hf:nobody/nothing", "--into", "out")
    done.complains(2, "hf:nobody/nothing", "offline")
    assert time.monotonic() - began < 10, "importing datasets included"


def test_the_hub_out_of_reach_is_one_line_without_retries(
    ragevalkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hub, "PROBE_S", 2.0)
    monkeypatch.setitem(sys.modules, "datasets", None)
    done = ragevalkit("bank", "import", "hf:nobody/nothing", "--into", "out")
    done.complains(2, "hf:nobody/nothing", "can't be reached", "HF_HUB_OFFLINE=1")

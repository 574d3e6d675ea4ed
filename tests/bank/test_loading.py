"""Reading a bank: each fault is one line that names file, line and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit import resources
from ragevalkit.bank import check_evidence, load_bank
from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.errors import InputError

GOOD = {"id": "q-1", "question": "How loud?", "answerable": False}
EVIDENCE = [{"document": "guide", "page": 4}]
ANSWERABLE = GOOD | {"answerable": True, "evidence": EVIDENCE}

WITHOUT_EVIDENCE = "answerable without evidence; name the page that holds the answer"
KNOWN = (
    "known are answerable, answers, corpus, evidence, history, id, question, tags, "
    "unanswerable_because"
)
KNOWN_IN_EVIDENCE = "known are document, group, page, quote"


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in ANSWERABLE.items() if name != field}


def with_evidence(**fields: Any) -> dict[str, Any]:
    return ANSWERABLE | {"evidence": [EVIDENCE[0], EVIDENCE[0] | fields]}


BAD_FIELDS = [
    (without("id"), "field 'id' is missing"),
    (without("question"), "field 'question' is missing"),
    (without("answerable"), "field 'answerable' is missing"),
    ({}, "field 'id' is missing"),
    (without("evidence"), WITHOUT_EVIDENCE),
    (ANSWERABLE | {"evidence": []}, WITHOUT_EVIDENCE),
    (GOOD | {"evidence": EVIDENCE}, "has evidence although 'answerable' is false"),
    (
        ANSWERABLE | {"unanswerable_because": "no"},
        "has 'unanswerable_because' although 'answerable' is true",
    ),
    (GOOD | {"anser": "x"}, f"unknown field 'anser'; {KNOWN}"),
    (GOOD | {"a": 1, "b": 2}, f"unknown field 'a', 'b'; {KNOWN}"),
    (GOOD | {"a\nb": 1}, f"unknown field 'a\\nb'; {KNOWN}"),
    # a misspelt name is named before the field that it leaves missing
    (without("question") | {"qestion": "?"}, f"unknown field 'qestion'; {KNOWN}"),
    (with_evidence(pge=4), f"unknown field 'pge' in evidence[1]; {KNOWN_IN_EVIDENCE}"),
    (
        ANSWERABLE | {"evidence": [{"document": "guide", "pge": 4}]},
        f"unknown field 'pge' in evidence[0]; {KNOWN_IN_EVIDENCE}",
    ),
    (
        GOOD | {"history": [{"role": "user", "content": "x", "name": "y"}]},
        "unknown field 'name' in history[0]; known are content, role",
    ),
    (ANSWERABLE | {"evidence": [{"document": "x"}]}, "field 'page' of evidence[0] is missing"),
    (ANSWERABLE | {"evidence": [{"page": 1}]}, "field 'document' of evidence[0] is missing"),
    (GOOD | {"history": [{"role": "user"}]}, "field 'content' of history[0] is missing"),
    (GOOD | {"id": ""}, "id is blank"),
    (GOOD | {"question": ""}, "question is blank"),
    (GOOD | {"question": " \t\n"}, "question is blank"),
    (with_evidence(document=""), "evidence[1].document is blank"),
    (with_evidence(quote=""), "evidence[1].quote is blank"),
    (GOOD | {"answers": ["x", ""]}, "answers[1] is blank"),
    (GOOD | {"id": 3}, "id must be text, not 3"),
    (GOOD | {"question": None}, "question must be text, not null"),
    (GOOD | {"answerable": "false"}, 'answerable must be true or false, not "false"'),
    (ANSWERABLE | {"answerable": "true"}, 'answerable must be true or false, not "true"'),
    (GOOD | {"answerable": 0}, "answerable must be true or false, not 0"),
    (GOOD | {"answerable": None}, "answerable must be true or false, not null"),
    (GOOD | {"answers": "42"}, 'answers must be a list, not "42"'),
    (GOOD | {"tags": {"a": 1}}, 'tags must be a list, not {"a":1}'),
    (GOOD | {"tags": ["a", 1]}, "tags[1] must be text, not 1"),
    (GOOD | {"tags": ["a", "a"]}, 'tags holds the same twice: ["a","a"]'),
    (GOOD | {"corpus": []}, "corpus must be text, not []"),
    (ANSWERABLE | {"evidence": ["guide"]}, 'evidence[0] must be an object, not "guide"'),
    (
        ANSWERABLE | {"evidence": EVIDENCE[0]},
        'evidence must be a list, not {"document":"guide","page":4}',
    ),
    (with_evidence(page="4"), 'evidence[1].page must be a whole number, not "4"'),
    (with_evidence(page=4.5), "evidence[1].page must be a whole number, not 4.5"),
    (with_evidence(page=True), "evidence[1].page must be a whole number, not true"),
    (with_evidence(page=0), "evidence[1].page must be at least 1, not 0"),
    (with_evidence(page=-1), "evidence[1].page must be at least 1, not -1"),
    (with_evidence(page=10**30), "evidence[1].page can't be 1e+30"),
    (with_evidence(group=-1), "evidence[1].group must be at least 0, not -1"),
    (with_evidence(quote=None), "evidence[1].quote must be text, not null"),
    (
        GOOD | {"history": [{"role": "system", "content": "x"}]},
        'history[0].role must be "user" or "assistant", not "system"',
    ),
    (GOOD | {"id": ["x" * 200]}, f'id must be text, not ["{"x" * 78}…'),
]


def refusal(path: Path, content: bytes) -> str:
    """What `load_bank` says of a file with this content, without the file's path."""
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        load_bank(path)
    message = str(raised.value)
    assert "\n" not in message
    assert raised.value.exit_code == 2
    assert str(path) in message
    return message.replace(str(path), "bank.jsonl")


def lines(*questions: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(question).encode() + b"\n" for question in questions)


@pytest.mark.parametrize(("fields", "message"), BAD_FIELDS, ids=lambda value: str(value)[:60])
def test_a_bad_field_is_named(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    first = GOOD | {"id": "first"}
    said = refusal(tmp_path / "bank.jsonl", lines(first, fields))
    assert said == f"bank.jsonl, line 2: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bank bank.jsonl is empty; it needs one JSON object a line"),
        (b"\n  \n\r\n\t", "bank bank.jsonl is empty; it needs one JSON object a line"),
        (b"\xef\xbb\xbf", "bank bank.jsonl is empty; it needs one JSON object a line"),
        (
            lines(GOOD) + b"\n" * 5 + b"id,question\n",
            "bank.jsonl, line 7: not JSON (column 1: unexpected character, expected a JSON value)",
        ),
        (
            b'{"id": "a", "question": \n"x"}',
            "bank.jsonl, line 1: not JSON (column 25: unexpected end of data)",
        ),
        (
            b'{"id": "a", "answerable": NaN}',
            "bank.jsonl, line 1: not JSON (column 27: unexpected character, expected a JSON value)",
        ),
        (b"[1]", "bank.jsonl, line 1: a question is a JSON object, not [1]"),
        (b'"text"', 'bank.jsonl, line 1: a question is a JSON object, not "text"'),
        (b"null", "bank.jsonl, line 1: a question is a JSON object, not null"),
        (b"7", "bank.jsonl, line 1: a question is a JSON object, not 7"),
        (
            lines(GOOD) + b'{"id": "caf\xe9"}',
            "bank.jsonl, line 2: not UTF-8 (byte 12 of the line)",
        ),
        ('{"id"}'.encode("utf-16"), "bank.jsonl, line 1: not UTF-8 (byte 1 of the line)"),
        (
            lines(GOOD, GOOD | {"id": "q-2"}) + b"\n" + lines(GOOD),
            "bank.jsonl, line 4: id 'q-1' stands on line 1 too",
        ),
        (
            lines(GOOD | {"id": "a\n"}, GOOD | {"id": "a\n"}),
            "bank.jsonl, line 2: id 'a\\n' stands on line 1 too",
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    assert refusal(tmp_path / "bank.jsonl", content) == message


@pytest.mark.parametrize(
    "content",
    [
        lines(GOOD, ANSWERABLE | {"id": "q-2"}),
        b"\xef\xbb\xbf" + lines(GOOD, ANSWERABLE | {"id": "q-2"}),
        lines(GOOD, ANSWERABLE | {"id": "q-2"}).replace(b"\n", b"\r\n"),
        b"\n \n" + lines(GOOD) + b"\r\n" + lines(ANSWERABLE | {"id": "q-2"}) + b"\n\n",
        lines(GOOD, ANSWERABLE | {"id": "q-2"}).rstrip(),
        b"  " + lines(GOOD, ANSWERABLE | {"id": "q-2"}),
    ],
    ids=["plain", "BOM", "CRLF", "blank lines", "no last line end", "indented"],
)
def test_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    bank = load_bank(path)
    assert [q.id for q in bank.questions] == ["q-1", "q-2"]
    assert bank.name == "mine"
    numbers = [number for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    assert bank.lines == numbers
    assert bank.where(1) == f"{path}, line {numbers[1]}"


def test_an_id_may_come_again_in_another_case(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_bytes(lines(GOOD, GOOD | {"id": "Q-1"}))
    assert len(load_bank(path).questions) == 2


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_bank_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    refusal(path, content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*ANSWERABLE, "document", "page", "role"]), inner)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.sampled_from([*ANSWERABLE, "history", "answers", "tags", "corpus"]), json_values)
def test_any_value_of_a_field_is_taken_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, field: str, value: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(lines(ANSWERABLE | {field: value}))
    try:
        bank = load_bank(path)
    except InputError as error:
        message = str(error)
        assert message.startswith(f"{path}, line 1: ")
        assert "\n" not in message
        assert len(message) < len(str(path)) + 250
    else:
        assert len(bank.questions) == 1


class TestFinding:
    """A bank is a path, or a name under question_banks/ of the working folder or the package."""

    @pytest.fixture(autouse=True)
    def working_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def put(self, path: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(lines(GOOD | {"id": path}))

    def found(self, bank: str | Path) -> str:
        return load_bank(bank).questions[0].id

    @pytest.mark.parametrize(
        ("file", "bank"),
        [
            ("question_banks/mine.jsonl", "mine"),
            ("question_banks/mine.jsonl", "mine.jsonl"),
            ("question_banks/mine.jsonl", "question_banks/mine.jsonl"),
            ("question_banks/mine.jsonl", "question_banks/mine"),
            ("question_banks/v1.2.jsonl", "v1.2"),
            ("elsewhere/mine.jsonl", "elsewhere/mine.jsonl"),
            ("mine.txt", "mine.txt"),
        ],
    )
    def test_by_name_and_by_path(self, file: str, bank: str) -> None:
        self.put(file)
        assert self.found(bank) == self.found(Path(bank)) == file
        assert load_bank(bank).name == Path(file).stem

    def test_a_file_comes_before_a_name(self) -> None:
        self.put("question_banks/mine.jsonl")
        self.put("mine.jsonl")
        assert self.found("mine.jsonl") == "mine.jsonl"
        assert self.found("mine") == "question_banks/mine.jsonl"

    def test_a_folder_of_the_same_name_is_not_in_the_way(self) -> None:
        self.put("question_banks/mine.jsonl")
        Path("mine").mkdir()
        assert self.found("mine") == "question_banks/mine.jsonl"

    def test_the_packaged_bank_is_found_anywhere(self) -> None:
        assert load_bank("tarn").path == resources.packaged("question_banks", "tarn.jsonl")
        self.put("question_banks/tarn.jsonl")
        assert self.found("tarn") == "question_banks/tarn.jsonl", "the working folder comes first"

    @pytest.mark.parametrize(
        ("bank", "message"),
        [
            ("none", "there is no bank none, neither as a file nor under question_banks/"),
            ("a/none.jsonl", "there is no bank a/none.jsonl, neither as a file nor under"),
            ("other/tarn", "there is no bank other/tarn, neither as a file nor under"),
            ("folder", "bank folder is a folder; name the .jsonl file in it"),
            ("", "bank . is a folder; name the .jsonl file in it"),
        ],
    )
    def test_a_missing_one_is_named(self, bank: str, message: str) -> None:
        Path("folder").mkdir()
        with pytest.raises(InputError) as raised:
            load_bank(bank)
        assert str(raised.value).startswith(message)

    def test_one_that_can_not_be_read_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.put("mine.jsonl")

        def deny(path: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", deny)
        with pytest.raises(InputError, match=r"^bank mine.jsonl can't be read: Permission denied$"):
            load_bank("mine.jsonl")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    folder = tmp_path / "corpus"
    folder.mkdir()
    pages = [f"Page {number} of the guide." for number in range(1, 13)]
    (folder / "guide.txt").write_text("\f".join(pages))
    return open_corpus(folder)


def evidence_check(tmp_path: Path, corpus: Corpus, **evidence: Any) -> None:
    path = tmp_path / "bank.jsonl"
    question = ANSWERABLE | {"evidence": [EVIDENCE[0], EVIDENCE[0] | evidence], "corpus": "c"}
    path.write_bytes(b"\n" + lines(GOOD, question | {"id": "q-2"}))
    check_evidence(load_bank(path), {"": corpus, "c": corpus})


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (
            {"page": 99},
            "evidence on page 99 of 'guide', which has 12; pages count from 1 in the file, "
            "whatever is printed on them",
        ),
        (
            {"page": 13, "document": "guide.txt"},
            "evidence on page 13 of 'guide.txt', which has 12; pages count from 1 in the file, "
            "whatever is printed on them",
        ),
        (
            {"document": "gide"},
            "evidence names the document 'gide', which the corpus CORPUS doesn't have; "
            "`ragevalkit corpus pages` lists its documents",
        ),
        (
            {"document": "gu\nide"},
            "evidence names the document 'gu\\nide', which the corpus CORPUS doesn't have; "
            "`ragevalkit corpus pages` lists its documents",
        ),
    ],
)
def test_evidence_that_is_not_there_is_named(
    tmp_path: Path, corpus: Corpus, evidence: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as raised:
        evidence_check(tmp_path, corpus, **evidence)
    said = str(raised.value).replace(str(corpus.path), "CORPUS")
    assert said == f"{tmp_path / 'bank.jsonl'}, line 3: {message}"


@pytest.mark.parametrize(
    "evidence", [{"page": 12}, {"page": 1}, {"document": "guide.txt"}, {"document": "GUIDE"}]
)
def test_evidence_that_is_there_passes(
    tmp_path: Path, corpus: Corpus, evidence: dict[str, Any]
) -> None:
    evidence_check(tmp_path, corpus, **evidence)

"""The question: its hash, its line, and its JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from ragevalkit import resources
from ragevalkit.bank import Evidence, Message, Question, load_bank

FULL: dict[str, Any] = {
    "id": "q-1",
    "question": "And in Quiet?",
    "answerable": True,
    "evidence": [
        {"document": "guide", "page": 4, "quote": "31 dB"},
        {"document": "guide", "page": 5, "group": 1},
    ],
    "answers": ["31 dB", "31 dB(A)"],
    "history": [{"role": "user", "content": "How loud is it?"}],
    "tags": ["table"],
    "corpus": "tarn",
}


def hash_of(fields: dict[str, Any]) -> str:
    return Question.model_validate(fields).hash


@pytest.mark.parametrize(
    "change",
    [
        {"id": "q-2"},
        {"tags": []},
        {"tags": ["table", "hard"]},
        {"corpus": "other"},
        {"corpus": None},
        {"evidence": [FULL["evidence"][0] | {"group": 0}, FULL["evidence"][1]]},
        {"evidence": [dict(reversed(page.items())) for page in FULL["evidence"]]},
    ],
)
def test_hash_is_kept(change: dict[str, Any]) -> None:
    assert hash_of(FULL | change) == hash_of(FULL)
    assert hash_of(dict(reversed((FULL | change).items()))) == hash_of(FULL)


@pytest.mark.parametrize(
    "change",
    [
        {"question": "And in quiet?"},
        {"question": "And in Quiet? "},
        {"answerable": False},
        {"history": []},
        {"history": [{"role": "assistant", "content": "How loud is it?"}]},
        {"history": [{"role": "user", "content": "How loud is that?"}]},
        {"history": FULL["history"] * 2},
        {"evidence": FULL["evidence"][:1]},
        {"evidence": [FULL["evidence"][0] | {"page": 5}, FULL["evidence"][1]]},
        {"evidence": [FULL["evidence"][0] | {"document": "book"}, FULL["evidence"][1]]},
        {"evidence": [FULL["evidence"][0] | {"quote": "32 dB"}, FULL["evidence"][1]]},
        {"evidence": [FULL["evidence"][0] | {"group": 1}, FULL["evidence"][1]]},
        {"answers": []},
        {"answers": ["31 dB"]},
        {"answers": ["31 dB(A)", "31 dB"]},
    ],
)
def test_hash_is_changed(change: dict[str, Any]) -> None:
    assert hash_of(FULL | change) != hash_of(FULL)


def test_hash_is_16_hex_digits_and_always_the_same() -> None:
    """Runs are paired by it across versions: another value here breaks everybody's old runs."""
    assert re.fullmatch(r"[0-9a-f]{16}", hash_of(FULL))
    assert hash_of(FULL) == "89e4cadd9e93f84c"


def test_unanswerable_because_is_no_part_of_the_hash() -> None:
    asked = {"id": "q", "question": "?", "answerable": False}
    assert hash_of(asked) == hash_of(asked | {"unanswerable_because": "no"})
    assert hash_of(asked) == hash_of(asked | {"evidence": [], "answers": [], "history": []})


def test_bank_hash_follows_ids_contents_and_order(tmp_path: Path) -> None:
    def bank_hash(*questions: dict[str, Any]) -> str:
        path = tmp_path / "bank.jsonl"
        path.write_text("\n".join(map(json.dumps, questions)))
        return load_bank(path).hash

    one, other = FULL, FULL | {"id": "q-2", "answers": ["x"]}
    hashes = {
        bank_hash(one),
        bank_hash(one, other),
        bank_hash(other, one),
        bank_hash(one | {"id": "q-3"}),
        bank_hash(one | {"question": "?"}),
    }
    assert len(hashes) == 5
    assert bank_hash(one | {"tags": ["new"]}) == bank_hash(one)


texts = st.text(min_size=1).filter(str.strip)
evidence = st.builds(
    Evidence,
    document=texts,
    page=st.integers(1, 999),
    quote=st.none() | texts,
    group=st.integers(0, 3),
)
questions = st.builds(
    Question,
    id=texts,
    question=texts,
    answerable=st.booleans(),
    evidence=st.lists(evidence, max_size=3),
    answers=st.lists(texts, max_size=3),
    history=st.lists(
        st.builds(Message, role=st.sampled_from(["user", "assistant"]), content=st.text())
    ),
    tags=st.lists(texts, max_size=3),
    unanswerable_because=st.none() | texts,
    corpus=st.none() | texts,
)


@settings(deadline=None)
@given(questions)
def test_line_round_trips(question: Question) -> None:
    line = json.loads(json.dumps(question.line()))
    assert line == question.line()
    read = Question.model_validate(line)
    assert read == question
    assert read.hash == question.hash


def test_line_leaves_out_what_the_bank_left_out() -> None:
    assert Question.model_validate(FULL).line() == FULL
    short = {"id": "q", "question": "?", "answerable": False}
    assert Question.model_validate(short).line() == short
    spelt_out = short | {"evidence": [], "history": [], "corpus": None}
    assert Question.model_validate(spelt_out).line() == short


def test_a_question_can_not_be_changed() -> None:
    with pytest.raises(ValidationError):
        Question.model_validate(FULL).question = "?"  # type: ignore[misc]


SCHEMA: dict[str, Any] = json.loads(
    resources.packaged("question_banks", "question.schema.json").read_text()
)
ANNOTATIONS = {"$schema", "title", "description", "default", "then", "else"}
SELF_EVIDENT = {"group", "role", "content", "tags"}
"""Properties without a description: `evidence` describes groups."""


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword in ("items", "if", "then", "else"):
        yield from subschemas(schema.get(keyword))
    for property_ in schema.get("properties", {}).values():
        yield from subschemas(property_)


def test_schema_is_valid_draft_2020_12_without_misspelt_keywords() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(SCHEMA)
    known = set(Draft202012Validator.VALIDATORS) | ANNOTATIONS
    for schema in subschemas(SCHEMA):
        assert set(schema) <= known, schema


def test_schema_describes_its_properties() -> None:
    for schema in subschemas(SCHEMA | {"then": None, "else": None, "if": None}):
        for name, property_ in schema.get("properties", {}).items():
            assert name in SELF_EVIDENT or property_["description"].endswith("."), name


@pytest.mark.parametrize(
    ("model", "schema"),
    [
        (Question, SCHEMA),
        (Evidence, SCHEMA["properties"]["evidence"]["items"]),
        (Message, SCHEMA["properties"]["history"]["items"]),
    ],
)
def test_schema_and_code_know_the_same_fields(
    model: type[BaseModel], schema: dict[str, Any]
) -> None:
    assert set(model.model_fields) == set(schema["properties"])
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    assert required == set(schema["required"])
    assert schema["additionalProperties"] is False
    assert model.model_config["extra"] == "forbid"


@settings(deadline=None)
@given(questions)
def test_what_the_schema_takes_the_code_takes(question: Question) -> None:
    line = question.line()
    if Draft202012Validator(SCHEMA).is_valid(line):
        assert Question.model_validate(line) == question

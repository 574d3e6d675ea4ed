"""Reading a bank: every line is checked, and a fault is named with its line.

Public: `Bank`, `load_bank`, `check_evidence`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import orjson
import pydantic
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from ragevalkit import resources
from ragevalkit.bank.question import Question
from ragevalkit.corpus import Corpus
from ragevalkit.errors import InputError

SCHEMA_FILE = "question.schema.json"
_MOST_SHOWN = 80
_WITHOUT_EVIDENCE = "answerable without evidence; name the page that holds the answer"
_TYPES = {
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "array": "a list",
    "object": "an object",
}


@dataclass(frozen=True)
class Bank:
    """A bank as read from its file."""

    name: str
    """The file's name without suffix."""
    path: Path
    questions: list[Question]
    lines: list[int]
    """The line in the file of each question, from 1."""

    @property
    def hash(self) -> str:
        """16 hex digits over the ids and hashes of all questions, in their order."""
        content = orjson.dumps([[q.id, q.hash] for q in self.questions])
        return hashlib.sha256(content).hexdigest()[:16]

    def where(self, position: int) -> str:
        """File and line of the question at `position`, as errors name it."""
        return f"{self.path}, line {self.lines[position]}"


def load_bank(bank: str | Path) -> Bank:
    """Read a bank: a path, or a name under question_banks/.

    Raises:
        InputError: it is missing, empty, or one of its lines isn't a question; the message names
            file and line.
    """
    path = _find(bank)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"bank {path} can't be read: {error.strerror}") from error
    questions: list[Question] = []
    lines: list[int] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        question = _question(line, f"{path}, line {number}")
        if question.id in seen:
            raise InputError(
                f"{path}, line {number}: id {_quoted(question.id)} stands on line "
                f"{seen[question.id]} too"
            )
        seen[question.id] = number
        questions.append(question)
        lines.append(number)
    if not questions:
        raise InputError(f"bank {path} is empty; it needs one JSON object a line")
    return Bank(path.stem, path, questions, lines)


def check_evidence(bank: Bank, corpora: Mapping[str, Corpus]) -> None:
    """Check that every evidence page exists in its question's corpus.

    Args:
        corpora: by the name that `Question.corpus` gives; "" for questions without one.

    Raises:
        InputError: a document or a page isn't there; the message names file and line.
    """
    for position, question in enumerate(bank.questions):
        corpus = corpora[question.corpus or ""]
        for evidence in question.evidence:
            name = corpus.resolve(evidence.document)
            if name is None:
                raise InputError(
                    f"{bank.where(position)}: evidence names the document "
                    f"{_quoted(evidence.document)}, which the corpus {corpus.path} doesn't have; "
                    "`ragevalkit corpus pages` lists its documents"
                )
            if evidence.page > (pages := corpus.documents[name].pages):
                raise InputError(
                    f"{bank.where(position)}: evidence on page {evidence.page} of "
                    f"{_quoted(evidence.document)}, which has {pages}; pages count from 1 in the "
                    "file, whatever is printed on them"
                )


def _find(bank: str | Path) -> Path:
    path = Path(bank)
    if path.is_file():
        return path
    name = path.name if path.suffix == ".jsonl" else f"{path.name}.jsonl"
    if path.parent in (Path(), Path("question_banks")):
        found = resources.find("question_banks", name)
        if found.is_file():
            return found
    if path.is_dir():
        raise InputError(f"bank {path} is a folder; name the .jsonl file in it")
    raise InputError(f"there is no bank {bank}, neither as a file nor under question_banks/")


def _question(line: bytes, where: str) -> Question:
    try:
        fields = orjson.loads(line.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start + 1} of the line)") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON (column {error.colno}: {error.msg})") from error
    return _checked(fields, where)


def _checked(fields: object, where: str) -> Question:
    if not isinstance(fields, dict):
        raise InputError(f"{where}: a question is a JSON object, not {_shown(fields)}")
    if problems := sorted(_validator().iter_errors(fields), key=_importance):
        raise InputError(f"{where}: {_explain(problems[0])}")
    try:
        return Question.model_validate(fields)
    except pydantic.ValidationError as error:  # a number beyond 64 bits
        fault = error.errors()[0]
        message = f"{_place(fault['loc'])} can't be {_shown(fault['input'])}"
        raise InputError(f"{where}: {message}") from error


@cache
def _validator() -> Draft202012Validator:
    path = resources.packaged("question_banks", SCHEMA_FILE)
    return Draft202012Validator(orjson.loads(path.read_bytes()))


def _importance(problem: ValidationError) -> tuple[bool, int]:
    """Unknown fields first: a misspelt name is often the cause of a missing one."""
    return problem.validator != "additionalProperties", len(problem.absolute_path)


def _explain(problem: ValidationError) -> str:
    place = _place(problem.absolute_path)
    wanted = cast(Any, problem.validator_value)
    match problem.validator:
        case "additionalProperties":
            allowed = sorted(cast(dict[str, Any], problem.schema)["properties"])
            unknown = [
                _quoted(name)
                for name in cast(dict[str, Any], problem.instance)
                if name not in allowed
            ]
            inside = f" in {place}" if place else ""
            return f"unknown field {', '.join(unknown)}{inside}; known are {', '.join(allowed)}"
        case "required":
            missing = next(name for name in wanted if name not in cast(Any, problem.instance))
            if missing == "evidence":
                return _WITHOUT_EVIDENCE
            return f"field '{missing}'{f' of {place}' if place else ''} is missing"
        case "minItems" if place == "evidence":
            return _WITHOUT_EVIDENCE
        case "maxItems" if place == "evidence":
            return "has evidence although 'answerable' is false"
        case None:  # the one field that the schema rules out, and jsonschema gives no path for it
            return "has 'unanswerable_because' although 'answerable' is true"
        case "type":
            return f"{place} must be {_TYPES[wanted]}, not {_shown(problem.instance)}"
        case "enum":
            names = " or ".join(map(_shown, wanted))
            return f"{place} must be {names}, not {_shown(problem.instance)}"
        case "minimum":
            return f"{place} must be at least {wanted}, not {_shown(problem.instance)}"
        case "pattern" | "minLength":
            return f"{place} is blank"
        case "uniqueItems":
            return f"{place} holds the same twice: {_shown(problem.instance)}"
    return f"{place}: {problem.message[:200]}"


def _place(path: Iterable[str | int]) -> str:
    """Where in a line, for example `evidence[0].page`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


def _quoted(text: str) -> str:
    """`text` in quotes on one line."""
    return f"'{orjson.dumps(text).decode()[1:-1]}'"


def _shown(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"

"""The agent's two tools: their schemas, and carrying out a call as it came.

Public: `Toolbox`, `load_toolbox`.

A call is classified before anything is done with it, and its raw arguments are never repaired: a
fault is answered with an error message that the model can act on.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable
from typing import Any

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match

from ragevalkit import resources
from ragevalkit.corpus import Corpus
from ragevalkit.errors import InputError
from ragevalkit.turn.protocol import SEARCH_RESULTS, cite_result, search_result, tool_error
from ragevalkit.turn.record import Call, Citation, PageRef

NAMES = ("search", "cite")

_LARGEST_PAGE = 2**63 - 1
"""A page beyond it is cited as it: a file's reader takes no larger number."""


class Toolbox:
    """The tools as they are offered to the model, and their execution on a corpus."""

    def __init__(self, schemas: Iterable[dict[str, Any]], strict: bool | None = None) -> None:
        self.schemas = [_with_strict(schema, strict) for schema in schemas]
        self._validators = {
            schema["function"]["name"]: Draft202012Validator(schema["function"]["parameters"])
            for schema in self.schemas
        }

    @property
    def hash(self) -> str:
        """16 hex digits over the schemas as they are sent."""
        return hashlib.sha256(orjson.dumps(self.schemas)).hexdigest()[:16]

    def execute(
        self, call: Call, corpus: Corpus, citations: list[Citation], *, cut_off: bool
    ) -> None:
        """Carry out `call` and write its result, or its fault, into it.

        Args:
            citations: a well-formed `cite` is added here, also of a page that doesn't exist.
            cut_off: the output budget ended inside this call, so that arguments that are no JSON
                were cut off rather than written wrongly.
        """
        arguments, message = self._arguments(call, cut_off=cut_off)
        if arguments is None:
            call.result = tool_error(message)
        elif call.name == "search":
            _search(call, corpus, arguments)
        else:
            _cite(call, corpus, arguments, citations)

    def _arguments(self, call: Call, *, cut_off: bool) -> tuple[dict[str, Any] | None, str]:
        """The call's arguments, or None and what is wrong with it, which is noted in the call."""
        validator = self._validators.get(call.name)
        if validator is None:
            call.defect = "unknown_tool"
            return None, f"there is no tool '{call.name}'; the tools are {', '.join(NAMES)}"
        if cut_off and not call.arguments.strip():
            call.defect = "truncated"
            return None, f"the arguments of {call.name} are missing"
        try:
            # a call without parameters may come with no arguments at all
            arguments = orjson.loads(call.arguments) if call.arguments.strip() else {}
        except orjson.JSONDecodeError as error:
            call.defect = "truncated" if cut_off else "not_json"
            return None, f"the arguments of {call.name} are not JSON: {error}"
        if arguments is None:
            arguments = {}
        if problem := best_match(validator.iter_errors(arguments)):
            call.defect = "schema"
            return None, f"the arguments of {call.name} are not as its schema wants: " + _explain(
                problem
            )
        return {name: value for name, value in arguments.items() if value is not None}, ""


def load_toolbox(strict: bool | None = None) -> Toolbox:
    """The tools of `tool_schemas/`, in the working folder or as they come with the tool.

    Args:
        strict: None leaves `strict` out; True derives the variant that some servers want, with
            every property required and optional ones nullable.

    Raises:
        InputError: a schema file isn't as it must be.
    """
    schemas = []
    for name in NAMES:
        path = resources.find("tool_schemas", f"{name}.json")
        try:
            schema = orjson.loads(path.read_bytes())
            Draft202012Validator.check_schema(schema["function"]["parameters"])
            named = schema["function"]["name"]
        except (OSError, orjson.JSONDecodeError, SchemaError, KeyError, TypeError) as error:
            raise InputError(f"{path} is no tool schema: {error}") from error
        if named != name:
            raise InputError(f"{path} names its tool '{named}', not '{name}'")
        schemas.append(schema)
    return Toolbox(schemas, strict)


def _search(call: Call, corpus: Corpus, arguments: dict[str, Any]) -> None:
    document = arguments.get("document")
    if document is not None and corpus.resolve(document) is None:
        known = ", ".join(list(corpus.documents)[:20])
        call.result = tool_error(f"there is no document '{document}'; documents are {known}")
        return
    results = corpus.search(arguments["query"], document, SEARCH_RESULTS)
    call.returned = [PageRef.model_construct(document=r.document, page=r.page) for r in results]
    call.result = search_result(result.as_dict() for result in results)


def _cite(call: Call, corpus: Corpus, arguments: dict[str, Any], citations: list[Citation]) -> None:
    name, page = arguments["document"], min(int(arguments["page"]), _LARGEST_PAGE)
    resolved = corpus.resolve(name)
    document = corpus.documents[resolved] if resolved else None
    exists = document is not None and page <= document.pages
    citations.append(
        Citation.model_construct(
            document=document.name if document else name,
            page=page,
            quote=arguments.get("quote"),
            exists=exists,
        )
    )
    if document is None:
        call.result = tool_error(f"there is no document '{name}'")
    elif not exists:
        call.result = tool_error(f"'{document.name}' has {document.pages} pages")
    else:
        call.result = cite_result(document.name, page, document.labels[page - 1])


def _with_strict(schema: dict[str, Any], strict: bool | None) -> dict[str, Any]:
    schema = copy.deepcopy(schema)
    if strict is None:
        return schema
    function = schema["function"]
    function["strict"] = strict
    if strict:
        parameters = function["parameters"]
        required = set(parameters.get("required", ()))
        for name, property_ in parameters["properties"].items():
            if name not in required:
                property_["type"] = [property_["type"], "null"]
        parameters["required"] = list(parameters["properties"])
    return schema


def _explain(problem: ValidationError) -> str:
    field = ".".join(map(str, problem.absolute_path))
    return f"'{field}': {problem.message[:200]}" if field else problem.message[:200]

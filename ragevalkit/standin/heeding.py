"""What becomes of a scripted reply under the wishes of a request, and of its prompt in a cache.

Public: `heeded`, `example`, `PrefixCache`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

from ragevalkit.standin.events import pieces
from ragevalkit.standin.habits import Habits, Wishes
from ragevalkit.standin.request import ChatRequest, prompt_tokens
from ragevalkit.standin.script import Reply, ScriptedCall

_LITERAL = re.compile(r'(?:root ::= ")?([A-Za-z0-9]+)"?')
"""A pattern that allows one text alone; any other allows what is scripted."""


def heeded(reply: Reply, wishes: Wishes, habits: Habits) -> Reply:
    """What becomes of a scripted reply under a request's wishes."""
    changes: dict[str, Any] = {}
    if wishes.thinking is not None:
        changes["reasoning"] = _shortened(reply.reasoning, wishes.thinking)
    calls = reply.calls
    if wishes.required and not calls:
        calls = [ScriptedCall(name=next(iter(wishes.tools)), arguments="{}")]
        changes["answer"] = ""
    if calls:
        changes["calls"] = [_held(call, wishes, habits) for call in calls]
    elif wishes.pattern is not None and (literal := _LITERAL.fullmatch(wishes.pattern)):
        changes["answer"] = literal[1]
    elif wishes.schema is not None and "response_format" in habits.grammar:
        changes["answer"] = _literal(example(wishes.schema))
    return reply.model_copy(update=changes) if changes else reply


def _shortened(reasoning: str | int, tokens: int) -> str | int:
    if isinstance(reasoning, int):
        return min(reasoning, tokens)
    return "".join(pieces(reasoning)[:tokens])


def _held(call: ScriptedCall, wishes: Wishes, habits: Habits) -> ScriptedCall:
    """A call as a grammar leaves it; a required one can only be of a tool that was offered."""
    by_choice = wishes.required and "required" in habits.grammar
    name = call.name
    if wishes.required and name not in wishes.tools:
        name = next(iter(wishes.tools))
        call = call.model_copy(update={"name": name})
    function = wishes.tools.get(name, {})
    by_tool = function.get("strict") is True and "strict" in habits.grammar
    parameters = function.get("parameters")
    if not (by_choice or by_tool) or not isinstance(parameters, dict):
        return call
    return call.model_copy(update={"arguments": _literal(example(parameters))})


def _literal(value: Any) -> str:
    """`value` as JSON in which a script sees no placeholder."""
    return orjson.dumps(value).decode().replace("{", "{u+007b}")


def example(schema: Mapping[str, Any]) -> Any:
    """The smallest value that a schema of the usual keywords allows."""
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    properties = schema.get("properties")
    if kind == "object" or properties:
        known = properties if isinstance(properties, dict) else {}
        return {name: example(known.get(name, {})) for name in schema.get("required", ())}
    values: dict[Any, Any] = {
        "integer": schema.get("minimum", 0),
        "number": schema.get("minimum", 0),
        "boolean": False,
        "array": [],
        "null": None,
    }
    return values.get(kind, "")


class PrefixCache:
    """Remembers prompts, a message at a time, as an engine with prefix caching does."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def take(self, request: ChatRequest) -> int:
        """Tokens of the prompt's beginning that were seen before; now all of it is."""
        if not request.wishes.cached:
            return 0
        ends = range(1, len(request.messages) + 1)
        keys = [self._key(request, end) for end in ends]
        known = max((end for end in ends if keys[end - 1] in self._seen), default=0)
        self._seen.update(keys)
        if not known:
            return 0
        with_tools = request.prompt_tokens - prompt_tokens(request.messages)
        # the last token is always computed, since its successor is
        return min(with_tools + prompt_tokens(request.messages[:known]), request.prompt_tokens - 1)

    def _key(self, request: ChatRequest, end: int) -> bytes:
        functions = list(request.wishes.tools.values())
        content = orjson.dumps([request.wishes.salt, functions, request.messages[:end]])
        return blake2b(content, digest_size=16).digest()

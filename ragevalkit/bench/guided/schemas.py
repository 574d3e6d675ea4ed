"""Schemas that are new in structure and equal in tokens, for the cost of a first use.

Public: `new_schema`, `new_tools`, `null_grammar`, `literal_grammar`.

An engine keeps compiled grammars by the text of their schema, and the parts that grammars share.
A schema in which only a name is new is partly known; one whose parts stand in another order inside
one another is not.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

_DIGITS = 6


def new_schema(variant: int, seed: int = 0) -> Schema:
    """A JSON schema that no other variant shares its structure with.

    All variants hold the same parts, in another order, under other names that are numbers of one
    length: so the schema's text has as many tokens each time.
    """
    source = random.Random(f"{seed} {variant}")
    inner = _object(_simple(source), source)
    parts = [*_simple(source), inner, {"type": "array", "items": {"type": "string"}, "maxItems": 3}]
    return _object(parts, source)


def new_tools(
    tools: Sequence[Mapping[str, Any]], variant: int, seed: int = 0
) -> list[dict[str, Any]]:
    """The tools, the first with one more optional property whose schema is new in structure."""
    changed = [copy.deepcopy(dict(tool)) for tool in tools]
    parameters = changed[0]["function"].setdefault("parameters", {"type": "object"})
    name = _name(random.Random(f"{seed} {variant} name"))
    parameters["properties"] = {
        **parameters.get("properties", {}),
        name: new_schema(variant, seed + 1),
    }
    return changed


def null_grammar(engine: str) -> dict[str, Any] | None:
    """Fields by which an engine applies a grammar that allows any text; None: not known.

    Args:
        engine: as the probe names it.
    """
    match engine.split(" ")[0]:
        case "vLLM":
            return {"structured_outputs": {"regex": r"(.|\n)*"}}
        case "SGLang":
            return {"regex": r"(.|\n)*"}
        case "llama.cpp":
            return {"grammar": r"root ::= [^\x00]*"}
        case _:
            return None


def literal_grammar(engine: str, text: str) -> dict[str, Any] | None:
    """The same fields with a grammar that allows this text alone, of letters and digits."""
    match engine.split(" ")[0]:
        case "vLLM":
            return {"structured_outputs": {"regex": text}}
        case "SGLang":
            return {"regex": text}
        case "llama.cpp":
            return {"grammar": f'root ::= "{text}"'}
        case _:
            return None


def _simple(source: random.Random) -> list[Schema]:
    words = ["red", "green", "blue"]
    source.shuffle(words)
    return [
        {"type": "string", "maxLength": 8},
        {"type": "integer"},
        {"type": "boolean"},
        {"enum": words},
    ]


def _object(parts: Sequence[Schema], source: random.Random) -> Schema:
    """An object whose properties are `parts`, in a drawn order, all required."""
    shuffled = source.sample(list(parts), len(parts))
    properties = {_name(source): part for part in shuffled}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _name(source: random.Random) -> str:
    return f"p{source.randrange(10 ** (_DIGITS - 1), 10**_DIGITS)}"

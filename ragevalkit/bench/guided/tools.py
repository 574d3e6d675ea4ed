"""The tools that are offered: the agent's, the user's, and made-up ones where those are too few.

Public: `load_tools`, `read_tools`, `tools_for`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from ragevalkit import resources
from ragevalkit.agent.tools import NAMES
from ragevalkit.errors import InputError

_VERBS = ("list", "get", "create", "update", "delete", "count", "export", "archive")
_NOUNS = (
    "order",
    "invoice",
    "customer",
    "ticket",
    "shipment",
    "contract",
    "meeting",
    "report",
    "device",
    "employee",
    "warehouse",
    "payment",
)

Tool = dict[str, Any]


def load_tools(files: Iterable[Path] = (), *, all_of_ours: bool = False) -> list[Tool]:
    """The tools of these files; without any, the agent's.

    Args:
        all_of_ours: take all of `tool_schemas/`, the agent's first, and the files' after them.

    Raises:
        InputError: a file isn't as it must be, or two tools have one name.
    """
    paths = list(files)
    if all_of_ours or not paths:
        folder = resources.find("tool_schemas")
        ours = [folder / f"{name}.json" for name in NAMES]
        others = sorted(set(folder.glob("*.json")) - set(ours)) if all_of_ours else []
        paths = [*ours, *others, *paths]
    tools: dict[str, Tool] = {}
    for path in paths:
        for tool in read_tools(path):
            name = tool["function"]["name"]
            if name in tools:
                raise InputError(f"{path}: there are two tools named '{name}'")
            tools[name] = tool
    return list(tools.values())


def read_tools(path: Path) -> list[Tool]:
    """The tools of one JSON file: one tool or a list, each as it is sent, or its function alone.

    Raises:
        InputError: it isn't as it must be.
    """
    try:
        content = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(f"{path} is no JSON file of tools: {error}") from error
    tools = content if isinstance(content, list) else [content]
    if not tools:
        raise InputError(f"{path} holds no tool")
    return [_checked(tool, f"{path}, tool {place}") for place, tool in enumerate(tools, 1)]


def _checked(tool: Any, where: str) -> Tool:
    function = tool.get("function", tool) if isinstance(tool, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InputError(f"{where}: no function with a name")
    parameters = function.setdefault("parameters", {"type": "object", "properties": {}})
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        raise InputError(f"{where}: parameters are no JSON schema: {error.message}") from error
    return {"type": "function", "function": {**function, "strict": False}}


def tools_for(
    count: int, own: Sequence[Mapping[str, Any]], seed: int = 0
) -> tuple[list[Tool], int]:
    """So many tools in a drawn order, the first of `own` among them, and how many are made up.

    The same for the same seed; a larger number holds all tools of a smaller one.
    """
    tools = [dict(tool) for tool in own[:count]]
    taken = {tool["function"]["name"] for tool in own}
    made = 0
    while len(tools) < count:
        tool = _made_up(made, seed)
        made += 1
        if tool["function"]["name"] not in taken:
            tools.append(tool)
    generated = max(0, count - len(own))
    random.Random(f"{seed} {count}").shuffle(tools)
    return tools, generated


def _made_up(number: int, seed: int) -> Tool:
    pairs = [(verb, noun) for noun in _NOUNS for verb in _VERBS]
    random.Random(f"{seed} names").shuffle(pairs)
    verb, noun = pairs[number % len(pairs)]
    again = number // len(pairs)
    source = random.Random(f"{seed} {number}")
    properties: dict[str, Any] = {
        f"{noun}_id": {"type": "string", "description": f"The {noun}'s number."},
        "limit": {"type": "integer", "minimum": 1, "description": "Most entries to return."},
        "state": {"enum": ["open", "closed"], "description": f"Only {noun}s in this state."},
        "since": {"type": "string", "description": "A date such as 2024-05-31."},
        "dry_run": {"type": "boolean", "description": "Only say what would be done."},
    }
    first, *rest = properties
    chosen = [first, *source.sample(rest, source.randint(1, 3))]
    return {
        "type": "function",
        "function": {
            "name": f"{verb}_{noun}" + (f"_{again + 1}" if again else ""),
            "description": f"{verb.capitalize()} a {noun} in the back office.",
            "strict": False,
            "parameters": {
                "type": "object",
                "properties": {name: properties[name] for name in chosen},
                "required": [first],
                "additionalProperties": False,
            },
        },
    }

"""The conversation as it is sent, always in a form that any server takes again.

Public: `first_messages`, `assistant_message`, `load_prompt`.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import orjson

from ragevalkit.bank import Question
from ragevalkit.turn.record import Call, Round

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def load_prompt(name: str = "system") -> str:
    """The text of a prompt file."""
    return (files("ragevalkit.agent") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def first_messages(prompt: str, question: Question) -> list[dict[str, Any]]:
    """System prompt, earlier messages, question."""
    return [
        {"role": "system", "content": prompt},
        *({"role": m.role, "content": m.content} for m in question.history),
        {"role": "user", "content": question.question},
    ]


def assistant_message(round_: Round) -> dict[str, Any]:
    """The model's message as history: ids made unique, arguments that are no JSON object emptied.

    Several servers answer 400 to every later request of a turn whose history holds a bad argument
    string or a name that no function can have; the raw ones stay in the record.
    """
    message: dict[str, Any] = {"role": "assistant", "content": round_.content or None}
    if round_.reasoning and round_.reasoning_field:
        message[round_.reasoning_field] = round_.reasoning
    ids: set[str] = set()
    message["tool_calls"] = []
    for position, call in enumerate(round_.calls):
        id_ = call.id if call.id and call.id not in ids else f"call_{len(ids)}_{position}"
        ids.add(id_)
        name = _NOT_IN_NAMES.sub("_", call.name)[:64] or "_"
        function = {"name": name, "arguments": _replayable(call)}
        message["tool_calls"].append({"id": id_, "type": "function", "function": function})
    return message


def _replayable(call: Call) -> str:
    try:
        is_object = isinstance(orjson.loads(call.arguments), dict)
    except orjson.JSONDecodeError:
        return "{}"
    return call.arguments if is_object else "{}"

"""The arms of the bench: what each sends, and what their differences isolate.

Public: `ARMS`, `CONTRASTS`, `Contrast`, `GRAMMAR`, `TOOLS`, `Material`, `request`, `with_strict`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ARMS: Mapping[str, str] = {
    "P": "plain",
    "F": "plain, with a filler as long as the tools",
    "T0": "tools, tool_choice none",
    "T1": "tools, tool_choice auto",
    "T2": "tools, auto, strict: true",
    "T3": "tools, tool_choice required",
    "N": "a grammar that allows anything",
    "J": "response_format json_schema",
    "J0": "the same prompt, without a schema",
}
"""All arms, and what they send."""

TOOLS = ("T0", "T1", "T2", "T3")
"""Arms that offer tools."""
GRAMMAR = ("T2", "T3", "N", "J")
"""Arms that need a grammar to be what they should."""


class Contrast(NamedTuple):
    """Two arms whose difference has one cause, or nearly."""

    base: str
    arm: str
    isolates: str

    @property
    def name(self) -> str:
        return f"{self.arm}-{self.base}"


CONTRASTS = (
    Contrast("P", "T1", "tools in all, left to the model"),
    Contrast("P", "F", "as many more prompt tokens"),
    Contrast("P", "T0", "tools in the prompt"),
    Contrast("T0", "T1", "tool parser"),
    Contrast("T1", "T2", "strict: a grammar that waits for a call"),
    Contrast("T0", "T3", "forced call: grammar from the first token"),
    Contrast("P", "N", "grammar that changes no output"),
    Contrast("J0", "J", "JSON schema"),
)

_QUESTION = (
    "Explain in plain sentences how a water pump moves water from a lower tank to an upper one, "
    "step by step. Reply in plain text."
)
_JSON_QUESTION = "Describe a water pump. Reply with one JSON object and nothing else."
_SYSTEM = "You are a careful assistant who answers at length."

Body = dict[str, Any]


@dataclass(frozen=True)
class Material:
    """What the requests of all arms have in common."""

    model: str
    tools: Sequence[Mapping[str, Any]]
    """As they are sent, `strict` false in each."""
    schema: Mapping[str, Any]
    """The JSON schema of J."""
    null_grammar: Mapping[str, Any] | None
    """Fields that engage a grammar which allows anything; None: this engine has none we know of."""
    tokens: int
    """Output budget."""
    seed: int
    sampling: Mapping[str, Any] = field(default_factory=dict)
    filler: str = ""
    """Text as long as the tools are in the prompt."""


def request(
    arm: str, material: Material, nonce: str, *, question: str | None = None, **more: Any
) -> Body:
    """The body of one request.

    Args:
        nonce: stands at the very start of the prompt.
        question: in place of the arm's own.
        more: further fields, such as those that keep the cache out.
    """
    fields: Body = {}
    if arm in TOOLS:
        choice = {"T0": "none", "T3": "required"}.get(arm, "auto")
        fields["tools"] = with_strict(material.tools, arm == "T2")
        fields["tool_choice"] = choice
    elif arm == "N":
        fields |= material.null_grammar or {}
    elif arm == "J":
        fields["response_format"] = json_format(material.schema)
    system = " ".join(filter(None, (nonce, _SYSTEM, material.filler if arm == "F" else "")))
    asked = _JSON_QUESTION if arm in ("J", "J0") else _QUESTION
    return {
        "model": material.model,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": question or asked},
        ],
        "seed": material.seed,
        **material.sampling,
        "max_completion_tokens": material.tokens,
        **fields,
        **more,
    }


def json_format(schema: Mapping[str, Any]) -> Body:
    """`response_format` with a schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": schema, "strict": True},
    }


def with_strict(tools: Sequence[Mapping[str, Any]], strict: bool) -> list[Body]:
    """The tools with that value of `strict`; some templates show it to the model, so that it is
    never absent in one arm and there in another."""
    changed = [copy.deepcopy(dict(tool)) for tool in tools]
    for tool in changed:
        tool["function"]["strict"] = strict
    return changed

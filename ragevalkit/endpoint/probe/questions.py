"""The requests that several checks read: each is sent once.

Public: `plain`, `timed`, `long_prompt`, `long_prompt_again`, `long_prompt_fresh`,
`with_tools`, `call_message`, `canary_tool`, `WILLING`, `UNWILLING`, `PLAIN_TOKENS`, `LONG_TOKENS`,
`CALL_TOKENS`.
"""

from __future__ import annotations

import secrets
from typing import Any

from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.endpoint.probe.look import Look, Message
from ragevalkit.turn.record import Round

PLAIN_TOKENS = 16
LONG_TOKENS = 8
CALL_TOKENS = 96
"""Enough for a call with one short argument, with a few words before it."""
WILLING = [
    {
        "role": "user",
        "content": 'Call the function note with the word "apple". The constant in its definition '
        'is out of date: don\'t use it, send "apple".',
    }
]
"""Asks for another word than the schema of `canary_tool` allows.

The schema stands in the prompt, so that a model may copy its constant out of there; told not to, it
does so only where a grammar leaves it no choice.
"""
UNWILLING = [
    {
        "role": "user",
        "content": 'Say "apple" in plain text and call no function. If you must call note, its '
        'word is "apple": the constant in its definition is out of date.',
    }
]
"""Asks for no call: one comes only where it is required."""

_LONG_LINES = 60
"""About 1,000 tokens: more than the largest block of a prefix cache."""


def call_message(look: Look) -> list[Message]:
    """Asks for a call where there are tools, and for a long reply where there are none.

    It is the same with tools and without, so that prompts can be compared by their lengths.
    """
    function: dict[str, Any] = look.tools[0]["function"] if look.tools else {"name": "search"}
    parameters = function.get("parameters", {})
    argument = next(iter([*parameters.get("required", ()), *parameters.get("properties", ())]), "")
    name = function["name"]
    text = (
        f'Call the function {name} with {argument} "rated voltage". If you have no '
        "such function, count from one to forty in English words, separated by commas."
    )
    return [{"role": "user", "content": text}]


async def plain(look: Look) -> Round:
    """A plain request with a small output budget."""
    return await look.ask("plain", call_message(look), tokens=PLAIN_TOKENS)


async def long_prompt(look: Look) -> Round:
    """A prompt that no cache knows yet, with usage asked for on every event."""
    options = RequestOptions(continuous_usage=True)
    return await look.ask("long", _long_messages(look), tokens=LONG_TOKENS, options=options)


async def long_prompt_again(look: Look) -> Round:
    """The same prompt, with the ids of each event's tokens asked for."""
    await long_prompt(look)
    options = RequestOptions(token_ids=True)
    return await look.ask("again", _long_messages(look), tokens=LONG_TOKENS, options=options)


async def timed(look: Look) -> Round:
    """The plain request once more, with llama.cpp's running times asked for on every event."""
    options = RequestOptions(token_timings=True)
    return await look.ask("timed", call_message(look), tokens=LONG_TOKENS, options=options)


async def long_prompt_fresh(look: Look, fields: dict[str, Any]) -> Round:
    """The same prompt once more, with fields that should keep the cache out."""
    return await look.ask("fresh", _long_messages(look), tokens=LONG_TOKENS, **fields)


def _long_messages(look: Look) -> list[Message]:
    nonce = look.nonces.setdefault("long", secrets.token_hex(8))
    lines = [
        f"Line {n}: pump {n * 7} runs at {n * 3 + 11} volts and weighs {n + 20} kilograms."
        for n in range(1, _LONG_LINES + 1)
    ]
    text = "\n".join([f"List {nonce}.", *lines, "Count from one to forty in English words."])
    return [{"role": "user", "content": text}]


async def with_tools(look: Look) -> Round:
    """The plain request with the run's tools and their use left to the model."""
    return await look.ask_quietly("tools", call_message(look), tokens=CALL_TOKENS, tools=look.tools)


def canary_tool(look: Look, name: str, strict: bool | None) -> tuple[dict[str, Any], str]:
    """A tool whose one argument must be a random constant, and that constant."""
    constant = look.nonces.setdefault(name, secrets.token_hex(5))
    function: dict[str, Any] = {
        "name": "note",
        "description": "Write a word down.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string", "const": constant}},
            "required": ["word"],
            "additionalProperties": False,
        },
    }
    if strict is not None:
        function["strict"] = strict
    return {"type": "function", "function": function}, constant

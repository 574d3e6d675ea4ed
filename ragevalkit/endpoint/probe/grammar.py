"""Whether a grammar really holds the output to a schema: HTTP 200 proves nothing.

Public: `CHECKS`.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.endpoint.probe.finding import Finding, Verdict, failed, no, unknown, yes
from ragevalkit.endpoint.probe.look import Look, check
from ragevalkit.endpoint.probe.questions import (
    CALL_TOKENS,
    UNWILLING,
    WILLING,
    call_message,
    canary_tool,
    plain,
)
from ragevalkit.endpoint.probe.tools import required
from ragevalkit.turn.record import Round, RoundState

_JSON_TOKENS = 48


@check("response_format json_schema engages a grammar")
async def grammar_json(look: Look) -> Finding:
    constant = look.nonces.setdefault("json", secrets.token_hex(5))
    reply = await look.ask_quietly(
        "json", call_message(look), tokens=_JSON_TOKENS, response_format=_format(constant)
    )
    if reply.state is not RoundState.DONE:
        return failed(reply)
    bare = await plain(look)
    if constant in reply.content or constant in reply.reasoning:
        if (reply.prompt_tokens or 0) > (bare.prompt_tokens or reply.prompt_tokens or 0):
            return unknown(
                "the constant came back, but the server shows the schema to the model: its prompt "
                f"is {reply.prompt_tokens} tokens, not {bare.prompt_tokens}"
            )
        where = "" if constant in reply.content else ", in the reasoning"
        return yes(f"a constant that the prompt never mentions came back{where}")
    text = reply.content.strip()
    if not text:
        return unknown(f"no visible text came (finish reason {reply.finish_reason})")
    if reply.finish_reason == "length" and text.startswith("{"):
        return unknown(f"the output budget ended inside the JSON: {text[:60]!r}")
    return no(f"accepted and without effect: {text[:60]!r}")


def _format(constant: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"k": {"type": "string", "const": constant}},
        "required": ["k"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "canary", "schema": schema}}


@check("a required call is held to its schema")
async def grammar_required(look: Look) -> Finding:
    return _held(await required(look), look.nonces["required"])


@check("a required call with strict: true is held to its schema")
async def grammar_strict(look: Look) -> Finding:
    tool, constant = canary_tool(look, "strict", True)
    reply = await look.ask_quietly(
        "strict",
        UNWILLING,
        tokens=CALL_TOKENS,
        options=RequestOptions(token_ids=look.verdict("token_ids") is Verdict.YES),
        tools=[tool],
        tool_choice="required",
    )
    return _held(reply, constant)


@check("a free call with strict: true is held to its schema")
async def grammar_strict_auto(look: Look) -> Finding:
    tool, constant = canary_tool(look, "strict, free", True)
    reply = await look.ask_quietly("strict, free", WILLING, tokens=CALL_TOKENS, tools=[tool])
    return _held(reply, constant)


def _held(round_: Round, constant: str) -> Finding:
    """Whether a call's argument was the constant that its schema demands."""
    if round_.state is not RoundState.DONE:
        return failed(round_)
    if not round_.calls:
        return unknown(f"no call came (finish reason {round_.finish_reason})")
    arguments = round_.calls[0].arguments
    if constant in arguments:
        return yes("the schema's constant came, though another word was asked for")
    if round_.finish_reason == "length" and not _is_json(arguments):
        return unknown(f"the output budget ended inside the arguments: {arguments[:60]!r}")
    return no(f"the schema's constant didn't come: {arguments[:60]!r}")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


CHECKS = (grammar_json, grammar_required, grammar_strict, grammar_strict_auto)

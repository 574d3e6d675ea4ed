"""Whether the model thinks before it answers, and what can limit that.

Public: `CHECKS`.
"""

from __future__ import annotations

import re
from typing import Any

from ragevalkit.endpoint.probe.finding import Finding, Verdict, failed, no, unknown, yes
from ragevalkit.endpoint.probe.look import Look, check
from ragevalkit.endpoint.probe.questions import PLAIN_TOKENS, call_message, plain
from ragevalkit.turn.record import Round, RoundState

_BUDGET = 8
"""Thinking tokens to be held to; half of what the plain reply was free to spend."""
_SLACK = 4
_TOKENS = 2 * PLAIN_TOKENS
"""Output budget of a limited reply: room for the thinking and for the answer to begin."""
_OPENING = re.compile(r"\s*<(?:think|thinking|reasoning)>|.*</(?:think|thinking)>", re.S | re.I)


@check("thinks before it answers")
async def thinks(look: Look) -> Finding:
    reply = await plain(look)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    spent = reasoning_tokens(reply)
    if spent:
        look.thinks = True
        return yes(f"{spent} of {reply.completion_tokens} tokens were reasoning")
    if _OPENING.match(reply.content):
        look.thinks = True
        return yes("its thoughts stand in the answer: is the server's reasoning parser on?")
    if not reply.content.strip():
        return unknown("no visible text and no reasoning came")
    return no("the reply began with its answer")


@check("field that carries the reasoning")
async def reasoning_field(look: Look) -> Finding:
    reply = await plain(look)
    if reply.reasoning_field:
        return yes("in the deltas", reply.reasoning_field)
    if reply.reasoning:
        return yes("in the deltas", "reasoning_details")
    return no("none: thoughts are in the answer") if look.thinks else unknown("no reasoning came")


@check("thinking off by enable_thinking: false")
async def enable_thinking(look: Look) -> Finding:
    return await _switched_off(look, {"chat_template_kwargs": {"enable_thinking": False}})


@check("thinking off by reasoning_effort: none")
async def reasoning_effort(look: Look) -> Finding:
    return await _switched_off(look, {"reasoning_effort": "none"})


@check("thinking held to a number of tokens")
async def thinking_budget(look: Look) -> Finding:
    name = "thinking_token_budget" if look.engine != "llama.cpp" else "reasoning_budget_tokens"
    if (skipped := _nothing_to_limit(look)) is not None:
        return skipped
    reply = await _limited(look, name, {name: _BUDGET})
    if reply.state is not RoundState.DONE:
        return failed(reply)
    free, spent = reasoning_tokens(await plain(look)), reasoning_tokens(reply)
    seen = f"{name} {_BUDGET}: {spent} reasoning tokens"
    if spent > _BUDGET + _SLACK:
        return no(f"{seen}: accepted and without effect", name)
    if free <= _BUDGET + _SLACK:
        return unknown(f"{seen}, but {free} came without it as well", name)
    if not spent or not (reply.content.strip() or reply.calls):
        return unknown(f"{seen}, and no answer came", name)
    return yes(f"{seen}, then the answer; {free} and no answer without it", name)


async def _switched_off(look: Look, fields: dict[str, Any]) -> Finding:
    if (skipped := _nothing_to_limit(look)) is not None:
        return skipped
    reply = await _limited(look, next(iter(fields)), fields)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    spent = reasoning_tokens(reply)
    if spent or _OPENING.match(reply.content):
        return no(f"accepted and without effect: {spent} reasoning tokens")
    if not (reply.content.strip() or reply.calls):
        return unknown("no reasoning and no answer came")
    if look.known["reasoning_field"].verdict is Verdict.NO:
        # untagged thoughts look like an answer
        return unknown("no tag came, but without a reasoning parser thoughts look like an answer")
    look.quiet = look.quiet or fields
    return yes("the reply began with its answer, without reasoning")


async def _limited(look: Look, name: str, fields: dict[str, Any]) -> Round:
    return await look.ask(name, call_message(look), tokens=_TOKENS, **fields)


def _nothing_to_limit(look: Look) -> Finding | None:
    return None if look.thinks else unknown("not asked: no thinking was seen")


def reasoning_tokens(round_: Round) -> int:
    channel = round_.reasoning_channel
    return (channel.tokens or 0) if channel is not None else 0


CHECKS = (thinks, reasoning_field, enable_thinking, reasoning_effort, thinking_budget)

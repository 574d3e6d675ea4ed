"""What becomes of the tools that a request offers, and how calls come back.

Public: `CHECKS`.
"""

from __future__ import annotations

import re

from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.endpoint.probe.finding import Finding, Verdict, failed, no, unknown, yes
from ragevalkit.endpoint.probe.look import Look, check
from ragevalkit.endpoint.probe.questions import (
    CALL_TOKENS,
    UNWILLING,
    call_message,
    canary_tool,
    plain,
    with_tools,
)
from ragevalkit.turn.record import Round, RoundState

_LEAKED = re.compile(
    r"<tool_call>|</tool_call>|<function=|<\|python_tag\|>|<\|tool_call|\[TOOL_CALLS\]"
    r"|<｜tool|<\|python_start\|>",
    re.I,
)
"""Markup of calls that a tool parser should have taken out of the text."""


@check("tools reach the prompt")
async def tools_in_prompt(look: Look) -> Finding:
    bare, offered = await plain(look), await with_tools(look)
    for reply in (bare, offered):
        if reply.state is not RoundState.DONE:
            return failed(reply)
    if bare.prompt_tokens is None or offered.prompt_tokens is None:
        return unknown("the server doesn't count the prompt's tokens")
    seen = f"the prompt is {bare.prompt_tokens} tokens without tools, {offered.prompt_tokens} with"
    if offered.prompt_tokens == bare.prompt_tokens:
        return no(f"{seen}: they are dropped")
    if offered.prompt_tokens < bare.prompt_tokens:
        return unknown(f"{seen}: perhaps cached tokens are left out of the count")
    return yes(seen, offered.prompt_tokens - bare.prompt_tokens)


@check("calls come back as calls")
async def calls(look: Look) -> Finding:
    reply = await with_tools(look)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    if reply.calls:
        return yes(f"{reply.calls[0].name} was called")
    if match := _LEAKED.search(reply.content):
        return no(f"{match[0]} stands in the text: the server's tool parser doesn't take it")
    if _LEAKED.search(reply.reasoning):
        return no("the call stands in the reasoning")
    return unknown(f"asked for a call, the model replied with text: {reply.content[:60]!r}")


def _called(look: Look) -> Round | None:
    """A reply with a call: left to the model, or else required."""
    for name in ("tools", "required"):
        reply = look.replies.get(name)
        if reply is not None and reply.state is RoundState.DONE and reply.calls:
            return reply
    return None


@check("arguments of calls stream")
async def call_stream(look: Look) -> Finding:
    reply = _called(look)
    if reply is None or reply.tool_channel is None:
        return unknown("no call came")
    first = reply.clock.first_tool_argument_ms == reply.clock.first_token_ms
    events = len(reply.tool_channel.gaps_ms) + first
    length = sum(len(call.arguments) for call in reply.calls)
    seen = (
        f"{len(reply.calls)} call{'s' * (len(reply.calls) > 1)}, {length} characters of arguments"
    )
    if events <= len(reply.calls):
        return no(f"{seen} in {events} event{'s' * (events > 1)}", "whole calls")
    if events <= 2 * len(reply.calls):
        return no(f"{seen} in one event after the name", "whole arguments")
    return yes(f"{seen} in {events} events", "in pieces")


@check("calls have ids")
async def call_ids(look: Look) -> Finding:
    reply = _called(look)
    if reply is None:
        return unknown("no call came")
    without = sum(call.id is None for call in reply.calls)
    if without:
        return no(f"{without} of {len(reply.calls)} came without")
    return yes(", ".join(str(call.id) for call in reply.calls[:2]))


@check("tool_choice none is obeyed")
async def tool_choice_none(look: Look) -> Finding:
    offered = await with_tools(look)
    reply = await look.ask_quietly(
        "none", call_message(look), tokens=CALL_TOKENS // 2, tools=look.tools, tool_choice="none"
    )
    if reply.state is not RoundState.DONE:
        return failed(reply)
    if reply.calls:
        return no(f"{reply.calls[0].name} was called")
    if not offered.calls:
        return unknown("no call came, nor did one where the model was free to call")
    counted = reply.prompt_tokens is not None and offered.prompt_tokens is not None
    same = reply.prompt_tokens == offered.prompt_tokens
    prompt = f"; the prompt {'still holds' if same else 'leaves out'} the tools" if counted else ""
    leaked = "; a call stands in the text" if _LEAKED.search(reply.content) else ""
    return yes(f"text came in place of a call{prompt}{leaked}")


@check("tool_choice required is obeyed")
async def tool_choice_required(look: Look) -> Finding:
    reply = await required(look)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    if reply.calls:
        return yes(f"{reply.calls[0].name} was called")
    if reply.finish_reason == "length":
        return unknown(f"the output budget ended before a call, after {reply.completion_tokens}")
    return no(f"no call came: {reply.content[:60]!r}")


async def required(look: Look) -> Round:
    """A call required of the model against its will, to a tool that isn't strict."""
    tool, _ = canary_tool(look, "required", None)
    return await look.ask_quietly(
        "required",
        UNWILLING,
        tokens=CALL_TOKENS,
        options=RequestOptions(continuous_usage=look.verdict("continuous_usage") is Verdict.YES),
        tools=[tool],
        tool_choice="required",
    )


CHECKS = (tools_in_prompt, calls, tool_choice_none, tool_choice_required, call_stream, call_ids)

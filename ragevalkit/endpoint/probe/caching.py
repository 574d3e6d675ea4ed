"""Whether a prompt's beginning is kept from one request to the next, and can be kept out.

Public: `CHECKS`.
"""

from __future__ import annotations

import secrets

from ragevalkit.endpoint.probe.finding import Finding, Verdict, failed, no, unknown, yes
from ragevalkit.endpoint.probe.look import Look, check
from ragevalkit.endpoint.probe.questions import long_prompt_again, long_prompt_fresh
from ragevalkit.turn.record import Round, RoundState


@check("prompts are cached")
async def prefix_cache(look: Look) -> Finding:
    reply = await long_prompt_again(look)
    first = look.replies["long"]
    if first.state is not RoundState.DONE:
        return failed(first)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    cached = _cached(reply)
    if cached is None:
        return unknown("the server doesn't report cached tokens")
    seen = f"{cached} of {reply.prompt_tokens} tokens of a repeated prompt"
    return yes(seen) if cached else no(seen)


@check("a request can keep the cache out")
async def cache_off(look: Look) -> Finding:
    if look.verdict("prefix_cache") is not Verdict.YES:
        return unknown("not asked: no cached tokens were seen")
    llama = look.engine == "llama.cpp"
    name = "cache_prompt" if llama else "cache_salt"
    value = False if llama else secrets.token_hex(8)
    reply = await long_prompt_fresh(look, {name: value})
    if reply.state is not RoundState.DONE:
        return failed(reply)
    cached = _cached(reply) or 0  # some servers leave the count out where it is 0
    seen = f"{cached} of {reply.prompt_tokens} prompt tokens cached with {name}"
    return no(seen, name) if cached else yes(seen, name)


def _cached(round_: Round) -> int | None:
    if round_.cached_tokens is None and round_.server is not None:
        return round_.server.cached_tokens
    return round_.cached_tokens


CHECKS = (prefix_cache, cache_off)

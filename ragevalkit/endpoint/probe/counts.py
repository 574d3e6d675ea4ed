"""How replies stream, how their tokens can be counted, and whether the output budget is heeded.

Public: `CHECKS`.
"""

from __future__ import annotations

from ragevalkit.endpoint.probe.finding import Finding, Verdict, failed, no, unknown, yes
from ragevalkit.endpoint.probe.look import Look, check
from ragevalkit.endpoint.probe.questions import (
    PLAIN_TOKENS,
    call_message,
    long_prompt,
    long_prompt_again,
    plain,
    timed,
)
from ragevalkit.turn.record import Channel, Round, RoundState

_QUICK_MS = 20.0
"""Sixteen tokens that come in one read after less than this needn't have been held back."""
_FEW = 4
"""So many tokens in one event are a batch; more of them, and nothing else, a whole reply."""


def channels(round_: Round) -> list[Channel]:
    found = (round_.reasoning_channel, round_.tool_channel, round_.answer_channel)
    return [channel for channel in found if channel is not None]


def event_tokens(round_: Round) -> list[int | None]:
    """Tokens of each token-bearing event, the first one first; None where nobody says."""
    if round_.clock.first_token_ms is None:
        return []
    later = [tokens for channel in channels(round_) for tokens in channel.event_tokens]
    return [round_.clock.first_event_tokens, *later]


@check("output budget as max_completion_tokens")
async def max_completion_tokens(look: Look) -> Finding:
    reply = await plain(look)
    finding = _heeded(reply, PLAIN_TOKENS)
    if finding.verdict is not Verdict.UNKNOWN or reply.state is not RoundState.DONE:
        return finding
    # the reply was shorter than its budget: one token is less than any
    return _heeded(await look.ask("one token", call_message(look), tokens=1), 1)


@check("output budget as max_tokens")
async def max_tokens(look: Look) -> Finding:
    if look.verdict("max_completion_tokens") is Verdict.YES:
        return unknown("not asked: max_completion_tokens will do")
    tokens = PLAIN_TOKENS
    asked_before = look.replies.get("one token", look.replies["plain"])
    if asked_before.state is RoundState.DONE and (asked_before.completion_tokens or tokens) < 16:
        tokens = 1
    reply = await look.ask(
        "max_tokens", call_message(look), tokens=tokens, budget_field="max_tokens"
    )
    finding = _heeded(reply, tokens)
    if finding.verdict is Verdict.YES or look.replies["plain"].state is RoundState.REJECTED:
        look.budget_field = "max_tokens"
        if look.replies["plain"].state is not RoundState.DONE:
            look.replies["plain"] = reply
    return finding


def _heeded(round_: Round, budget: int) -> Finding:
    """Whether a reply kept to `budget` tokens, for which it had reason."""
    spent = round_.completion_tokens
    if spent is None:
        spent = sum(channel.tokens or 0 for channel in channels(round_)) or None
    if round_.state is RoundState.DEADLINE and (spent or 0) > 2 * budget:
        return no(f"{spent} tokens and no end for a budget of {budget}")
    if round_.state is not RoundState.DONE:
        return failed(round_)
    estimated = "" if round_.completion_tokens is not None else "about "
    if spent is not None and spent > (budget if not estimated else 2 * budget):
        return no(f"{estimated}{spent} tokens came for a budget of {budget}")
    if round_.finish_reason == "length":
        return yes(f"cut at {estimated}{spent} tokens for a budget of {budget}")
    return unknown(f"the reply ended by itself after {estimated}{spent} tokens")


@check("replies stream")
async def streaming(look: Look) -> Finding:
    reply = await plain(look)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    events = len(event_tokens(reply))
    if not events:
        return unknown("nothing came")
    gaps = [gap for channel in channels(reply) for gap in channel.gaps_ms]
    tokens = sum(channel.tokens or 0 for channel in channels(reply))
    seen = f"{tokens} tokens in {events} events"
    waited = (reply.clock.first_token_ms or 0.0) - reply.clock.sent_ms
    if events == 1:
        return no(f"{seen}", "whole") if tokens > _FEW else unknown(f"{seen}: too short to tell")
    if events >= 4 and not any(gaps):
        if waited >= _QUICK_MS:
            return no(f"{seen}, all in one read after {waited:.0f} ms", "held back")
        return unknown(f"{seen}, all in one read after {waited:.0f} ms: too quick to tell")
    return yes(seen, "batched" if tokens >= 2 * events else "token by token")


@check("usage comes")
async def usage(look: Look) -> Finding:
    reply = await plain(look)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    if reply.completion_tokens is None:
        return no("no count of completion tokens with stream_options.include_usage")
    return yes(f"{reply.prompt_tokens} prompt and {reply.completion_tokens} completion tokens")


@check("usage on every event")
async def continuous_usage(look: Look) -> Finding:
    return _counted(await long_prompt(look), "continuous_usage_stats")


@check("ids of each event's tokens")
async def token_ids(look: Look) -> Finding:
    return _counted(await long_prompt_again(look), "return_token_ids")


@check("the server's running times on every event")
async def token_timings(look: Look) -> Finding:
    server = (await plain(look)).server
    if server is None or server.source != "llama.cpp":
        return unknown("not asked: no timings of llama.cpp's were seen")
    return _counted(await timed(look), "timings_per_token")


@check("usage on every event of a call")
async def continuous_usage_of_calls(look: Look) -> Finding:
    reply = look.replies.get("required")
    if look.verdict("continuous_usage") is not Verdict.YES or reply is None:
        return unknown("not asked")
    finding = _counted_call(reply, "continuous_usage_stats")
    most = max((count or 0 for count in event_tokens(reply)), default=0)
    if finding.verdict is Verdict.YES and most > _FEW:
        return no(
            f"{finding.evidence}, but one event brought {most}: the tool parser holds tokens back"
        )
    return finding


@check("ids of each event's tokens in a call")
async def token_ids_of_calls(look: Look) -> Finding:
    reply = look.replies.get("strict")
    if look.verdict("token_ids") is not Verdict.YES or reply is None:
        return unknown("not asked")
    return _counted_call(reply, "return_token_ids")


def _counted_call(round_: Round, asked: str) -> Finding:
    if round_.state is RoundState.DONE and not round_.calls:
        return unknown("no call came")
    return _counted(round_, asked)


def _counted(round_: Round, asked: str) -> Finding:
    """Whether every token-bearing event said how many tokens it carried, and the sum fits."""
    if round_.state is not RoundState.DONE:
        return failed(round_)
    counts = event_tokens(round_)
    known = [count for count in counts if count is not None]
    if not counts:
        return unknown("nothing came")
    if len(known) < len(counts):
        return no(f"{asked}: a count came with {len(known)} of {len(counts)} token events")
    total = round_.completion_tokens
    seen = f"{sum(known)} tokens on {len(counts)} events"
    if total is None:
        return unknown(f"{asked}: {seen}, but no usage to compare with")
    if sum(known) > total or (len(known) > 1 and sum(map(bool, known)) < len(known) / 2):
        return no(f"{asked}: {seen}, which is not the usage's {total}")
    rest = f"; {total - sum(known)} came without text" if sum(known) < total else ""
    return yes(f"{seen} of {total} in the usage{rest}")


@check("the server's own times with each reply")
async def server_times(look: Look) -> Finding:
    reply = await plain(look)
    if reply.state is not RoundState.DONE:
        return failed(reply)
    if reply.server is None:
        return no("neither timings nor metrics in the reply")
    given = [name for name, value in reply.server if value is not None and name != "source"]
    return yes(", ".join(given), reply.server.source)


BUDGET = (max_completion_tokens, max_tokens)
COUNTS = (streaming, usage, continuous_usage, token_ids, server_times, token_timings)
COUNTS_OF_CALLS = (continuous_usage_of_calls, token_ids_of_calls)

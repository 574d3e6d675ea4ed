"""What came of the bench, in sentences.

Public: `sentences`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragevalkit.bench.guided.estimate import Estimate, Verdict
from ragevalkit.bench.guided.result import ContrastResult, GuidedResult

_PARTS = (
    ("F-P", "the prompt's length"),
    ("T1-T0", "what reads calls out of the output"),
)
"""What the cost of tools is made of."""
_IN_QUEUE = "in the server's queue"


def sentences(result: GuidedResult) -> list[str]:
    """What tools cost here; how much of it is prompt, parser, compile and mask; what a JSON schema
    costs; and what that is of a turn."""
    return [
        *_tools(result),
        *_grammar(result),
        *_schema(result),
        *_turn(result),
        *_counts(result),
    ]


def _tools(result: GuidedResult) -> Iterator[str]:
    in_all = result.contrasts.get("T1-P")
    if in_all is None:
        return
    grew = in_all.prompt_tokens
    tokens = f" and its {grew} more tokens" if grew and grew > 0 else ""
    named = ", ".join(result.tools) if len(result.tools) <= 4 else f"{len(result.tools)} tools"
    yield _costs(f"Offering {named}{tokens}", in_all, "of first-token time")
    total, _ = _first_token(in_all)
    for name, what in _PARTS:
        contrast = result.contrasts.get(name)
        if contrast is None or (part := _first_token(contrast)[0]).median is None:
            continue
        share = ""
        if total.verdict is part.verdict is Verdict.COSTS and total.median:
            share = f", {part.median / total.median:.0%} of that,"
        yield _costs(f"{what}{share}", contrast)


def _grammar(result: GuidedResult) -> Iterator[str]:
    strict = result.contrasts.get("T2-T1")
    if strict is not None:
        yield _costs("A strict tool whose grammar is compiled", strict)
    for use in result.first_use:
        if use.ttft_ms.median is not None:
            schemas = f"in {use.arm}, over {use.schemas} new schemas"
            queued = use.queue_ms
            if use.ttft_ms.verdict is Verdict.INCONCLUSIVE and queued is not None:
                yield _sentence(f"The first use of a schema ({schemas})", queued, _IN_QUEUE)
            else:
                yield _sentence(f"The first use of a schema ({schemas})", use.ttft_ms)
    null = result.contrasts.get("N-P")
    if null is not None and null.gap_ms.median is not None:
        yield _sentence("The mask of a grammar", null.gap_ms, "on each token")


def _schema(result: GuidedResult) -> Iterator[str]:
    schema = result.contrasts.get("J-J0")
    if schema is None:
        return
    yield _costs("A JSON schema that is compiled", schema, "of first-token time")
    if schema.gap_ms.median is not None:
        yield _sentence("It", schema.gap_ms, "on each token")
    elif schema.ttft_ms.median is not None and result.streams:
        yield "What it costs on each token can't be told, since the outputs differ."


def _turn(result: GuidedResult) -> Iterator[str]:
    share = result.of_run
    if share is not None:
        yield (
            f"In the turns of {share.run}, that is {share.cost_ms:,.0f} ms of {share.turn_s:.1f} s "
            f"({share.share:.1%}): {share.cold_ms:.1f} ms in a turn's first round and "
            f"{share.warm_ms:.1f} ms in each later one, of {share.rounds:.1f} rounds."
        )


def _counts(result: GuidedResult) -> Iterator[str]:
    for of in result.tool_counts:
        many = f"{of.tools} tools" if of.tools != 1 else "1 tool"
        if of.status != "run":
            yield f"{many} are not supported: {of.evidence.rstrip('.')}."
            continue
        yield _sentence(many, of.ttft_ms, "of first-token time")
        if of.called.n:
            yield (
                f"With {many}, {of.called.k} of {of.called.n} replies called, and "
                f"{of.well_formed.k} of {of.well_formed.n} were well-formed."
            )


def _costs(what: str, contrast: ContrastResult, of: str = "") -> str:
    """A sentence on a contrast's first-token time, or why there is none."""
    if contrast.ttft_ms.verdict is Verdict.NOT_ENGAGED:
        why = contrast.notes[0].rstrip(".") if contrast.notes else "no request succeeded"
        return _capital(f"{what} has no known cost: {why}.")
    estimate, by = _first_token(contrast)
    return _sentence(what, estimate, of + by)


def _first_token(contrast: ContrastResult) -> tuple[Estimate, str]:
    """A contrast's first-token time, and whose it is: the server's own where too few replies showed
    a token."""
    server = contrast.server_ttft_ms
    if contrast.ttft_ms.low is None and server is not None and server.low is not None:
        return server, " by the server's own clock"
    return contrast.ttft_ms, ""


def _sentence(what: str, estimate: Estimate, of: str = "") -> str:
    """`what` costs 57.2 ms (56.1 to 58.3)."""
    if estimate.median is None:
        return _capital(f"{what} has no known cost.")
    of = f" {of.strip()}" if of else ""
    number, interval = f"{_number(estimate.median)} ms", ""
    if estimate.low is not None and estimate.high is not None:
        interval = f" ({_number(estimate.low)} to {_number(estimate.high)})"
    if not interval:
        return _capital(f"{what} cost {number}{of}, over too few blocks for an interval.")
    match estimate.verdict:
        case Verdict.COSTS:
            said = f"costs {number}{interval}{of}"
        case Verdict.SAVES:
            said = f"saves {_number(-estimate.median)} ms{interval}{of}"
        case Verdict.EQUIVALENT:
            said = f"costs nothing{of}, by the margin of {estimate.margin:g} ms: {number}{interval}"
        case _:
            return _capital(f"{what}: inconclusive, {number}{interval}{of}.")
    return _capital(f"{what} {said}.")


def _number(ms: float) -> str:
    if abs(ms) >= 1000:
        return f"{ms:,.0f}"
    return f"{ms:.1f}" if abs(ms) >= 10 else f"{ms:.2f}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]

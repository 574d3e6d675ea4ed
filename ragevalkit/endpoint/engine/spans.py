"""The engine's own figures over a run, from its metrics page before and after.

Public: `Span`, `ServerFigures`, `Speculation`, `figures`, `figures_of`.

Counters are of the whole server. Where it was restarted, or others used it meanwhile, they say
nothing of this run: the figures are void, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from ragevalkit.endpoint.engine.names import GAUGES
from ragevalkit.endpoint.engine.ours import Ours
from ragevalkit.endpoint.engine.page import Page


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Span(_Model):
    """One sitting of a run: what the page said before and after, and what was asked meanwhile."""

    before: Page | None
    """Null where the server had no page that could be read."""
    after: Page | None
    """Null until the sitting has ended."""
    ours: Ours
    cut_short: bool = True
    """Whether it was interrupted, stopped or killed: then requests under way are on no record."""


class Speculation(_Model):
    """Speculative decoding: a draft is a guess of some tokens, of which the first few are taken."""

    drafts: int
    acceptance_rate: float | None
    """Accepted over drafted tokens."""
    mean_length: float
    """Tokens a draft yielded: 1 + accepted tokens over drafts."""
    by_position: list[float | None]
    """Share of the drafts whose token at this place was accepted."""


class ServerFigures(_Model):
    """What the engine says of the run; null where it says nothing, or where all is void."""

    engine: str
    void: str | None
    """Why the page says nothing of this run; null where it does."""
    requests: int | None = None
    """Requests finished."""
    queue_ms: float | None = None
    """Mean over the requests, as are the next two."""
    prefill_ms: float | None = None
    decode_ms: float | None = None
    prompt_tokens: int | None = None
    generation_tokens: int | None = None
    cache_hit_share: float | None = None
    """Prompt tokens found in the prefix cache, over those looked up."""
    preemptions: int | None = None
    tokens_per_step: float | None = None
    """Tokens, of prompts and of output, that a step of the engine processed; a mean."""
    speculation: Speculation | None = None
    """Null where nothing was drafted."""


def figures(before: Page, after: Page | None, ours: Ours) -> ServerFigures:
    """The engine's figures over one sitting."""
    span = Span(before=before, after=after, ours=ours, cut_short=False)
    return _figures([span], before.engine)


def figures_of(spans: Sequence[Span], turns: int = 0) -> ServerFigures | None:
    """The engine's figures over all sittings of a run; None where there was never a page.

    Counts add up; one void sitting voids all.

    Args:
        turns: how many the run has on record.
    """
    engine = next((span.before.engine for span in spans if span.before), None)
    if engine is None:
        return None
    watched = sum(span.ours.turns for span in spans)
    if watched < turns and not any(span.cut_short for span in spans):
        void = f"the metrics page was read for {watched} of the run's {turns} turns"
        return ServerFigures(engine=engine, void=void)
    return _figures(spans, engine)


def _figures(spans: Sequence[Span], engine: str) -> ServerFigures:
    void = next((reason for span in spans if (reason := _void(span, engine))), None)
    if void is not None:
        return ServerFigures(engine=engine, void=void)
    grown = _Grown(spans)
    finished = sum(span.ours.finished for span in spans)
    hits = grown["cache_hits"]
    prompt = grown["prompt_tokens"]
    if prompt is None and (computed := grown["computed_tokens"]) is not None and hits is not None:
        prompt = computed + hits  # llama.cpp counts them apart
    queries = grown.get("cache_queries", prompt)
    return ServerFigures(
        engine=engine,
        void=None,
        requests=_whole(grown["requests"]),
        queue_ms=_mean_ms(grown["queue_s"], grown["queue_n"]),
        prefill_ms=_mean_ms(grown["prefill_s"], grown.get("prefill_n", finished)),
        decode_ms=_mean_ms(grown["decode_s"], grown.get("decode_n", finished)),
        prompt_tokens=_whole(prompt),
        generation_tokens=_whole(grown["generation_tokens"]),
        cache_hit_share=_share(hits, queries),
        preemptions=_whole(grown["preemptions"]),
        tokens_per_step=_share(_step_tokens(grown), grown["steps"]),
        speculation=_speculation(grown),
    )


def _void(span: Span, engine: str) -> str | None:
    """Why the pages of one sitting say nothing of it."""
    before, after, ours = span.before, span.after, span.ours
    if span.cut_short:
        return "the run was cut short once, with requests under way that are on no record"
    if before is None:
        return "the metrics page could not be read each time the run was begun or continued"
    if after is None:
        return "the metrics page could not be read again at the end"
    if {before.engine, after.engine} != {engine}:
        return f"the metrics page was {before.engine}'s and became {after.engine}'s"
    if _restarted(before, after):
        return "the server was restarted meanwhile: its counters began anew"
    if busy := before.under_way():
        return f"others used the server: {_requests(busy)} ran or waited before ours"
    return _foreign(_Grown([span]), ours)


def _restarted(before: Page, after: Page) -> bool:
    if before.started is not None and after.started is not None and before.started != after.started:
        return True
    return any(
        was is not None and (now := after.values.get(name)) is not None and now < was
        for name, was in before.values.items()
        if name not in GAUGES
    )


def _foreign(grown: _Grown, ours: Ours) -> str | None:
    """What tells that others used the server, or that the page isn't of the server we asked."""
    requests, tokens = grown["requests"], grown["generation_tokens"]
    if requests is not None:
        if requests > ours.sent:
            return (
                f"others used the server: it finished {_requests(requests)}, ours are {ours.sent}"
            )
        if requests < ours.finished:
            return (
                f"the page counts {_requests(requests)}, and {ours.finished} of ours were answered:"
                " it is not, or not alone, of the server that answers"
            )
        return None
    if tokens is None:
        return "the metrics page counts neither requests nor tokens, so others can't be told"
    if ours.untold or ours.sent != ours.finished:
        return (
            "the metrics page counts no requests, and some of ours came to no end or without a "
            "count of their tokens, so others can't be told"
        )
    if tokens != ours.completion_tokens:
        return (
            f"others used the server: it generated {tokens:,.0f} tokens, and ours came to "
            f"{ours.completion_tokens:,}"
        )
    return None


class _Grown(dict[str, float | None]):
    """By how much each counter grew over all spans; what isn't on the pages is None."""

    def __init__(self, spans: Sequence[Span]) -> None:
        super().__init__()
        pairs = [(s.before, s.after) for s in spans if s.before and s.after]
        for name in {name for pair in pairs for page in pair for name in page.values} - GAUGES:
            # engines show a counter only once it has counted
            self[name] = _sum(
                _difference(b.values.get(name, 0.0), a.values.get(name)) for b, a in pairs
            )
        self.accepted_at = {
            position: _sum(
                _difference(b.accepted_at.get(position, 0.0), a.accepted_at.get(position))
                for b, a in pairs
            )
            for position in sorted({p for pair in pairs for page in pair for p in page.accepted_at})
        }

    def __missing__(self, name: str) -> None:
        return None


def _speculation(grown: _Grown) -> Speculation | None:
    drafts, accepted = grown["drafts"], grown["accepted_tokens"]
    if not drafts or accepted is None:
        return None
    return Speculation(
        drafts=int(drafts),
        acceptance_rate=_share(accepted, grown["draft_tokens"]),
        mean_length=1 + accepted / drafts,
        by_position=[_share(taken, drafts) for taken in grown.accepted_at.values()],
    )


def _step_tokens(grown: _Grown) -> float | None:
    if "step_tokens" in grown:
        return grown["step_tokens"]
    if grown["drafts"]:
        return None  # llama.cpp doesn't count the steps that check drafts
    computed, generated = grown["computed_tokens"], grown["generation_tokens"]
    return None if computed is None or generated is None else computed + generated


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _sum(values: Iterator[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _share(part: float | None, of: float | None) -> float | None:
    return part / of if part is not None and of else None


def _mean_ms(seconds: float | None, n: float | None) -> float | None:
    mean_s = _share(seconds, n)
    return None if mean_s is None else 1000 * mean_s


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _requests(n: float) -> str:
    return f"{n:,.0f} request" + ("" if n == 1 else "s")

"""The server's own figures beside the client's, for the summary.

Public: `ServerSummary`, `RequestFigures`, `Pair`, `Served`, `served_rounds`, `summarise_server`.

There are two sources. Some engines say of each request what it cost them (`Round.server`); these
are this run's alone. Their metrics page counts for the whole server, and is void where others used
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ragevalkit.endpoint.engine import Ours, ServerFigures, Span, figures_of
from ragevalkit.turn.record import Round, RoundState, ServerTimes


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RequestFigures(_Model):
    """What the engine says of each request; null where it doesn't."""

    source: str
    """The engine, by the form of its figures: vllm or llama.cpp."""
    n: int
    """Requests with figures."""
    queue_ms: float | None
    """Median over the requests, as are the next two."""
    prefill_ms: float | None
    decode_ms: float | None
    cached_share: float | None
    """Of the prompts' tokens, those from the cache."""
    acceptance_rate: float | None
    """Of the tokens drafted by speculative decoding, those accepted; null where none was."""


class Pair(_Model):
    """The same thing, seen by the client and by the server."""

    client: float | None
    server: float | None
    difference: float | None
    """Client less server; of medians, the median of the requests' differences."""
    statistic: Literal["median", "mean", "sum", "share"]
    n: int
    """Requests."""
    by: Literal["requests", "page"]
    """Where the server's figure comes from."""


class ServerSummary(_Model):
    """The server's own figures of a run, and those of the client beside them."""

    source: str
    """The engine: vllm, sglang or llama.cpp."""
    void: str | None
    """Why the metrics page says nothing of this run; null where it does, or there was none."""
    page: ServerFigures | None
    """Means and counts from the metrics page; null where there was none, or it is void."""
    requests: RequestFigures | None
    pairs: dict[str, Pair]
    """`first_token_ms`: sent to the first token, against queue and prefill; the difference is
    network, templating, what the server's parser holds back, and this client's lag. `decode_ms`:
    first token to the last. `requests`, `prompt_tokens`, `completion_tokens`, `cached_share`."""


@dataclass(frozen=True, slots=True)
class Served:
    """One request by both clocks; None is what was not told."""

    times: ServerTimes
    first_token_ms: float | None
    """The client's: sent to the first token."""
    decode_ms: float | None
    """The client's: first token to the last."""
    completion_tokens: int | None

    @property
    def server_first_token_ms(self) -> float | None:
        """Queue and prefill, as far as the engine tells them."""
        if self.times.prefill_ms is None:
            return None
        return self.times.prefill_ms + (self.times.queue_ms or 0)


def served_rounds(rounds: Iterable[Round]) -> list[Served]:
    """The finished rounds of a turn of which the server said something."""
    return [
        Served(
            times=round_.server,
            first_token_ms=_between(round_.clock.sent_ms, round_.clock.first_token_ms),
            decode_ms=_between(round_.clock.first_token_ms, round_.clock.last_token_ms),
            completion_tokens=round_.completion_tokens,
        )
        for round_ in rounds
        if round_.server is not None and round_.state is RoundState.DONE
    ]


def summarise_server(
    served: Sequence[Served], spans: Sequence[Span], turns: int = 0
) -> ServerSummary | None:
    """Both sources together; None where there is neither.

    Args:
        spans: the sittings of the run.
        turns: how many the run has on record.
    """
    whole = figures_of(spans, turns)
    if not served and whole is None:
        return None
    page = whole if whole is not None and whole.void is None else None
    pairs = _page_pairs(page, [span.ours for span in spans]) if page else {}
    return ServerSummary(
        source=whole.engine if whole else served[0].times.source,
        void=whole.void if whole else None,
        page=page,
        requests=_requests(served),
        # the requests' own figures are paired, and of this run alone
        pairs=pairs | _request_pairs(served),
    )


def _requests(served: Sequence[Served]) -> RequestFigures | None:
    if not served:
        return None
    times = [one.times for one in served]
    prompts = [t for t in times if t.prompt_tokens is not None and t.cached_tokens is not None]
    drafts = [t for t in times if t.draft_tokens is not None and t.accepted_tokens is not None]
    return RequestFigures(
        source=times[0].source,
        n=len(times),
        queue_ms=_median(t.queue_ms for t in times),
        prefill_ms=_median(t.prefill_ms for t in times),
        decode_ms=_median(t.decode_ms for t in times),
        cached_share=_share(
            sum(t.cached_tokens or 0 for t in prompts), sum(t.prompt_tokens or 0 for t in prompts)
        ),
        acceptance_rate=_share(
            sum(t.accepted_tokens or 0 for t in drafts), sum(t.draft_tokens or 0 for t in drafts)
        ),
    )


def _request_pairs(served: Sequence[Served]) -> dict[str, Pair]:
    pairs = {
        "first_token_ms": _medians(
            served, lambda one: one.first_token_ms, lambda one: one.server_first_token_ms
        ),
        "decode_ms": _medians(served, lambda one: one.decode_ms, lambda one: one.times.decode_ms),
        "completion_tokens": _tokens(served),
    }
    return {name: pair for name, pair in pairs.items() if pair is not None}


def _medians(
    served: Sequence[Served],
    client: Callable[[Served], float | None],
    server: Callable[[Served], float | None],
) -> Pair | None:
    both = [
        (ours, theirs)
        for one in served
        if (ours := client(one)) is not None and (theirs := server(one)) is not None
    ]
    if not both:
        return None
    return Pair(
        client=median(ours for ours, _ in both),
        server=median(theirs for _, theirs in both),
        difference=median(ours - theirs for ours, theirs in both),
        statistic="median",
        n=len(both),
        by="requests",
    )


def _tokens(served: Sequence[Served]) -> Pair | None:
    both = [
        (one.completion_tokens, one.times.completion_tokens)
        for one in served
        if one.completion_tokens is not None and one.times.completion_tokens is not None
    ]
    if not both:
        return None
    ours, theirs = sum(o for o, _ in both), sum(t for _, t in both)
    return _pair(ours, theirs, "sum", len(both), "requests")


def _page_pairs(page: ServerFigures, ours: Sequence[Ours]) -> dict[str, Pair]:
    timed = sum(o.timed for o in ours)
    finished = sum(o.finished for o in ours)
    told = not any(o.untold for o in ours)
    prompts = sum(o.prompt_tokens for o in ours) if told else None
    completions = sum(o.completion_tokens for o in ours) if told else None
    first_token_ms = _share(sum(o.first_token_ms for o in ours), timed)
    decode_ms = _share(sum(o.decode_ms for o in ours), timed)
    server_ms = None if page.prefill_ms is None else page.prefill_ms + (page.queue_ms or 0)
    return {
        "requests": _pair(finished, page.requests, "sum", finished, "page"),
        "first_token_ms": _pair(first_token_ms, server_ms, "mean", timed, "page"),
        "decode_ms": _pair(decode_ms, page.decode_ms, "mean", timed, "page"),
        "prompt_tokens": _pair(prompts, page.prompt_tokens, "sum", finished, "page"),
        "completion_tokens": _pair(completions, page.generation_tokens, "sum", finished, "page"),
        "cached_share": _pair(
            _share(sum(o.cached_tokens for o in ours), prompts),
            page.cache_hit_share,
            "share",
            finished,
            "page",
        ),
    }


def _pair(
    client: float | None,
    server: float | None,
    statistic: Literal["median", "mean", "sum", "share"],
    n: int,
    by: Literal["requests", "page"],
) -> Pair:
    difference = None if client is None or server is None else client - server
    return Pair(
        client=client, server=server, difference=difference, statistic=statistic, n=n, by=by
    )


def _median(values: Iterable[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return median(told) if told else None


def _share(part: float, of: float | None) -> float | None:
    return part / of if of else None


def _between(begin_ms: float | None, end_ms: float | None) -> float | None:
    return None if begin_ms is None or end_ms is None else end_ms - begin_ms

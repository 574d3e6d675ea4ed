"""From the replies of a stream bench to rates, gaps, stalls, drafts and gains.

Public: `StreamResult`, `StreamArm`, `OutputLevel`, `Stalls`, `EventTokens`, `Drafting`, `Gain`,
`LengthGain`, `Replies`, `arm_figures`, `gains`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ragevalkit.bench.calibrate import Spread
from ragevalkit.bench.curves import Estimate, gain, mean_estimate, total_rate
from ragevalkit.bench.decoding import CHANNELS, all_gaps_ms, channels, decoding, wait_ms
from ragevalkit.bench.lengths import Lengths, exact_share
from ragevalkit.bench.session import Floor
from ragevalkit.endpoint.engine import ServerFigures
from ragevalkit.turn.record import Round, RoundState

STALL_FACTOR = 5.0
STALL_FLOOR_MS = 100.0
"""A stall is a gap above both: so many times the reply's median gap, and what a reader notices."""

Replies = Mapping[tuple[int, int], Round]
"""Of one arm, by the tokens asked for and the prompt's number."""

Verdict = Literal["faster", "slower", "inconclusive"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OutputLevel(_Model):
    """One output length."""

    output_tokens: int
    """Asked for."""
    tokens: float | None
    """Median that came."""
    requests: int
    failed: int
    decode_rate: Estimate
    """Tokens a second after the first event, all replies together."""
    whole_rate: Estimate
    """Tokens a second from sending to the last token."""
    wait_ms: Estimate
    """Mean of sent to first token."""


class Stalls(_Model):
    """Gaps above max(factor x the reply's median gap, floor)."""

    factor: float
    floor_ms: float
    stalls: int
    replies: int
    """With at least one."""
    per_1k_tokens: float | None
    longest_ms: float | None
    time_share: float | None
    """Of the time from first token to last, spent in stalls."""


class EventTokens(_Model):
    """Tokens of the token-bearing events."""

    mean: float
    events: int
    by_size: dict[int, int]
    """Events of each size; empty where the server doesn't say what single events carried."""


class Drafting(_Model):
    """Speculative decoding by the engine's own counts."""

    source: Literal["requests", "metrics page"]
    acceptance_rate: float | None
    """Accepted over drafted tokens."""
    tokens_per_step: float | None
    """Output tokens over steps, of which there are as many as output tokens that weren't
    accepted drafts."""
    by_position: list[float | None] = []
    """Share of the drafts whose token at this place was accepted; from the metrics page."""


class StreamArm(_Model):
    """One endpoint. Null: nothing came that tells it."""

    endpoint: str
    model: str
    exact_lengths: Lengths
    exact_share: float | None
    levels: list[OutputLevel]
    gaps_ms: dict[str, Spread]
    """By channel (reasoning, tool, answer), of all replies."""
    stalls: Stalls
    tokens_per_event: EventTokens | None
    drafting: Drafting | None
    """Null where nothing was drafted, or the engine doesn't say."""
    engine: ServerFigures | None
    """From the metrics page before and after; null where there is none."""
    notes: list[str]
    floor: Floor | None


class LengthGain(_Model):
    """How many times as fast, by pairs of one prompt; of one length, or of all."""

    output_tokens: int | None
    """Null: all lengths together."""
    pairs: int
    decode: Estimate
    decode_verdict: Verdict
    whole: Estimate
    """From sending to the last token."""
    whole_verdict: Verdict


class Gain(_Model):
    """One arm against the first."""

    base: str
    arm: str
    levels: list[LengthGain]
    all: LengthGain
    same_text: float | None
    """Share of the pairs whose texts are equal."""


class StreamResult(_Model):
    """What `bench stream --json` prints."""

    name: str
    bench: str = "stream"
    arms: dict[str, StreamArm]
    gains: list[Gain]
    notes: list[str]
    failed: str | None = None
    """How an endpoint failed, where that ended the bench."""


def arm_figures(
    replies: Replies,
    *,
    endpoint: str,
    model: str,
    exact: Lengths,
    engine: ServerFigures | None = None,
    floor: Floor | None = None,
) -> StreamArm:
    """What the replies of one arm say, however few they are."""
    done = [r for r in replies.values() if r.state is RoundState.DONE]
    asked = sorted({tokens for tokens, _ in replies})
    return StreamArm(
        endpoint=endpoint,
        model=model,
        exact_lengths=exact,
        exact_share=exact_share((tokens, r) for (tokens, _), r in replies.items()),
        levels=[_level(n, [r for (m, _), r in replies.items() if m == n]) for n in asked],
        gaps_ms=_gaps(done),
        stalls=_stalls(done),
        tokens_per_event=_event_tokens(done),
        drafting=_by_requests(done) or _by_page(engine),
        engine=engine,
        notes=_remarks(replies.values(), done, exact),
        floor=floor,
    )


def _level(asked: int, rounds: Sequence[Round]) -> OutputLevel:
    done = [r for r in rounds if r.state is RoundState.DONE]
    replies = [reply for r in done if (reply := decoding(r)) is not None]
    timed = [reply for reply in replies if reply.rate]
    waits = [wait for r in done if (wait := wait_ms(r)) is not None]
    return OutputLevel(
        output_tokens=asked,
        tokens=median(reply.tokens for reply in replies) if replies else None,
        requests=len(rounds),
        failed=len(rounds) - len(done),
        decode_rate=total_rate([r.timed for r in timed], [r.span_ms / 1000 for r in timed]),
        whole_rate=total_rate([r.tokens for r in replies], [r.whole_ms / 1000 for r in replies]),
        wait_ms=mean_estimate(waits),
    )


def _gaps(rounds: Iterable[Round]) -> dict[str, Spread]:
    gaps: dict[str, list[float]] = {name: [] for name in CHANNELS}
    for round_ in rounds:
        for name, channel in channels(round_).items():
            gaps[name] += channel.gaps_ms
    return {name: Spread.of(values) for name, values in gaps.items() if values}


def _stalls(rounds: Iterable[Round]) -> Stalls:
    stalled: list[float] = []
    replies, tokens, span_ms = 0, 0, 0.0
    for round_ in rounds:
        gaps, reply = all_gaps_ms(round_), decoding(round_)
        if not gaps or reply is None:
            continue
        limit = max(STALL_FACTOR * median(gaps), STALL_FLOOR_MS)
        found = [gap for gap in gaps if gap > limit]
        stalled += found
        replies += bool(found)
        tokens += reply.tokens
        span_ms += reply.span_ms
    return Stalls(
        factor=STALL_FACTOR,
        floor_ms=STALL_FLOOR_MS,
        stalls=len(stalled),
        replies=replies,
        per_1k_tokens=round(1000 * len(stalled) / tokens, 3) if tokens else None,
        longest_ms=round(max(stalled), 3) if stalled else None,
        time_share=round(sum(stalled) / span_ms, 4) if span_ms else None,
    )


def _event_tokens(rounds: Iterable[Round]) -> EventTokens | None:
    tokens = events = 0
    sizes: Counter[int] = Counter()
    told = True
    for round_ in rounds:
        reply = decoding(round_)
        if reply is None:
            continue
        said = [round_.clock.first_event_tokens]
        said += [n for c in channels(round_).values() for n in c.event_tokens]
        tokens, events = tokens + reply.tokens, events + len(said)
        told = told and None not in said
        sizes.update(n for n in said if n is not None)
    if not events:
        return None
    by_size = dict(sorted(sizes.items())) if told else {}
    return EventTokens(mean=round(tokens / events, 3), events=events, by_size=by_size)


def _by_requests(rounds: Iterable[Round]) -> Drafting | None:
    drafted = accepted = tokens = 0
    for round_ in rounds:
        server, reply = round_.server, decoding(round_)
        if server is None or reply is None or server.draft_tokens is None:
            continue
        drafted += server.draft_tokens
        accepted += server.accepted_tokens or 0
        tokens += reply.tokens
    if not drafted:
        return None
    return Drafting(
        source="requests",
        acceptance_rate=round(accepted / drafted, 4),
        tokens_per_step=_per_step(tokens, accepted),
    )


def _by_page(engine: ServerFigures | None) -> Drafting | None:
    drafts = engine.speculation if engine else None
    if engine is None or drafts is None:
        return None
    accepted = (drafts.mean_length - 1) * drafts.drafts
    return Drafting(
        source="metrics page",
        acceptance_rate=drafts.acceptance_rate and round(drafts.acceptance_rate, 4),
        tokens_per_step=_per_step(engine.generation_tokens or 0, accepted),
        by_position=[p and round(p, 4) for p in drafts.by_position],
    )


def _per_step(tokens: float, accepted: float) -> float | None:
    return round(tokens / (tokens - accepted), 3) if tokens > accepted else None


def _remarks(rounds: Iterable[Round], done: Sequence[Round], exact: Lengths) -> list[str]:
    replies = [reply for r in done if (reply := decoding(r)) is not None]
    said = []
    if not exact.fields:
        said.append(f"replies can't be held to a length: {exact.refused}")
    if short := sum(r.finish_reason != "length" for r in done):
        said.append(f"{short} of {len(done)} replies ended before their length")
    if whole := sum(reply.rate is None for reply in replies):
        said.append(f"all tokens came at once in {whole} of {len(replies)} replies: no rate there")
    if any(reply.estimated for reply in replies):
        said.append("the server counts no tokens: all rates are estimates")
    failed = Counter(r.error or r.state.value for r in rounds if r.state is not RoundState.DONE)
    said += [f"{count} requests failed: {error}" for error, count in failed.most_common(3)]
    return said


def gains(arms: Mapping[str, Replies]) -> list[Gain]:
    """Each later arm against the first, over the prompts that both answered."""
    (base, of_base), *others = arms.items()
    return [_gain(base, of_base, name, replies) for name, replies in others]


def _gain(base: str, of_base: Replies, arm: str, replies: Replies) -> Gain:
    pairs = {
        key: (of_base[key], replies[key])
        for key in sorted(of_base.keys() & replies.keys())
        if all(_is_timed(side[key]) for side in (of_base, replies))
    }
    same = [a.content == b.content and a.reasoning == b.reasoning for a, b in pairs.values()]
    lengths = sorted({tokens for tokens, _ in pairs})
    by_prompt: dict[int, list[tuple[Round, Round]]] = {}
    for (_, prompt), pair in pairs.items():
        by_prompt.setdefault(prompt, []).append(pair)
    return Gain(
        base=base,
        arm=arm,
        levels=[
            _length_gain(n, [[pair] for (tokens, _), pair in pairs.items() if tokens == n])
            for n in lengths
        ],
        all=_length_gain(None, list(by_prompt.values())),
        same_text=round(sum(same) / len(same), 3) if same else None,
    )


def _is_timed(round_: Round) -> bool:
    reply = decoding(round_)
    return round_.state is RoundState.DONE and reply is not None and reply.rate is not None


def _length_gain(
    tokens: int | None, prompts: Sequence[Sequence[tuple[Round, Round]]]
) -> LengthGain:
    """With the prompt as the unit: its replies' seconds over their tokens, on either side."""
    decode = gain(*([_per_token(of, side, whole=False) for of in prompts] for side in (0, 1)))
    whole = gain(*([_per_token(of, side, whole=True) for of in prompts] for side in (0, 1)))
    return LengthGain(
        output_tokens=tokens,
        pairs=sum(map(len, prompts)),
        decode=decode,
        decode_verdict=_verdict(decode),
        whole=whole,
        whole_verdict=_verdict(whole),
    )


def _per_token(pairs: Sequence[tuple[Round, Round]], side: int, *, whole: bool) -> float:
    """Seconds a token on one side of a prompt's pairs."""
    replies = [reply for pair in pairs if (reply := decoding(pair[side])) is not None]
    spent = sum(r.whole_ms if whole else r.span_ms for r in replies)
    return spent / 1000 / sum(r.tokens if whole else r.timed for r in replies)


def _verdict(of: Estimate) -> Verdict:
    if of.low is not None and of.low > 1:
        return "faster"
    return "slower" if of.high is not None and of.high < 1 else "inconclusive"

"""From what is on record to the numbers of the arms and of their contrasts.

Public: `analyse`, `Known`, `blocks_of`, `complete_blocks`, `differences`, `cache_state`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ragevalkit.bench.calibrate import Spread
from ragevalkit.bench.folder import Record
from ragevalkit.bench.guided.arms import ARMS, CONTRASTS, GRAMMAR, Contrast
from ragevalkit.bench.guided.asking import gap, ttft
from ragevalkit.bench.guided.cold import engine_cold, first_uses
from ragevalkit.bench.guided.estimate import Estimate, Verdict, estimate, nothing_known
from ragevalkit.bench.guided.plan import Plan
from ragevalkit.bench.guided.ready import State
from ragevalkit.bench.guided.result import (
    ArmResult,
    CacheState,
    ContrastResult,
    Engaged,
    GuidedResult,
)
from ragevalkit.bench.prompts import cached_tokens
from ragevalkit.bench.session import Floor
from ragevalkit.turn.record import Round, RoundState, ServerTimes

Block = tuple[int, int]
"""Sitting and number."""
Blocks = Mapping[Block, Mapping[str, Round]]
"""The rounds of each block, by arm."""

_TEMPLATE_TOKENS = 16
"""So many cached tokens are the template's own beginning: one block of a prefix cache."""
_BATCH = 3
"""A first event of a call with so many tokens was held back until they were there."""
_BLANKS = re.compile(r"\s{32}")
_OF_SERVER: Mapping[str, Callable[[ServerTimes], float | None]] = {
    "queue_ms": lambda server: server.queue_ms,
    "prefill_ms": lambda server: server.prefill_ms,
    "server_ttft_ms": lambda server: (
        None if server.prefill_ms is None else server.prefill_ms + (server.queue_ms or 0.0)
    ),
}
"""A contrast's figures that are the server's own."""


@dataclass(frozen=True)
class Known:
    """What isn't in the records."""

    name: str
    model: str
    states: Mapping[str, State]
    arms: Sequence[str]
    """Those that the endpoint takes."""
    streams: bool
    kept_out_by: str
    planned: int | None
    stopped: str | None
    floor: Floor


def analyse(records: Sequence[Record], plan: Plan, known: Known) -> GuidedResult:
    """All numbers of the bench."""
    blocks = blocks_of(records)
    gaps = [g for rounds in blocks.values() for r in rounds.values() if (g := gap(r)) is not None]
    usual_gap = median(gaps) if gaps else None
    arms = {
        arm: _arm(arm, [b[arm] for b in blocks.values() if arm in b], known, usual_gap)
        for arm in ARMS
        if arm in known.states
    }
    contrasts = {
        contrast.name: _contrast(contrast, blocks, arms, plan, known.streams)
        for contrast in CONTRASTS
        if contrast.base in arms and contrast.arm in arms
    }
    warm = blocks_of(records, "cached")
    return GuidedResult(
        name=known.name,
        endpoint=plan.profile.name,
        model=known.model,
        tools=plan.tool_names,
        blocks=len(complete_blocks(records, known.arms)),
        planned=known.planned,
        stopped=known.stopped,
        tokens=plan.tokens if known.streams else 1,
        streams=known.streams,
        arms=arms,
        contrasts=contrasts,
        warm_prefix=_warm_prefix(warm, arms, plan, known.streams),
        first_use=first_uses(records, known.streams, plan.margin_ms),
        engine_cold=engine_cold(records, known.streams),
        cache=cache_state(blocks, known.kept_out_by),
        floor=known.floor,
    )


def complete_blocks(records: Iterable[Record], arms: Sequence[str]) -> list[Block]:
    """The blocks in which each of these arms was answered; others are asked anew."""
    return [
        at
        for at, rounds in blocks_of(records).items()
        if all(arm in rounds and rounds[arm].state is RoundState.DONE for arm in arms)
    ]


def differences(records: Iterable[Record], contrast: Contrast, streams: bool) -> list[float]:
    """Of the first-token times of two arms, within blocks."""
    return list(_differences(contrast, blocks_of(records), lambda r: ttft(r, streams)))


def blocks_of(records: Iterable[Record], state: str = "measured") -> dict[Block, dict[str, Round]]:
    """The rounds in this state, by block and arm."""
    blocks: dict[Block, dict[str, Round]] = {}
    for record in records:
        place = record.place
        if place.get("state") == state and record.round is not None:
            block = blocks.setdefault((place["sitting"], place["block"]), {})
            block[place["arm"]] = record.round
    return blocks


def _arm(arm: str, rounds: Sequence[Round], known: Known, usual_gap: float | None) -> ArmResult:
    state = known.states[arm]
    times = [t for r in rounds if (t := ttft(r, known.streams)) is not None]
    gaps = [g for r in rounds if (g := gap(r)) is not None]
    with_calls = [r for r in rounds if r.calls]
    hidden = [r for r in rounds if r.completion_tokens and ttft(r, known.streams) is None]
    firsts = [n for r in rounds if (n := r.clock.first_event_tokens) is not None]
    return ArmResult(
        sends=ARMS[arm],
        status="run" if state.supported else "not_supported",
        engaged=state.engaged,
        evidence=state.evidence,
        requests=len(rounds),
        failed=len(rounds) - len(times),
        prompt_tokens=_middle(r.prompt_tokens for r in rounds),
        cached_tokens=max(_known(map(cached_tokens, rounds)), default=None),
        completion_tokens=_middle(r.completion_tokens for r in rounds),
        calls=len(with_calls),
        ttft_ms=Spread.of(times) if times else None,
        gap_ms=Spread.of(gaps) if gaps else None,
        first_event_tokens=_middle(firsts),
        held_back=_held_back(with_calls, len(hidden), usual_gap),
        hidden=len(hidden),
        whitespace_loops=sum(bool(_BLANKS.search(r.content)) for r in rounds),
    )


def _held_back(rounds: Sequence[Round], hidden: int, usual_gap: float | None) -> Engaged | None:
    """Whether the first event of calls came later than their first token, or not at all.

    Args:
        rounds: those with calls.
        hidden: how many rounds had tokens of which none came.
    """
    if hidden or not rounds:
        return "yes" if hidden else None
    counts = [n for r in rounds if (n := r.clock.first_event_tokens) is not None]
    late = [
        first - (r.server.queue_ms or 0.0) - r.server.prefill_ms
        for r in rounds
        if r.server is not None
        and r.server.prefill_ms is not None
        and (first := ttft(r)) is not None
    ]
    if counts and median(counts) >= _BATCH:
        return "yes"
    if late and usual_gap is not None:
        return "yes" if median(late) > _BATCH * usual_gap else "no"
    return "no" if counts else "unknown"


def _contrast(
    contrast: Contrast, blocks: Blocks, arms: Mapping[str, ArmResult], plan: Plan, streams: bool
) -> ContrastResult:
    pair = {arm: arms[arm] for arm in (contrast.base, contrast.arm)}
    notes = list(_hindrances(contrast, arms))
    out = [arm for arm, of in pair.items() if of.status != "run" or of.engaged == "no"]
    if out:
        return ContrastResult(
            from_=contrast.base,
            to=contrast.arm,
            isolates=contrast.isolates,
            ttft_ms=nothing_known(Verdict.NOT_ENGAGED, plan.margin_ms),
            gap_ms=nothing_known(Verdict.NOT_ENGAGED, plan.gap_margin_ms),
            notes=[f"{arm}: {pair[arm].evidence}" for arm in out],
        )
    doubtful = any(
        of.engaged == "unknown" or (of.cached_tokens or 0) > _TEMPLATE_TOKENS
        for of in pair.values()
    )
    return _estimated(contrast, blocks, plan, streams, notes, doubtful)


def _estimated(
    contrast: Contrast,
    blocks: Blocks,
    plan: Plan,
    streams: bool,
    notes: list[str],
    doubtful: bool,
) -> ContrastResult:
    both = {at: b for at, b in blocks.items() if contrast.base in b and contrast.arm in b}
    done = {
        at: b
        for at, b in both.items()
        if b[contrast.base].state is b[contrast.arm].state is RoundState.DONE
    }
    same = {at: b for at, b in done.items() if _same_output(b[contrast.base], b[contrast.arm])}
    times = list(_differences(contrast, both, lambda r: ttft(r, streams)))
    gaps = list(_differences(contrast, same, gap)) if streams else []
    lengths = list(_differences(contrast, both, lambda r: r.prompt_tokens))
    return ContrastResult(
        from_=contrast.base,
        to=contrast.arm,
        isolates=contrast.isolates,
        ttft_ms=estimate(times, plan.margin_ms, doubtful=doubtful),
        gap_ms=estimate(
            gaps,
            plan.gap_margin_ms,
            doubtful=doubtful,
            kept=len(same) / len(done) if done else None,
        ),
        **{name: _of_server(of, contrast, both, plan, doubtful) for name, of in _OF_SERVER.items()},
        prompt_tokens=round(median(lengths)) if lengths else None,
        notes=notes,
    )


def _of_server(
    of: Callable[[ServerTimes], float | None],
    contrast: Contrast,
    blocks: Blocks,
    plan: Plan,
    doubtful: bool,
) -> Estimate | None:
    """A contrast of the server's own figures; None where it gives none."""

    def figure(round_: Round) -> float | None:
        server = round_.server
        return of(server) if server and round_.state is RoundState.DONE else None

    found = list(_differences(contrast, blocks, figure))
    return estimate(found, plan.margin_ms, doubtful=doubtful) if found else None


def _hindrances(contrast: Contrast, arms: Mapping[str, ArmResult]) -> Iterator[str]:
    """What stands in the way of taking the difference for its cause, a sentence each."""
    base, arm = arms[contrast.base], arms[contrast.arm]
    for name, of in ((contrast.base, base), (contrast.arm, arm)):
        if (of.cached_tokens or 0) > _TEMPLATE_TOKENS:
            yield (
                f"up to {of.cached_tokens} of {of.prompt_tokens} prompt tokens of {name} came "
                "from the cache"
            )
        if of.engaged == "unknown":
            what = "grammar was engaged" if name in GRAMMAR else "tools were in the prompt"
            yield f"whether {name}'s {what} isn't known: {of.evidence}"
        if of.hidden:
            yield (
                f"of {of.hidden} of {of.requests} replies of {name} no token came at all: a parser "
                "held them back"
            )
        elif of.held_back == "yes":
            yield f"the parser holds the first tokens of {name}'s calls back: its time is late"
        if of.whitespace_loops:
            yield f"{of.whitespace_loops} replies of {name} hold 32 or more blanks in a row"
    lengths = (base.prompt_tokens, arm.prompt_tokens)
    if contrast.base != "P" and None not in lengths and lengths[0] != lengths[1]:
        yield f"the prompts differ: {lengths[0]} and {lengths[1]} tokens"
    free = arms.get("T1")
    wanted = free.prompt_tokens if free else None
    if contrast.arm in ("F", "T0") and None not in (wanted, lengths[1]) and wanted != lengths[1]:
        yield f"the prompt has {lengths[1]} tokens, that of T1 {wanted}"


def _warm_prefix(
    blocks: Blocks, arms: Mapping[str, ArmResult], plan: Plan, streams: bool
) -> ContrastResult | None:
    """T1-P where both prompts begin in the cache."""
    if not blocks or "P" not in arms or "T1" not in arms or arms["T1"].engaged == "no":
        return None
    notes = []
    for arm in ("P", "T1"):
        rounds = [of[arm] for of in blocks.values() if arm in of]
        known = _known(map(cached_tokens, rounds))
        if not known:
            notes.append("the server doesn't report cached tokens: whether they were isn't known")
            break
        if missed := known.count(0):
            length = _middle(r.prompt_tokens for r in rounds)
            notes.append(
                f"{missed} of {len(rounds)} prompts of {arm}, of {length} tokens, didn't come from "
                "the cache"
            )
    contrast = Contrast("P", "T1", "tools whose prompt is in the cache")
    return _estimated(contrast, blocks, plan, streams, notes, doubtful=bool(notes))


def cache_state(blocks: Blocks, kept_out_by: str) -> CacheState:
    """Whether prompts came from the cache, by what the server reports."""
    reported = [cached_tokens(r) for rounds in blocks.values() for r in rounds.values()]
    most = max(_known(reported), default=None)
    kept_out: Engaged = "unknown"
    if most is not None:
        kept_out = "yes" if most <= _TEMPLATE_TOKENS else "no"
    return CacheState(kept_out_by=kept_out_by, kept_out=kept_out, most_cached_tokens=most)


def _same_output(a: Round, b: Round) -> bool:
    """Whether two replies say the same in as many tokens."""
    return _said(a) == _said(b) and a.completion_tokens == b.completion_tokens


def _said(round_: Round) -> tuple[object, ...]:
    calls = [(call.name, call.arguments) for call in round_.calls]
    return round_.reasoning, round_.content, calls


def _differences(
    contrast: Contrast, blocks: Blocks, figure: Callable[[Round], float | None]
) -> Iterator[float]:
    for rounds in blocks.values():
        if contrast.base not in rounds or contrast.arm not in rounds:
            continue
        base, arm = figure(rounds[contrast.base]), figure(rounds[contrast.arm])
        if base is not None and arm is not None:
            yield arm - base


def _middle(values: Iterable[int | None]) -> int | None:
    known = _known(values)
    return round(median(known)) if known else None


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]

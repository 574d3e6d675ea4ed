"""Tables of `bench guided`.

Public: `guided_tables`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragevalkit.report.numbers import MISSING, count, milliseconds, percent, rate
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.bench.guided.estimate import Estimate
    from ragevalkit.bench.guided.result import ArmResult, ContrastResult, GuidedResult


_CACHED = "T1-P cached"
_LABELS = {
    "T1-P": "tools in all",
    "F-P": "filler",
    "T0-P": "tools' prompt",
    "T1-T0": "tool parser",
    "T2-T1": "strict",
    "T3-T0": "forced call",
    "N-P": "null grammar",
    "J-J0": "JSON schema",
}
"""What a contrast isolates, in a word or two."""


def guided_tables(result: GuidedResult) -> list[Table]:
    """The arms, what their differences are, first uses, and the sweep over numbers of tools."""
    tables = []
    if result.arms:
        tables += [_arms(result), _first_token(result), _per_token(result)]
    if result.first_use or result.engine_cold:
        tables.append(_first_uses(result))
    if result.tool_counts:
        tables.append(_counts(result))
    tables[-1].notes.extend(_floor(result))
    return tables


def _arms(result: GuidedResult) -> Table:
    notes = [
        f"{arm}: {of.evidence}"
        for arm, of in result.arms.items()
        if of.status != "run" or of.engaged != "yes"
    ]
    cache = result.cache
    if cache is not None:
        seen = {
            "yes": "no prompt came from it",
            "no": f"up to {cache.most_cached_tokens} prompt tokens came from it all the same",
            "unknown": "the server doesn't report cached tokens, so that can't be verified",
        }[cache.kept_out]
        notes.append(f"Prefix cache kept out by {cache.kept_out_by}: {seen}.")
    if not result.streams:
        notes.append("Replies come whole: times are those of replies of one token.")
    return Table(
        f"{result.name}: {result.blocks} blocks, {result.model}",
        ["arm", "sends", "engaged", "prompt", "TTFT p50", "per token"],
        [[arm, *_arm(of)] for arm, of in result.arms.items()],
        notes,
        text_columns=3,
    )


def _arm(arm: ArmResult) -> list[str]:
    engaged = arm.engaged if arm.status == "run" else "not supported"
    return [
        arm.sends,
        engaged,
        count(arm.prompt_tokens),
        milliseconds(arm.ttft_ms.p50 if arm.ttft_ms else None),
        milliseconds(arm.gap_ms.p50 if arm.gap_ms else None),
    ]


def _first_token(result: GuidedResult) -> Table:
    contrasts = list(result.contrasts.items())
    if result.warm_prefix is not None:
        contrasts.append((_CACHED, result.warm_prefix))
    notes = [f"{name}: {note}" for name, contrast in contrasts for note in contrast.notes]
    if contrasts:
        margin = contrasts[0][1].ttft_ms.margin
        notes.insert(
            0,
            f"Median difference within blocks; equivalent: less than {margin:g} ms apart, by the "
            "90 % interval.",
        )
    return Table(
        "First-token time",
        ["contrast", "difference", "95 % interval", "detectable", "verdict"],
        [row for name, contrast in contrasts for row in _first_token_rows(name, contrast)],
        notes,
        remarks=True,
    )


def _first_token_rows(name: str, contrast: ContrastResult) -> Iterator[list[str]]:
    """The client's number, and the server's own where too few replies showed a token."""
    yield [_label(name), *_amounts(contrast.ttft_ms)]
    server = contrast.server_ttft_ms
    if contrast.ttft_ms.low is None and server is not None and server.low is not None:
        yield [f"{name}, server's clock", *_amounts(server)]


def _per_token(result: GuidedResult) -> Table:
    return Table(
        "Time per token, where both outputs are the same",
        ["contrast", "same", "difference", "95 % interval", "detectable", "verdict"],
        [
            [name, percent(contrast.gap_ms.kept), *_amounts(contrast.gap_ms)]
            for name, contrast in result.contrasts.items()
        ],
        remarks=True,
    )


def _first_uses(result: GuidedResult) -> Table:
    rows = [
        [
            f"new schema, {use.arm}",
            milliseconds(use.first_ms),
            milliseconds(use.again_ms),
            *_amounts(use.ttft_ms)[:2],
        ]
        for use in result.first_use
    ]
    for cold in result.engine_cold:
        what = "first one of all" + (f" ({cold.sitting + 1})" if cold.sitting else "")
        cost = None
        if cold.first_ms is not None and cold.again_ms is not None:
            cost = cold.first_ms - cold.again_ms
        times = map(milliseconds, (cold.first_ms, cold.again_ms, cost))
        rows.append([what, *times, MISSING])
    notes = [f"The first one of all: {c.said}" for c in result.engine_cold if c.said]
    if any(cold.first_ms is not None for cold in result.engine_cold):
        notes.append("Whether the server had compiled a grammar before this bench isn't known.")
    return Table(
        "First use of a grammar: first-token time",
        ["grammar", "first", "again", "difference", "95 % interval"],
        rows,
        notes,
    )


def _counts(result: GuidedResult) -> Table:
    rows, notes = [], []
    for of in result.tool_counts:
        rows.append(
            [
                str(of.tools),
                count(of.prompt_tokens),
                *_amounts(of.ttft_ms)[:2],
                rate(of.called.k, of.called.n),
                rate(of.right_tool.k, of.right_tool.n),
                rate(of.well_formed.k, of.well_formed.n),
            ]
        )
        if of.generated:
            notes.append(f"Of {of.tools} tools {of.generated} are made up.")
        if of.evidence:
            notes.append(f"{of.tools} tools are not supported: {of.evidence}")
        if of.defects:
            kinds = ", ".join(f"{kind} {number}" for kind, number in of.defects.items())
            notes.append(f"Defects with {of.tools}: {kinds}.")
    notes.append(
        "First-token times over no tools. Called, of the right tool and well-formed, where a call "
        "of one named tool was asked for."
    )
    return Table(
        f"{result.name}: number of tools, {result.blocks} blocks",
        ["tools", "prompt", "difference", "95 % interval", "called", "right", "well-formed"],
        rows,
        notes,
        text_columns=0,
    )


def _label(name: str) -> str:
    return f"{name} {_LABELS[name]}" if name in _LABELS else name


def _amounts(estimate: Estimate) -> list[str]:
    """Difference, interval, detectable, verdict."""
    if estimate.low is None or estimate.high is None:
        interval = MISSING
    else:
        interval = f"{_number(estimate.low)} – {_number(estimate.high)} ms"
    verdict = estimate.verdict.value.replace("_", " ")
    return [
        MISSING if estimate.median is None else f"{_number(estimate.median)} ms",
        interval,
        MISSING if estimate.detectable is None else f"{_number(estimate.detectable)} ms",
        verdict,
    ]


def _number(ms: float) -> str:
    digits = 0 if abs(ms) >= 1000 else 1 if abs(ms) >= 10 else 2
    text = f"{ms:,.{digits}f}"
    return text.replace("-", "−")


def _floor(result: GuidedResult) -> Iterator[str]:
    floor = result.floor
    if floor is None:
        return
    if floor.ms is not None:
        yield f"Floor: one stamp of this client is up to {milliseconds(floor.ms)} late (p99)."
    if floor.instrument.client_limited:
        yield f"Client-limited: {floor.instrument.client_limited}."

"""What a run amounts to, in one sentence, what that rests on, and what makes it doubtful.

Public: `run_verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragevalkit.report.html.parts import Verdict
from ragevalkit.report.numbers import counted, interval, percent, rate
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.summary import Rate, Summary

_MOST = 3
"""Lines that can't be read of which the page speaks one by one."""


def run_verdict(
    summary: Summary, *, repeated: bool = False, unscored: int = 0, left_out: Sequence[str] = ()
) -> Verdict:
    """The verdict of a run alone: it describes, as only a comparison can judge.

    Args:
        repeated: some question was asked more than once.
        unscored: turns on record without scores.
        left_out: what could not be read, a sentence each.
    """
    doubts = [*_doubts(summary, unscored), *(f"Left out: {what}." for what in left_out[:_MOST])]
    if len(left_out) > _MOST:
        doubts.append(f"And {len(left_out) - _MOST:,} more lines that can't be read.")
    because = [*doubts, *_details(summary)]
    return Verdict(_line(summary, repeated), "open" if doubts else "none", because)


def _line(summary: Summary, repeated: bool) -> str:
    if not summary.scored:
        lost = f": all {summary.turns:,} were lost" if summary.infra_errors else ""
        return f"No turn could be scored{lost}."
    metrics = summary.metrics
    cited, refused = metrics["cited_correct_page"], metrics["refused_correctly"]
    did = []
    if cited.n:
        where = "in {} turns on" if repeated else "for {}"
        did.append(f"cited the correct page {where.format(_of(cited))} answerable questions")
    if refused.n:
        where = "in {} turns on" if repeated else "{}"
        did.append(f"declined {where.format(_of(refused))} unanswerable questions")
    malformed = metrics["malformed_calls"]
    calls = f"{_of(malformed)} turns had malformed tool calls"
    calls = calls if malformed.k else "no tool call was malformed"
    return f"The model {' and '.join(did)}; {calls}." if did else f"{_capital(calls)}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _of(of: Rate) -> str:
    return f"{of.k:,} of {of.n:,}"


def _doubts(summary: Summary, unscored: int) -> Iterator[str]:
    if summary.turns < summary.planned:
        yield (
            f"Unfinished: {summary.turns:,} of {counted(summary.planned, 'turn')} planned are on "
            "record; the same command goes on."
        )
    if summary.infra_errors:
        yield (
            f"{counted(summary.infra_errors, 'turn')} of {summary.turns:,} lost to infrastructure "
            "errors and in no number; the same command asks them again."
        )
    if unscored:
        yield f"{counted(unscored, 'turn')} without scores; `ragevalkit score` makes them."
    if summary.undefined_defects:
        yield (
            "Some defects could not be told, as the corpus wasn't at hand: "
            f"{', '.join(summary.undefined_defects)}."
        )
    if summary.timing.client_limited:
        yield (
            f"The times say more of this client than of the server: "
            f"{summary.timing.client_limited}."
        )


def _details(summary: Summary) -> Iterator[str]:
    """The headline rates with their intervals, and the most frequent fault."""
    if not summary.scored:
        return
    for name, what in (
        ("cited_correct_page", "Correct page cited"),
        ("refused_correctly", "Declined what the documents don't answer"),
        ("over_refused", "Declined although the documents answer it"),
    ):
        of = summary.metrics[name]
        if of.n:
            yield (
                f"{what}: {rate(of.k, of.n)}, {percent(of.value)} (95 % interval "
                f"{interval(of.low, of.high)})."
            )
    faulty = summary.metrics["turns_with_defect"]
    if faulty.k:
        name, turns = max(summary.defects.items(), key=lambda item: item[1])
        yield (
            f"{_of(faulty)} turns have a defect; the most frequent, in {turns:,}, is {name}: "
            f"{DEFECTS[name].meaning}."
        )
    elif faulty.n:
        yield f"None of {counted(faulty.n, 'turn')} has a defect."

"""The answer to one check: a verdict, what was found, and how it was seen.

Public: `Verdict`, `Finding`, `yes`, `no`, `unknown`, `failed`.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from ragevalkit.endpoint.faults import readable
from ragevalkit.turn.record import Round, RoundState

_LONGEST_EVIDENCE = 240


class Verdict(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    """It couldn't be seen; never a guess."""
    NOT_SUPPORTED = "not_supported"
    """The server rejected the request; the evidence is in its own words."""


class Finding(BaseModel):
    """The answer to one check."""

    model_config = ConfigDict(extra="forbid")

    title: str
    """What was looked for, in words."""
    verdict: Verdict
    value: str | int | None = None
    """What was found, where that is more than a verdict: a name, a version, a number of tokens."""
    evidence: str
    """How it was seen."""


def yes(evidence: str, value: str | int | None = None) -> Finding:
    return _finding(Verdict.YES, evidence, value)


def no(evidence: str, value: str | int | None = None) -> Finding:
    return _finding(Verdict.NO, evidence, value)


def unknown(evidence: str, value: str | int | None = None) -> Finding:
    return _finding(Verdict.UNKNOWN, evidence, value)


def failed(round_: Round) -> Finding:
    """The finding where the request that should have told has failed.

    A 4xx is an answer: the server doesn't take such requests. Any other failure tells nothing.
    """
    said = round_.error or round_.state.value
    if round_.state is RoundState.DEADLINE:
        return unknown(f"no reply within {round(_seconds(round_), 1):g} s")
    rejected = round_.state in (RoundState.REJECTED, RoundState.REFUSED)
    return _finding(Verdict.NOT_SUPPORTED if rejected else Verdict.UNKNOWN, said)


def _seconds(round_: Round) -> float:
    return (round_.clock.ended_ms - round_.clock.sent_ms) / 1000


def _finding(verdict: Verdict, evidence: str, value: str | int | None = None) -> Finding:
    return Finding(title="", verdict=verdict, value=value, evidence=_one_line(evidence))


def _one_line(text: str) -> str:
    """A server's or a model's words on one printable line of bounded length."""
    text = "".join(c if c.isprintable() else " " for c in readable(text))
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_EVIDENCE else text[: _LONGEST_EVIDENCE - 1] + "…"

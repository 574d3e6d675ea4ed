"""What a comparison came to: the JSON of `compare --json`.

Public: `Comparison`, `MetricResult`, `DefectResult`, `ClockResult`, `MeanResult`, `Side`, `Middle`,
`Flips`, `Bounds`, `Floor`, `ArmResult`, `Timing`, `Reply`, `FlippedQuestion`, `Flipped`,
`GateResult`, `GateLine`, `Verdict`.

`a` and `b` are the two runs in the order of the command, and a difference is b - a as it stands.
Numbers are null where there is none.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ragevalkit.compare.comparability import Fields, Shared

Verdict = Literal["better", "no_worse", "worse", "inconclusive"]
Tier = Literal["blocking", "advisory"]
Status = Literal["passed", "failed", "inconclusive"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Bounds(_Model):
    """A two-sided interval of a difference."""

    low: float
    high: float
    level: float


class Side(_Model):
    """A metric on one side, over the pairs in which both sides define it."""

    k: int | None
    """Null for a mean."""
    n: int
    value: float | None
    """k/n; with repeats the mean of the questions' means, which is the same where all questions
    have as many pairs."""


class Flips(_Model):
    """Questions whose mean changed, by the side on which it is higher; for a rate asked once these
    are the discordant pairs."""

    a_only: int
    b_only: int


class Floor(_Model):
    """The same metric between two runs of a's endpoint."""

    difference: float | None
    low: float | None
    high: float | None
    flips: Flips
    inside: bool
    """The difference of a and b is one that two runs of a's endpoint could show."""


class MetricResult(_Model):
    """A metric, paired."""

    a: Side
    b: Side
    difference: float | None
    low: float | None
    """Of the 95 % interval."""
    high: float | None
    p: float | None
    """Of the test, before Holm."""
    flips: Flips
    verdict: Verdict | None
    """Null where the metric is descriptive or no pair defines it."""
    margin: float | None
    detectable: float | None
    """The smallest difference that so many questions would show with 80 % power, at the level of
    the adjusted interval."""
    questions: int
    """Questions with a pair that defines the metric; the unit of interval and test."""
    method: Literal["tango", "cluster_bootstrap"]
    test: Literal["mcnemar_exact", "sign_flip"]
    p_adjusted: float | None
    """By Holm over the metrics that get a verdict."""
    adjusted: Bounds | None
    """The interval at the level at which Holm tests this metric: it decides better and worse."""
    one_sided: Bounds | None
    """The 90 % interval: its bad end decides no_worse."""
    small_loss: bool
    """Where the verdict is no_worse: a loss inside the margin is established."""
    more_questions: int | None
    """Where inconclusive: about so many more would decide, one way or the other, if the truth is
    what was seen."""
    floor: Floor | None = None


class DefectResult(_Model):
    """Turns with a defect, paired; the interval is adjusted for nothing."""

    a: Side
    b: Side
    difference: float | None
    low: float | None
    high: float | None
    flips: Flips


class Middle(_Model):
    """A clock on one side, over the pairs in which both sides have it."""

    p50: float | None
    n: int
    censored: int
    """Turns in which it never came: larger than all others."""


class ClockResult(_Model):
    """A clock, paired: the median over the questions of b - a."""

    a: Middle
    b: Middle
    difference: float | None
    low: float | None
    high: float | None
    questions: int


class MeanResult(_Model):
    """An amount, paired: means, and the mean over the questions of b - a."""

    a: float | None
    b: float | None
    n: int
    difference: float | None
    low: float | None
    high: float | None


class Timing(_Model):
    """Clocks and amounts of time; differences are null where `compared` says no."""

    compared: bool
    why_not: str | None
    clocks: dict[str, ClockResult]
    counts: dict[str, MeanResult]
    """Rounds and tool rounds a turn."""
    composition: dict[str, MeanResult]
    """Milliseconds of each part of a turn."""


class ArmResult(_Model):
    """One of the two runs."""

    run: str
    folder: str
    planned: int
    turns: int
    scored: int
    infra_errors: int
    lost_to: dict[str, int]
    unfinished: bool


class Reply(_Model):
    """A turn of a flipped question."""

    outcome: str
    defects: list[str]
    reply: str
    """Shortened."""


class FlippedQuestion(_Model):
    """A question on which a metric with a verdict changed; of its repeats the worst pair."""

    question_id: str
    repeat: int
    question: str
    loss: float
    """Sum over the metrics of what b lost, in each one's good direction; negative: a gain."""
    metrics: dict[str, tuple[float, float]]
    """Means over the question's pairs on a and b, where they differ."""
    a: Reply
    b: Reply


class Flipped(_Model):
    """The flipped questions, worst regressions first."""

    questions: int
    shown: list[FlippedQuestion]


class GateLine(_Model):
    """One thing that the gate looks at."""

    name: str
    tier: Tier
    require: str
    status: Status
    why: str


class GateResult(_Model):
    """What the gate decides."""

    verdict: Literal["passed", "regression", "inconclusive", "not_comparable"] | None
    """Null with --no-gate."""
    file: str | None
    """Null for the built-in gate."""
    hash: str | None
    """SHA-256 of the file."""
    lines: list[GateLine]


class Comparison(_Model):
    """Two runs side by side."""

    a: ArmResult
    b: ArmResult
    comparable: bool
    factors: Fields
    confounders: Fields
    not_comparable: Fields
    allowed: Fields
    shared: Shared
    pairs: int
    questions: int
    repeated: bool
    """Some question has several pairs: the question is the unit."""
    unpaired: dict[str, int]
    notes: list[str]
    """What stands at the top: runs half finished, unequal losses, timings not compared."""
    metrics: dict[str, MetricResult]
    """Empty where the runs aren't comparable, as is all that follows."""
    defects: dict[str, DefectResult]
    timing: Timing | None
    tokens: dict[str, MeanResult]
    flipped: Flipped
    floor: dict[str, Any] | None
    """The run that `--floor` names, and its pairs with a."""
    gate: GateResult

    @property
    def exit_code(self) -> int:
        """12 not comparable, 10 regression, 11 inconclusive, 3 with infrastructure errors, 0."""
        codes = {"not_comparable": 12, "regression": 10, "inconclusive": 11}
        if self.gate.verdict in codes:
            return codes[self.gate.verdict]
        accepted = any(
            line.name == "infra_errors" and line.status == "passed" for line in self.gate.lines
        )
        lost = self.a.infra_errors + self.b.infra_errors
        return 3 if self.gate.verdict and lost and not accepted else 0

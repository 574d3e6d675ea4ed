"""The gate: what of a comparison lets a build pass, and what doesn't.

Public: `Gate`, `Rule`, `Limit`, `built_in_gate`, `load_gate`, `decide`, `LIMITS`.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragevalkit.compare.arm import TOKENS, Arm
from ragevalkit.compare.result import GateLine, GateResult, MetricResult, Status, Tier, Timing
from ragevalkit.compare.result import MeanResult as Mean
from ragevalkit.compare.timing import CLOCKS, COUNTS
from ragevalkit.compare.verdict import DEFAULT_MARGINS
from ragevalkit.errors import InputError
from ragevalkit.scoring.metrics import METRICS

LIMITS = ("infra_errors", *CLOCKS, *COUNTS, *TOKENS)
"""What a gate file may limit: the share of turns lost on either side; of a clock the ratio b/a of
the medians; of rounds and tokens the ratio b/a of the means."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Default(_Model):
    """What holds for metrics that the file doesn't name, and for what their tables leave out."""

    tier: Tier = "blocking"
    require: Literal["not_worse", "no_worse"] = "not_worse"


class Rule(_Model):
    """What is asked of a metric."""

    margin: float | None = Field(default=None, gt=0)
    """By how much b may be worse and still be no worse; None: the default."""
    tier: Tier | None = None
    """An advisory line is shown and decides nothing."""
    require: Literal["not_worse", "no_worse"] | None = None
    """not_worse: no loss is established. no_worse: it is shown that there is none past the
    margin."""


class Limit(_Model):
    """The most that an amount may come to."""

    most: float = Field(ge=0)
    tier: Tier = "blocking"


class _File(_Model):
    default: Default = Default()
    metrics: dict[str, Rule] = {}
    limits: dict[str, Limit] = {}


@dataclass(frozen=True)
class Gate:
    """The rules in force."""

    default: Default
    rules: Mapping[str, Rule]
    limits: Mapping[str, Limit]
    file: str | None = None
    hash: str | None = None

    @property
    def margins(self) -> dict[str, float]:
        """By metric, of those that get a verdict."""
        return {
            name: (self.rules[name].margin if name in self.rules else None) or margin
            for name, margin in DEFAULT_MARGINS.items()
        }


def built_in_gate() -> Gate:
    """Blocks on every metric that is worse."""
    return Gate(Default(), {}, {})


def load_gate(path: Path) -> Gate:
    """Read a gate file.

    Raises:
        InputError: it can't be read, or holds something that a gate doesn't know.
    """
    try:
        content = path.read_bytes()
        table = tomllib.loads(content.decode())
    except OSError as error:
        raise InputError(f"gate {path} can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"gate {path} is no TOML: {error}") from error
    try:
        file = _File.model_validate(table)
    except ValidationError as error:
        raise InputError(f"gate {path}: {_problem(error)}") from error
    for name, rule in file.metrics.items():
        _check_metric(path, name, rule)
    for name in file.limits:
        if name not in LIMITS:
            raise InputError(f"gate {path}: limits.{name}: {_unknown(name, LIMITS)}")
    return Gate(
        default=file.default,
        rules=file.metrics,
        limits=file.limits,
        file=str(path),
        hash=hashlib.sha256(content).hexdigest(),
    )


def decide(
    gate: Gate | None,
    comparable: bool,
    arms: Mapping[str, Arm],
    metrics: Mapping[str, MetricResult],
    timing: Timing | None,
    tokens: Mapping[str, Mean],
) -> GateResult:
    """Hold a comparison against a gate; None is no gate at all."""
    if gate is None:
        return GateResult(verdict=None, file=None, hash=None, lines=[])
    if not comparable:
        return GateResult(verdict="not_comparable", file=gate.file, hash=gate.hash, lines=[])
    lines = [
        *_unfinished(arms),
        *(_metric_line(gate, name, of) for name, of in metrics.items() if name in DEFAULT_MARGINS),
        *(_limit_line(*item, arms, timing, tokens) for item in gate.limits.items()),
    ]
    blocking = {line.status for line in lines if line.tier == "blocking"}
    verdict: Literal["passed", "regression", "inconclusive"] = (
        "regression"
        if "failed" in blocking
        else "inconclusive"
        if "inconclusive" in blocking
        else "passed"
    )
    return GateResult(verdict=verdict, file=gate.file, hash=gate.hash, lines=lines)


def _unfinished(arms: Mapping[str, Arm]) -> Iterator[GateLine]:
    for side, arm in arms.items():
        if arm.unfinished:
            yield GateLine(
                name=f"{side} finished",
                tier="blocking",
                require="all planned turns",
                status="inconclusive",
                why=f"{arm.turns} of {arm.planned} turns of {arm.name} are on record",
            )


def _metric_line(gate: Gate, name: str, of: MetricResult) -> GateLine:
    rule = gate.rules.get(name, Rule())
    require = rule.require or gate.default.require
    status: Status
    if of.verdict == "worse":
        status, why = "failed", "b is worse"
    elif of.verdict is None:
        status, why = "inconclusive", "no pair defines it"
    elif of.verdict == "inconclusive":
        status, why = "inconclusive", _how_many(of)
    elif of.small_loss:
        status, why = "passed", "no_worse, though a loss inside the margin is established"
    else:
        status, why = "passed", of.verdict
    if status == "inconclusive" and require == "not_worse":
        status = "passed"
    return GateLine(
        name=name,
        tier=rule.tier or gate.default.tier,
        require=require if require == "not_worse" else f"no_worse by {of.margin:g}",
        status=status,
        why=why,
    )


def _how_many(of: MetricResult) -> str:
    if of.more_questions is None:
        return "inconclusive"
    return f"inconclusive; about {of.more_questions:,} more questions would decide"


def _limit_line(
    name: str,
    limit: Limit,
    arms: Mapping[str, Arm],
    timing: Timing | None,
    tokens: Mapping[str, Mean],
) -> GateLine:
    status: Status
    if name == "infra_errors":
        shares = {side: arm.infra_errors / arm.turns for side, arm in arms.items()}
        status = "failed" if max(shares.values()) > limit.most else "passed"
        why = ", ".join(f"{side} lost {share:.3g} of its turns" for side, share in shares.items())
        return GateLine(
            name=name,
            tier=limit.tier,
            require=f"a share of at most {limit.most:g}",
            status=status,
            why=why,
        )
    of_a, of_b, missing = _amounts(name, timing, tokens)
    if missing or of_a is None:
        status, why = "inconclusive", missing or "a has no figure"
    elif of_b is None:
        status, why = "failed", "on b it never came in half of the turns"
    elif of_a == 0:
        status, why = ("failed" if of_b else "passed"), f"a 0, b {of_b:g}"
    else:
        ratio = of_b / of_a
        status = "failed" if ratio > limit.most else "passed"
        why = f"b/a is {ratio:.3g} ({of_b:.4g} against {of_a:.4g})"
    return GateLine(
        name=name,
        tier=limit.tier,
        require=f"b/a of at most {limit.most:g}",
        status=status,
        why=why,
    )


def _amounts(
    name: str, timing: Timing | None, tokens: Mapping[str, Mean]
) -> tuple[float | None, float | None, str | None]:
    """What a limit looks at on both sides, and why it can't."""
    assert timing is not None
    if name in CLOCKS:
        clock = timing.clocks[name]
        nothing = None if clock.a.n else "no pair has it"
        return clock.a.p50, clock.b.p50, timing.why_not or nothing
    mean = timing.counts.get(name) or tokens.get(name)
    if mean is None or not mean.n:
        return None, None, "no pair has it"
    return mean.a, mean.b, None


def _check_metric(path: Path, name: str, rule: Rule) -> None:
    where = f"gate {path}: metrics.{name}"
    if name not in METRICS:
        raise InputError(f"{where}: {_unknown(name, DEFAULT_MARGINS)}")
    if name not in DEFAULT_MARGINS:
        raise InputError(
            f"{where} gets no verdict, as its denominator depends on what the model did; leave it "
            "out"
        )
    if rule.margin is not None and not METRICS[name].is_mean and rule.margin >= 1:
        raise InputError(f"{where}: a margin of {rule.margin:g} is no share; 0.05 is 5 points")


def _problem(error: ValidationError) -> str:
    # a misspelt key is why another one is missing
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    place = ".".join(map(str, first["loc"]))
    if first["type"] != "extra_forbidden":
        return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return f"{place}: {_unknown(str(first['loc'][-1]), _fields(first['loc'][:-1]))}"


def _fields(place: tuple[Any, ...]) -> list[str]:
    """Keys of the table at a place in the file."""
    tables: dict[str, type[BaseModel]] = {"metrics": Rule, "limits": Limit, "default": Default}
    return list((tables[place[0]] if place else _File).model_fields)


def _unknown(name: str, known: Any) -> str:
    near = get_close_matches(name, list(known), n=1, cutoff=0.0)[0]
    return f"there is no '{name}'; the nearest is '{near}'"

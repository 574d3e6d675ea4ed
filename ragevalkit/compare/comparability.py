"""Whether two runs may be compared: their manifests, field by field.

Public: `Comparability`, `Fields`, `compare_manifests`, `SHARED_LEAST`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ragevalkit.compare.arm import Arm
from ragevalkit.errors import InputError

SHARED_LEAST = 0.9
"""Share of either run's questions that the other must have asked, too."""

Kind = Literal["factor", "confounder", "not_comparable"]

KINDS: tuple[tuple[str, Kind | None], ...] = (
    ("settings.endpoint.sampling", "not_comparable"),
    ("settings.endpoint.extra_body", "not_comparable"),
    ("settings.endpoint.strict", "not_comparable"),
    ("settings.endpoint", "factor"),
    ("settings.corpora", "not_comparable"),
    ("settings.agent", "not_comparable"),
    ("settings.bank.hash", "confounder"),
    ("settings.bank", None),  # what matters is which questions both have
    ("settings.tags", None),
    ("settings", "confounder"),
    ("fingerprint.model.created", None),
    ("fingerprint.model.permission", None),
    ("fingerprint.model", "factor"),
    ("fingerprint", "confounder"),
    ("probe.engine", "factor"),
    ("probe", "confounder"),
    ("concurrency", "confounder"),
    ("requests", "confounder"),
    ("scored_with", "confounder"),
    ("record", "confounder"),
    ("ragevalkit", "confounder"),
    ("client", "confounder"),
)
"""What a difference in a field of run.json means; the first that is the field, or the group it
lies in, holds. None, and what isn't named here (times, limits, the run's name): nothing."""

_ALIASES = {
    "corpus": "corpora",
    "prompt": "agent.prompt",
    "tools": "agent.tools",
    "tool_schemas": "agent.tools",
    "budget": "agent.budget",
    "sampling": "endpoint.sampling",
    "extra_body": "endpoint.extra_body",
    "strict": "endpoint.strict",
}
"""Short names that `--allow` takes beside the fields' own and their groups'."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Values(_Model):
    """What a field holds on both sides."""

    a: Any
    b: Any


Fields = dict[str, Values]
"""By the field's name in run.json, without `settings.`"""


class Shared(_Model):
    """Questions by hash."""

    questions: int
    """Asked on both sides."""
    of_a: int
    of_b: int

    share: float
    """Of the side that asked more; of one that was broken off, only what it asked."""


class Comparability(_Model):
    """How the conditions of two runs differ."""

    factors: Fields
    """Meant to differ."""
    confounders: Fields
    """May explain a difference as well."""
    not_comparable: Fields
    """Differ, and must not."""
    allowed: Fields
    """Must not differ, but were allowed to."""
    shared: Shared

    @property
    def comparable(self) -> bool:
        return not self.not_comparable


def compare_manifests(a: Arm, b: Arm, allow: Iterable[str] = ()) -> Comparability:
    """Sort every difference between the conditions of two runs.

    Args:
        allow: fields, or groups of them, that may differ though they mustn't; `bank` allows
            questions that only one side has.

    Raises:
        InputError: `allow` names no field.
    """
    allowed_names = [_known(name, a, b) for name in allow]
    found: dict[Kind, Fields] = {"factor": {}, "confounder": {}, "not_comparable": {}}
    fields_a, fields_b = _conditions(a.manifest), _conditions(b.manifest)
    if not a.manifest.get("probe") or not b.manifest.get("probe"):
        # what was looked for on one side alone says nothing of a difference
        fields_a, fields_b = _unprobed(fields_a), _unprobed(fields_b)
    for path in dict.fromkeys([*fields_a, *fields_b]):
        values = Values(a=fields_a.get(path), b=fields_b.get(path))
        if values.a != values.b and (kind := _kind(path)):
            found[kind][_name(path)] = values
    undefined = [sum(map(bool, arm.undefined_defects)) for arm in (a, b)]
    if undefined[0] != undefined[1]:
        # one of them was scored without its corpus at hand
        found["confounder"]["turns_with_undefined_defects"] = Values(a=undefined[0], b=undefined[1])
    shared = _shared(a, b)
    if shared.share < SHARED_LEAST:
        found["not_comparable"]["bank"] = Values(a=shared.of_a, b=shared.of_b)
    allowed = {
        field: values
        for field, values in found["not_comparable"].items()
        if any(_covers(name, field) for name in allowed_names)
    }
    return Comparability(
        factors=found["factor"],
        confounders=found["confounder"],
        not_comparable={f: v for f, v in found["not_comparable"].items() if f not in allowed},
        allowed=allowed,
        shared=shared,
    )


def _kind(path: str) -> Kind | None:
    return next((kind for group, kind in KINDS if _covers(group, path)), None)


def _name(path: str) -> str:
    return path.removeprefix("settings.")


def _covers(group: str, field: str) -> bool:
    return field == group or field.startswith(f"{group}.")


def _shared(a: Arm, b: Arm) -> Shared:
    of_a, of_b = set(a.hashes), set(b.hashes)
    both = len(of_a & of_b)
    # what a run that was broken off would have asked next isn't known
    finished = [len(of) for arm, of in ((a, of_a), (b, of_b)) if not arm.unfinished]
    whole = max(finished) if len(finished) == 2 else min(len(of_a), len(of_b))
    return Shared(questions=both, of_a=len(of_a), of_b=len(of_b), share=both / whole)


def _known(name: str, a: Arm, b: Arm) -> str:
    """The field or group that a user means.

    Raises:
        InputError: neither run has it.
    """
    wanted = _ALIASES.get(name, name.removeprefix("settings."))
    fields = {
        "bank",
        *_ALIASES.values(),
        *(_name(path) for arm in (a, b) for path in _conditions(arm.manifest)),
    }
    if any(_covers(wanted, field) for field in fields):
        return wanted
    near = get_close_matches(name, [*_ALIASES, *sorted(fields)], n=1, cutoff=0.0)
    raise InputError(f"--allow {name}: run.json has no such field; the nearest is {near[0]}")


def _conditions(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Every field of a manifest by its full name; of the probe what it found, not how."""
    fields = {name: value for name, value in manifest.items() if name != "probe"}
    found = {}
    for check, finding in (manifest.get("probe") or {}).get("findings", {}).items():
        value = finding.get("value")
        found[check] = finding.get("verdict") if value is None else value
    if found:
        engine, _, version = str(found.get("engine")).partition(" ")
        fields["probe"] = found | {"engine": engine, "engine_version": version or None}
    return dict(_leaves(fields))


def _unprobed(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if not _covers("probe", name)}


def _leaves(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every field of a manifest by its full name."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value

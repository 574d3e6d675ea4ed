"""Which differences between two manifests matter, and how."""

from __future__ import annotations

from typing import Any

import pytest
from compare.arms import MANIFEST, arm, changed

from ragevalkit.compare.comparability import Comparability, compare_manifests
from ragevalkit.errors import InputError


def against(field: str, value: Any, *allow: str) -> Comparability:
    a = arm({"answered": [1.0, 1.0]})
    b = arm({"answered": [1.0, 1.0]}, manifest=changed(field, value))
    return compare_manifests(a, b, allow)


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("settings.endpoint.name", "factors"),
        ("settings.endpoint.base_url", "factors"),
        ("settings.endpoint.model", "factors"),
        ("settings.endpoint.precision", "factors"),
        ("settings.endpoint.hardware", "factors"),
        ("fingerprint.model.id", "factors"),
        ("fingerprint.version.version", "confounders"),
        ("concurrency", "confounders"),
        ("requests.stall_s", "confounders"),
        ("settings.seed", "confounders"),
        ("settings.repeats", "confounders"),
        ("settings.bank.hash", "confounders"),
        ("ragevalkit", "confounders"),
        ("record", "confounders"),
        ("client.python", "confounders"),
        ("scored_with.hash", "confounders"),
        ("settings.corpora.tarn", "not_comparable"),
        ("settings.agent.prompt", "not_comparable"),
        ("settings.agent.tools", "not_comparable"),
        ("settings.agent.budget", "not_comparable"),
        ("settings.agent.rounds", "not_comparable"),
        ("settings.endpoint.sampling.temperature", "not_comparable"),
        ("settings.endpoint.extra_body.thinking", "not_comparable"),
        ("settings.endpoint.strict", "not_comparable"),
        ("settings.tags", None),
        ("limit", None),
        ("created_at", None),
        ("fingerprint.model.created", None),
    ],
)
def test_what_a_difference_means(field: str, kind: str | None) -> None:
    found = against(field, "other")
    kinds = {name: getattr(found, name) for name in ("factors", "confounders", "not_comparable")}
    name = field.removeprefix("settings.")
    assert {k for k, fields in kinds.items() if fields} == ({kind} if kind else set())
    if kind:
        assert list(kinds[kind]) == [name]
        assert kinds[kind][name].b == "other"
    assert found.comparable == (kind != "not_comparable")


@pytest.mark.parametrize(
    ("field", "allow"),
    [
        ("settings.agent.prompt", "agent.prompt"),
        ("settings.agent.prompt", "settings.agent.prompt"),
        ("settings.agent.prompt", "agent"),
        ("settings.agent.prompt", "prompt"),
        ("settings.agent.tools", "tools"),
        ("settings.agent.budget", "budget"),
        ("settings.corpora.tarn", "corpus"),
        ("settings.endpoint.sampling.temperature", "sampling"),
    ],
)
def test_what_may_not_differ_can_be_allowed_to(field: str, allow: str) -> None:
    found = against(field, "other", allow)
    assert found.comparable
    assert list(found.allowed) == [field.removeprefix("settings.")]
    assert not found.not_comparable


def test_allowing_one_field_allows_no_other() -> None:
    found = against("settings.agent.prompt", "other", "agent.tools")
    assert list(found.not_comparable) == ["agent.prompt"]


def test_a_misspelt_field_is_an_error() -> None:
    with pytest.raises(InputError, match=r"agent\.promt: .* the nearest is agent\.prompt"):
        against("settings.agent.prompt", "other", "agent.promt")


def questions(hashes: list[str], **more: Any) -> Any:
    return arm({"answered": [1.0] * len(hashes)}, hashes=hashes, **more)


def test_ninety_per_cent_of_the_questions_must_be_shared() -> None:
    ten = [f"h{n}" for n in range(10)]
    nine = compare_manifests(questions(ten), questions([*ten[:9], "edited"]))
    assert nine.comparable
    assert nine.shared.share == 0.9
    eight = compare_manifests(questions(ten), questions([*ten[:8], "edited", "too"]))
    assert list(eight.not_comparable) == ["bank"]
    assert compare_manifests(questions(ten), questions(ten[:8]), ["bank"]).comparable
    assert not compare_manifests(questions(ten), questions(ten[:8])).comparable


def test_of_a_run_that_was_broken_off_only_what_it_asked_counts() -> None:
    ten = [f"h{n}" for n in range(10)]
    half = questions(ten[:5], planned=10)
    assert half.unfinished
    assert compare_manifests(questions(ten), half).comparable
    assert not compare_manifests(questions(ten), questions(["x", *ten[:4]], planned=10)).comparable


def probed(engine: str, calls: str) -> dict[str, Any]:
    findings = {
        "engine": {"verdict": "yes", "value": engine, "evidence": f"/version of {engine}"},
        "calls": {"verdict": calls, "value": None, "evidence": "seen"},
    }
    return {**MANIFEST, "probe": {"findings": findings, "seconds": len(engine)}}


def test_what_the_probes_found_is_held_against_each_other() -> None:
    a = arm({"answered": [1.0]}, manifest=probed("vLLM 0.11", "yes"))
    b = arm({"answered": [1.0]}, manifest=probed("SGLang 0.5", "no"))
    found = compare_manifests(a, b)
    assert list(found.factors) == ["probe.engine"]
    assert set(found.confounders) == {"probe.engine_version", "probe.calls"}
    without = arm({"answered": [1.0]})
    assert not compare_manifests(a, without).confounders

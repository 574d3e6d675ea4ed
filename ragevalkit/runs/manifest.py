"""run.json: everything that could explain a difference between two runs, and no secret.

Public: `settings_of`, `new_manifest`, `changed_settings`.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from ragevalkit import __version__
from ragevalkit.agent.graph import Limits
from ragevalkit.bank import Bank
from ragevalkit.corpus import Corpus
from ragevalkit.endpoint.profile import Profile
from ragevalkit.scoring.score import SCORER_VERSION
from ragevalkit.turn.record import RECORD_VERSION

MANIFEST_VERSION = 1
_PACKAGES = ("openai", "aiohttp", "langgraph", "tantivy", "pypdfium2", "jsonschema", "orjson")


def settings_of(
    *,
    bank: Bank,
    corpora: Mapping[str, Corpus],
    profile: Profile,
    model: str | None,
    prompt: str,
    tools_hash: str,
    limits: Limits,
    seed: int,
    repeats: int,
    tags: list[str],
) -> dict[str, Any]:
    """What must be the same for a run to be continued."""
    return {
        "bank": {"name": bank.name, "hash": bank.hash, "questions": len(bank.questions)},
        "corpora": {name: corpus.hash for name, corpus in sorted(corpora.items())},
        "endpoint": {
            "name": profile.name,
            # a built-in endpoint listens at another port each time
            "base_url": None if profile.built_in else profile.base_url,
            "model": model,
            "precision": profile.precision,
            "hardware": profile.hardware,
            "sampling": profile.sampling.parameters(),
            "extra_body": profile.extra_body,
            "strict": profile.strict,
        },
        "agent": {
            "prompt": hashlib.sha256(prompt.encode()).hexdigest()[:16],
            "tools": tools_hash,
            "rounds": limits.rounds,
            "tool_results": limits.tool_results,
            "budget": limits.output_tokens,
            "turn_timeout_s": limits.turn_s,
        },
        "seed": seed,
        "repeats": repeats,
        "tags": tags,
    }


def new_manifest(run: str, settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The manifest of a run that begins now.

    Args:
        more: `against`, and what may change when the run is continued: `limit`, `concurrency`,
            `requests`, `fingerprint`, `probe`.
    """
    return {
        "version": MANIFEST_VERSION,
        "run": run,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings,
        **more,
        "scorer": SCORER_VERSION,
        "scored_with": None,
        "record": RECORD_VERSION,
        "ragevalkit": __version__,
        "client": {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": {name: version(name) for name in _PACKAGES},
        },
    }


def changed_settings(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Name, old and new value of every setting that differs."""
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from changed_settings(before, after, f"{prefix}{name}.")
        elif before != after:
            yield f"{prefix}{name}", before, after

"""Puts together what several commands need: endpoints by name, a bank's corpora.

Public: `resolve_endpoint`, `connect`, `find_corpus`, `open_corpora`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragevalkit import resources
from ragevalkit.errors import InputError

if TYPE_CHECKING:
    from ragevalkit.bank import Bank
    from ragevalkit.corpus import Corpus, Progress
    from ragevalkit.endpoint.profile import Profile


def resolve_endpoint(name: str) -> Profile:
    """The profile of an endpoint: a built-in one's, one from ragevalkit.toml, or a URL's."""
    from ragevalkit.endpoint.profile import BUILT_IN, Profile, find_profile

    built_in = name.partition(":")[0]
    if built_in in BUILT_IN:
        return Profile(name=name, base_url="http://127.0.0.1/v1", built_in=True)
    return find_profile(name)


@contextmanager
def connect(profile: Profile) -> Iterator[Profile]:
    """The profile to ask; a built-in endpoint's server runs as long as the context.

    `mock:FILE` gives the mock a scenario.
    """
    if not profile.built_in:
        yield profile
        return
    from ragevalkit.standin.launch import start

    name, _, scenario = profile.name.partition(":")
    with start(name, Path(scenario) if scenario else None) as standin:
        yield profile.model_copy(update={"base_url": standin.base_url, "model": standin.model})


def find_corpus(name: str, beside: Path | None = None) -> Path:
    """The folder or file of a corpus.

    Args:
        name: a name under corpora/, a folder, or one file.
        beside: folder of the bank that names it; paths may be relative to it.

    Raises:
        InputError: there is none.
    """
    candidates = [Path.cwd() / "corpora" / name, Path(name)]
    if beside is not None:
        candidates.append(beside / name)
    candidates.append(resources.packaged("corpora", name))
    for path in candidates:
        if path.exists():
            return path
    raise InputError(
        f"there is no corpus '{name}', neither under corpora/ nor as a folder or file; --corpus "
        "takes a path"
    )


def open_corpora(
    bank: Bank, override: str | None, progress: Progress | None = None
) -> Mapping[str, Corpus]:
    """The corpora of a bank, by the name that its lines give ("" for lines without one).

    Args:
        override: a corpus to take for all lines.

    Raises:
        InputError: a corpus is missing or can't be read, or evidence isn't in it.
    """
    from ragevalkit.bank import check_evidence
    from ragevalkit.corpus import open_corpus

    opened: dict[Path, Corpus] = {}
    corpora: dict[str, Corpus] = {}
    for position, question in enumerate(bank.questions):
        name = question.corpus or ""
        if name in corpora:
            continue
        if override is None and not name:
            raise InputError(f"{bank.where(position)} names no corpus; give one with --corpus")
        path = find_corpus(override or name, None if override else bank.path.parent)
        if path not in opened:
            opened[path] = open_corpus(path, progress)
        corpora[name] = opened[path]
    check_evidence(bank, corpora)
    return corpora

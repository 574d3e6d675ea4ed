"""Puts together what several commands need: endpoints by name, a bank's corpora.

Public: `REPORTS`, `resolve_endpoint`, `connect`, `find_corpus`, `open_corpora`, `judge`,
`find_run`, `recorded_corpora`, `check_labels`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragevalkit import resources
from ragevalkit.errors import InputError

if TYPE_CHECKING:
    from ragevalkit.bank import Bank
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.corpus import Corpus, Progress
    from ragevalkit.endpoint.profile import Profile
    from ragevalkit.runs.folder import RunFolder

REPORTS = Path("reports")
"""Folder of all runs, in the working folder."""


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
    from ragevalkit.cli.waiting import waiting
    from ragevalkit.standin.launch import start

    name, _, scenario = profile.name.partition(":")
    # only `local` takes its time, most of all at first
    with waiting("starting llama.cpp") if name == "local" else nullcontext():
        standin = start(name, Path(scenario) if scenario else None)
    with standin:
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


def judge(folder: RunFolder, endpoint: str, bank: Bank | None, announcer: Announcer) -> None:
    """Have an endpoint judge a run's answers; its verdicts are kept in the run's folder.

    Args:
        bank: corrected labels, if any.

    Raises:
        EndpointUnusable: the judge can't be asked.
    """
    from ragevalkit.runs.judging import judge_run

    profile = resolve_endpoint(endpoint)
    questions = {question.id: question for question in bank.questions} if bank else {}
    with connect(profile) as connected:
        judged = judge_run(folder, connected, questions, announcer.judges)
    failed = [judgement for judgement in judged if judgement.verdict is None]
    if failed:
        announcer.warns(
            f"{len(failed)} of {len(judged)} answers got no verdict from {profile.name}; the first "
            f"one because: {failed[0].error}"
        )


def find_run(run: str) -> RunFolder:
    """The folder of a run.

    Args:
        run: a name under reports/, or a folder.

    Raises:
        InputError: it holds no run.
    """
    from ragevalkit.runs.folder import RunFolder

    for path in (REPORTS / run, Path(run)):
        if (path / "run.json").is_file():
            return RunFolder(path)
    raise InputError(f"there is no run '{run}', neither under {REPORTS}/ nor as a folder")


def recorded_corpora(folder: RunFolder, override: str | None = None) -> dict[str, Corpus | None]:
    """The corpora that a run was asked of, by the names that its turns give.

    A corpus is the same if its hash is: it is looked for under its name, then in the cache. None
    stands for one that isn't at hand.

    Args:
        override: where the corpus lies now.

    Raises:
        InputError: `override` is another corpus than the run's.
    """
    from ragevalkit.corpus import open_cached, open_corpus

    manifest = folder.read_manifest() or {}
    recorded: dict[str, str] = manifest.get("settings", {}).get("corpora", {})
    if override is not None:
        path = find_corpus(override)
        opened = open_corpus(path)
        if opened.hash not in recorded.values():
            raise InputError(f"{path} is not the corpus that {folder.path} was asked of")
        return {name: opened for name, hash_ in recorded.items() if hash_ == opened.hash}
    corpora: dict[str, Corpus | None] = {}
    for name, hash_ in recorded.items():
        corpora[name] = _named(name, hash_) or open_cached(hash_)
    return corpora


def check_labels(labels: Bank, corpora: Mapping[str, Corpus | None]) -> None:
    """Check the evidence of corrected labels against the corpora that are at hand.

    Raises:
        InputError: a document or a page isn't there.
    """
    from ragevalkit.bank import check_evidence

    opened = {name: corpus for name, corpus in corpora.items() if corpus is not None}
    lines = zip(labels.questions, labels.lines, strict=True)
    known = [(question, line) for question, line in lines if (question.corpus or "") in opened]
    part = replace(labels, questions=[q for q, _ in known], lines=[line for _, line in known])
    check_evidence(part, opened)


def _named(name: str, hash_: str) -> Corpus | None:
    from ragevalkit.corpus import open_corpus

    if not name:
        return None
    try:
        opened = open_corpus(find_corpus(name))
    except InputError:
        return None
    return opened if opened.hash == hash_ else None

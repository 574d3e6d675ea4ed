"""Cited and retrieved pages against a question's evidence.

Public: `evidence_groups`, `covers_all_groups`, `is_evidence`, `pages_seen`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from ragevalkit.bank import Evidence
from ragevalkit.turn.record import PageRef, Turn

_SUFFIXES = frozenset({".pdf", ".md", ".markdown", ".html", ".htm", ".txt"})


def evidence_groups(evidence: Iterable[Evidence]) -> list[list[Evidence]]:
    """The pages of each group; a group's pages are alternatives."""
    groups: dict[int, list[Evidence]] = {}
    for page in evidence:
        groups.setdefault(page.group, []).append(page)
    return [groups[number] for number in sorted(groups)]


def covers_all_groups(pages: Iterable[PageRef], evidence: Iterable[Evidence]) -> bool:
    """Whether `pages` hold a page of every evidence group."""
    pages = list(pages)
    groups = evidence_groups(evidence)
    return bool(groups) and all(any(is_evidence(p, group) for p in pages) for group in groups)


def is_evidence(page: PageRef, evidence: Iterable[Evidence]) -> bool:
    """Whether `page` is one of the evidence pages, by document and page index."""
    return any(
        page.page == one.page and _same_document(page.document, one.document) for one in evidence
    )


def pages_seen(turn: Turn) -> list[PageRef]:
    """Pages of all search results that the model was sent.

    Results of the last round went nowhere: the turn ended before the request that would carry them.
    """
    return [page for round_ in turn.rounds[:-1] for call in round_.calls for page in call.returned]


def _same_document(one: str, other: str) -> bool:
    """A bank may name a document with its suffix, and in other case than the corpus, or in another
    Unicode composition."""
    one, other = _folded(one), _folded(other)
    if one == other:
        return True
    bare_one, bare_other = _bare(one), _bare(other)
    both_have_suffix = bare_one != one and bare_other != other
    return bare_one == bare_other and not both_have_suffix


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _bare(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return name.removesuffix(suffix) if suffix in _SUFFIXES else name

"""When two names mean the same document, also where no corpus is at hand to ask.

Public: `same_document`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

from ragevalkit.turn.folding import fold_name

_SUFFIXES = frozenset({".pdf", ".md", ".markdown", ".html", ".htm", ".txt"})


@lru_cache(maxsize=4096)
def same_document(one: str, other: str) -> bool:
    """A bank may name a document with its suffix, in other case than the corpus, or in another
    Unicode composition."""
    one, other = fold_name(one), fold_name(other)
    if one == other:
        return True
    bare_one, bare_other = _bare(one), _bare(other)
    both_have_suffix = bare_one != one and bare_other != other
    return bare_one == bare_other and not both_have_suffix


def _bare(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return name.removesuffix(suffix) if suffix in _SUFFIXES else name

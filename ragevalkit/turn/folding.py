"""What counts as the same text, and as the same name, though it is written otherwise.

Public: `fold`, `fold_name`, `holds_quote`.
"""

from __future__ import annotations

import re
import unicodedata

_NO_WORD = re.compile(r"[\W_]+")
_ELLIPSIS = re.compile(r"\.{3,}|…|\[\s*…\s*\]")


def fold(text: str) -> str:
    """Letters and digits alone, in one case and composition.

    Extracted text differs from a copied quote in spaces, hyphens at line ends, ligatures, quotes
    and dashes; what is left here is the same.
    """
    return _NO_WORD.sub("", unicodedata.normalize("NFKC", text).casefold())


def fold_name(name: str) -> str:
    """A document's name in one case and Unicode composition."""
    return unicodedata.normalize("NFC", name).casefold()


def holds_quote(folded: str, quote: str) -> bool:
    """Whether a folded text holds `quote`: its parts in order, where it leaves something out."""
    start = 0
    for part in map(fold, _ELLIPSIS.split(quote)):
        found = folded.find(part, start)
        if found < 0:
            return False
        start = found + len(part)
    return True

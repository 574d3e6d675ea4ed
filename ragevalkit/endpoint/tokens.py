"""Token counts: whether what a server gives is one, and an estimate where it gives none.

Public: `as_count`, `estimate_tokens`. Every estimate is marked as one in the record.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "o200k_base"
_ENCODING_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


_MOST_TOKENS = 2**53
"""A larger count is none."""


def as_count(value: object) -> int | None:
    """`value` if it is a whole number of tokens, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
        return value
    return None


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` is.

    By tiktoken where its vocabulary already lies in `TIKTOKEN_CACHE_DIR`, since it would fetch it
    from the network otherwise; else by four characters a token, which is 25 % high for English and
    60 % low for Chinese.
    """
    if not text:
        return 0
    encoding = _encoding()
    if encoding is None:
        return max(1, round(len(text) / 4))
    return len(encoding.encode_ordinary(text))


@cache
def _encoding() -> Encoding | None:
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    # tiktoken names a cached file by the SHA-1 of its address
    name = hashlib.sha1(_ENCODING_URL.encode(), usedforsecurity=False).hexdigest()
    if not folder:
        return None
    try:
        vocabulary = (Path(folder) / name).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(vocabulary).hexdigest() != _ENCODING_SHA256:
        return None  # tiktoken would fetch it anew
    import tiktoken

    return tiktoken.get_encoding(ENCODING)

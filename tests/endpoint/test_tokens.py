"""Estimates of tokens, which never ask the network."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

import pytest

from ragevalkit.endpoint import tokens
from ragevalkit.endpoint.tokens import estimate_tokens


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("a", 1), ("ab", 1), ("a" * 8, 2), ("a" * 11, 3), ("語" * 40, 10), (" ", 1)],
)
def test_four_characters_a_token(text: str, count: int) -> None:
    assert estimate_tokens(text) == count


@pytest.mark.parametrize("content", [None, b"", b"not a vocabulary"])
def test_a_cache_without_the_vocabulary(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is empty or broken is left, since tiktoken would fetch it anew."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    if content is not None:
        name = hashlib.sha1(tokens._ENCODING_URL.encode()).hexdigest()
        assert name == "fb374d419588a4632f3f557e76b4b70aebbca790"
        (tmp_path / name).write_bytes(content)
    assert estimate_tokens("a" * 40) == 10


def test_by_tiktoken_where_its_vocabulary_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Special tokens in a text are text."""

    class Encoding:
        def encode_ordinary(self, text: str) -> list[int]:
            return list(range(len(text.split())))

    monkeypatch.setattr(tokens, "_encoding", lambda: Encoding())
    monkeypatch.setattr(tokens._encoding, "cache_clear", lambda: None, raising=False)
    assert estimate_tokens("one two <|endoftext|>") == 3

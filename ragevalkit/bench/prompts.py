"""Prompts that no prefix cache knows, of wanted lengths in tokens.

Public: `Cold`, `Prompts`, `filler`, `cached_tokens`.
"""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass
from typing import Any

from ragevalkit.endpoint.probe import Probe, Verdict
from ragevalkit.turn.record import Round

Message = dict[str, Any]

_NONCE_DIGITS = 12
"""Tokenizers cut digits one by one or in threes, so that all such numbers have as many tokens."""
_FIELDS = {"vLLM": "cache_salt", "SGLang": "cache_salt", "llama.cpp": "cache_prompt"}
"""Sent to engines that don't report cached tokens, so that nobody can see whether it works."""
_FRAME_TOKENS = 30
"""About what a chat template and the nonce add to a text."""
_TOKENS_A_WORD = 0.9
"""The fewest that any tokenizer makes of these words and their full stops."""
_TEXT = (
    "the pump moves water from the lower tank to the upper one and stops when the valve is shut "
    "each morning the crew reads the meter writes the value in the book and checks the oil a "
    "small light on the panel shows that the power is on while a second one shows that the door "
    "is open in winter the line is kept warm so that it does not freeze before the spare part is "
    "fitted the old seal has to be taken out and the ring cleaned with a dry cloth"
)
"""Of common words, nearly all of them one token."""
_WORDS = _TEXT.split()


@dataclass(frozen=True)
class Cold:
    """How a request is kept from the prefix cache."""

    field: str | None
    """The request's field that does it; None: a number at the very start."""
    seen: bool = False
    """Whether the probe saw that the field does it."""

    @classmethod
    def of(cls, probe: Probe) -> Cold:
        """By the probe's check `cache_off`; where it couldn't see, by what the engine is."""
        finding = probe.findings.get("cache_off")
        if finding is not None and finding.verdict is Verdict.YES:
            return cls(str(finding.value), seen=True)
        known = finding is not None and finding.verdict is not Verdict.UNKNOWN
        engine = probe.findings.get("engine")
        name = str(engine.value or "").split(" ")[0] if engine else ""
        return cls(None if known else _FIELDS.get(name))

    def fields(self) -> dict[str, Any]:
        """The fields of one request; another salt each time."""
        if self.field is None:
            return {}
        return {self.field: False if self.field == "cache_prompt" else secrets.token_hex(8)}

    @staticmethod
    def nonce() -> str:
        """A number for the very start of the first message, always of the same length in tokens.

        It goes first also where a field keeps the cache out: so no server that ignores the field
        unnoticed can answer from memory.
        """
        return f"{secrets.randbelow(10**_NONCE_DIGITS):0{_NONCE_DIGITS}d}"


def cached_tokens(round_: Round) -> int | None:
    """Prompt tokens that came from the cache, by usage or the engine's own figures; None: it
    doesn't say."""
    if round_.cached_tokens is None and round_.server is not None:
        return round_.server.cached_tokens
    return round_.cached_tokens


def filler(words: int, seed: int = 0) -> str:
    """Natural text of so many words, in sentences; the same for the same seed, and a longer one
    begins as a shorter one."""
    source = random.Random(seed)
    said: list[str] = []
    while len(said) < words:
        start, length = source.randrange(len(_WORDS)), source.randint(7, 14)
        sentence = [_WORDS[(start + place) % len(_WORDS)] for place in range(length)]
        sentence[0] = sentence[0].capitalize()
        sentence[-1] += "."
        said += sentence
    return " ".join(said[:words])


class Prompts:
    """Prompts of wanted lengths; how many words a length needs is learned from the server's counts.

    The first prompt of a length is a guess; `correct` then makes all later ones fit to about 1 %.
    """

    def __init__(self, cold: Cold, *, ending: str = "", seed: int = 0) -> None:
        """
        Args:
            ending: what is asked for, after the text.
            seed: of the text.
        """
        self._cold = cold
        self._ending = ending
        self._random = random.Random(seed)
        self._words: dict[int, int] = {}

    def messages(self, tokens: int) -> list[Message]:
        """A prompt of about so many tokens, template included, unlike every one before from its
        first token."""
        words = self._words.setdefault(tokens, max(1, tokens - _FRAME_TOKENS - self._ending_words))
        text = filler(words, self._random.getrandbits(32))
        parts = (f"{self._cold.nonce()} {text}", self._ending)
        return [{"role": "user", "content": "\n\n".join(filter(None, parts))}]

    def fields(self) -> dict[str, Any]:
        """Fields of the request that keep it from the cache."""
        return self._cold.fields()

    def correct(self, tokens: int, prompt_tokens: int) -> None:
        """Learn from the count of a prompt of the wanted length `tokens` that was really sent."""
        frame = _FRAME_TOKENS + self._ending_words
        words = self._words[tokens]
        # of a short prompt the frame is too large a part for its words to be told from it
        each = max(_TOKENS_A_WORD, (prompt_tokens - frame) / words)
        self._words[tokens] = max(1, words + round((tokens - prompt_tokens) / each))

    @property
    def _ending_words(self) -> int:
        return len(self._ending.split())

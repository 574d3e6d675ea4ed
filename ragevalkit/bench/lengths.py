"""Replies of exact lengths, as far as a server lets itself be asked for them.

Public: `Lengths`, `find_lengths`, `exact_share`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

from ragevalkit.bench.decoding import decoding
from ragevalkit.bench.measuring import ask
from ragevalkit.bench.session import Session
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round, RoundState

_TRIED = 24
"""Tokens asked for to see whether a server keeps to a length."""
_FIELDS = (("ignore_eos", "min_tokens"), ("ignore_eos",))
"""vLLM, SGLang and TensorRT-LLM know both, llama.cpp the first; others ignore them, or answer 400.
"""


class Lengths(BaseModel):
    """How replies are kept from ending before their budget."""

    model_config = ConfigDict(extra="forbid")

    fields: list[str]
    """Of the request: `ignore_eos`, `min_tokens`; empty where the server takes neither."""
    refused: str | None = None
    """What the server said to those that it doesn't take."""

    def of(self, tokens: int) -> dict[str, Any]:
        """The request's fields for a reply of so many tokens."""
        values = {"ignore_eos": True, "min_tokens": tokens}
        return {name: values[name] for name in self.fields}


async def find_lengths(session: Session) -> Lengths:
    """See which fields the server takes; the requests also warm it up.

    Raises:
        EndpointUnusable: it doesn't answer at all.
    """
    messages = [{"role": "user", "content": "Reply with OK."}]
    plain = await ask(session, messages, _TRIED)
    if plain.state is not RoundState.DONE:
        raise EndpointUnusable(
            f"endpoint {session.client.profile.base_url} answers no plain request: "
            f"{plain.error or plain.state.value}"
        )
    refused = None
    for names in _FIELDS:
        lengths = Lengths(fields=list(names), refused=refused)
        reply = await ask(session, messages, _TRIED, lengths.of(_TRIED))
        if reply.state is RoundState.DONE:
            return lengths
        refused = refused or reply.error or reply.state.value
    return Lengths(fields=[], refused=refused)


def exact_share(replies: Iterable[tuple[int, Round]]) -> float | None:
    """Share of the replies, each with the tokens that it was asked for, that have as many; None
    where there are none whose tokens the server counted."""
    heeded = [
        reply.tokens == asked
        for asked, round_ in replies
        if (reply := decoding(round_)) is not None and not reply.estimated
    ]
    return sum(heeded) / len(heeded) if heeded else None

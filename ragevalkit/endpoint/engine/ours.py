"""What this client asked of an engine, to tell it from other people's traffic.

Public: `Ours`.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from ragevalkit.turn.record import Round, RoundState


class Ours(BaseModel):
    """Requests and tokens of this client, as it saw them. Sums, so that they add up."""

    model_config = ConfigDict(extra="forbid")

    turns: int = 0
    finished: int = 0
    """Requests that were read to their end: the engine must have counted each."""
    sent: int = 0
    """All requests that reached the server, also those that failed, were retried or cut off: it may
    have counted them."""
    untold: int = 0
    """Finished requests whose tokens the server didn't say."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    first_token_ms: float = 0.0
    """Sent to the first token, over the `timed` requests."""
    decode_ms: float = 0.0
    """First token to the last one, over the `timed` requests."""
    timed: int = 0

    def add(self, rounds: Iterable[Round]) -> None:
        """Take the rounds of one turn."""
        self.turns += 1
        for round_ in rounds:
            reached = [a for a in round_.attempts if a.state is not RoundState.UNREACHABLE]
            # a round that ended in the server's error was followed by a control request
            self.sent += len(reached) + (round_.state is RoundState.SERVER_ERROR)
            if round_.state is not RoundState.DONE:
                continue
            self.finished += 1
            self.untold += round_.prompt_tokens is None or round_.completion_tokens is None
            self.prompt_tokens += round_.prompt_tokens or 0
            self.cached_tokens += round_.cached_tokens or 0
            self.completion_tokens += round_.completion_tokens or 0
            clock = round_.clock
            if clock.first_token_ms is not None and clock.last_token_ms is not None:
                self.timed += 1
                self.first_token_ms += clock.first_token_ms - clock.sent_ms
                self.decode_ms += clock.last_token_ms - clock.first_token_ms
        self.first_token_ms = round(self.first_token_ms, 3)
        self.decode_ms = round(self.decode_ms, 3)

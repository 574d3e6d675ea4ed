"""From the marks that token-bearing events leave to gaps and token counts of each channel.

Public: `TokenMarks`, `REASONING`, `TOOL`, `ANSWER`.

While tokens come, only lists grow; all that can wait is worked out when the round is recorded.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ragevalkit.turn.record import Channel, milliseconds

REASONING, TOOL, ANSWER = range(3)
NAMES = ("reasoning", "tool", "answer")


@dataclass(frozen=True, slots=True)
class Totals:
    """What the server says of the whole reply, each None where it doesn't."""

    completion: int | None
    reasoning: int | None


class TokenMarks:
    """One mark for every event that bore tokens."""

    def __init__(self) -> None:
        self._at_ns: list[int] = []
        self._channels: list[int] = []
        """The channel that an event's gap belongs to: its only one, or the last that it bore."""
        self._listed: list[int | None] = []
        """Tokens by their ids."""
        self._totals: list[int | None] = []
        """The server's running total."""
        self._sizes: dict[int, Sequence[int]] = {}
        """Characters in each channel, of the events that bore several."""
        self._textless: list[tuple[int, int | None, int | None]] = []
        """Stamp, listed tokens and total of events since the last text."""
        self.characters = [0, 0, 0]
        self.first_ns: list[int | None] = [None, None, None]
        """When each channel's first text came."""

    def add(
        self, channel: int, size: int, now_ns: int, listed: int | None, total: int | None
    ) -> None:
        """Mark an event that bore text of one channel."""
        if self.first_ns[channel] is None:
            self.first_ns[channel] = now_ns
        if self._textless:
            self._claim(channel)
        self._at_ns.append(now_ns)
        self._channels.append(channel)
        self._listed.append(listed)
        self._totals.append(total)
        self.characters[channel] += size

    def add_shared(
        self, sizes: Sequence[int], now_ns: int, listed: int | None, total: int | None
    ) -> None:
        """Mark an event that bore text of several channels, by characters in each."""
        *others, last = [channel for channel in range(3) if sizes[channel]]
        for channel in others:
            self.characters[channel] += sizes[channel]
            if self.first_ns[channel] is None:
                self.first_ns[channel] = now_ns
        self.add(last, sizes[last], now_ns, listed, total)
        self._sizes[len(self._at_ns) - 1] = sizes

    def add_textless(self, now_ns: int, listed: int | None, total: int | None) -> None:
        """Mark an event that bore tokens without text, such as markup that a parser swallowed."""
        self._textless.append((now_ns, listed, total))

    @property
    def at_ns(self) -> list[int]:
        """When each event came; those without text count where some text came, too."""
        if not self._at_ns:
            return []
        return [*self._at_ns, *[at_ns for at_ns, _, _ in self._textless]]

    def event_tokens(self, completion: int | None) -> list[int | None]:
        """Tokens of each event, None where the server doesn't say.

        By listed ids; else by the running total, if it is one: not 0 where tokens came, never
        falling, and not the same all along.
        """
        events = len(self.at_ns)
        all_listed = [*self._listed, *[n for _, n, _ in self._textless]][:events]
        totals = [*self._totals, *[total for _, _, total in self._textless]][:events]
        if any(n is not None for n in all_listed):
            listed = sum(n or 0 for n in all_listed)
            if completion is None or listed <= completion:
                return all_listed
        known = [n for n in totals if n is not None]
        rises = all(a <= b for a, b in itertools.pairwise(known))
        constant = len(totals) > 1 and len(set(known)) == 1
        if not rises or constant or 0 in known:
            return [None] * events
        return [
            None if now is None or then is None else now - then
            for then, now in itertools.pairwise([0, *totals])
        ]

    def channels(self, totals: Totals, estimates: Sequence[int]) -> dict[str, Channel]:
        """The channels in which something came, by `NAMES`.

        Tokens are exact where every event says how many it carried, or where one channel got all of
        the server's total; else the total is split by characters and marked estimated.

        Args:
            estimates: tokens of each channel, to be taken where the server counts none.
        """
        events = self.event_tokens(totals.completion)
        counts = self._counts(events, totals, estimates)
        owners = self._owners()
        gaps: tuple[list[float], ...] = ([], [], [])
        gap_tokens: tuple[list[int | None], ...] = ([], [], [])
        for place, (then, now) in enumerate(itertools.pairwise(self.at_ns), 1):
            channel = owners[place]
            gaps[channel].append(milliseconds(now - then))
            gap_tokens[channel].append(events[place])
        return {
            NAMES[channel]: Channel.model_construct(
                tokens=tokens,
                estimated=estimated,
                characters=self.characters[channel],
                gaps_ms=gaps[channel],
                event_tokens=gap_tokens[channel],
            )
            for channel, (tokens, estimated) in counts.items()
        }

    def _claim(self, channel: int) -> None:
        """Give the events without text to the channel whose text comes next."""
        for at_ns, listed, total in self._textless:
            self._at_ns.append(at_ns)
            self._channels.append(channel)
            self._listed.append(listed)
            self._totals.append(total)
        self._textless.clear()

    def _owners(self) -> list[int]:
        """The channel of each event; those without text after the last text are its channel's."""
        return [*self._channels, *self._channels[-1:] * len(self._textless)]

    def _counts(
        self, events: list[int | None], totals: Totals, estimates: Sequence[int]
    ) -> dict[int, tuple[int, bool]]:
        """Tokens of each channel in use, and whether they are estimated."""
        used = [channel for channel in range(3) if self.characters[channel]]
        if None not in events:
            return self._counted(used, events)
        if totals.completion is None:
            return {channel: (estimates[channel], True) for channel in used}
        rest = totals.completion
        counts: dict[int, tuple[int, bool]] = {}
        if totals.reasoning and totals.reasoning <= rest:
            rest -= totals.reasoning  # also where the server keeps the reasoning's text to itself
            if REASONING in used:
                counts[REASONING] = (totals.reasoning, False)
        used = [channel for channel in used if channel not in counts]
        shares = _split(rest, [self.characters[channel] for channel in used])
        for channel, share in zip(used, shares, strict=True):
            counts[channel] = (share, len(used) > 1)
        return dict(sorted(counts.items()))

    def _counted(self, used: list[int], events: list[int | None]) -> dict[int, tuple[int, bool]]:
        """By the events' own counts; those of an event of several channels split by characters."""
        tokens = [0, 0, 0]
        shared = set()
        for place, (channel, count) in enumerate(zip(self._owners(), events, strict=True)):
            if place not in self._sizes:
                tokens[channel] += count or 0
                continue
            sizes = self._sizes[place]
            shared |= {channel for channel in range(3) if sizes[channel]}
            for part, share in enumerate(_split(count or 0, sizes)):
                tokens[part] += share
        return {channel: (tokens[channel], channel in shared) for channel in used}


def _split(total: int, weights: Sequence[int]) -> list[int]:
    """`total` in parts proportional to `weights`, adding up to it."""
    ends = [
        round(total * reached / max(1, sum(weights))) for reached in itertools.accumulate(weights)
    ]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]

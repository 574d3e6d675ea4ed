"""Asks block after block, after a pilot as many as the wanted precision needs.

Public: `Blocks`, `PILOT`, `MOST_BLOCKS`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from ragevalkit.bench.guided.asking import Stopped
from ragevalkit.bench.guided.estimate import FEWEST_BLOCKS, blocks_for
from ragevalkit.bench.guided.order import order
from ragevalkit.bench.guided.plan import Observer, Plan
from ragevalkit.turn.record import Round, RoundState

PILOT = 6
"""Blocks after which the number of blocks is settled."""
MOST_BLOCKS = 1000
_TRIES = 2
"""So many times as many blocks are asked where requests keep failing."""


@dataclass
class Blocks:
    """The blocks of one bench."""

    plan: Plan
    observer: Observer
    arms: Sequence[str]
    planned: int | None
    """How many there are to be; None before the pilot is over."""

    async def ask(
        self,
        done: int,
        first: int,
        one: Callable[[str, int, int], Awaitable[Round]],
        between: Callable[[int], Awaitable[object]],
        differences: Callable[[], Iterable[Sequence[float]]],
    ) -> None:
        """Ask until all are done.

        Args:
            done: how many are on record.
            first: number of the first one to be asked.
            one: asks one request, by arm, block and position.
            between: asks what belongs after the odd block of that number.
            differences: of the contrasts, as far as is known.

        Raises:
            Stopped: requests keep failing.
        """
        began = time.monotonic()
        for asked, number in enumerate(itertools.count(first)):
            if self.planned is None and done >= PILOT:
                self._settle((time.monotonic() - began) / max(1, asked), differences())
            if self.planned is not None and done >= self.planned:
                return
            rounds = [
                await one(arm, number, position)
                for position, arm in enumerate(order(self.arms, number, self.plan.seed))
            ]
            if number % 2:
                await between(number)
            failed = [round_ for round_ in rounds if round_.state is not RoundState.DONE]
            if failed and asked > _TRIES * (self.planned or PILOT):
                raise Stopped(failed[0].error or failed[0].state.value)
            done += not failed
            self.observer.progress(done, self.planned or PILOT, self._what)

    @property
    def _what(self) -> str:
        return "blocks" if self.planned else "blocks of the pilot"

    def _settle(self, block_s: float, differences: Iterable[Sequence[float]]) -> None:
        """How many blocks the precision needs, and how many there is time for."""
        plan = self.plan
        needed = max((blocks_for(d, plan.precision_ms) for d in differences), default=FEWEST_BLOCKS)
        possible = int(plan.minutes * 60 / block_s) if block_s else MOST_BLOCKS
        blocks = min(needed, max(FEWEST_BLOCKS, possible), MOST_BLOCKS)
        self.planned = blocks + blocks % 2
        plan.folder.note(planned_blocks=self.planned)
        short = ""
        if blocks < needed:
            short = f"; a precision of {plan.precision_ms:g} ms would take {needed}"
        self.observer.says(
            f"{self.planned} blocks of {len(self.arms)} requests and some between them, about "
            f"{self.planned * block_s:.0f} s in all{short}"
        )

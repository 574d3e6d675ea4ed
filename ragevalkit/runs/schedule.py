"""In which order questions are asked: of one endpoint some at a time, of two in mirrored blocks.

Public: `Item`, `ask_all`, `mirrored`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ragevalkit.agent.graph import Agent
from ragevalkit.bank import Question
from ragevalkit.corpus import Corpus
from ragevalkit.turn.record import Turn


class Item(NamedTuple):
    """A question to ask, and the how-manieth time it is."""

    question: Question
    repeat: int

    @property
    def key(self) -> tuple[str, int]:
        """What its turn is found by in the run's folder."""
        return self.question.id, self.repeat


async def ask_all(
    agent: Agent,
    items: Iterable[Item],
    corpora: Mapping[str, Corpus],
    *,
    concurrency: int,
    on_turn: Callable[[Turn], None],
) -> None:
    """Ask every item, `concurrency` at a time, in their order; what `on_turn` raises ends it.

    Args:
        corpora: by the name that `Question.corpus` gives; "" for questions without one.
        on_turn: called with each finished turn, in the order in which they finish.

    Raises:
        EndpointUnusable: the endpoint has never completed a request and can't be used.
    """
    waiting = iter(items)

    async def work() -> None:
        for question, repeat in waiting:
            on_turn(await agent.ask(question, corpora[question.corpus or ""], repeat))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


def mirrored(items: Sequence[Item], block: int, seed: int) -> Iterator[tuple[int, Sequence[Item]]]:
    """Who is asked next of two sides, 0 or 1, and what.

    The items are cut into an even number of blocks, in their order, of nearly the same size. Each
    block is asked of one side, then of the other, and of every two blocks the second is asked the
    other way round: A B | B A, so that a drift that is steady over the two favours neither side.
    The seed draws, for every two blocks, which side begins: nothing that comes back regularly
    favours one, either.

    Args:
        block: fewest items of a block, where there are twice as many in all.
    """
    pairs = max(1, len(items) // (2 * block))
    ends = [len(items) * place // (2 * pairs) for place in range(2 * pairs + 1)]
    chance = random.Random(seed)
    for pair in range(pairs):
        begins = chance.randrange(2)
        first, second = (items[ends[b] : ends[b + 1]] for b in (2 * pair, 2 * pair + 1))
        yield begins, first
        yield 1 - begins, first
        yield 1 - begins, second
        yield begins, second

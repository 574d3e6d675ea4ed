"""Asking many questions of one endpoint, some at a time.

Public: `Item`, `Stopped`, `ask_all`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ragevalkit.agent.graph import Agent
from ragevalkit.bank import Question
from ragevalkit.corpus import Corpus
from ragevalkit.turn.record import Ended, Turn

MOST_INFRA_ERRORS_IN_A_ROW = 10


class Item(NamedTuple):
    """A question to ask, and the how-manieth time it is."""

    question: Question
    repeat: int


class Stopped(Exception):
    """Ten turns in a row ended in an infrastructure error; the message holds the last one's."""


async def ask_all(
    agent: Agent,
    items: Iterable[Item],
    corpora: Mapping[str, Corpus],
    *,
    concurrency: int,
    on_turn: Callable[[Turn], None],
) -> None:
    """Ask every item, `concurrency` at a time, in their order.

    Args:
        corpora: by the name that `Question.corpus` gives; "" for questions without one.
        on_turn: called with each finished turn, in the order in which they finish.

    Raises:
        EndpointUnusable: the endpoint has never completed a request and can't be used.
        Stopped: ten infrastructure errors in a row.
    """
    waiting = iter(items)
    streak = 0

    def finish(turn: Turn) -> None:
        nonlocal streak
        on_turn(turn)
        streak = streak + 1 if turn.ended is Ended.INFRA_ERROR else 0
        if streak >= MOST_INFRA_ERRORS_IN_A_ROW:
            raise Stopped(turn.error or "")

    async def work(waiting: Iterator[Item]) -> None:
        for question, repeat in waiting:
            finish(await agent.ask(question, corpora[question.corpus or ""], repeat))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work(waiting))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None

"""What a run is made of.

Public: `Plan`, `Against`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

from ragevalkit.agent.graph import Limits
from ragevalkit.agent.tools import Toolbox
from ragevalkit.bank import Bank
from ragevalkit.corpus import Corpus
from ragevalkit.endpoint.client import Retries, Timeouts
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.manifest import settings_of
from ragevalkit.runs.schedule import Item


@dataclass(frozen=True)
class Against:
    """How a run's turns alternate with those of another run; `against` in run.json."""

    run: str
    """Name of the other run."""
    side: Literal["a", "b"]
    """Which side of the comparison this run is."""
    block: int
    """Fewest questions that one side is asked before it is the other's turn."""
    seed: int
    """Draws which side begins."""


@dataclass(frozen=True)
class Plan:
    """All that a run is made of."""

    folder: RunFolder
    bank: Bank
    corpora: Mapping[str, Corpus]
    """By the name that `Question.corpus` gives; "" for questions without one."""
    profile: Profile
    connect: Callable[[Profile], AbstractContextManager[Profile]]
    """Gives the profile to ask; starts the server of a built-in endpoint."""
    prompt: str
    toolbox: Toolbox
    limits: Limits = Limits()
    repeats: int = 1
    concurrency: int = 1
    limit: int | None = None
    """Ask only the first so many questions."""
    tags: list[str] = field(default_factory=list)
    """Ask only questions that have one of these tags; empty: all."""
    seed: int = 0
    retries: Retries = Retries()
    timeouts: Timeouts = Timeouts()
    probe: bool = True
    """Ask the endpoint what it can do, before the first question."""
    against: Against | None = None
    """None: the run is asked by itself."""

    def items(self) -> list[Item]:
        """What the run asks, in this order: all questions once, then again.

        Raises:
            InputError: no question has one of the tags.
        """
        questions = [
            q for q in self.bank.questions if not self.tags or set(self.tags) & set(q.tags)
        ]
        if not questions:
            raise InputError(
                f"no question of {self.bank.path} has the tag {' or '.join(self.tags)}"
            )
        chosen = questions[: self.limit]
        return [Item(question, repeat) for repeat in range(self.repeats) for question in chosen]

    def settings(self, model: str | None) -> dict[str, Any]:
        """What must not change when the run is continued."""
        return settings_of(
            bank=self.bank,
            corpora=self.corpora,
            profile=self.profile,
            model=model,
            prompt=self.prompt,
            tools_hash=self.toolbox.hash,
            limits=self.limits,
            seed=self.seed,
            repeats=self.repeats,
            tags=self.tags,
        )

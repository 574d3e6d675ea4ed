"""What a bench of guided decoding is to do, and whom it tells how it goes.

Public: `Plan`, `Observer`, `DEFAULT_TOKENS`, `SWEEP_TOKENS`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from ragevalkit.bench.folder import BenchFolder, endpoint_settings
from ragevalkit.bench.guided.arms import ARMS
from ragevalkit.endpoint.client import Timeouts
from ragevalkit.endpoint.profile import Profile

DEFAULT_TOKENS = 32
SWEEP_TOKENS = 128
"""Room for a call with a few words before it."""


class Observer(Protocol):
    """Is told how a bench goes on."""

    def checks(self, what: str) -> None:
        """Something is looked at."""

    def warns(self, line: str) -> None: ...

    def says(self, line: str) -> None: ...

    def progress(self, done: int, of: int, what: str) -> None:
        """So many of the requests that are planned are done."""


@dataclass(frozen=True)
class Plan:
    """All that the bench is made of."""

    folder: BenchFolder
    profile: Profile
    connect: Callable[[Profile], AbstractContextManager[Profile]]
    """Gives the profile to ask; starts the server of a built-in endpoint."""
    tools: Sequence[Mapping[str, Any]]
    """Those that the arms offer, or that the sweep takes first, `strict` false."""
    arms: Sequence[str] = tuple(ARMS)
    counts: Sequence[int] = ()
    """Numbers of tools to go through in place of the arms."""
    tokens: int = DEFAULT_TOKENS
    seed: int = 0
    margin_ms: float = 5.0
    gap_margin_ms: float = 0.5
    precision_ms: float = 5.0
    """Wanted half of a 95 % interval."""
    minutes: float = 10.0
    """The most that the blocks may take."""
    blocks: int | None = None
    """How many in place of what precision and minutes come to."""
    timeouts: Timeouts | None = None

    def settings(self, model: str | None) -> dict[str, Any]:
        """What must not change when the bench is continued."""
        return {
            "bench": "guided",
            "endpoint": endpoint_settings(self.profile, model),
            "tools": {
                "names": self.tool_names,
                "hash": hashlib.sha256(orjson.dumps(list(self.tools))).hexdigest()[:16],
            },
            "arms": list(self.arms),
            "counts": list(self.counts),
            "tokens": self.tokens,
            "seed": self.seed,
            "margin_ms": self.margin_ms,
            "gap_margin_ms": self.gap_margin_ms,
            "size": {
                "precision_ms": self.precision_ms,
                "minutes": self.minutes,
                "blocks": self.blocks,
            },
        }

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools]

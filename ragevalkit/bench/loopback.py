"""Starts the loopback server, and reads from a round when each of its tokens was sent and read.

Public: `Loopback`, `Token`, `tokens_of`, `Clock`.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.request import ProxyHandler, build_opener

import orjson

from ragevalkit.bench import loopback_server
from ragevalkit.bench.loopback_server import Schedule
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Round

_STOP_S = 5.0
_DEATH_S = 1.0
"""A server whose connections have just broken may need so long to be gone."""
_CLOCK_TRIES = 20


class Token(NamedTuple):
    """Three times of one token, by `time.perf_counter_ns` of the client."""

    due_ns: int
    """When the server was to send it."""
    sent_ns: int
    """When the server sent it: taken before the write."""
    read_ns: int
    """When the client says that it came: from the record of the round."""

    @property
    def lateness_ms(self) -> float:
        """How late the client's stamp is."""
        return (self.read_ns - self.sent_ns) / 1e6

    @property
    def server_late_ms(self) -> float:
        """How late the server was against its schedule."""
        return (self.sent_ns - self.due_ns) / 1e6


@dataclass(frozen=True)
class Clock:
    """How the server's clock compares with ours."""

    offset_ns: int
    """To be added to the server's times; 0 where both read one clock, as on Linux."""
    uncertainty_ns: int
    """Half of the shortest round trip that found the offset; 0 where it is one clock."""


class Loopback:
    """The running server; a context manager that ends it."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", str(Path(loopback_server.__file__).resolve())]
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line.strip().isdigit():
            self.close()
            raise EndpointUnusable(f"the loopback server did not start: {self._last_words()}")
        self.pid = self._child.pid
        self.profile = Profile(
            name="loopback", base_url=f"http://127.0.0.1:{int(line)}/v1", model="loopback"
        )

    def body(self, schedule: Schedule) -> dict[str, Any]:
        """The request that is answered by `schedule`."""
        return {
            "model": "loopback",
            "messages": [{"role": "user", "content": "Stream."}],
            "schedule": asdict(schedule),
        }

    def clock(self) -> Clock:
        """Compare clocks: the server's time lies between two of ours where it is one clock."""
        address = self.profile.base_url.removesuffix("/v1") + "/clock"
        opener = build_opener(ProxyHandler({}))
        shared, tries = True, []
        for _ in range(_CLOCK_TRIES):
            before = time.perf_counter_ns()
            with opener.open(address) as answer:
                theirs = orjson.loads(answer.read())["perf_counter_ns"]
            after = time.perf_counter_ns()
            shared = shared and before <= theirs <= after
            tries.append(Clock((before + after) // 2 - theirs, (after - before) // 2))
        return Clock(0, 0) if shared else min(tries, key=lambda t: t.uncertainty_ns)

    def check(self) -> None:
        """After a stream has failed: raise where that is because the server has died.

        Raises:
            EndpointUnusable: with its last words.
        """
        try:
            self._child.wait(_DEATH_S)
        except subprocess.TimeoutExpired:
            return
        raise EndpointUnusable(f"the loopback server died: {self._last_words()}")

    def close(self) -> None:
        """End the server and wait for it; a second call does nothing."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _last_words(self) -> str:
        status = self._child.wait(_STOP_S)
        assert self._child.stderr is not None
        lines = self._child.stderr.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return f"exit status {status}; {said[-1] if said else 'it said nothing'}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        for pipe in (self._child.stdout, self._child.stderr):
            assert pipe is not None
            pipe.close()


def tokens_of(round_: Round, origin_ns: int, clock: Clock) -> list[Token]:
    """The tokens of a round that a loopback server answered.

    What the record says is tested, so the times come from it: first token, and the gaps of the
    channels.

    Args:
        origin_ns: start of the turn, from which the record counts.
    """
    texts = [round_.reasoning, round_.content]
    stamps = [tuple(map(int, pair.split())) for text in texts for pair in text.split(";")[:-1]]
    return [
        Token(due + clock.offset_ns, sent + clock.offset_ns, origin_ns + round(1e6 * read_ms))
        for (due, sent), read_ms in zip(stamps, _read_ms(round_), strict=True)
    ]


def _read_ms(round_: Round) -> Iterator[float]:
    """When each token-bearing event came, from the record; reasoning comes before the answer."""
    channels = [c for c in (round_.reasoning_channel, round_.answer_channel) if c is not None]
    gaps = [gap for channel in channels for gap in channel.gaps_ms]
    return itertools.accumulate(gaps, initial=round_.clock.first_token_ms or 0.0)

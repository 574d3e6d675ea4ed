"""Which of a scenario's rules a request falls under.

Public: `Rulebook`, `Chosen`, `turn_key`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import orjson

from ragevalkit.standin.request import ChatRequest, Conversation
from ragevalkit.standin.scenario import Scenario
from ragevalkit.standin.script import Fault, Reply, Rule, Timing


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the rules that match come to."""

    timing: Timing
    reply: Reply
    fault: Fault | None


def turn_key(request: ChatRequest) -> bytes:
    """The same for every round of one turn, another for every question and every repeat.

    Made of the messages up to the last user message and the request's seed.
    """
    messages = request.messages
    last = max((at for at, m in enumerate(messages) if m.get("role") == "user"), default=0)
    content = orjson.dumps([messages[: last + 1], str(request.seed)])
    return blake2b(content, digest_size=16).digest()


class _Asked:
    """A request as the conditions of rules see it."""

    def __init__(self, request: ChatRequest, now: Conversation) -> None:
        self.request = request
        self.now = now

    @cached_property
    def turn(self) -> bytes:
        return turn_key(self.request)


class Rulebook:
    """The rules of a scenario; it remembers only how often each was used."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._used: Counter[tuple[int, bytes]] = Counter()

    def choose(self, request: ChatRequest, now: Conversation) -> Chosen:
        """The first matching reply, and the first timing and fault up to it."""
        asked = _Asked(request, now)
        timing: Timing | None = None
        fault: Fault | None = None
        reply = Reply()
        for number, rule in enumerate(self._scenario.rules):
            if not self._matches(number, rule, asked):
                continue
            timing = timing or rule.timing
            fault = fault or rule.fault
            if rule.reply is not None:
                reply = rule.reply
                break
        return Chosen(timing or self._scenario.timing, reply, fault)

    def _matches(self, number: int, rule: Rule, asked: _Asked) -> bool:
        now = asked.now
        rounds = [rule.round] if isinstance(rule.round, int) else rule.round
        holds = (
            (rounds is None or now.round in rounds)
            and (rule.question is None or re.search(rule.question, now.question) is not None)
            and (rule.results is None or rule.results == _results(now))
            and (rule.tools is None or rule.tools == bool(asked.request.tools))
            and (
                rule.every is None
                or self._share(number, now.question.encode(errors="replace")) * rule.every < 1
            )
            and (rule.probability is None or self._share(number, asked.turn) < rule.probability)
        )
        if not holds or rule.times is None:
            return holds
        key = (number, asked.turn if rule.per == "turn" else b"")
        if self._used[key] >= rule.times:
            return False
        self._used[key] += 1
        return True

    def _share(self, rule: int, of: bytes) -> float:
        """A number in [0, 1) that depends on the seed and these two alone."""
        text = f"{self._scenario.seed}/{rule}/".encode() + of
        return int.from_bytes(blake2b(text, digest_size=6).digest()) / 2**48


def _results(now: Conversation) -> str:
    """Whether the last search found `some`, came back `empty`, or there was `none` yet."""
    if not now.searches:
        return "none"
    return "some" if now.searches[-1] else "empty"

"""What the checks of a probe share: one client, what was asked, what is known so far.

Public: `Look`, `Check`, `check`, `Limits`, `Spent`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ragevalkit.endpoint.client import ChatClient, Retries, Timeouts
from ragevalkit.endpoint.faults import Fault
from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.endpoint.probe.finding import Finding, Verdict
from ragevalkit.endpoint.profile import Profile
from ragevalkit.turn.record import Round, RoundState

Message = dict[str, Any]

_USAGE = RequestOptions()
_RETRIES = Retries(most=1, first_wait_s=0.3, longest_wait_s=2.0)
_THINKING_ROOM = 1024
"""Tokens on top of a budget where thinking can't be switched off."""


@dataclass(frozen=True)
class Limits:
    """What a probe may cost."""

    requests: int = 19
    """Of all kinds, a retry included."""
    request_s: float = 60.0
    """For one reply, with its retry."""
    page_s: float = 3.0
    """For a version page."""
    total_s: float = 300.0


class Spent(Exception):
    """The probe's requests or its time are used up; its text says which."""


@dataclass
class Look:
    """One look at an endpoint.

    The client is the probe's own: a run's client keeps its options, its retries and its counts.
    """

    profile: Profile
    model: str
    tools: list[dict[str, Any]]
    """The tools that the run will offer, as they are sent."""
    listed: list[dict[str, Any]]
    """Entries of `/models`."""
    limits: Limits
    known: dict[str, Finding] = field(default_factory=dict)
    """Findings of the checks before."""
    engine: str | None = None
    """As `identity` names it."""
    quiet: dict[str, Any] = field(default_factory=dict)
    """Fields that keep the model from thinking, once they are found."""
    thinks: bool = False
    budget_field: Any = "max_completion_tokens"
    replies: dict[str, Round] = field(default_factory=dict)
    """By the name under which they were asked for."""
    nonces: dict[str, str] = field(default_factory=dict)
    """Random words, by the name of the request that holds them."""
    requests: int = 0

    def __post_init__(self) -> None:
        bare = self.profile.model_copy(update={"extra_body": {}})
        timeouts = Timeouts(
            connect_s=min(5.0, self.limits.request_s), stall_s=self.limits.request_s
        )
        self.client = ChatClient(bare, concurrency=1, retries=_RETRIES, timeouts=timeouts)
        self.client.proven = True  # what a failure means is for the checks to say
        self._until = time.monotonic() + self.limits.total_s

    async def close(self) -> None:
        await self.client.close()

    @property
    def entry(self) -> dict[str, Any]:
        """The model's entry of `/models`; empty where it isn't listed."""
        return next((m for m in self.listed if m.get("id") == self.model), {})

    def verdict(self, name: str) -> Verdict:
        finding = self.known.get(name)
        return finding.verdict if finding else Verdict.UNKNOWN

    async def ask(
        self,
        name: str,
        messages: list[Message],
        *,
        tokens: int,
        options: RequestOptions = _USAGE,
        budget_field: str | None = None,
        **fields: Any,
    ) -> Round:
        """The reply to one request; asked for again by the same name, the same reply.

        Args:
            tokens: the output budget.
            fields: further fields of the request; they go before the profile's `extra_body`.

        Raises:
            Spent: the probe may ask no more.
        """
        if name in self.replies:
            return self.replies[name]
        seconds = min(self.limits.request_s, self._left())
        budget: Any = budget_field or self.budget_field
        body = {
            **_merged(self.profile.extra_body, fields),
            "model": self.model,
            "messages": messages,
            **self.profile.sampling.parameters(),
            "max_completion_tokens": tokens,  # `options` name it
        }
        self.client.options = replace(options, budget_field=budget)
        rounds: list[Round] = []
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.client.complete(body, rounds, time.perf_counter_ns())
        finally:
            self.requests += sum(
                attempt.state is not RoundState.UNREACHABLE  # it never was a request
                for round_ in rounds
                for attempt in round_.attempts
            )
        self.replies[name] = self._without_key(rounds[-1])
        return rounds[-1]

    async def ask_quietly(
        self, name: str, messages: list[Message], *, tokens: int, **fields: Any
    ) -> Round:
        """`ask`, without thinking where that can be had, else with room for it."""
        room = _THINKING_ROOM if self.thinks and not self.quiet else 0
        return await self.ask(name, messages, tokens=tokens + room, **_merged(self.quiet, fields))

    async def page(self, path: str) -> dict[str, Any] | None:
        """The JSON object at `path` of the server's root; None where there is none.

        Raises:
            Spent: the probe may ask no more.
        """
        seconds = min(self.limits.page_s, self._left())
        parts = urlsplit(self.profile.base_url)
        self.requests += 1
        try:
            answer = await self.client.get(
                f"{parts.scheme}://{parts.netloc}{path}", timeout_s=seconds
            )
        except Fault:
            return None
        return answer if isinstance(answer, dict) else None

    def _without_key(self, round_: Round) -> Round:
        """`round_` without the key in what is quoted from it in part."""
        if key := self.profile.api_key():
            round_.content = round_.content.replace(key, "***")
            round_.reasoning = round_.reasoning.replace(key, "***")
            for call in round_.calls:
                call.arguments = call.arguments.replace(key, "***")
        return round_

    @property
    def answered(self) -> bool:
        """Whether any completion has succeeded."""
        return any(round_.state is RoundState.DONE for round_ in self.replies.values())

    def _left(self) -> float:
        """Seconds that are left."""
        if self.requests + _RETRIES.most >= self.limits.requests:
            raise Spent(f"not asked: {self.requests} requests were sent before")
        left = self._until - time.monotonic()
        if left <= 0:
            raise Spent(f"not asked: the probe's {self.limits.total_s:g} s were over")
        return left


class Check(NamedTuple):
    """One question to an endpoint."""

    name: str
    """Of its finding in the JSON."""
    title: str
    run: Callable[[Look], Awaitable[Finding]]


def check(title: str) -> Callable[[Callable[[Look], Awaitable[Finding]]], Check]:
    """Makes a check of a function, under the function's name."""

    def made(run: Callable[[Look], Awaitable[Finding]]) -> Check:
        return Check(getattr(run, "__name__", title), title, run)

    return made


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Fields of both; tables such as `chat_template_kwargs` one level deep as well."""
    merged = {**under, **over}
    for name in under.keys() & over.keys():
        if isinstance(under[name], dict) and isinstance(over[name], dict):
            merged[name] = {**under[name], **over[name]}
    return merged

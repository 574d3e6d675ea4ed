"""Asks an OpenAI-compatible endpoint: one streamed completion a round, with retries on record.

Public: `ChatClient`, `Retries`, `Timeouts`.

The openai SDK brings addresses, keys, pooling and error classes. Its retries are off, since they
hide time and failures, and its typed stream is not used, since at 256 streams it is seconds late:
bytes are read from its response, stamped, and parsed by `endpoint.reader`.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import orjson
from openai import AsyncOpenAI, AsyncStream, DefaultAioHttpClient, Omit

from ragevalkit.endpoint.body import read_completion
from ragevalkit.endpoint.failures import (
    TRANSPORT_ERRORS,
    broken,
    explanation,
    raised_fault,
    verdict,
)
from ragevalkit.endpoint.faults import Fault, readable, shortened
from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.endpoint.profile import Profile
from ragevalkit.endpoint.reader import StreamReader
from ragevalkit.endpoint.record import AttemptClock, attempt_record, round_record
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Attempt, Round, RoundState

_SENT = "ragevalkit_sent_ns"
_HEADERS = {
    "accept": "text/event-stream",
    "accept-encoding": "identity",
    "content-type": "application/json",
}
_MOST_GIVEN_UP = 2
"""After so many kept connections in a row that the server had closed, none is kept any more."""
_UNUSABLE = frozenset(
    {
        RoundState.REFUSED,
        RoundState.REJECTED,
        RoundState.NOT_AN_API,
        RoundState.UNREACHABLE,
        RoundState.STALLED,
    }
)


@dataclass(frozen=True)
class Retries:
    """How often to ask again, and how long to wait before."""

    most: int = 3
    first_wait_s: float = 0.5
    """Doubled each time, with up to a quarter less by chance."""
    longest_wait_s: float = 30.0
    """Bound on our own pauses and on what a server's Retry-After may ask."""

    def wait_s(self, attempt: int, fault: Fault) -> float:
        """Seconds to wait after attempt number `attempt` (from 1)."""
        own = self.first_wait_s * 2.0 ** (attempt - 1) * random.uniform(0.75, 1)
        return min(self.longest_wait_s, max(own, fault.retry_after_s or 0))


@dataclass(frozen=True)
class Timeouts:
    connect_s: float = 10.0
    stall_s: float = 120.0
    """Longest time without a byte, before the first one or between two."""


class ChatClient:
    """One endpoint, with connections for `concurrency` requests at once."""

    def __init__(
        self,
        profile: Profile,
        *,
        concurrency: int,
        retries: Retries | None = None,
        timeouts: Timeouts | None = None,
        options: RequestOptions | None = None,
    ) -> None:
        self.profile = profile
        self.options = options or RequestOptions()
        """What is asked for beyond the completion; may be set between requests."""
        self.proven = False
        """Whether the endpoint has completed a request."""
        self._given_up = 0
        """Kept connections in a row that the server had closed."""
        self._retries = retries or Retries()
        self._timeouts = timeouts or Timeouts()
        limits = httpx2.Limits(
            max_connections=concurrency + 4,
            max_keepalive_connections=concurrency + 4,
            keepalive_expiry=120,
        )
        self._key = profile.api_key()
        self._openai = AsyncOpenAI(
            base_url=profile.base_url,
            api_key=self._key or "none",
            max_retries=0,
            http_client=DefaultAioHttpClient(limits=limits, event_hooks={"request": [_stamp_sent]}),
        )
        self._timeout = httpx2.Timeout(
            connect=self._timeouts.connect_s,
            read=self._timeouts.stall_s,
            write=self._timeouts.stall_s,
            pool=self._timeouts.stall_s,
        )

    async def close(self) -> None:
        await self._openai.close()

    @property
    def _closes(self) -> bool:
        """Whether this server closes its connections whatever it promises, as llama.cpp does."""
        return self._given_up >= _MOST_GIVEN_UP

    @staticmethod
    def unusable(fault: Fault) -> bool:
        """Whether a first request that fails in this way means that all would."""
        return fault.state in _UNUSABLE

    def explain(self, fault: Fault) -> str:
        """A fault as one line for the user: what is wrong, where, and what to do."""
        return explanation(self.profile, fault)

    async def models(self) -> list[dict[str, Any]]:
        """What `/models` lists.

        Raises:
            Fault: as the request failed.
        """
        answer = await self.get("/models", timeout_s=self._timeouts.connect_s)
        listed = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(listed, list):
            raise Fault(RoundState.NOT_AN_API, "the answer to /models lists no models")
        return [m for m in listed if isinstance(m, dict) and isinstance(m.get("id"), str)]

    async def get(self, path: str, *, timeout_s: float) -> Any:
        """The JSON that a GET of `path` answers.

        Raises:
            Fault: the request failed, or its answer isn't JSON.
        """
        options: Any = {"timeout": timeout_s, "headers": _identity(self._key)}
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._openai.get(path, cast_to=httpx2.Response, options=options)
            return orjson.loads(response.content)
        except (openai.OpenAIError, *TRANSPORT_ERRORS, TimeoutError) as error:
            raise self._without_key(raised_fault(error, timeout_s)) from error
        except orjson.JSONDecodeError as error:
            fault = Fault(
                RoundState.NOT_AN_API, f"the answer is no JSON: {readable(response.text)}"
            )
            raise self._without_key(fault) from error

    async def complete(self, body: dict[str, Any], rounds: list[Round], origin_ns: int) -> Round:
        """Ask for one streamed completion, again where that may help, and append the round.

        Args:
            body: the request's fields, the output budget as `max_completion_tokens`; `stream`,
                the fields of `options` and the profile's `extra_body` are added.
            rounds: the turn's rounds; the new one is appended also where this call is cancelled.
            origin_ns: start of the turn by `time.perf_counter_ns`, from which the record counts.

        Raises:
            EndpointUnusable: no request has ever succeeded here, and this one failed in a way that
                the next would, too.
        """
        content = self._content(body)
        attempts: list[Attempt] = []
        retries = 0
        try:
            while True:
                reader, clock = StreamReader(), AttemptClock(origin_ns)
                fault: Fault | None = None
                try:
                    await self._stream(content, reader, clock)
                except Fault as raised:
                    fault = raised
                clock.end(reader.last_event_ns if fault is None else None)
                attempts.append(attempt_record(len(attempts) + 1, reader, clock, fault))
                if fault is None:
                    self.proven = True
                    if len(attempts) == 1 and not self._closes:
                        self._given_up = 0
                    break
                if not self.proven:
                    if (asked_for_less := self._ask_for_less(body, content, fault)) is not None:
                        content = asked_for_less
                        continue
                    if self.unusable(fault):
                        raise EndpointUnusable(self.explain(fault))
                if self.proven and fault.closed and len(attempts) == 1:
                    # a kept connection that the server had given up; a new one is asked at once
                    self._given_up += 1
                    attempts[-1].waited_s = 0.0
                    continue
                if not fault.retryable or retries == self._retries.most:
                    break
                retries += 1
                attempts[-1].waited_s = self._retries.wait_s(retries, fault)
                await asyncio.sleep(attempts[-1].waited_s)
        except asyncio.CancelledError:
            fault = Fault(RoundState.DEADLINE, "the turn's time ran out")
            if clock.ended_ns is None:
                clock.end()
                attempts.append(attempt_record(len(attempts) + 1, reader, clock, fault))
            raise
        finally:
            if attempts:
                round_ = round_record(reader, clock, fault, attempts)
                round_.prompt_messages = len(body["messages"])
                round_.prompt_bytes = len(content)
                rounds.append(round_)
        return rounds[-1]

    async def control(self, model: str) -> Fault | None:
        """A plain request that any server can answer; its fault, or None.

        Tells a server that is down from one that fails at a certain turn.
        """
        message = {"role": "user", "content": "Reply with OK."}
        body = {"model": model, "messages": [message], "max_completion_tokens": 8}
        try:
            await self._stream(
                self._content(body), StreamReader(), AttemptClock(time.perf_counter_ns())
            )
        except Fault as fault:
            return fault
        return None

    def _content(self, body: dict[str, Any]) -> bytes:
        """The request's body as it is sent."""
        return orjson.dumps(
            {**self.options.applied(body), "stream": True, **self.profile.extra_body}
        )

    def _ask_for_less(self, body: dict[str, Any], content: bytes, fault: Fault) -> bytes | None:
        """The request again without what `fault` complains of; None where that changes nothing.

        What is left out stays out of the next requests.
        """
        if fault.state is not RoundState.REJECTED:
            return None
        self.options = self.options.without(fault.message)
        less = self._content(body)
        return None if orjson.loads(less) == orjson.loads(content) else less

    async def _stream(self, content: bytes, reader: StreamReader, clock: AttemptClock) -> None:
        """One attempt, read into `reader`.

        Raises:
            Fault: it failed, at whatever point before the finish reason.
        """
        try:
            await self._exchange(content, reader, clock)
        except Fault as fault:
            raise self._without_key(fault) from fault.__cause__

    async def _exchange(self, content: bytes, reader: StreamReader, clock: AttemptClock) -> None:
        clock.sent_ns = time.perf_counter_ns()
        try:
            stream = await self._openai.post(
                "/chat/completions",
                cast_to=object,
                content=content,
                stream=True,
                stream_cls=AsyncStream[object],
                options={
                    "headers": {
                        **_HEADERS,
                        **_identity(self._key),
                        **({"connection": "close"} if self._closes else {}),
                    },
                    "timeout": self._timeout,
                },
            )
            response = stream.response
            clock.headers_ns = time.perf_counter_ns()
            clock.sent_ns = response.request.extensions.get(_SENT, clock.sent_ns)
            clock.status = response.status_code
            try:
                await read_completion(response, reader)
            finally:
                await response.aclose()
        except (openai.OpenAIError, *TRANSPORT_ERRORS) as error:
            if not reader.ending:
                raise broken(error, clock, self._timeouts.stall_s) from error
            # nothing of the completion was lost but, at most, its usage
        if fault := verdict(reader, clock.status):
            raise fault

    def _without_key(self, fault: Fault) -> Fault:
        """`fault` without the key, which some servers repeat, and of a length that fits a log."""
        message = fault.message.replace(self._key, "***") if self._key else fault.message
        fault.message = shortened(message)
        return fault


def _identity(key: str | None) -> dict[str, Any]:
    """Headers that say who asks: the profile's key alone, not what the SDK finds in OPENAI_*."""
    return {
        "Authorization": f"Bearer {key}" if key else Omit(),
        "OpenAI-Organization": Omit(),
        "OpenAI-Project": Omit(),
    }


async def _stamp_sent(request: httpx2.Request) -> None:
    request.extensions[_SENT] = time.perf_counter_ns()

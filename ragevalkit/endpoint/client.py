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
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx2
import openai
import orjson
from openai import AsyncOpenAI, AsyncStream, DefaultAioHttpClient, Omit

from ragevalkit.endpoint.faults import Fault, readable, shortened, status_fault, stream_fault
from ragevalkit.endpoint.profile import Profile
from ragevalkit.endpoint.reader import FAILED_FINISHES, StreamReader
from ragevalkit.endpoint.record import AttemptClock, attempt_record, round_record
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import Attempt, Round, RoundState

_SENT = "ragevalkit_sent_ns"
_HEADERS = {
    "accept": "text/event-stream",
    "accept-encoding": "identity",
    "content-type": "application/json",
}
_DRAIN_S = 0.1
"""How long to wait for the end of the body after `[DONE]`, so that the connection is kept."""
_TRANSPORT_ERRORS = (httpx2.HTTPError, aiohttp.ClientError, OSError)
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
    ) -> None:
        self.profile = profile
        self.proven = False
        """Whether the endpoint has completed a request."""
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

    @staticmethod
    def unusable(fault: Fault) -> bool:
        """Whether a first request that fails in this way means that all would."""
        return fault.state in _UNUSABLE

    def explain(self, fault: Fault) -> str:
        """A fault as one line for the user: what is wrong, where, and what to do."""
        return _unusable(self.profile, fault)

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
        except (openai.OpenAIError, *_TRANSPORT_ERRORS, TimeoutError) as error:
            raise self._without_key(_fault(error, timeout_s)) from error
        except orjson.JSONDecodeError as error:
            fault = Fault(
                RoundState.NOT_AN_API, f"the answer is no JSON: {readable(response.text)}"
            )
            raise self._without_key(fault) from error

    async def complete(self, body: dict[str, Any], rounds: list[Round], origin_ns: int) -> Round:
        """Ask for one streamed completion, again where that may help, and append the round.

        Args:
            body: the request's fields; `stream` and the profile's `extra_body` are added.
            rounds: the turn's rounds; the new one is appended also where this call is cancelled.
            origin_ns: start of the turn by `time.perf_counter_ns`, from which the record counts.

        Raises:
            EndpointUnusable: no request has ever succeeded here, and this one failed in a way that
                the next would, too.
        """
        content = orjson.dumps(
            {
                **body,
                "stream": True,
                "stream_options": {"include_usage": True},
                **self.profile.extra_body,
            }
        )
        attempts: list[Attempt] = []
        try:
            while True:
                reader, clock = StreamReader(), AttemptClock(origin_ns)
                fault: Fault | None = None
                try:
                    await self._stream(content, reader, clock)
                except Fault as raised:
                    fault = raised
                clock.end(reader.done_ns if fault is None else None)
                attempts.append(attempt_record(len(attempts) + 1, reader, clock, fault))
                if fault is None:
                    self.proven = True
                    break
                if not self.proven and self.unusable(fault):
                    raise EndpointUnusable(self.explain(fault))
                if not fault.retryable or len(attempts) > self._retries.most:
                    break
                attempts[-1].waited_s = self._retries.wait_s(len(attempts), fault)
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
        body = {"model": model, "messages": [message], "max_completion_tokens": 8, "stream": True}
        content = orjson.dumps({**body, **self.profile.extra_body})
        try:
            await self._stream(content, StreamReader(), AttemptClock(time.perf_counter_ns()))
        except Fault as fault:
            return fault
        return None

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
                    "headers": {**_HEADERS, **_identity(self._key)},
                    "timeout": self._timeout,
                },
            )
            response = stream.response
            clock.headers_ns = time.perf_counter_ns()
            clock.sent_ns = response.request.extensions.get(_SENT, clock.sent_ns)
            clock.status = response.status_code
            try:
                await self._read(response, reader)
            finally:
                await response.aclose()
        except (openai.OpenAIError, *_TRANSPORT_ERRORS) as error:
            if reader.finish_reason is None:
                raise _broken(error, clock, self._timeouts.stall_s) from error
            # nothing of the completion was lost but, at most, its usage
        if fault := _verdict(reader, clock.status):
            raise fault

    def _without_key(self, fault: Fault) -> Fault:
        """`fault` without the key, which some servers repeat, and of a length that fits a log."""
        message = fault.message.replace(self._key, "***") if self._key else fault.message
        fault.message = shortened(message)
        return fault

    async def _read(self, response: httpx2.Response, reader: StreamReader) -> None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/xhtml+xml"):
            page = (await response.aread()).decode(errors="replace")
            raise Fault(
                RoundState.NOT_AN_API,
                f"the answer is a web page, not a completion: {readable(page)}",
                response.status_code,
            )
        if kind == "application/json":
            body = await response.aread()
            if not body.lstrip().startswith((b"data:", b"event:", b":")):
                reader.take_whole(body, time.perf_counter_ns())
                return
            reader.feed(body, time.perf_counter_ns())  # a stream under the wrong label
            reader.close(time.perf_counter_ns())
            return
        reads = response.aiter_bytes()
        async for read in reads:
            reader.feed(read, time.perf_counter_ns())
            if reader.done:
                await _drain(reads)
                return
        reader.close(time.perf_counter_ns())
        if not reader.events and kind != "text/event-stream":
            raise _no_completion(response.status_code)


def _identity(key: str | None) -> dict[str, Any]:
    """Headers that say who asks: the profile's key alone, not what the SDK finds in OPENAI_*."""
    return {
        "Authorization": f"Bearer {key}" if key else Omit(),
        "OpenAI-Organization": Omit(),
        "OpenAI-Project": Omit(),
    }


async def _stamp_sent(request: httpx2.Request) -> None:
    request.extensions[_SENT] = time.perf_counter_ns()


async def _drain(reads: AsyncIterator[bytes]) -> None:
    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in reads:
                pass
    except TimeoutError:
        pass  # the server keeps the body open; the connection is given up


def _verdict(reader: StreamReader, status: int | None) -> Fault | None:
    """What is wrong with a stream that was read to its end."""
    if reader.error is not None:
        return stream_fault(reader.error, status)
    if reader.finish_reason in FAILED_FINISHES:
        message = f"the engine gave up (finish reason '{reader.finish_reason}')"
        return Fault(RoundState.SERVER_ERROR, message, status)
    if reader.finish_reason is not None:
        return None
    if reader.events and reader.events == reader.malformed_events:
        return _no_completion(status)
    return Fault(RoundState.TRUNCATED, "the stream ended without a finish reason", status)


def _no_completion(status: int | None) -> Fault:
    return Fault(RoundState.NOT_AN_API, "the answer holds no events of a completion", status)


def _broken(error: Exception, clock: AttemptClock, stall_s: float) -> Fault:
    """The fault of an attempt that an exception ended, before the headers or after them."""
    fault = _fault(error, stall_s)
    if clock.headers_ns is not None and fault.state is RoundState.UNREACHABLE:
        message = f"the connection broke: {_words(error)}"
        fault = Fault(RoundState.CUT, message, clock.status)
    clock.status = fault.status = fault.status or clock.status
    return fault


def _fault(error: Exception, stall_s: float) -> Fault:
    if isinstance(error, openai.APIStatusError):
        retry_after = error.response.headers.get("retry-after")
        return status_fault(error.status_code, error.response.text, retry_after)
    cause = error.__cause__ or error
    if isinstance(cause, httpx2.ConnectTimeout | aiohttp.ConnectionTimeoutError):
        return Fault(RoundState.UNREACHABLE, f"no connection: {_words(cause)}")
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException | TimeoutError):
        return Fault(RoundState.STALLED, f"the server sent nothing for {stall_s:g} s")
    return Fault(RoundState.UNREACHABLE, f"connection failed: {_words(cause)}")


def _words(error: BaseException) -> str:
    # aiohttp names its TLS setting in every failure, also where there is no TLS
    return readable(str(error)).replace(" ssl:default", "") or type(error).__name__


def _unusable(profile: Profile, fault: Fault) -> str:
    advice = {
        RoundState.REFUSED: _refused_advice(profile, fault.status),
        RoundState.REJECTED: "see the profile's sampling, extra_body and strict",
        RoundState.NOT_AN_API: "the address should end with the API's root, usually /v1",
        RoundState.UNREACHABLE: "is the server running, and is the address right?",
        RoundState.STALLED: "is the model still loading? --stall-timeout gives a reply more time",
    }.get(fault.state, "see the server's log")
    return f"endpoint {profile.base_url} can't be used: {fault.message}; {advice}"


def _refused_advice(profile: Profile, status: int | None) -> str:
    if status == 404 and profile.model is None:
        return "does the address end with /v1?"
    if status == 404:
        return f"does it serve the model '{profile.model}', and does the address end with /v1?"
    if profile.api_key_env is None:
        return "it wants a key: name its environment variable in the profile's api_key_env"
    return f"check the key in {profile.api_key_env}"

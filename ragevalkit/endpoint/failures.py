"""What became of an attempt: the fault of an exception, of a stream, and how to say it.

Public: `TRANSPORT_ERRORS`, `raised_fault`, `broken`, `verdict`, `explanation`.
"""

from __future__ import annotations

from collections.abc import Iterator

import aiohttp
import httpx2
import openai

from ragevalkit.endpoint.faults import Fault, readable, status_fault, stream_fault
from ragevalkit.endpoint.profile import Profile
from ragevalkit.endpoint.reader import FAILED_FINISHES, StreamReader
from ragevalkit.endpoint.record import AttemptClock
from ragevalkit.turn.record import RoundState

TRANSPORT_ERRORS = (httpx2.HTTPError, aiohttp.ClientError, OSError)

_NEVER_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""Beneath the transport's own classes, which take a lost connection for a time-out."""


def verdict(reader: StreamReader, status: int | None) -> Fault | None:
    """What is wrong with a stream that was read to its end."""
    if reader.error is not None:
        return stream_fault(reader.error, status)
    if reader.finish_reason in FAILED_FINISHES:
        message = f"the engine gave up (finish reason '{reader.finish_reason}')"
        return Fault(RoundState.SERVER_ERROR, message, status)
    if reader.finish_reason is not None:
        return None
    if reader.events and reader.events == reader.malformed_events:
        message = "the answer holds no events of a completion"
        return Fault(RoundState.NOT_AN_API, message, status)
    return Fault(RoundState.TRUNCATED, "the stream ended without a finish reason", status)


def broken(error: Exception, clock: AttemptClock, stall_s: float) -> Fault:
    """The fault of an attempt that an exception ended, before the headers or after them."""
    fault = raised_fault(error, stall_s)
    if clock.headers_ns is not None and fault.state is RoundState.UNREACHABLE:
        message = f"the connection broke: {_words(error)}"
        fault = Fault(RoundState.CUT, message, clock.status)
    elif fault.state is RoundState.UNREACHABLE:
        fault.closed = not any(isinstance(e, _NEVER_CONNECTED) for e in _causes(error))
    clock.status = fault.status = fault.status or clock.status
    return fault


def raised_fault(error: Exception, stall_s: float) -> Fault:
    """The fault that an exception of the SDK or its transport stands for."""
    if isinstance(error, openai.APIStatusError):
        retry_after = error.response.headers.get("retry-after")
        return status_fault(error.status_code, error.response.text, retry_after)
    cause = error.__cause__ or error
    if isinstance(cause, httpx2.ConnectTimeout | aiohttp.ConnectionTimeoutError):
        return Fault(RoundState.UNREACHABLE, f"no connection: {_words(cause)}")
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException | TimeoutError):
        return Fault(RoundState.STALLED, f"the server sent nothing for {stall_s:g} s")
    return Fault(RoundState.UNREACHABLE, f"connection failed: {_words(cause)}")


def explanation(profile: Profile, fault: Fault) -> str:
    """A fault as one line for the user: what is wrong, where, and what to do."""
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


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _words(error: BaseException) -> str:
    # aiohttp names its TLS setting in every failure, also where there is no TLS
    return readable(str(error)).replace(" ssl:default", "") or type(error).__name__

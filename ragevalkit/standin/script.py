"""The tables of a scenario's rules: conditions, replies, calls, timings and faults.

Public: `Rule`, `Timing`, `Reply`, `ScriptedCall`, `Insert`, the faults, `Fault`, `ModelsFault`.

The format is documented in `ragevalkit.standin.scenario`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from ragevalkit.standin.dialect import Table, UsageOn


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return text


def _hexadecimal(text: str) -> str:
    try:
        bytes.fromhex(text)
    except ValueError:
        raise ValueError('is not hexadecimal, such as "ff 0a"') from None
    return text


def _server_error() -> dict[str, Any]:
    return {"message": "scripted", "type": "server_error", "code": 500}


class Timing(Table):
    """Milliseconds of one reply; None: at once, or the common gap."""

    headers_ms: NonNegativeFloat = 0
    """From arrival to the headers."""
    first_token_ms: NonNegativeFloat | None = None
    """From arrival to the first token of any channel."""
    gap_ms: NonNegativeFloat = 0
    """Between token events."""
    reasoning_gap_ms: NonNegativeFloat | None = None
    arguments_gap_ms: NonNegativeFloat | None = None
    answer_gap_ms: NonNegativeFloat | None = None
    queue_ms: NonNegativeFloat = 0
    """How much of the time to the first token the server reports as its queue."""


class ScriptedCall(Table):
    """One tool call of a reply."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    """A table, or text that is sent as it is, whether JSON or not."""
    id: str | None = None
    """None: made up; empty: left out of the chunk."""
    index: NonNegativeInt | None = None
    """None: as the wire has it."""
    pieces: NonNegativeInt | None = None
    """Number of argument deltas; 0: with the name; None: as the wire has it."""


class Insert(Table):
    """Bytes between the events of a stream."""

    after: NonNegativeInt | Literal["done"]
    """Token events before it; "done": at the very end."""
    raw: str = ""
    """Sent as UTF-8, line ends and all."""
    hex: Annotated[str, AfterValidator(_hexadecimal)] = ""
    """Bytes that are no text, after `raw`."""


class Reply(Table):
    """What is said when nothing goes wrong."""

    reasoning: str | NonNegativeInt = ""
    """Text, or a number of filler tokens."""
    answer: str | NonNegativeInt = ""
    calls: list[ScriptedCall] = Field(default_factory=list)
    tokens_per_event: PositiveInt | Annotated[list[PositiveInt], Field(min_length=1)] = 1
    """A list is gone through again and again."""
    finish: str | None = None
    """None: `tool_calls` where there are calls, else `stop`; "none" is sent as null."""
    usage: bool | dict[str, Any] = True
    """A table is laid over every usage object; "absent" in it removes a count, "null" is null."""
    usage_on: UsageOn | None = None
    """None: as the wire has it."""
    cached_tokens: NonNegativeInt = 0
    """Prompt tokens that the server reports as cached, where its dialect tells."""
    done: bool = True
    inserts: list[Insert] = Field(default_factory=list)


class StatusFault(Table):
    """An HTTP error in place of the completion."""

    kind: Literal["status"]
    status: Annotated[int, Field(ge=200, le=599)] = 500
    headers: dict[str, str] = Field(default_factory=dict)
    body: dict[str, Any] | str | None = None
    """None: an OpenAI-style error object."""


class HtmlFault(Table):
    """A web page with status 200, as a proxy or a wrong port answers."""

    kind: Literal["html"]


class SilenceFault(Table):
    """Nothing more but pings, with the connection held open."""

    kind: Literal["silence"]
    after: NonNegativeInt = 0


class CutFault(Table):
    """The connection breaks."""

    kind: Literal["cut"]
    after: NonNegativeInt = 0
    how: Literal["hard", "half"] = "hard"


class EofFault(Table):
    """The body ends cleanly without finish reason, usage or `[DONE]`."""

    kind: Literal["eof"]
    after: NonNegativeInt | None = None
    """None: after all token events."""


class ErrorEventFault(Table):
    """An error object inside the stream."""

    kind: Literal["error_event"]
    after: NonNegativeInt | None = None
    error: dict[str, Any] = Field(default_factory=_server_error)


Fault = Annotated[
    StatusFault | HtmlFault | SilenceFault | CutFault | EofFault | ErrorEventFault,
    Field(discriminator="kind"),
]
ModelsFault = Annotated[StatusFault | HtmlFault | SilenceFault, Field(discriminator="kind")]


class Rule(Table):
    """Conditions, and what happens where all of them hold."""

    name: str = ""
    round: NonNegativeInt | list[NonNegativeInt] | None = None
    question: Annotated[str, AfterValidator(_pattern)] | None = None
    results: Literal["some", "empty", "none"] | None = None
    tools: bool | None = None
    every: PositiveInt | None = None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None
    times: PositiveInt | None = None
    per: Literal["server", "turn"] = "server"
    timing: Timing | None = None
    reply: Reply | None = None
    fault: Fault | None = None

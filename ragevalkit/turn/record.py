"""The record of a turn: what came over the wire, what the tools answered, and when.

Public: `Turn`, `Round`, `Attempt`, `Call`, `Channel`, `RoundClock`, `ServerTimes`, `PageRef`,
`Citation`, `Ended`, `RoundState`, `milliseconds`.

Times are milliseconds since the start of the turn (`*_ms`), from one monotonic clock. What did not
happen is null, never 0.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

RECORD_VERSION = 2
"""Version of the lines in turns.jsonl. Older ones are read with the defaults of what they lack; a
newer one is refused. 2: `Round.server`."""

Milliseconds = float
"""Milliseconds with microsecond resolution, as `milliseconds` gives them: so a record that is read
back from its file is the one that was written."""


def milliseconds(ns: int) -> Milliseconds:
    """Nanoseconds as milliseconds, rounded to a microsecond."""
    return round(ns / 1e6, 3)


class Ended(StrEnum):
    """How a turn ended."""

    REPLY = "reply"
    """The model replied without calling a tool."""
    TRUNCATED = "truncated"
    """The output budget ended inside the reply."""
    BUDGET_EXHAUSTED = "budget_exhausted"
    """The output budget ended before any visible text or call."""
    ROUND_LIMIT = "round_limit"
    """The model still called tools in the last round allowed."""
    TOOL_RESULT_LIMIT = "tool_result_limit"
    """The model called more tools than a turn may hold results of."""
    TURN_TIMEOUT = "turn_timeout"
    CONTEXT_OVERFLOW = "context_overflow"
    SERVER_REJECTED = "server_rejected"
    """The server rejected this turn's request, or failed at it and not at a control request."""
    INFRA_ERROR = "infra_error"


class RoundState(StrEnum):
    """What became of one request."""

    DONE = "done"
    TRUNCATED = "truncated"
    """The stream ended without a finish reason."""
    CUT = "cut"
    """The connection broke after the stream had begun."""
    STALLED = "stalled"
    """Nothing came for longer than the stall limit."""
    UNREACHABLE = "unreachable"
    """The connection could not be made, or broke before the stream began."""
    BUSY = "busy"
    """408, 409 or 429."""
    SERVER_ERROR = "server_error"
    """5xx, an error object inside the stream, or an engine that aborted."""
    OVERFLOW = "overflow"
    """The messages don't fit the model's context."""
    REJECTED = "rejected"
    """Any other 4xx."""
    REFUSED = "refused"
    """401, 403 or 404: the key, the rights or the model's name are wrong."""
    NOT_AN_API = "not_an_api"
    """A success whose body is no completion, for example an HTML page."""
    DEADLINE = "deadline"
    """The turn's time ran out while this request was under way."""


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid", use_enum_values=False)


class PageRef(Record):
    """A page by its index in its document."""

    document: str
    page: int


class Citation(PageRef):
    """A page that the agent named as support, by a well-formed `cite`."""

    quote: str | None = None
    exists: bool = True
    """Whether the corpus has this page."""


class Attempt(Record):
    """One HTTP request; a round that was retried has several."""

    number: int
    """From 1 in each round."""
    state: RoundState
    sent_ms: Milliseconds
    ended_ms: Milliseconds
    status: int | None = None
    error: str | None = None
    """The server's or the client's own words."""
    waited_s: float | None = None
    """Seconds waited before the next attempt; null when there was none."""
    received_characters: int = 0
    """Characters of text and arguments that came before it failed or finished."""


class Call(Record):
    """A tool call as it came, and what the agent made of it."""

    id: str | None
    """As the server sent it; null when it sent none."""
    name: str
    arguments: str
    """The raw string, never repaired."""
    defect: str | None = None
    """Kind of the call's fault (`not_json`, `truncated`, `unknown_tool`, `schema`), if any."""
    duplicate_id: bool = False
    recovered: bool = False
    """A later call of the same turn succeeded at the same tool."""
    result: str | None = None
    """The tool message that the model was sent; null when the turn ended before it."""
    returned: list[PageRef] = []
    """Pages that a search returned, best first."""
    started_ms: Milliseconds | None = None
    ended_ms: Milliseconds | None = None


class Channel(Record):
    """Tokens of one channel (reasoning, tool arguments or answer) in one round."""

    tokens: int | None = None
    estimated: bool = False
    """Whether `tokens` was split or guessed rather than counted by the server."""
    characters: int = 0
    gaps_ms: list[Milliseconds] = []
    """Time since the previous token-bearing event, for every event of this channel but the
    round's first; 0 where two events came in one read."""
    event_tokens: list[int | None] = []
    """Tokens that each event of `gaps_ms` carried; null where the server doesn't say."""


class RoundClock(Record):
    """When things happened in the attempt that counts (the last one)."""

    sent_ms: Milliseconds
    headers_ms: Milliseconds | None = None
    first_event_ms: Milliseconds | None = None
    first_token_ms: Milliseconds | None = None
    first_reasoning_ms: Milliseconds | None = None
    first_tool_argument_ms: Milliseconds | None = None
    first_answer_ms: Milliseconds | None = None
    last_token_ms: Milliseconds | None = None
    ended_ms: Milliseconds
    first_event_tokens: int | None = None
    """Tokens that the first token-bearing event carried; null where the server doesn't say."""


class ServerTimes(Record):
    """What the engine says of one request, by its own clock. Null: it doesn't say."""

    source: Literal["vllm", "llama.cpp"]
    queue_ms: float | None = None
    """vLLM's `queue_time_ms`: queued to scheduled. llama.cpp says nothing of it."""
    prefill_ms: float | None = None
    """vLLM's `time_to_first_token_ms`: scheduled to the first token, without the queue, and so
    without the grammar that is compiled there. llama.cpp's `prompt_ms`: start of the prompt's
    processing to the first token."""
    decode_ms: float | None = None
    """First token to the last: vLLM's `generation_time_ms`, llama.cpp's `predicted_ms`."""
    prompt_tokens: int | None = None
    """All of the prompt's tokens, those from the cache too: llama.cpp's `prompt_n` + `cache_n`."""
    cached_tokens: int | None = None
    """llama.cpp's `cache_n`."""
    completion_tokens: int | None = None
    """llama.cpp's `predicted_n`."""
    draft_tokens: int | None = None
    """Tokens proposed by speculative decoding."""
    accepted_tokens: int | None = None
    """Proposed tokens that the model took."""


class Round(Record):
    """One request to the model inside a turn, with its retries."""

    state: RoundState
    error: str | None = None
    finish_reason: str | None = None
    content: str = ""
    reasoning: str = ""
    reasoning_field: str | None = None
    """The wire's field that carried the reasoning, under which history sends it back."""
    calls: list[Call] = []
    attempts: list[Attempt] = []
    clock: RoundClock
    reasoning_channel: Channel | None = None
    tool_channel: Channel | None = None
    answer_channel: Channel | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    usage: dict[str, Any] | None = None
    """The server's last usage block, as it came."""
    model: str | None = None
    """The model's name as the server gives it."""
    system_fingerprint: str | None = None
    server: ServerTimes | None = None
    """The engine's own figures, where it sends them with the reply."""
    prompt_messages: int = 0
    prompt_bytes: int = 0
    """Size of the request's body."""


class Turn(Record):
    """One question asked once. A line of turns.jsonl."""

    version: int = RECORD_VERSION
    question_id: str
    question_hash: str
    repeat: int
    """From 0."""
    outcome: str
    """As scoring reads it: answer, decline, hedge, ask_back, no_output or infra_error."""
    ended: Ended
    error: str | None = None
    reply: str = ""
    """The visible final reply."""
    citations: list[Citation] = []
    rounds: list[Round] = []
    started_at: str
    """Wall clock, ISO 8601 in UTC; for people, never for durations."""
    wall_ms: Milliseconds
    composition_ms: dict[str, Milliseconds]
    """Parts of `wall_ms`: wait, reasoning, tool_arguments, answer, tools, retries, harness."""
    corpus: str
    tools: list[str] = ["search", "cite"]
    """Names of the tools that the agent was offered."""
    bank_line: dict[str, Any]
    """The question as the bank had it when it was asked."""

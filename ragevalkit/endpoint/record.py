"""From the stamps of an attempt and what was read in it to its record.

Public: `AttemptClock`, `attempt_record`, `round_record`.

Records are built without validation, since all that goes into them is our own, and other turns may
be streaming meanwhile.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import orjson

from ragevalkit.endpoint.channels import ANSWER, REASONING, TOOL
from ragevalkit.endpoint.faults import Fault
from ragevalkit.endpoint.reader import StreamReader
from ragevalkit.endpoint.server_times import server_times
from ragevalkit.turn.record import Attempt, Round, RoundClock, RoundState, milliseconds


@dataclass(slots=True)
class AttemptClock:
    """Stamps of one attempt, in `time.perf_counter_ns`."""

    origin_ns: int
    sent_ns: int = 0
    headers_ns: int | None = None
    ended_ns: int | None = None
    status: int | None = None

    def end(self, at_ns: int | None = None) -> None:
        """At `at_ns`, or now."""
        self.ended_ns = at_ns or time.perf_counter_ns()

    @property
    def sent_ms(self) -> float:
        return milliseconds(self.sent_ns - self.origin_ns)

    @property
    def ended_ms(self) -> float:
        return milliseconds((self.ended_ns or self.sent_ns) - self.origin_ns)

    def ms(self, stamp_ns: int | None) -> float | None:
        return None if stamp_ns is None else milliseconds(stamp_ns - self.origin_ns)


def attempt_record(
    number: int, reader: StreamReader, clock: AttemptClock, fault: Fault | None
) -> Attempt:
    """The record of one HTTP request, `number` counting from 1 in its round."""
    return Attempt.model_construct(
        number=number,
        state=fault.state if fault else RoundState.DONE,
        sent_ms=clock.sent_ms,
        ended_ms=clock.ended_ms,
        status=clock.status,
        error=fault.message if fault else None,
        waited_s=None,
        received_characters=reader.characters,
    )


def round_record(
    reader: StreamReader, clock: AttemptClock, fault: Fault | None, attempts: list[Attempt]
) -> Round:
    """The record of a round from its last attempt, all of which are in `attempts`."""
    channels, marks = reader.channels(), reader.marks
    server = server_times(reader.metrics, reader.timings)
    return Round.model_construct(
        state=fault.state if fault else RoundState.DONE,
        error=fault.message if fault else None,
        finish_reason=_writable(reader.finish_reason),
        content=reader.content,
        reasoning=reader.reasoning_text,
        reasoning_field=reader.reasoning_field,
        calls=reader.tool_calls(),
        attempts=attempts,
        clock=RoundClock.model_construct(
            sent_ms=clock.sent_ms,
            headers_ms=clock.ms(clock.headers_ns),
            first_event_ms=clock.ms(reader.first_event_ns),
            first_token_ms=clock.ms(reader.first_token_ns),
            first_reasoning_ms=clock.ms(marks.first_ns[REASONING]),
            first_tool_argument_ms=clock.ms(marks.first_ns[TOOL]),
            first_answer_ms=clock.ms(marks.first_ns[ANSWER]),
            last_token_ms=clock.ms(reader.last_token_ns),
            ended_ms=clock.ended_ms,
            first_event_tokens=reader.first_event_tokens,
        ),
        prompt_tokens=_either(reader.prompt_tokens, server.prompt_tokens if server else None),
        cached_tokens=_either(reader.cached_tokens, server.cached_tokens if server else None),
        completion_tokens=reader.completion_tokens,
        usage=_kept(reader.usage),
        model=_writable(reader.model),
        system_fingerprint=_writable(reader.system_fingerprint),
        server=server,
        reasoning_channel=channels.get("reasoning"),
        tool_channel=channels.get("tool"),
        answer_channel=channels.get("answer"),
    )


def _either(count: int | None, otherwise: int | None) -> int | None:
    return otherwise if count is None else count


def _writable(text: str | None) -> str | None:
    """`text` without halves of surrogate pairs, which no UTF-8 file can hold."""
    return text and text.encode(errors="replace").decode()


def _kept(usage: dict[str, Any] | None) -> dict[str, Any] | None:
    """`usage` as it came; None where it holds what no line of JSON can: a huge number,
    broken text, nesting without end."""
    try:
        orjson.dumps(usage)
    except orjson.JSONEncodeError:
        return None
    return usage

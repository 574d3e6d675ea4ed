"""What a server sends gets into a line of JSON, and out of it again, whatever it is."""

from __future__ import annotations

import orjson
import pytest

from ragevalkit.endpoint.reader import StreamReader
from ragevalkit.endpoint.record import AttemptClock, round_record
from ragevalkit.turn.record import Round

HUGE = b"9" * 30


def record(fields: bytes) -> Round:
    """The round of one event with these fields beside its text."""
    reader, clock = StreamReader(), AttemptClock(0)
    choice = b'"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]'
    reader.feed(b"data: {" + choice + b", " + fields + b"}\n\n", 5)
    clock.sent_ns = 1
    clock.end(9)
    return round_record(reader, clock, None, [])


@pytest.mark.parametrize(
    "fields",
    [
        b'"model": "m\\ud800"',
        b'"system_fingerprint": "\\udc00"',
        b'"usage": {"note": "\\ud800"}',
        b'"usage": {"completion_tokens": ' + HUGE + b"}",
        b'"usage": {"completion_tokens": ' + HUGE + b', "cost": NaN}',
        b'"usage": {"cost": Infinity}',
        b'"usage": {"deep": ' + b"[" * 300 + b"]" * 300 + b"}",
    ],
    ids=lambda fields: fields[:40].decode(),
)
def test_a_line_that_can_be_read_again(fields: bytes) -> None:
    written = record(fields).model_dump_json()
    read = Round.model_validate(orjson.loads(written))
    assert (read.content, read.finish_reason) == ("Yes.", "stop")
    assert read.model_dump_json() == written


def test_usage_stays_as_it_came() -> None:
    usage = {"completion_tokens": 5, "queue": {"ms": 1.5}, "cost": None}
    assert record(b'"usage": ' + orjson.dumps(usage)).usage == usage

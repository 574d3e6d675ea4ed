"""What holds of every stream, whatever its bytes and however they are cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from endpoint.quirks import QUIRKS
from endpoint.streams import CASES, calls_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.endpoint.reader import StreamReader
from ragevalkit.endpoint.server_times import server_times

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*-counted.sse"))
STREAMS = [
    *[b"".join(case.parts) for case in (CASES | QUIRKS).values()],
    *[path.read_bytes() for path in RECORDED],
]

FIELDS = (
    "choices",
    "delta",
    "message",
    "content",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "index",
    "id",
    "type",
    "text",
    "summary",
    "finish_reason",
    "token_ids",
    "usage",
    "completion_tokens",
    "completion_tokens_details",
    "reasoning_tokens",
    "error",
    "timings",
    "predicted_n",
    "prompt_n",
    "metrics",
    "queue_time_ms",
    "speculative_decoding",
    "sglext",
    "output_ids",
    "prompt_token_ids",
    "model",
    "system_fingerprint",
    "code",
)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars | st.lists(scalars, max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


def _wrapped(delta: Any) -> Any:
    return {"choices": [{"delta": delta}], "usage": {"completion_tokens": 3}}


events = (values | values.map(_wrapped)).map(lambda body: f"data: {json.dumps(body)}\n\n".encode())
pieces = st.sampled_from(
    [b"data:", b"\n", b"\r\n", b"event: error\n", b"error:", b": c\n", b"\xff", b"{}", b"["]
)
noise = st.lists(events | pieces | st.binary(max_size=20) | st.sampled_from(STREAMS), max_size=12)


@st.composite
def cuts(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A stream, and the same in reads."""
    stream = draw(st.sampled_from(STREAMS))
    places = sorted(draw(st.sets(st.integers(0, len(stream)), max_size=30)))
    ends = [*places, len(stream)]
    return stream, [stream[a:b] for a, b in zip([0, *places], ends, strict=True)]


def fed(reads: list[bytes]) -> StreamReader:
    """The reads, one each millisecond."""
    reader = StreamReader()
    for number, part in enumerate(reads, 1):
        reader.feed(part, number * 1_000_000)
    reader.close((len(reads) + 1) * 1_000_000)
    return reader


def all_but_stamps(reader: StreamReader) -> list[Any]:
    return [
        reader.content,
        reader.reasoning_text,
        reader.reasoning_field,
        calls_of(reader),
        reader.finish_reason,
        reader.usage,
        reader.error,
        (reader.model, reader.completion_tokens, reader.prompt_tokens, reader.cached_tokens),
        server_times(reader.metrics, reader.timings),
        (reader.events, reader.malformed_events, reader.done, reader.characters),
        reader.first_event_tokens,
        [
            (name, c.tokens, c.estimated, c.characters, c.event_tokens, len(c.gaps_ms))
            for name, c in reader.channels().items()
        ],
    ]


@settings(deadline=None)
@given(cuts())
def test_reads_cut_anywhere_give_the_same(cut: tuple[bytes, list[bytes]]) -> None:
    stream, reads = cut
    assert all_but_stamps(fed(reads)) == all_but_stamps(fed([stream]))


def test_single_bytes_give_the_same() -> None:
    for stream in STREAMS:
        whole, bytewise = fed([stream]), fed([bytes([byte]) for byte in stream])
        assert all_but_stamps(bytewise) == all_but_stamps(whole)


@settings(deadline=None)
@given(noise)
def test_no_bytes_raise(reads: list[bytes]) -> None:
    reader = fed(reads)
    all_but_stamps(reader)
    for path in (("prompt_tokens",), ("prompt_tokens_details", "cached_tokens")):
        reader.usage_count(*path)
    StreamReader().take_whole(b"".join(reads), 1)
    reader.content.encode()
    "".join(c.name + c.arguments + (c.id or "") for c in reader.tool_calls()).encode()


@settings(deadline=None)
@given(noise)
def test_gaps_add_up(reads: list[bytes]) -> None:
    """The time from the first token to the last is the channels' gaps, and nothing else."""
    reader = fed(reads)
    channels = reader.channels().values()
    gaps = [gap for channel in channels for gap in channel.gaps_ms]
    assert all(gap >= 0 for gap in gaps)
    if reader.first_token_ns is None or reader.last_token_ns is None:
        assert not gaps
        assert not reader.characters
    else:
        assert sum(gaps) == (reader.last_token_ns - reader.first_token_ns) / 1e6
    assert all(len(c.gaps_ms) == len(c.event_tokens) for c in channels)

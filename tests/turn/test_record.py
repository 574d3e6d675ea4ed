"""The record of a turn at rest: what is written is what is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from ragevalkit.turn.record import (
    RECORD_VERSION,
    Attempt,
    Call,
    Channel,
    Citation,
    Ended,
    PageRef,
    Round,
    RoundClock,
    RoundState,
    Turn,
    milliseconds,
)


def full_turn() -> Turn:
    """A turn with every field filled, made unvalidated as the agent makes it."""
    call = Call.model_construct(
        id="call_1",
        name="search",
        arguments='{"query": "Lärm \\u2028"',
        defect="not_json",
        duplicate_id=True,
        recovered=True,
        result='{"error": "no"}',
        returned=[PageRef.model_construct(document="guide", page=4)],
        started_ms=30.25,
        ended_ms=31.125,
    )
    channel = Channel.model_construct(
        tokens=3, estimated=True, characters=11, gaps_ms=[0.0, 1.5], event_tokens=[1, None]
    )
    failed = Attempt.model_construct(
        number=1,
        state=RoundState.BUSY,
        sent_ms=0.5,
        ended_ms=2.0,
        status=429,
        error="slow down",
        waited_s=0.25,
    )
    first = Round.model_construct(
        state=RoundState.DONE,
        finish_reason="tool_calls",
        content="\U0001f50e\x00",
        reasoning="hm",
        reasoning_field="reasoning_content",
        calls=[call],
        attempts=[failed],
        clock=RoundClock.model_construct(
            sent_ms=5.0, first_token_ms=6.0, last_token_ms=7.5, ended_ms=8.0, first_event_tokens=1
        ),
        reasoning_channel=channel,
        tool_channel=channel,
        answer_channel=channel,
        prompt_tokens=100,
        cached_tokens=0,
        completion_tokens=9,
        usage={"prompt_tokens": 100, "details": {"a": [1, None]}},
        model="m",
        system_fingerprint="fp",
        prompt_messages=2,
        prompt_bytes=900,
    )
    last = Round.model_construct(
        state=RoundState.CUT,
        error="connection lost",
        clock=RoundClock.model_construct(sent_ms=9.0, ended_ms=9.5),
    )
    return Turn.model_construct(
        question_id="q-1",
        question_hash="0" * 16,
        repeat=2,
        outcome="infra_error",
        ended=Ended.INFRA_ERROR,
        error="connection lost",
        citations=[Citation.model_construct(document="guide", page=9, quote="x", exists=False)],
        rounds=[first, last],
        started_at="2026-01-01T00:00:00.000+00:00",
        wall_ms=10.0,
        composition_ms={"wait": 3.5, "harness": 6.5},
        corpus="tarn",
        bank_line={"id": "q-1", "question": "?", "answerable": False},
    )


def test_a_turn_survives_its_line() -> None:
    turn = full_turn()
    line = turn.model_dump_json()
    assert "\n" not in line
    read = Turn.model_validate_json(line)
    assert read == turn
    assert read.model_dump_json() == line
    assert read.rounds[1].state is RoundState.CUT
    assert read.ended is Ended.INFRA_ERROR


def test_fields_that_were_left_out_have_their_defaults() -> None:
    turn = full_turn()
    assert turn.version == RECORD_VERSION
    assert turn.reply == ""
    last = turn.rounds[1]
    assert (last.calls, last.attempts, last.usage) == ([], [], None)
    assert last.clock.first_token_ms is None, "what did not happen is null, never 0"


def test_unvalidated_records_share_no_lists() -> None:
    clock = RoundClock.model_construct(sent_ms=0.0, ended_ms=0.0)
    one, other = (Round.model_construct(state=RoundState.DONE, clock=clock) for _ in range(2))
    one.calls.append(Call.model_construct(id=None, name="search", arguments=""))
    assert other.calls == []
    assert Round.model_construct(state=RoundState.DONE, clock=clock).calls == []


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Paths to all objects of a turn's line that are records, free-form ones left out."""
    if isinstance(value, list):
        return [p for i, item in enumerate(value) for p in places(item, (*path, i))]
    if not isinstance(value, dict) or path[-1:] in [
        ("usage",),
        ("bank_line",),
        ("composition_ms",),
    ]:
        return []
    return [path, *(p for name, item in value.items() for p in places(item, (*path, name)))]


LINE = json.loads(full_turn().model_dump_json())


@pytest.mark.parametrize("path", places(LINE), ids=lambda path: ".".join(map(str, path)) or "turn")
def test_unknown_fields_are_refused(path: tuple[str | int, ...]) -> None:
    line = json.loads(json.dumps(LINE))
    inside = line
    for step in path:
        inside = inside[step]
    inside["new"] = 1
    with pytest.raises(ValidationError, match="new"):
        Turn.model_validate(line)


@pytest.mark.parametrize(
    ("ns", "ms"),
    [
        (0, 0.0),
        (400, 0.0),
        (600, 0.001),
        (1_234_490, 1.234),
        (1_234_600, 1.235),
        (7_000_000, 7.0),
        (3_600_000_000_123, 3_600_000.0),
    ],
)
def test_milliseconds_have_the_resolution_of_a_microsecond(ns: int, ms: float) -> None:
    assert milliseconds(ns) == ms
    clock = RoundClock.model_construct(sent_ms=milliseconds(ns), ended_ms=milliseconds(ns))
    assert RoundClock.model_validate_json(clock.model_dump_json()) == clock
    assert json.loads(clock.model_dump_json())["sent_ms"] == ms


@pytest.mark.parametrize("kind", [Ended, RoundState])
def test_states_are_written_by_their_names_in_lower_case(kind: type[Ended | RoundState]) -> None:
    assert all(state.value == state.name.lower() for state in kind)

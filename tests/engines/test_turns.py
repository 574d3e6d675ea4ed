"""What holds for every turn of a real engine: an outcome, clocks in order, counts that add up."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from engines.asked import BUDGET, QUESTIONS, ROUNDS, Asked, Engine, channels

import ragevalkit
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.standin import start
from ragevalkit.turn.record import Ended

pytestmark = pytest.mark.engines


def test_every_turn_is_on_record_with_its_outcome(asked: Asked) -> None:
    assert len(asked.turns) == asked.summary.turns == asked.summary.scored == QUESTIONS
    assert len({turn.question_hash for turn in asked.turns}) == QUESTIONS
    for turn in asked.turns:
        assert Outcome(turn.outcome) is not Outcome.INFRA_ERROR, turn.error
        assert turn.ended not in (Ended.INFRA_ERROR, Ended.SERVER_REJECTED), turn.error
        assert 1 <= len(turn.rounds) <= ROUNDS
    assert asked.summary.infra_errors == 0
    assert asked.summary.defects.keys() <= DEFECTS.keys()


def test_the_model_calls_tools(asked: Asked) -> None:
    called = [call for round_ in asked.rounds for call in round_.calls]
    assert {call.name for call in called} & {"search", "cite"}
    assert any(call.returned for call in called), "no search ran"


def test_clocks_are_in_order(asked: Asked) -> None:
    for turn in asked.turns:
        ended = 0.0
        for round_ in turn.rounds:
            clock = round_.clock
            stamps = [
                ended,
                clock.sent_ms,
                clock.headers_ms,
                clock.first_event_ms,
                clock.first_token_ms,
                clock.last_token_ms,
                clock.ended_ms,
                turn.wall_ms,
            ]
            known = [stamp for stamp in stamps if stamp is not None]
            assert known == sorted(known)
            firsts = [clock.first_reasoning_ms, clock.first_tool_argument_ms, clock.first_answer_ms]
            came = [first for first in firsts if first is not None]
            assert not came or min(came) >= (clock.first_token_ms or 0)
            ended = clock.ended_ms


def test_counts_are_the_servers_own(asked: Asked) -> None:
    assert asked.rounds
    for round_ in asked.rounds:
        assert round_.completion_tokens is not None
        assert 1 <= round_.completion_tokens <= BUDGET
        assert round_.prompt_tokens
        assert not any(channel.estimated for channel in channels(round_))
        counted = [channel.tokens for channel in channels(round_)]
        assert None not in counted
        assert sum(filter(None, counted)) <= round_.completion_tokens
    assert asked.summary.timing.tokens_estimated == 0


def test_events_carry_the_tokens_of_their_channel(asked: Asked) -> None:
    for round_ in asked.rounds:
        events = [n for channel in channels(round_) for n in channel.event_tokens]
        assert None not in events
        first = round_.clock.first_event_tokens or 0
        counted = sum(channel.tokens or 0 for channel in channels(round_))
        assert first + sum(filter(None, events)) == counted


def test_parts_add_up_to_the_turn(asked: Asked) -> None:
    for turn in asked.turns:
        assert sum(turn.composition_ms.values()) == pytest.approx(turn.wall_ms, abs=0.1)


def test_a_budget_that_ends_shows(asked: Asked) -> None:
    """A round that was cut is a turn that says so, unless it had called a tool."""
    for turn in asked.turns:
        last = turn.rounds[-1]
        if last.finish_reason == "length" and not last.calls:
            assert turn.ended in (Ended.TRUNCATED, Ended.BUDGET_EXHAUSTED)


def test_a_history_that_does_not_fit_is_an_overflow(engine: Engine, desk: Path) -> None:
    line = json.loads((desk / "dozen.jsonl").read_text(encoding="utf-8").splitlines()[0])
    line["history"] = [{"role": "user", "content": "word " * 9000}]
    line["history"].append({"role": "assistant", "content": "Yes."})
    (desk / "long.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    name = f"long-{engine.name.replace('.', '-').lower()}"
    result = ragevalkit.run(desk / "long.jsonl", engine.base_url, name=name, probe=False)
    outcomes = result.summary.outcomes["answerable" if line["answerable"] else "unanswerable"]
    assert outcomes["no_output"] == 1
    assert result.summary.defects == {"answer:context_overflow": 1}


def test_a_reply_without_a_budget_ends(desk: Path) -> None:
    """A model this small may repeat itself until its context is full."""
    body = {"prompt": "one two three", "ignore_eos": True}
    with start("local") as local:
        replied = httpx.post(
            f"{local.base_url.removesuffix('/v1')}/completion",
            json=body,
            timeout=300,
            trust_env=False,
        ).json()
    assert replied["tokens_predicted"] == 512

"""What a request costs by what it asks for, read from the mock's own figures."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from ragevalkit.standin.costs import Costs, Meter, engaged_grammar
from ragevalkit.standin.habits import Habits
from ragevalkit.standin.request import ChatRequest, parse_request
from ragevalkit.standin.script import Timing

HABITS = Habits(
    grammar=["response_format", "required", "strict", "structured_outputs"],
    tool_choice=["none", "required"],
)
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}


def tool(strict: bool) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "search", "strict": strict}}


def asked(**fields: Any) -> ChatRequest:
    body = {"messages": [{"role": "user", "content": "Why?"}], **fields}
    return parse_request(orjson.dumps(body), HABITS)


@pytest.mark.parametrize(
    ("fields", "engaged", "from_the_start"),
    [
        ({}, False, False),
        ({"tools": [tool(False)]}, False, False),
        ({"tools": [tool(True)]}, True, False),
        ({"tools": [tool(True)], "tool_choice": "none"}, False, False),
        ({"tools": [tool(False)], "tool_choice": "required"}, True, True),
        ({"response_format": SCHEMA}, True, True),
        ({"structured_outputs": {"regex": ".*"}}, True, True),
        ({"regex": ".*"}, False, False),
    ],
)
def test_which_requests_engage_a_grammar(
    fields: dict[str, Any], engaged: bool, from_the_start: bool
) -> None:
    grammar, at_once = engaged_grammar(asked(**fields), HABITS)
    assert (grammar is not None, at_once) == (engaged, from_the_start)


def test_costs_are_added_to_the_first_token() -> None:
    costs = Costs(prompt_token_ms=0.5, tools_ms=57, parser_ms=3)
    meter = Meter(costs, HABITS)
    plain, offered, barred = (
        asked(),
        asked(tools=[tool(False)]),
        asked(tools=[tool(False)], tool_choice="none"),
    )
    base = Timing(first_token_ms=20)
    assert meter.timing(plain, base, 0).first_token_ms == 20 + 0.5 * plain.prompt_tokens
    assert meter.timing(plain, base, plain.prompt_tokens).first_token_ms == 20
    assert meter.timing(offered, base, offered.prompt_tokens).first_token_ms == 80
    assert meter.timing(barred, base, barred.prompt_tokens).first_token_ms == 77


def test_a_grammar_is_compiled_once_and_its_mask_slows_each_token() -> None:
    meter = Meter(Costs(compile_ms=40, mask_ms=2), HABITS)
    base = Timing(first_token_ms=20, gap_ms=5, arguments_gap_ms=9, queue_ms=1)
    held = asked(response_format=SCHEMA)
    first, again = (meter.timing(held, base, 0) for _ in range(2))
    assert (first.first_token_ms, first.queue_ms) == (60, 41)
    assert (again.first_token_ms, again.queue_ms) == (20, 1)
    assert (first.gap_ms, first.arguments_gap_ms, first.answer_gap_ms) == (7, 11, None)
    waiting = meter.timing(asked(tools=[tool(True)]), base, 0)
    assert (waiting.first_token_ms, waiting.gap_ms) == (60, 5)


def test_drift_rises_evenly_and_stays() -> None:
    meter = Meter(Costs(drift_ms=10, drift_requests=4), HABITS)
    times = [meter.timing(asked(), Timing(first_token_ms=1), 0).first_token_ms for _ in range(6)]
    assert times == [1, 3.5, 6, 8.5, 11, 11]


def test_without_costs_the_timing_is_as_scripted() -> None:
    base = Timing(headers_ms=3)
    assert Meter(Costs(), HABITS).timing(asked(tools=[tool(True)]), base, 0) is base

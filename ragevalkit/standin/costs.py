"""What a request costs by what it asks for: the `[costs]` table of a scenario.

Public: `Costs`, `Meter`, `engaged_grammar`.

| key | meaning; all default to 0 |
| --- | --- |
| prompt_token_ms | of the first token, for each prompt token that isn't cached |
| tools_ms | of the first token, where tools are offered, whatever their choice |
| parser_ms | of the first token, where tools are offered and may be called |
| compile_ms | of the first token, the first time that a grammar is engaged; reported as queue |
| mask_ms | of each later token under a grammar that holds from the first one |
| drift_ms | of the first token, rising evenly from 0 over `drift_requests` requests, then staying |
"""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import NonNegativeFloat, PositiveInt

from ragevalkit.standin.dialect import Table
from ragevalkit.standin.habits import Habits
from ragevalkit.standin.request import ChatRequest
from ragevalkit.standin.script import Timing


class Costs(Table):
    """The `[costs]` table; the keys are explained at the top of this module."""

    prompt_token_ms: NonNegativeFloat = 0
    tools_ms: NonNegativeFloat = 0
    parser_ms: NonNegativeFloat = 0
    compile_ms: NonNegativeFloat = 0
    mask_ms: NonNegativeFloat = 0
    drift_ms: NonNegativeFloat = 0
    drift_requests: PositiveInt = 1000


class Meter:
    """Adds the costs of each request to its scripted timing; remembers grammars it has seen."""

    def __init__(self, costs: Costs, habits: Habits) -> None:
        self._costs = costs
        self._habits = habits
        self._compiled: set[bytes] = set()
        self._requests = 0

    def timing(self, request: ChatRequest, timing: Timing, cached: int) -> Timing:
        """The timing of a reply to `request`, of whose prompt so many tokens are cached."""
        costs = self._costs
        if costs == Costs():
            return timing
        grammar, from_the_start = engaged_grammar(request, self._habits)
        compiled_ms = 0.0
        if grammar is not None and grammar not in self._compiled:
            self._compiled.add(grammar)
            compiled_ms = costs.compile_ms
        first_ms = timing.headers_ms if timing.first_token_ms is None else timing.first_token_ms
        first_ms += costs.prompt_token_ms * max(0, request.prompt_tokens - cached)
        first_ms += costs.tools_ms * bool(request.wishes.tools)
        first_ms += costs.parser_ms * bool(request.tools)
        first_ms += compiled_ms
        first_ms += costs.drift_ms * min(1.0, self._requests / costs.drift_requests)
        self._requests += 1
        changes: dict[str, Any] = {
            "first_token_ms": first_ms,
            "queue_ms": timing.queue_ms + compiled_ms,
        }
        if from_the_start:
            for name in ("gap_ms", "reasoning_gap_ms", "arguments_gap_ms", "answer_gap_ms"):
                if (gap_ms := getattr(timing, name)) is not None:
                    changes[name] = gap_ms + costs.mask_ms
        return timing.model_copy(update=changes)


def engaged_grammar(request: ChatRequest, habits: Habits) -> tuple[bytes | None, bool]:
    """What identifies the grammar that holds the output, and whether it does from the first token.

    A strict tool that may be called or not has one that waits for the call.
    """
    wishes = request.wishes
    by_choice = wishes.required and "required" in habits.grammar
    strict = [f for f in wishes.tools.values() if f.get("strict") is True]
    by_tool = bool(strict and request.tools) and "strict" in habits.grammar
    if by_choice or by_tool:
        functions = [*wishes.tools.values()] if by_choice else strict
        return orjson.dumps(functions), wishes.required
    if wishes.schema is not None and "response_format" in habits.grammar:
        return orjson.dumps(wishes.schema), True
    return (None if wishes.pattern is None else wishes.pattern.encode()), wishes.pattern is not None

"""The engine's own figures agree with what the client counted."""

from __future__ import annotations

import pytest
from engines.asked import Asked

pytestmark = pytest.mark.engines

SOURCE = {"llama.cpp": "llama.cpp", "vLLM": "vllm"}


def test_the_metrics_page_counts_the_same_tokens(asked: Asked) -> None:
    server = asked.summary.server
    assert server is not None
    assert server.void is None
    assert server.page is not None
    rounds = [round_ for turn in asked.turns for round_ in turn.rounds]
    assert server.page.generation_tokens == sum(r.completion_tokens or 0 for r in rounds)
    pair = server.pairs["completion_tokens"]
    assert pair.client == pair.server


def test_each_request_says_how_long_it_took(asked: Asked) -> None:
    for round_ in asked.rounds:
        assert round_.server is not None
        assert round_.server.source == SOURCE[asked.engine.name]
        clock = round_.clock
        assert clock.first_token_ms is not None
        waited = clock.first_token_ms - clock.sent_ms
        assert 0 < (round_.server.prefill_ms or 0) <= waited

"""Client and server side by side, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from scoring.turns import round_, turn

from ragevalkit.endpoint.engine import Ours, Page, Span
from ragevalkit.scoring.server import Pair, Served, served_rounds, summarise_server
from ragevalkit.scoring.timing import turn_timing
from ragevalkit.turn.record import Round, RoundState, ServerTimes


def told(sent: float, first: float, last: float, **times: Any) -> Round:
    """A round of which the server tells `times`."""
    clock = {"sent_ms": sent, "first_token_ms": first, "last_token_ms": last, "ended_ms": last}
    done = round_(content="So it is.", clock=clock)
    done.completion_tokens = 9
    done.server = ServerTimes(**{"source": "vllm", **times})
    return done


def served(*rounds: Round) -> list[Served]:
    return served_rounds(rounds)


ROUNDS = [
    told(0, 100, 300, queue_ms=10, prefill_ms=70, decode_ms=190),
    told(400, 460, 700, queue_ms=0, prefill_ms=50, decode_ms=230),
    told(800, 950, 1000, queue_ms=90, prefill_ms=30, decode_ms=50),
]


def test_medians_over_the_requests() -> None:
    summary = summarise_server(served(*ROUNDS), [])
    assert summary is not None
    assert (summary.source, summary.void, summary.page) == ("vllm", None, None)
    assert summary.requests is not None
    assert summary.requests.model_dump() == {
        "source": "vllm",
        "n": 3,
        "queue_ms": 10,
        "prefill_ms": 50,
        "decode_ms": 190,
        "cached_share": None,
        "acceptance_rate": None,
    }
    # first token: 100 - 80, 60 - 50, 150 - 120
    assert summary.pairs == {
        "first_token_ms": Pair(
            client=100, server=80, difference=20, statistic="median", n=3, by="requests"
        ),
        "decode_ms": Pair(
            client=200, server=190, difference=10, statistic="median", n=3, by="requests"
        ),
    }


def test_shares_are_over_all_tokens() -> None:
    tokens: dict[str, Any] = {"source": "llama.cpp", "completion_tokens": 9}
    summary = summarise_server(
        served(
            told(0, 1, 2, prompt_tokens=100, cached_tokens=90, draft_tokens=4, **tokens),
            told(0, 1, 2, prompt_tokens=900, cached_tokens=10, **tokens),
            told(0, 1, 2, draft_tokens=8, accepted_tokens=6, **tokens),
        ),
        [],
    )
    assert summary is not None
    assert summary.requests is not None
    assert (summary.source, summary.requests.queue_ms) == ("llama.cpp", None)
    assert summary.requests.cached_share == 0.1
    assert summary.requests.acceptance_rate == 0.75, "of the drafts that were told whole"
    assert (summary.pairs["completion_tokens"].client, summary.pairs["completion_tokens"].n) == (
        27,
        3,
    )


@pytest.mark.parametrize("times", [{}, {"queue_ms": 3.0}], ids=str)
def test_without_prefill_there_is_no_pair_of_first_tokens(times: dict[str, float]) -> None:
    summary = summarise_server(served(told(0, 100, 300, **times)), [])
    assert summary is not None
    assert "first_token_ms" not in summary.pairs


def test_only_finished_rounds_with_figures_count() -> None:
    cut = told(0, 100, 300, prefill_ms=70)
    cut.state = RoundState.CUT
    assert served(cut, round_(content="No figures.")) == []
    assert summarise_server([], []) is None


def page(**values: float) -> Page:
    return Page(engine="vllm", values=values)


BEFORE = page(requests=0.0, prefill_s=0.0, prefill_n=0.0, generation_tokens=0.0)
AFTER = page(requests=2.0, prefill_s=0.1, prefill_n=2.0, generation_tokens=8.0)
OURS = Ours(
    turns=1,
    finished=2,
    sent=2,
    prompt_tokens=100,
    cached_tokens=25,
    completion_tokens=8,
    first_token_ms=140,
    decode_ms=600,
    timed=2,
)


def span(before: Page | None, after: Page | None, **ours: int) -> Span:
    return Span(before=before, after=after, ours=OURS.model_copy(update=ours), cut_short=False)


def test_means_from_the_page() -> None:
    summary = summarise_server([], [span(BEFORE, AFTER)], turns=1)
    assert summary is not None
    assert summary.requests is None
    assert summary.pairs["first_token_ms"] == Pair(
        client=70, server=50, difference=20, statistic="mean", n=2, by="page"
    )
    assert summary.pairs["completion_tokens"].difference == 0
    assert summary.pairs["decode_ms"].server is None, "the page doesn't tell"
    assert summary.pairs["decode_ms"].difference is None


def test_tokens_that_were_not_told_are_no_sums() -> None:
    summary = summarise_server([], [span(BEFORE, AFTER, untold=1)], turns=1)
    assert summary is not None
    tokens = summary.pairs["completion_tokens"]
    assert (tokens.client, tokens.server, tokens.difference) == (None, 8, None)


def test_the_requests_own_figures_come_before_the_pages() -> None:
    summary = summarise_server(served(*ROUNDS), [span(BEFORE, AFTER)], turns=1)
    assert summary is not None
    assert summary.pairs["first_token_ms"].by == "requests"
    assert summary.pairs["requests"].by == "page"


def test_a_void_page_leaves_the_requests_own_figures() -> None:
    summary = summarise_server(served(*ROUNDS), [span(BEFORE, None)], turns=1)
    assert summary is not None
    assert summary.void is not None
    assert summary.page is None
    assert {pair.by for pair in summary.pairs.values()} == {"requests"}


def test_a_turns_timing_has_both_clocks() -> None:
    timing = turn_timing(turn(*ROUNDS))
    assert [one.server_first_token_ms for one in timing.served] == [80, 50, 120]
    assert timing.wait_ms is not None
    assert (timing.wait_ms["queue"], timing.wait_ms["prefill"]) == (100, 150)
    assert turn_timing(turn(round_(content="No figures."))).wait_ms is None

"""The engine's own figures from two pages, by hand, and what voids them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.endpoint.engine import Ours, Page, Span, figures, figures_of
from ragevalkit.endpoint.engine.names import ENGINES
from ragevalkit.turn.record import Attempt, Round, RoundClock, RoundState


def page(engine: str = "vllm", started: float | None = None, **values: float | None) -> Page:
    return Page(engine=engine, values=values, started=started)


VLLM = page(
    running=0.0,
    waiting=0.0,
    requests=100.0,
    prompt_tokens=5000.0,
    generation_tokens=900.0,
    queue_s=1.0,
    queue_n=100.0,
    prefill_s=10.0,
    prefill_n=100.0,
    decode_s=50.0,
    decode_n=100.0,
    cache_queries=5000.0,
    cache_hits=1000.0,
    preemptions=3.0,
    drafts=200.0,
    draft_tokens=600.0,
    accepted_tokens=300.0,
    steps=1000.0,
    step_tokens=4900.0,
).model_copy(update={"accepted_at": {0: 180.0, 1: 90.0, 2: 30.0}})

GROWTH = {
    "requests": 10.0,
    "prompt_tokens": 1000.0,
    "generation_tokens": 80.0,
    "queue_s": 0.02,
    "queue_n": 10.0,
    "prefill_s": 0.5,
    "prefill_n": 10.0,
    "decode_s": 4.0,
    "decode_n": 10.0,
    "cache_queries": 1000.0,
    "cache_hits": 250.0,
    "preemptions": 1.0,
    "drafts": 20.0,
    "draft_tokens": 60.0,
    "accepted_tokens": 30.0,
    "steps": 40.0,
    "step_tokens": 830.0,
}
OURS = Ours(turns=4, finished=10, sent=10, prompt_tokens=1000, completion_tokens=80)


def later(before: Page, **growth: float) -> Page:
    values = {name: (value or 0) + growth.get(name, 0) for name, value in before.values.items()}
    return before.model_copy(update={"values": values})


AFTER = later(VLLM, **GROWTH).model_copy(update={"accepted_at": {0: 195.0, 1: 101.0, 2: 33.0}})


def test_figures_of_vllm() -> None:
    told = figures(VLLM, AFTER, OURS)
    assert told.model_dump(exclude={"speculation"}) == pytest.approx(
        {
            "engine": "vllm",
            "void": None,
            "requests": 10,
            "queue_ms": 2.0,
            "prefill_ms": 50.0,
            "decode_ms": 400.0,
            "prompt_tokens": 1000,
            "generation_tokens": 80,
            "cache_hit_share": 0.25,
            "preemptions": 1,
            "tokens_per_step": 830 / 40,
        }
    )
    assert told.speculation is not None
    assert told.speculation.model_dump() == {
        "drafts": 20,
        "acceptance_rate": 0.5,
        "mean_length": 2.5,
        "by_position": [0.75, 0.55, 0.15],
    }


def test_figures_of_sglang() -> None:
    """A counter that hasn't counted yet isn't on the page; its decoding time counts tokens."""
    after = page(
        "sglang",
        requests=4.0,
        prompt_tokens=400.0,
        generation_tokens=40.0,
        cache_hits=100.0,
        queue_s=0.04,
        queue_n=4.0,
        decode_s=2.0,
    )
    told = figures(page("sglang", running=0.0), after, Ours(turns=1, finished=4, sent=4))
    assert (told.void, told.requests) == (None, 4)
    assert (told.queue_ms, told.prefill_ms, told.decode_ms) == (10, None, 500)
    assert (told.cache_hit_share, told.speculation, told.tokens_per_step) == (0.25, None, None)


LLAMA = page(
    "llama.cpp",
    running=0.0,
    waiting=0.0,
    computed_tokens=4148.0,
    cache_hits=4006.0,
    generation_tokens=248.0,
    prefill_s=5.0,
    decode_s=6.0,
    drafts=0.0,
    draft_tokens=0.0,
    accepted_tokens=0.0,
    steps=309.0,
)


def llama(**growth: float) -> Page:
    grown = {"generation_tokens": 80.0, "computed_tokens": 300.0, "cache_hits": 700.0}
    return later(LLAMA, **(grown | {"prefill_s": 2.0, "decode_s": 3.0, "steps": 95.0} | growth))


def test_figures_of_llama_cpp() -> None:
    """It counts no requests: means are over ours, once tokens tell that there were no others."""
    told = figures(LLAMA, llama(), OURS)
    assert (told.void, told.requests, told.queue_ms) == (None, None, None)
    assert (told.prefill_ms, told.decode_ms) == (200, 300)
    assert (told.prompt_tokens, told.generation_tokens, told.cache_hit_share) == (1000, 80, 0.7)
    assert told.tokens_per_step == (300 + 80) / 95
    assert told.speculation is None, "nothing was drafted"


def test_llama_cpp_does_not_count_the_steps_that_check_drafts() -> None:
    told = figures(LLAMA, llama(drafts=9.0, draft_tokens=30.0, accepted_tokens=18.0), OURS)
    assert told.tokens_per_step is None
    assert told.speculation is not None
    assert told.speculation.mean_length == 3


def busy(**gauges: float) -> Page:
    return VLLM.model_copy(update={"values": VLLM.values | gauges})


FAILED = OURS.model_copy(update={"sent": 12})
UNTOLD = OURS.model_copy(update={"untold": 1})


@pytest.mark.parametrize(
    ("before", "after", "ours", "words"),
    [
        (VLLM, None, OURS, "could not be read again at the end"),
        (VLLM, llama(), OURS, "vllm's and became llama.cpp's"),
        (VLLM, later(AFTER, requests=1.0), OURS, "others used the server: it finished 11 requests"),
        (VLLM, later(AFTER, requests=3.0), FAILED, "it finished 13 requests, ours are 12"),
        (VLLM, later(AFTER, requests=-1.0), OURS, "counts 9 requests, and 10 of ours"),
        (busy(running=1.0), AFTER, OURS, "1 request ran or waited"),
        (busy(running=2.0, waiting=3.0), AFTER, OURS, "5 requests ran or waited"),
        (AFTER, VLLM, OURS, "restarted"),
        (VLLM, later(AFTER, preemptions=-2.0), OURS, "restarted"),
        (VLLM, VLLM.model_copy(update={"values": {"requests": 10.0}}), OURS, "restarted"),
        (page(started=5.0, requests=0.0), page(started=9.0, requests=10.0), OURS, "restarted"),
        (LLAMA, llama(generation_tokens=81.0), OURS, "it generated 81 tokens, and ours came to 80"),
        (LLAMA, llama(generation_tokens=79.0), OURS, "it generated 79 tokens"),
        (LLAMA, llama(), FAILED, "some of ours came to no end"),
        (LLAMA, llama(), UNTOLD, "without a count of their tokens"),
        (page(preemptions=1.0), page(preemptions=1.0), OURS, "neither requests nor tokens"),
        (page(requests=None), page(requests=10.0), OURS, "neither requests nor tokens"),
    ],
)
def test_what_voids_the_figures(before: Page, after: Page | None, ours: Ours, words: str) -> None:
    told = figures(before, after, ours)
    assert told.void is not None
    assert words in told.void
    left = told.model_dump(exclude={"engine", "void"})
    assert not any(value is not None for value in left.values())


@pytest.mark.parametrize("finished", [10, 11, 12])
def test_a_request_that_failed_may_have_been_counted(finished: int) -> None:
    assert figures(VLLM, later(VLLM, requests=float(finished)), FAILED).void is None


@pytest.mark.parametrize("name", sorted(GROWTH.keys() - {"requests"}))
def test_a_value_that_lies_or_is_gone_is_the_only_one_lost(name: str) -> None:
    for after in (
        AFTER.model_copy(update={"values": AFTER.values | {name: None}}),
        AFTER.model_copy(update={"values": {n: v for n, v in AFTER.values.items() if n != name}}),
    ):
        told = figures(VLLM, after, OURS)
        assert told.void is None
        whole = figures(VLLM, AFTER, OURS).model_dump()
        lost = {n for n, v in told.model_dump().items() if v != whole[n]}
        assert len(lost) == 1


def span(before: Page | None, after: Page | None, **fields: Any) -> Span:
    return Span(before=before, after=after, ours=OURS, **{"cut_short": False, **fields})


def test_sittings_add_up() -> None:
    twice = figures_of([span(VLLM, AFTER), span(AFTER, later(AFTER, **GROWTH | {"queue_s": 0.04}))])
    assert twice is not None
    assert (twice.requests, twice.prompt_tokens, twice.preemptions) == (20, 2000, 2)
    assert twice.queue_ms == pytest.approx(3), "a mean over all requests"


def test_a_restart_between_sittings_is_none_within_one() -> None:
    fresh = page(requests=0.0, started=99.0)
    told = figures_of([span(VLLM, AFTER), span(fresh, later(fresh, requests=10.0))])
    assert told is not None
    assert (told.void, told.requests) == (None, 20)


@pytest.mark.parametrize(
    ("spans", "turns", "words"),
    [
        ([span(VLLM, AFTER), span(VLLM, None)], 8, "could not be read again"),
        ([span(VLLM, AFTER), span(None, None)], 8, "each time the run was begun or continued"),
        ([span(VLLM, AFTER, cut_short=True), span(VLLM, AFTER)], 8, "cut short"),
        ([span(VLLM, AFTER, cut_short=True)], 99, "cut short"),
        ([span(VLLM, AFTER), span(LLAMA, llama())], 8, "llama.cpp's"),
        ([span(VLLM, AFTER)], 5, "read for 4 of the run's 5 turns"),
    ],
)
def test_one_void_sitting_voids_all(spans: list[Span], turns: int, words: str) -> None:
    told = figures_of(spans, turns)
    assert told is not None
    assert told.void is not None
    assert words in told.void


@pytest.mark.parametrize("spans", [[], [span(None, None)]])
def test_a_server_without_a_page_has_no_figures(spans: list[Span]) -> None:
    assert figures_of(spans, 4) is None


VALUES = st.dictionaries(
    st.sampled_from(sorted({name for names in ENGINES.values() for name in names})),
    st.none() | st.floats(0, 2**53),
)
PAGES = st.builds(
    Page,
    engine=st.sampled_from(sorted(ENGINES)),
    values=VALUES,
    accepted_at=st.dictionaries(st.integers(0, 9), st.none() | st.floats(0, 2**53)),
    started=st.none() | st.floats(0, 2**53),
)
COUNTS = st.integers(0, 2**40)


@given(PAGES, st.none() | PAGES, st.builds(Ours, finished=COUNTS, sent=COUNTS, untold=COUNTS))
def test_no_two_pages_raise(before: Page, after: Page | None, ours: Ours) -> None:
    told = figures(before, after, ours)
    assert type(told).model_validate_json(told.model_dump_json()) == told


def round_(state: RoundState, attempts: int = 1, **fields: Any) -> Round:
    tries = [
        Attempt(number=n + 1, state=RoundState.BUSY, sent_ms=0, ended_ms=1) for n in range(attempts)
    ]
    clock = RoundClock(sent_ms=10, first_token_ms=60, last_token_ms=160, ended_ms=170)
    return Round(state=state, attempts=tries, clock=clock, **fields)


def test_what_is_ours() -> None:
    ours = Ours()
    counts = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 40}
    ours.add([round_(RoundState.DONE, 3, **counts), round_(RoundState.DONE)])
    ours.add([round_(RoundState.DEADLINE, **counts)])
    ours.add([])
    # the server's error was followed by a control request
    ours.add([round_(RoundState.SERVER_ERROR, 4)])
    assert ours == Ours(
        turns=4,
        finished=2,
        sent=3 + 1 + 1 + 5,
        untold=1,
        prompt_tokens=100,
        cached_tokens=40,
        completion_tokens=7,
        first_token_ms=100,
        decode_ms=200,
        timed=2,
    )

"""Metrics pages down to the values in use, and pages that lie."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ragevalkit.endpoint.engine.names import ACCEPTED_AT, ENGINES, GAUGES
from ragevalkit.endpoint.engine.page import MOST_SAMPLES, Page, read_page

VLLM = b"""
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 1.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 7.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 2.0
vllm:request_success_total{engine="1",finished_reason="stop",model_name="m"} 1.0
vllm:request_success_created{engine="0",finished_reason="stop",model_name="m"} 1.7e+09
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_bucket{engine="0",le="0.3",model_name="m"} 9.0
vllm:request_queue_time_seconds_bucket{engine="0",le="+Inf",model_name="m"} 9.0
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 9.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 1.5e-01
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 5.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="0"} 1.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="10"} 1.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="2"} 3.0
process_start_time_seconds 1.78e+09
"""


def read(text: bytes | str, model: str | None = None) -> Page:
    page = read_page(text.encode() if isinstance(text, str) else text, model)
    assert page is not None
    return page


def test_values_are_sums_over_labels() -> None:
    assert read(VLLM) == Page(
        engine="vllm",
        values={"running": 3, "requests": 10, "queue_s": 0.15, "queue_n": 9},
        accepted_at={0: 6, 2: 3, 10: 1},
        started=1.78e9,
    )
    assert read(VLLM).under_way() == 3


def test_a_page_comes_back_from_its_json() -> None:
    page = read(VLLM)
    assert Page.model_validate_json(page.model_dump_json()) == page


@pytest.mark.parametrize(("model", "requests"), [("a", 4), ("b", 40), ("alias", 44), (None, 44)])
def test_of_several_models_the_one_that_is_asked(model: str | None, requests: int) -> None:
    """A name that no sample has may be another name of any of them, so all count."""
    page = read(
        'vllm:request_success_total{model_name="a",finished_reason="stop"} 4\n'
        'vllm:request_success_total{model_name="b",finished_reason="stop"} 40\n',
        model,
    )
    assert page.values == {"requests": requests}


def test_samples_without_a_models_label_count_for_every_model() -> None:
    page = read('sglang:num_requests_total{model_name="a"} 4\nsglang:num_queue_reqs 2\n', "a")
    assert page.values == {"requests": 4, "waiting": 2}


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        ("vllm", 'vllm:gpu_prefix_cache_hits_total{model_name="m"} 3'),
        ("vllm", 'vllm:prefix_cache_hits_total{model_name="m"} 3'),
        ("sglang", 'sglang:cached_tokens_total{cache_source="device"} 3'),
        ("llama.cpp", "llamacpp:prompt_tokens_cached_total 3"),
    ],
)
def test_names_by_engine_and_version(engine: str, line: str) -> None:
    page = read(line)
    assert (page.engine, page.values) == (engine, {"cache_hits": 3})


def test_only_the_stage_that_is_meant() -> None:
    page = read(
        'sglang:per_stage_req_latency_seconds_sum{stage="prefill_forward"} 2\n'
        'sglang:per_stage_req_latency_seconds_sum{stage="prefill_waiting"} 5\n'
    )
    assert page.values == {"prefill_s": 2}


@pytest.mark.parametrize("engine", ENGINES)
def test_values_are_known_by_the_same_names_in_all_engines(engine: str) -> None:
    known = set().union(*ENGINES.values())
    assert set(ENGINES[engine]) <= known
    assert set(ENGINES[engine]) >= GAUGES
    prefix = engine.replace(".", "")
    names = [name for names in ENGINES[engine].values() for name in names]
    assert all(name.startswith(f"{prefix}:") for name in names)
    assert len(names) == len(set(names))


LIES = ["NaN", "+Inf", "-Inf", "-1", "1e300", "9" * 400]


@pytest.mark.parametrize("lie", LIES)
def test_a_value_that_cannot_be_is_null_and_the_others_stand(lie: str) -> None:
    page = read(
        f'vllm:prompt_tokens_total{{engine="0"}} 5\nvllm:prompt_tokens_total{{engine="1"}} {lie}\n'
        f"vllm:generation_tokens_total 3\nprocess_start_time_seconds {lie}\n"
    )
    assert page.values == {"prompt_tokens": None, "generation_tokens": 3}
    assert page.started is None


@pytest.mark.parametrize(
    "line",
    [
        "vllm:prompt_tokens_total",
        "vllm:prompt_tokens_total{",
        'vllm:prompt_tokens_total{model_name="m',
        'vllm:prompt_tokens_total{model_name="m"} many',
        'vllm:prompt_tokens_total{a="1",a="2"} 4',
        f"vllm:prompt_tokens_total 4 {'9' * 400}",
        'vllm:prompt_tokens_total{ ="x"} 4',
        "vllm:prompt_tokens_total 1_000",
        "vllm:prompt_tokens_total 0x10",
        'vllm:prompt_tokens_total{x="' + "\\" * 3000 + '"} 4',
        "vllm:prompt_tokens_total{" + ",".join(f'x{i}="1"' for i in range(200_000)) + "} 4",
        "# vllm:prompt_tokens_total 4",
        '{"vllm:prompt_tokens_total"} 4',
        "xvllm:prompt_tokens_total 4",
        "vllm:prompt_tokens_created 4",
    ],
    ids=lambda line: line[:50],
)
def test_a_line_that_is_no_sample_costs_the_others_nothing(line: str) -> None:
    assert read(f"{line}\nvllm:generation_tokens_total 3\n").values == {"generation_tokens": 3}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"<!doctype html><title>vllm:prompt_tokens_total 4</title>",
        b"python_gc_objects_collected_total 3\nprocess_start_time_seconds 2\n",
        b"trtllm_request_success_total 3\n",
        b"\0" * 1000,
        b"vllm:generation_tokens_total 3\n" * (MOST_SAMPLES + 1),
        "vllm:généré 3".encode("latin-1"),
    ],
    ids=lambda content: repr(content[:30]),
)
def test_what_is_no_page_of_a_known_engine(content: bytes) -> None:
    assert read_page(content) is None


@given(st.binary(max_size=2000))
def test_no_bytes_raise(content: bytes) -> None:
    read_page(content)


NAMES = [name for names in ENGINES["vllm"].values() for name in names]
SIGNS = ["{", "}", '"', "\\", ",", "=", " ", "\t", "\r", "\n", "#", "_", "e", "-", "\u2028", "é"]
WORDS = [
    "1",
    "9" * 400,
    "NaN",
    "position",
    'position="1"',
    "model_name",
    "__name__",
    "TYPE",
    " # {} 1",
]
PIECES = st.sampled_from([*NAMES, *ACCEPTED_AT, *SIGNS, *WORDS])


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_text_that_looks_like_a_page_raises(text: str) -> None:
    page = read_page(text.encode())
    if page is not None:
        told = [*page.values.values(), *page.accepted_at.values(), page.started]
        assert all(value is None or value >= 0 for value in told)
        assert Page.model_validate_json(page.model_dump_json()) == page


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["0", "1"]), st.sampled_from(["stop", "length", 'a"b\\c\n}'])),
        st.integers(0, 10**9),
        min_size=1,
    ),
    st.lists(st.floats(0, 100), min_size=1, max_size=8),
)
def test_what_the_engines_own_library_writes_is_read(
    finished: dict[tuple[str, str], int], queued: list[float]
) -> None:
    registry = CollectorRegistry()
    labels = ["engine", "finished_reason"]
    requests = Counter("vllm:request_success", "Finished.", labels, registry=registry)
    for of, count in finished.items():
        requests.labels(*of).inc(count)
    queue = Histogram("vllm:request_queue_time_seconds", "Queued.", registry=registry)
    for seconds in queued:
        queue.observe(seconds)
    Gauge("vllm:num_requests_waiting", "Waiting.", registry=registry).set(2)
    assert read(generate_latest(registry)).values == {
        "waiting": 2,
        "requests": sum(finished.values()),
        "queue_s": pytest.approx(sum(queued)),
        "queue_n": len(queued),
    }


def test_names_are_written_as_the_format_allows() -> None:
    for names in (name for values in ENGINES.values() for name in values.values()):
        for name in names:
            assert re.fullmatch(r'[a-z_:]+(\{\w+="\w+"\})?', name)


RECORDED = Path(__file__).parent / "recorded"


def recorded(engine: str, when: str) -> Page:
    return read((RECORDED / f"{engine}-metrics-{when}.txt").read_bytes(), "smollm2")


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_real_page_has_all_values(engine: str, when: str) -> None:
    """Those of speculative decoding are shown by vLLM only where it is on."""
    page = recorded(engine, when)
    assert page.engine == engine
    assert set(page.values) | {"drafts", "draft_tokens", "accepted_tokens"} == set(ENGINES[engine])
    assert None not in page.values.values()
    assert page.under_way() == 0
    assert (page.started is not None) == (engine == "vllm")


def test_a_real_vllm_counts_in_agreement_with_itself() -> None:
    values = {name: value or 0 for name, value in recorded("vllm", "after").values.items()}
    finished = values["requests"]
    assert finished > 0
    assert (values["queue_n"], values["prefill_n"], values["decode_n"]) == (finished,) * 3
    assert values["cache_queries"] == values["prompt_tokens"]
    computed = values["prompt_tokens"] - values["cache_hits"]
    assert values["step_tokens"] == computed + values["generation_tokens"]

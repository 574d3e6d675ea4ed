"""Under which names each engine's metrics page has the values that are used here.

Public: `ENGINES`, `GAUGES`, `STARTED`, `ACCEPTED_AT`.

A value is the sum over all samples of a name; `name{label="value"}` takes only samples with that
label. Where several names are given, the first that is on the page counts, since versions rename
them. Seconds are `*_s`, with the number of observations in `*_n` where the engine has a histogram.
"""

from __future__ import annotations

GAUGES = frozenset({"running", "waiting"})
"""Values that go up and down; all others are counters."""

STARTED = "process_start_time_seconds"
"""When the server's process began, where its page says so."""

ACCEPTED_AT = {
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
    "llamacpp:spec_decode_num_accepted_tokens_per_pos_total",
}
"""Counters of accepted draft tokens by their `position` in the draft, from 0."""

ENGINES: dict[str, dict[str, tuple[str, ...]]] = {
    "vllm": {
        "running": ("vllm:num_requests_running",),
        "waiting": ("vllm:num_requests_waiting",),
        "requests": ("vllm:request_success_total",),
        "prompt_tokens": ("vllm:prompt_tokens_total",),
        "generation_tokens": ("vllm:generation_tokens_total",),
        "queue_s": ("vllm:request_queue_time_seconds_sum",),
        "queue_n": ("vllm:request_queue_time_seconds_count",),
        "prefill_s": ("vllm:request_prefill_time_seconds_sum",),
        "prefill_n": ("vllm:request_prefill_time_seconds_count",),
        "decode_s": ("vllm:request_decode_time_seconds_sum",),
        "decode_n": ("vllm:request_decode_time_seconds_count",),
        "cache_queries": (
            "vllm:prefix_cache_queries_total",
            "vllm:gpu_prefix_cache_queries_total",
        ),
        "cache_hits": ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
        "preemptions": ("vllm:num_preemptions_total",),
        "drafts": ("vllm:spec_decode_num_drafts_total",),
        "draft_tokens": ("vllm:spec_decode_num_draft_tokens_total",),
        "accepted_tokens": ("vllm:spec_decode_num_accepted_tokens_total",),
        "steps": ("vllm:iteration_tokens_total_count",),
        "step_tokens": ("vllm:iteration_tokens_total_sum",),
    },
    "sglang": {
        "running": ("sglang:num_running_reqs",),
        "waiting": ("sglang:num_queue_reqs",),
        "requests": ("sglang:num_requests_total",),
        "prompt_tokens": ("sglang:prompt_tokens_total",),
        "generation_tokens": ("sglang:generation_tokens_total",),
        "queue_s": ("sglang:queue_time_seconds_sum",),
        "queue_n": ("sglang:queue_time_seconds_count",),
        "prefill_s": ('sglang:per_stage_req_latency_seconds_sum{stage="prefill_forward"}',),
        "prefill_n": ('sglang:per_stage_req_latency_seconds_count{stage="prefill_forward"}',),
        # the time between tokens, summed; its count is of tokens, not of requests
        "decode_s": (
            "sglang:inter_token_latency_seconds_sum",
            "sglang:time_per_output_token_seconds_sum",
        ),
        "cache_hits": ("sglang:cached_tokens_total",),
        "preemptions": ("sglang:num_retracted_reqs_total",),
    },
    "llama.cpp": {
        "running": ("llamacpp:requests_processing",),
        "waiting": ("llamacpp:requests_deferred",),
        "computed_tokens": ("llamacpp:prompt_tokens_total",),  # without those in its cache
        "cache_hits": ("llamacpp:prompt_tokens_cached_total",),
        "generation_tokens": ("llamacpp:tokens_predicted_total",),
        "prefill_s": ("llamacpp:prompt_seconds_total",),
        "decode_s": ("llamacpp:tokens_predicted_seconds_total",),
        "drafts": ("llamacpp:spec_decode_num_drafts_total",),
        "draft_tokens": ("llamacpp:spec_decode_num_draft_tokens_total",),
        "accepted_tokens": ("llamacpp:spec_decode_num_accepted_tokens_total",),
        "steps": ("llamacpp:n_decode_total",),
    },
}

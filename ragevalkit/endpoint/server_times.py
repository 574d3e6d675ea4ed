"""The figures that an engine sends of one request, in one shape.

Public: `server_times`.
"""

from __future__ import annotations

from typing import Any

from ragevalkit.endpoint.tokens import as_count
from ragevalkit.turn.record import ServerTimes

Block = dict[str, Any]


def server_times(metrics: Block | None, timings: Block | None) -> ServerTimes | None:
    """Read vLLM's `metrics` or llama.cpp's `timings`; None where neither says anything.

    What is no number, or less than 0, is left out.
    """
    read = _vllm(metrics) if metrics else None
    if read is None and timings:
        read = _llama_cpp(timings)
    return read


def _vllm(metrics: Block) -> ServerTimes | None:
    drafts = metrics.get("speculative_decoding")
    drafts = drafts if isinstance(drafts, dict) else {}
    times = ServerTimes(
        source="vllm",
        queue_ms=_ms(metrics.get("queue_time_ms")),
        prefill_ms=_ms(metrics.get("time_to_first_token_ms")),
        decode_ms=_ms(metrics.get("generation_time_ms")),
        draft_tokens=as_count(drafts.get("num_draft_tokens")),
        accepted_tokens=as_count(drafts.get("num_accepted_draft_tokens")),
    )
    return times if times != ServerTimes(source="vllm") else None


def _llama_cpp(timings: Block) -> ServerTimes | None:
    processed, cached = as_count(timings.get("prompt_n")), as_count(timings.get("cache_n"))
    times = ServerTimes(
        source="llama.cpp",
        prefill_ms=_ms(timings.get("prompt_ms")),
        decode_ms=_ms(timings.get("predicted_ms")),
        prompt_tokens=None if processed is None else processed + (cached or 0),
        cached_tokens=cached,
        completion_tokens=as_count(timings.get("predicted_n")),
        draft_tokens=as_count(timings.get("draft_n")),
        accepted_tokens=as_count(timings.get("draft_n_accepted")),
    )
    return times if times != ServerTimes(source="llama.cpp") else None


def _ms(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(float(value), 3) if 0 <= value < 1e12 else None  # NaN is neither

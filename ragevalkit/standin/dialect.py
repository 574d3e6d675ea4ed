"""How an engine spells its chunks: the `[wire]` table of a scenario, and a preset for each engine.

Public: `Table`, `Dialect`, `PRESETS`, `Spelling`, `UsageOn`.

`[wire] engine = "..."` sets the keys of that engine's preset (`PRESETS`, from the table of engines
in the reference on serving measurement, and the issues in the one on client pitfalls), and every
key beside it overrides the preset's. Without an engine the defaults hold.

| key | values, the default first | meaning |
| --- | --- | --- |
| engine | vllm sglang llamacpp trtllm ollama lmstudio openrouter | the preset |
| reasoning_field | reasoning, reasoning_content, reasoning_details, or a list | where it goes |
| role | headers | a chunk of its own, with the headers |
| | first_token | the same, held until the first token comes |
| | every | no chunk of its own, but in every chunk; never: nowhere |
| first_content | empty, null, absent | `content` in the role's own chunk |
| empty_content | absent, null, empty | `content` in a delta without answer text |
| empty_reasoning | absent, null, empty | the reasoning field in a delta without reasoning |
| empty_calls | absent, null, empty | `tool_calls` in a delta without calls |
| calls | deltas | id and name, then the arguments piece by piece |
| | late | id and name, then after their time all arguments in one delta |
| | whole | each call in one chunk, after its time |
| | together | all calls of the reply in one chunk |
| | interleaved | the deltas of parallel calls in turns |
| call_index | position, zero, absent | of calls without an `index` of their own |
| call_id | once, every, first_call, never | `every`: on argument deltas as well |
| call_name | once, every | `every`: on argument deltas as well |
| finish_chunk | true, false | false: the finish reason comes with the last token event |
| usage_on | asked | a last chunk without choices, where `include_usage` asks for it |
| | last | the same, asked for or not |
| | finish | beside the finish reason, asked for or not |
| | every | on every chunk beside its choices, and a last one without; never: nowhere |
| empty_usage | absent, null | `usage` in chunks without any |
| continuous_usage | false, true | honours `stream_options.continuous_usage_stats` |
| cached_tokens | absent, details, top | in `prompt_tokens_details`, or in `usage` itself |
| reasoning_tokens | details, top, both, absent | in `completion_tokens_details`, `usage`, both |
| server_times | absent | |
| | timings | llama.cpp's, on the last chunk; on all that carry tokens where the |
| | | request has `timings_per_token` |
| | metrics | vLLM's, on the usage chunk |
| token_ids | false, true | honours `return_token_ids`: ids of each event and of the prompt |
| fields | table | further fields of every chunk; they replace others of their name |
| choice_fields | table | further fields of every choice |
| prefix, suffix | "data: ", "\\n\\n" | what stands around the JSON of an event |
| ascii | false, true | all but ASCII as `\\u` escapes, as Python's json writes it |
| preamble | "" | sent as it is with the headers, before any chunk |
| ping, ping_ms | ":\\n\\n", 0 | sent whenever nothing came for so long; 0: never |
| errors | object, beside, event | `{"error"}` alone; beside a choice that finishes with `error`; |
| | | an event named `error` whose data is the error itself |

The scripted `id` and `index` of a call go before `call_id` and `call_index`, its `pieces` before
`calls` (but `together` stays together), and a reply's `usage_on` before the wire's. The times that
the server reports are the scripted ones, not measured. Replies that aren't streamed heed
`reasoning_field`, `fields`, `cached_tokens` and `reasoning_tokens` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, model_validator

Engine = Literal["vllm", "sglang", "llamacpp", "trtllm", "ollama", "lmstudio", "openrouter"]
ReasoningField = Literal["reasoning", "reasoning_content", "reasoning_details"]
Spelling = Literal["absent", "null", "empty"]
UsageOn = Literal["asked", "last", "finish", "every", "never"]

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "vllm": {
        "reasoning_field": "reasoning",
        "role": "first_token",
        "continuous_usage": True,
        "token_ids": True,
        "server_times": "metrics",
    },
    "sglang": {
        "reasoning_field": "reasoning_content",
        "role": "first_token",
        "empty_content": "null",
        "empty_reasoning": "null",
        "empty_calls": "null",
        "empty_usage": "null",
        "call_id": "first_call",
        "continuous_usage": True,
        "token_ids": True,
        "reasoning_tokens": "both",
    },
    "llamacpp": {
        "reasoning_field": "reasoning_content",
        "role": "first_token",
        "first_content": "null",
        "cached_tokens": "details",
        "reasoning_tokens": "absent",
        "server_times": "timings",
        "fields": {"system_fingerprint": "b11434-mock"},
        "ping_ms": 30_000.0,
    },
    "trtllm": {
        "reasoning_field": "reasoning_content",
        "role": "first_token",
        "empty_reasoning": "empty",
        "call_name": "every",
        "continuous_usage": True,
        "cached_tokens": "details",
        "reasoning_tokens": "absent",
        "choice_fields": {"avg_decoded_tokens_per_iter": 1.0},
        "suffix": " \n\n",
    },
    "ollama": {
        "reasoning_field": "reasoning",
        "role": "every",
        "empty_content": "empty",
        "calls": "whole",
        "call_index": "zero",
        "reasoning_tokens": "absent",
        "fields": {"system_fingerprint": "fp_ollama"},
    },
    "lmstudio": {
        "reasoning_field": "reasoning_content",
        "role": "every",
        "calls": "late",
        "usage_on": "never",
        "reasoning_tokens": "absent",
    },
    "openrouter": {
        "reasoning_field": ["reasoning", "reasoning_details"],
        "role": "every",
        "empty_content": "empty",
        "usage_on": "last",
        "cached_tokens": "details",
        "fields": {"provider": "Mock"},
        "preamble": ": OPENROUTER PROCESSING\n\n",
        "ping": ": OPENROUTER PROCESSING\n\n",
        "errors": "beside",
    },
}
"""The keys in which each engine differs from the defaults.

An engine's options are set as its flags leave them by default, but for those that a request can
ask for: these are honoured.
"""


class Table(BaseModel):
    """A table of a scenario: no unknown keys, no conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Dialect(Table):
    """The `[wire]` table; the keys are explained at the top of this module."""

    engine: Engine | None = None
    reasoning_field: ReasoningField | Annotated[list[ReasoningField], Field(min_length=1)] = (
        "reasoning"
    )
    role: Literal["headers", "first_token", "every", "never"] = "headers"
    first_content: Spelling = "empty"
    empty_content: Spelling = "absent"
    empty_reasoning: Spelling = "absent"
    empty_calls: Spelling = "absent"
    calls: Literal["deltas", "late", "whole", "together", "interleaved"] = "deltas"
    call_index: Literal["position", "zero", "absent"] = "position"
    call_id: Literal["once", "every", "first_call", "never"] = "once"
    call_name: Literal["once", "every"] = "once"
    finish_chunk: bool = True
    usage_on: UsageOn = "asked"
    empty_usage: Literal["absent", "null"] = "absent"
    continuous_usage: bool = False
    cached_tokens: Literal["absent", "details", "top"] = "absent"
    reasoning_tokens: Literal["details", "top", "both", "absent"] = "details"
    server_times: Literal["absent", "timings", "metrics"] = "absent"
    token_ids: bool = False
    fields: dict[str, Any] = {}
    choice_fields: dict[str, Any] = {}
    prefix: str = "data: "
    suffix: str = "\n\n"
    ascii: bool = False
    preamble: str = ""
    ping: str = ":\n\n"
    ping_ms: NonNegativeFloat = 0
    errors: Literal["object", "beside", "event"] = "object"

    @model_validator(mode="before")
    @classmethod
    def _over_preset(cls, given: Any) -> Any:
        engine = given.get("engine") if isinstance(given, dict) else None
        preset = PRESETS.get(engine, {}) if isinstance(engine, str) else {}
        return {**preset, **given} if preset else given

    @property
    def reasoning_fields(self) -> list[str]:
        """The names under which a delta carries reasoning."""
        names = self.reasoning_field
        return [names] if isinstance(names, str) else [*names]

"""What an engine does with what a request asks of it: the `[habits]` table of a scenario.

Public: `Habits`, `HABITS`, `Wishes`, `read_wishes`.

`[wire] engine = "..."` sets that engine's habits (`HABITS`), and every key of `[habits]` overrides
them. Without an engine the defaults hold: the script is said as it stands.

| key | values, the default first | meaning |
| --- | --- | --- |
| budget | both names | fields by which the output budget is heeded; others are ignored |
| tool_choice | ["none"] | of "none" and "required", those that are obeyed |
| grammar | [] | where the output is held to a schema: "response_format", "required" (calls |
| | | that are required), "strict" (calls of a tool with `strict: true`); and to a |
| | | pattern: "structured_outputs" (its `regex`), "regex", "grammar" (llama.cpp's) |
| thinking | [] | fields that limit the scripted reasoning: "enable_thinking", |
| | | "reasoning_effort", "thinking_token_budget", "reasoning_budget_tokens" |
| tools_in_prompt | true | false: tools are dropped before the prompt is made |
| prefix_cache | false | true: the prompt's beginning is kept; `cached_tokens` of the wire tells |
| cache_off | [] | fields that keep the cache out: "cache_salt", "cache_prompt" |
| streams | true | false: the whole stream is held back until its end |
| rejects | {} | fields of a request that are answered with 400, and the words for it |
| owned_by | "ragevalkit" | of the model in `/v1/models` |
| entry | {} | further fields of that model |
| pages | {} | JSON of other pages, by their path: `{"/version": {...}}` |

"required" obeyed adds a call of the first tool to a reply that has none, and "none" obeyed shows
the script no tools. A grammar puts the smallest value that a schema allows in place of what is
scripted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ragevalkit.standin.dialect import Table

BudgetName = Literal["max_completion_tokens", "max_tokens"]
Control = Literal[
    "enable_thinking", "reasoning_effort", "thinking_token_budget", "reasoning_budget_tokens"
]

HABITS: Mapping[str, Mapping[str, Any]] = {
    "vllm": {
        "tool_choice": ["none", "required"],
        "grammar": ["response_format", "strict", "structured_outputs"],
        "thinking": ["enable_thinking", "reasoning_effort", "thinking_token_budget"],
        "prefix_cache": True,
        "cache_off": ["cache_salt"],
        "owned_by": "vllm",
        "entry": {"max_model_len": 32768},
        "pages": {"/version": {"version": "0.32.0"}},
    },
    "sglang": {
        "tool_choice": ["none", "required"],
        "grammar": ["response_format", "required", "strict", "regex"],
        "thinking": ["enable_thinking", "reasoning_effort"],
        "prefix_cache": True,
        "cache_off": ["cache_salt"],
        "owned_by": "sglang",
        "entry": {"max_model_len": 32768},
        "pages": {"/server_info": {"version": "0.5.23"}},
    },
    "llamacpp": {
        "tool_choice": ["none", "required"],
        "grammar": ["response_format", "required", "strict", "grammar"],
        "thinking": ["enable_thinking", "reasoning_effort", "reasoning_budget_tokens"],
        "prefix_cache": True,
        "cache_off": ["cache_prompt"],
        "owned_by": "llamacpp",
        "pages": {
            "/props": {
                "build_info": "b11434-mock",
                "default_generation_settings": {"n_ctx": 32768},
            }
        },
    },
    "trtllm": {
        "thinking": ["enable_thinking"],
        "owned_by": "tensorrt_llm",
        "pages": {"/version": {"version": "1.2.1"}},
    },
    "ollama": {
        "budget": ["max_tokens"],
        "tool_choice": [],
        "grammar": ["response_format"],
        "thinking": ["reasoning_effort"],
        "owned_by": "library",
        "pages": {"/api/version": {"version": "0.12.3"}},
    },
    "lmstudio": {"grammar": ["response_format"], "owned_by": "organization_owner"},
    "openrouter": {
        "thinking": ["reasoning_effort"],
        "owned_by": "",
        "entry": {"context_length": 32768, "top_provider": {"context_length": 32768}},
    },
}
"""What differs from the defaults, with the engines' flags as they are by default, and with a tool
parser for vLLM."""


class Habits(Table):
    """The `[habits]` table; the keys are explained at the top of this module."""

    budget: list[BudgetName] = ["max_completion_tokens", "max_tokens"]
    tool_choice: list[Literal["none", "required"]] = ["none"]
    grammar: list[
        Literal["response_format", "required", "strict", "structured_outputs", "regex", "grammar"]
    ] = []
    thinking: list[Control] = []
    tools_in_prompt: bool = True
    prefix_cache: bool = False
    cache_off: list[Literal["cache_salt", "cache_prompt"]] = []
    streams: bool = True
    rejects: dict[str, str] = {}
    owned_by: str = "ragevalkit"
    entry: dict[str, Any] = {}
    pages: dict[str, Any] = {}

    def over(self, engine: str | None) -> Habits:
        """These habits where they are given, else the engine's."""
        given = self.model_dump(exclude_unset=True)
        return Habits.model_validate({**HABITS.get(engine or "", {}), **given})


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a request asks for beyond a reply to its messages."""

    schema: Mapping[str, Any] | None = None
    """Of `response_format`."""
    pattern: str | None = None
    """A regular expression or a grammar, where such are heeded."""
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Functions offered, by name, in their order."""
    required: bool = False
    thinking: int | None = None
    """Most tokens of reasoning, by the fields that are heeded; None: no limit."""
    cached: bool = True
    """Whether the prompt may come from the cache and stay in it."""
    salt: str = ""
    """Prompts with another one are others."""


def read_wishes(data: Mapping[str, Any], habits: Habits) -> Wishes:
    """The wishes of a request's body whose `tools` are well-formed."""
    tools = {tool["function"]["name"]: tool["function"] for tool in data.get("tools") or ()}
    salt = data.get("cache_salt") if "cache_salt" in habits.cache_off else None
    return Wishes(
        schema=_schema(data.get("response_format")),
        pattern=_pattern(data, habits),
        tools=tools,
        required=bool(tools)
        and data.get("tool_choice") == "required"
        and "required" in habits.tool_choice,
        thinking=_thinking(data, habits),
        cached="cache_prompt" not in habits.cache_off or data.get("cache_prompt") is not False,
        salt=salt if isinstance(salt, str) else "",
    )


def _schema(response_format: Any) -> Mapping[str, Any] | None:
    if not isinstance(response_format, dict):
        return None
    json_schema = response_format.get("json_schema")
    schema = json_schema.get("schema") if isinstance(json_schema, dict) else None
    return schema if isinstance(schema, dict) else None


def _pattern(data: Mapping[str, Any], habits: Habits) -> str | None:
    outputs = data.get("structured_outputs")
    given = {
        "structured_outputs": outputs.get("regex") if isinstance(outputs, dict) else None,
        "regex": data.get("regex"),
        "grammar": data.get("grammar"),
    }
    heeded = (given[name] for name in given if name in habits.grammar)
    return next((pattern for pattern in heeded if isinstance(pattern, str)), None)


def _thinking(data: Mapping[str, Any], habits: Habits) -> int | None:
    template = data.get("chat_template_kwargs")
    if (
        "enable_thinking" in habits.thinking
        and isinstance(template, dict)
        and template.get("enable_thinking") is False
    ):
        return 0
    if "reasoning_effort" in habits.thinking and data.get("reasoning_effort") == "none":
        return 0
    for name in ("thinking_token_budget", "reasoning_budget_tokens"):
        limit = data.get(name)
        if name in habits.thinking and isinstance(limit, int) and limit >= 0:
            return limit
    return None

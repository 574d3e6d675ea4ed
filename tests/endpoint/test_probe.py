"""What a probe finds on the mock, scenario by scenario, and where single requests fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from endpoint.asking import asking
from endpoint.recording import Reply, Request, recording_server
from servers import serving

from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.endpoint.probe import CHECKS, Limits, Probe, probe
from ragevalkit.errors import EndpointUnusable
from ragevalkit.standin.baseline import Baseline

Serve = Callable[[str], str]
TOOLS: list[Any] = [
    json.loads((Path(__file__).parents[2] / "tool_schemas" / f"{name}.json").read_text())
    for name in ("search", "cite")
]
LIMITS = Limits(request_s=10, page_s=1, total_s=60)
KEY = "sk-very-secret"

TALKS = "[[rules]]\ntools = false\n[rules.reply]\nanswer = 60\n"
THINKS = (
    '[[rules]]\nquestion = "Call the function search|Count|^Say"\n'
    "[rules.reply]\nreasoning = 60\nanswer = 12\n"
)
CALLS_IN_TEXT = """
[[rules]]
tools = true
[rules.reply]
answer = '<tool_call>{"name": "search"}</tool_call>'
"""
PACED = "[timing]\nfirst_token_ms = 20\ngap_ms = 2\n"


def probed(url: str, *, tools: list[Any] = TOOLS, limits: Limits = LIMITS, **fields: Any) -> Probe:
    async def ask() -> Probe:
        async with asking(url, **fields) as client:
            listed = await client.models()
            model = listed[0]["id"]
            return await probe(client, model, tools, listed=listed, limits=limits)

    return asyncio.run(ask())


def found(probe: Probe, check: str) -> str | tuple[str, Any]:
    """A verdict, with what was found where that is more than it."""
    finding = probe.findings[check]
    verdict = finding.verdict.value
    return verdict if finding.value is None else (verdict, finding.value)


ENGINES: dict[str, dict[str, Any]] = {
    "vllm": {
        "engine": ("yes", "vLLM 0.32.0"),
        "context_length": ("yes", 32768),
        "reasoning_field": ("yes", "reasoning"),
        "continuous_usage": "yes",
        "token_ids": "yes",
        "server_times": ("yes", "vllm"),
        "enable_thinking": "yes",
        "reasoning_effort": "yes",
        "thinking_budget": ("yes", "thinking_token_budget"),
        "tool_choice_required": "yes",
        "call_stream": ("yes", "in pieces"),
        "grammar_json": "yes",
        "grammar_required": "no",
        "grammar_strict": "yes",
        "prefix_cache": "unknown",
    },
    "sglang": {
        "engine": ("yes", "SGLang 0.5.23"),
        "reasoning_field": ("yes", "reasoning_content"),
        "grammar_required": "yes",
        "thinking_budget": ("no", "thinking_token_budget"),
    },
    "llamacpp": {
        "engine": ("yes", "llama.cpp b11434-mock"),
        "context_length": ("yes", 32768),
        "server_times": ("yes", "llama.cpp"),
        "token_timings": "yes",
        "continuous_usage": "no",
        "token_ids": "no",
        "thinking_budget": ("yes", "reasoning_budget_tokens"),
        "prefix_cache": "yes",
        "cache_off": ("yes", "cache_prompt"),
    },
    "trtllm": {"engine": ("yes", "TensorRT-LLM 1.2.1"), "grammar_json": "no"},
    "ollama": {
        "engine": ("yes", "Ollama 0.12.3"),
        "max_completion_tokens": "no",
        "max_tokens": "yes",
        "tool_choice_required": "no",
        "reasoning_effort": "yes",
        "enable_thinking": "no",
    },
    "lmstudio": {"engine": ("yes", "LM Studio"), "usage": "no", "grammar_json": "yes"},
    "openrouter": {
        "engine": ("yes", "OpenRouter"),
        "context_length": ("yes", 32768),
        "usage": "yes",
        "reasoning_effort": "yes",
    },
}


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_that_think(mock_url: Serve, engine: str) -> None:
    result = probed(mock_url(f'[wire]\nengine = "{engine}"\n{PACED}{THINKS}'))
    assert {check: found(result, check) for check in ENGINES[engine]} == ENGINES[engine]
    assert found(result, "thinks") == "yes"
    assert result.requests < 20


CACHE = '[wire]\ncached_tokens = "details"\n[habits]\nprefix_cache = true\n'
SCENARIOS: list[tuple[str, dict[str, Any]]] = [
    (
        TALKS,
        {
            "engine": ("yes", "ragevalkit"),
            "model": ("yes", "mock"),
            "context_length": "unknown",
            "max_completion_tokens": "yes",
            "max_tokens": "unknown",
            "usage": "yes",
            "thinks": "no",
            "thinking_budget": "unknown",
            "calls": "yes",
            "call_ids": "yes",
            "tool_choice_none": "yes",
            "grammar_json": "no",
            "grammar_strict": "no",
            "grammar_strict_auto": "no",
            "prefix_cache": "unknown",
            "cache_off": "unknown",
        },
    ),
    ("", {"max_completion_tokens": "yes", "max_tokens": "unknown"}),
    (f"[habits]\nbudget = []\n{TALKS}", {"max_completion_tokens": "no", "max_tokens": "no"}),
    (
        f'[habits]\nbudget = ["max_tokens"]\n{TALKS}',
        {"max_completion_tokens": "no", "max_tokens": "yes"},
    ),
    (
        f'[habits.rejects]\nmax_completion_tokens = "no such field"\n{TALKS}',
        {"max_completion_tokens": "not_supported", "max_tokens": "yes", "usage": "yes"},
    ),
    (
        f"{PACED}[habits]\nstreams = false\n{TALKS}",
        {"streaming": ("no", "held back"), "usage": "yes"},
    ),
    (f"{PACED}{TALKS}", {"streaming": ("yes", "token by token")}),
    (f"{PACED}{TALKS}tokens_per_event = 4\n", {"streaming": ("yes", "batched")}),
    (f"{PACED}{TALKS}tokens_per_event = 60\n", {"streaming": ("no", "whole")}),
    (f"{TALKS}usage = false\n", {"usage": "no", "tools_in_prompt": "unknown"}),
    ("[habits]\ntools_in_prompt = false\n", {"tools_in_prompt": "no", "calls": "unknown"}),
    (CALLS_IN_TEXT, {"calls": "no", "tool_choice_none": "unknown", "tool_choice_required": "no"}),
    ('[wire]\ncalls = "whole"\n', {"call_stream": ("no", "whole calls")}),
    ('[wire]\ncalls = "late"\n', {"call_stream": ("no", "whole arguments")}),
    ('[wire]\ncall_id = "never"\n', {"call_ids": "no"}),
    (
        "[habits]\ntool_choice = []\n[[rules]]\ntools = true\n[[rules.reply.calls]]\n"
        'name = "search"\n',
        {"tool_choice_none": "no"},
    ),
    (
        '[habits.rejects]\ntools = "tools need a parser"\n',
        {"calls": "not_supported", "tool_choice_required": "not_supported", "usage": "yes"},
    ),
    (
        '[habits.rejects]\nresponse_format = "no grammars"\nreturn_token_ids = "unknown field"\n',
        {"grammar_json": "not_supported", "token_ids": "not_supported", "calls": "yes"},
    ),
    (
        '[habits]\ntool_choice = ["required"]\ngrammar = ["required"]\n[[rules]]\ntools = true\n'
        "[rules.reply]\nanswer = 5\n",
        {
            "calls": "unknown",
            "tool_choice_required": "yes",
            "grammar_required": "yes",
            "grammar_strict": "yes",
            "grammar_strict_auto": "unknown",
        },
    ),
    (CACHE + TALKS, {"prefix_cache": "yes", "cache_off": ("no", "cache_salt")}),
    (
        f'{CACHE}cache_off = ["cache_salt"]\n{TALKS}',
        {"prefix_cache": "yes", "cache_off": ("yes", "cache_salt")},
    ),
    (
        f'{CACHE}rejects = {{ cache_salt = "no salt" }}\n{TALKS}',
        {"prefix_cache": "yes", "cache_off": "not_supported"},
    ),
    (f'[wire]\ncached_tokens = "details"\n{TALKS}', {"prefix_cache": "no"}),
    (
        "[habits]\nthinking = []\n" + THINKS,
        {
            "thinks": "yes",
            "enable_thinking": "no",
            "reasoning_effort": "no",
            "thinking_budget": ("no", "thinking_token_budget"),
            "calls": "unknown",
        },
    ),
    (
        "[habits.rejects]\nreasoning_effort = 'not for this model'\n" + THINKS,
        {"enable_thinking": "no", "reasoning_effort": "not_supported"},
    ),
    (
        '[[rules]]\n[rules.reply]\nanswer = "<think>well, let me see what there is"\n',
        {"thinks": "yes", "reasoning_field": "no", "enable_thinking": "no"},
    ),
    (
        "[[rules]]\n[rules.reply]\nreasoning = 6\nanswer = 60\n",
        {"thinks": "yes", "thinking_budget": ("unknown", "thinking_token_budget")},
    ),
]


@pytest.mark.parametrize(("scenario", "expected"), SCENARIOS)
def test_findings(mock_url: Serve, scenario: str, expected: dict[str, Any]) -> None:
    result = probed(mock_url(scenario))
    assert {check: found(result, check) for check in expected} == expected
    assert list(result.findings) == [check.name for check in CHECKS]
    assert all(finding.evidence and finding.title for finding in result.findings.values())
    assert result.requests < 20


def test_json_round_trip(mock_url: Serve) -> None:
    result = probed(mock_url(TALKS))
    assert Probe.model_validate_json(result.model_dump_json()) == result


def test_baseline() -> None:
    with serving(Baseline()) as url:
        result = probed(url)
    assert found(result, "max_completion_tokens") == "yes"
    assert found(result, "calls") == "yes"
    assert found(result, "tool_choice_required") == "no"
    assert found(result, "grammar_json") == "no"
    assert found(result, "tools_in_prompt")[0] == "yes"


@pytest.mark.parametrize(
    ("wire", "options"),
    [
        ("", RequestOptions()),
        ("continuous_usage = true", RequestOptions(continuous_usage=True)),
        ("token_ids = true", RequestOptions(token_ids=True)),
        ("token_ids = true\ncontinuous_usage = true", RequestOptions(continuous_usage=True)),
        (
            'token_ids = true\ncontinuous_usage = true\ncalls = "late"',
            RequestOptions(token_ids=True),
        ),
        ('continuous_usage = true\ncalls = "late"', RequestOptions(continuous_usage=True)),
        ('server_times = "timings"', RequestOptions(token_timings=True)),
        ('server_times = "metrics"', RequestOptions()),
    ],
)
def test_options(mock_url: Serve, wire: str, options: RequestOptions) -> None:
    assert probed(mock_url(f"[wire]\n{wire}\n{TALKS}")).options() == options


def test_the_budgets_name(mock_url: Serve) -> None:
    result = probed(mock_url(f'[habits]\nbudget = ["max_tokens"]\n{TALKS}'))
    assert result.options().budget_field == "max_tokens"


@pytest.mark.parametrize(
    ("scenario", "warning"),
    [
        ("[habits]\ntools_in_prompt = false\n", "they are dropped"),
        (CALLS_IN_TEXT, "tool parser"),
        (f"{PACED}{TALKS}tokens_per_event = 60\n", "don't stream"),
        (f"[habits]\nbudget = []\n{TALKS}", "ignored under either name"),
        (THINKS, "thinking can't be limited"),
        (TALKS, "response_format is accepted and ignored"),
        (CACHE + TALKS, "keep the prefix cache out"),
        (
            f'[wire]\ncontinuous_usage = true\ncalls = "late"\n{TALKS}',
            "first-token times of calls are late",
        ),
    ],
)
def test_warnings(mock_url: Serve, scenario: str, warning: str) -> None:
    assert any(warning in line for line in probed(mock_url(scenario)).warnings())


def test_a_good_engine_is_not_warned_of(mock_url: Serve) -> None:
    extra = (
        'cached_tokens = "details"\n[habits]\ngrammar = ["response_format", "strict", "required"]'
    )
    assert probed(mock_url(f'[wire]\nengine = "vllm"\n{extra}\n{TALKS}')).warnings() == []


def test_a_run_s_client_keeps_its_state(mock_url: Serve) -> None:
    async def ask() -> None:
        async with asking(mock_url(TALKS)) as client:
            await probe(client, "mock", TOOLS, limits=LIMITS)
            assert client.options == RequestOptions()
            assert not client.proven

    asyncio.run(ask())


FAULTS = {
    "400": 'kind = "status"\nstatus = 400',
    "500": 'kind = "status"\nstatus = 500',
    "page": 'kind = "html"',
    "cut": 'kind = "cut"',
    "no end": 'kind = "eof"\nafter = 1',
    "error": 'kind = "error_event"\nafter = 1',
    "hang": 'kind = "silence"',
    "hang half-way": 'kind = "silence"\nafter = 1',
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_fault_at_requests_with_tools_leaves_the_others_intact(
    mock_url: Serve, fault: str
) -> None:
    scenario = f"[[rules]]\ntools = true\n[rules.fault]\n{fault}\n{TALKS}"
    result = probed(mock_url(scenario), limits=Limits(request_s=0.3, page_s=1, total_s=60))
    assert found(result, "calls") in ("unknown", "not_supported")
    assert found(result, "tools_in_prompt") in ("unknown", "not_supported")
    assert found(result, "usage") == "yes"
    assert found(result, "grammar_json") == "no"
    assert result.requests < 20


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_not_one_request_succeeds(mock_url: Serve, fault: str) -> None:
    url = mock_url(f"[[rules]]\n[rules.fault]\n{fault}")
    with pytest.raises(EndpointUnusable, match=r"can't be used"):
        probed(url, limits=Limits(request_s=0.3, page_s=1, total_s=5))


def test_a_hang_is_told_with_its_time(mock_url: Serve) -> None:
    scenario = f'[[rules]]\nquestion = "^List"\n[rules.fault]\nkind = "silence"\n{TALKS}'
    result = probed(mock_url(scenario), limits=Limits(request_s=0.3, page_s=1, total_s=60))
    assert result.findings["continuous_usage"].evidence == "no reply within 0.3 s"


def test_time_is_bounded(mock_url: Serve) -> None:
    scenario = f'[[rules]]\nquestion = "^List"\n[rules.fault]\nkind = "silence"\n{TALKS}'
    result = probed(mock_url(scenario), limits=Limits(request_s=0.3, page_s=1, total_s=0.5))
    assert "the probe's 0.5 s were over" in result.findings["calls"].evidence
    assert found(result, "usage") == "yes"


def test_the_cap_on_requests(mock_url: Serve) -> None:
    result = probed(mock_url(TALKS), limits=Limits(requests=5))
    assert result.requests < 5
    assert "not asked: 4 requests were sent" in result.findings["grammar_json"].evidence


def test_no_tools(mock_url: Serve) -> None:
    assert found(probed(mock_url(TALKS), tools=[]), "calls") == "unknown"


def test_the_profile_s_fields_are_sent_and_a_check_s_own_go_before_them() -> None:
    def reply(request: Request) -> Reply:
        if "models" in request.path:
            return Reply([b'{"data": [{"id": "m"}]}'], kind="application/json")
        chunk = {"choices": [{"delta": {"reasoning": "hm"}, "finish_reason": "length"}]}
        return Reply([f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()])

    extra = {"chat_template_kwargs": {"enable_thinking": True, "x": 1}, "seed": 3}
    with recording_server(reply) as server:
        probed(server.url, extra_body=extra)
    bodies = [json.loads(r.body) for r in server.requests if r.body]
    assert all(body["seed"] == 3 for body in bodies)
    kwargs = [body["chat_template_kwargs"] for body in bodies]
    assert {"enable_thinking": True, "x": 1} in kwargs
    assert {"enable_thinking": False, "x": 1} in kwargs


def test_no_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that repeats the key everywhere."""
    monkeypatch.setenv("PROBE_KEY", KEY)

    def reply(request: Request) -> Reply:
        said = request.headers.get("authorization", "")
        if request.path.endswith("/models"):
            return Reply([json.dumps({"data": [{"id": "m"}]}).encode()], kind="application/json")
        if not request.path.endswith("completions"):
            return Reply([json.dumps({"version": said}).encode()], kind="application/json")
        body = json.loads(request.body)
        if "tools" in body:
            error = json.dumps({"error": {"message": f"no tools for {said}"}}).encode()
            return Reply([error], status=400, kind="application/json")
        chunk = {
            "model": said,
            "system_fingerprint": said,
            "choices": [{"delta": {"content": said * 9}, "finish_reason": "stop"}],
        }
        return Reply([f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()])

    with recording_server(reply) as server:
        result = probed(server.url, api_key_env="PROBE_KEY")
    assert any(KEY in request.headers.get("authorization", "") for request in server.requests)
    assert KEY[:6] not in result.model_dump_json()
    assert "***" in result.model_dump_json()

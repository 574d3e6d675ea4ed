"""What the mock does with what a request asks for, key by key of `[habits]`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from servers import mocking
from standin.wires import QUESTION, USAGE, chunks, deltas, read_back, reads, stream_of

from ragevalkit.errors import InputError
from ragevalkit.standin.habits import HABITS, Habits
from ragevalkit.standin.heeding import example
from ragevalkit.standin.scenario import load_scenario

SCHEMA = {
    "type": "object",
    "properties": {"word": {"const": "{question}"}, "n": {"type": "integer", "minimum": 3}},
    "required": ["word", "n"],
}
ARGUMENTS = '{"word":"{question}","n":3}'
FORMAT = {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}
SAYS = '[[rules]]\n[rules.reply]\nreasoning = "Let me see now."\nanswer = "a b c d"\n'
CALLS = '[[rules]]\n[[rules.reply.calls]]\nname = "note"\narguments = { word = "x" }\n'


def tools(**function: Any) -> list[Any]:
    return [{"type": "function", "function": {"name": "note", "parameters": SCHEMA, **function}}]


def asked(folder: Path, habits: str, rules: str = SAYS, **body: Any) -> Any:
    """The reader after one reply."""
    return read_back(stream_of(folder, f"[habits]\n{habits}\n{rules}", **USAGE, **body))


@pytest.mark.parametrize(
    ("habits", "body", "tokens"),
    [
        ("", {"max_completion_tokens": 3}, 3),
        ("", {"max_tokens": 3}, 3),
        ('budget = ["max_tokens"]', {"max_completion_tokens": 3}, 9),
        ('budget = ["max_tokens"]', {"max_tokens": 3}, 3),
        ("budget = []", {"max_tokens": 3}, 9),
    ],
)
def test_budget(tmp_path: Path, habits: str, body: dict[str, Any], tokens: int) -> None:
    reader = asked(tmp_path, habits, **body)
    assert reader.usage["completion_tokens"] == tokens
    assert reader.finish_reason == ("length" if tokens == 3 else "stop")


@pytest.mark.parametrize(
    ("habits", "body", "thought"),
    [
        ("", {"reasoning_effort": "none"}, "Let me see now."),
        ('thinking = ["reasoning_effort"]', {"reasoning_effort": "none"}, ""),
        ('thinking = ["reasoning_effort"]', {"reasoning_effort": "low"}, "Let me see now."),
        (
            'thinking = ["enable_thinking"]',
            {"chat_template_kwargs": {"enable_thinking": False}},
            "",
        ),
        ('thinking = ["thinking_token_budget"]', {"thinking_token_budget": 2}, "Let me"),
        ('thinking = ["reasoning_budget_tokens"]', {"reasoning_budget_tokens": 2}, "Let me"),
        ('thinking = ["enable_thinking"]', {"thinking_token_budget": 2}, "Let me see now."),
    ],
)
def test_thinking(tmp_path: Path, habits: str, body: dict[str, Any], thought: str) -> None:
    reader = asked(tmp_path, habits, **body)
    assert (reader.reasoning_text, reader.content) == (thought, "a b c d")


@pytest.mark.parametrize(
    ("habits", "body", "arguments"),
    [
        ("", {"tools": tools()}, '{"word":"x"}'),
        ("", {"tools": tools(strict=True)}, '{"word":"x"}'),
        ('grammar = ["strict"]', {"tools": tools()}, '{"word":"x"}'),
        ('grammar = ["strict"]', {"tools": tools(strict=False)}, '{"word":"x"}'),
        ('grammar = ["strict"]', {"tools": tools(strict=True)}, ARGUMENTS),
        ('grammar = ["required"]', {"tools": tools(), "tool_choice": "required"}, '{"word":"x"}'),
        (
            'tool_choice = ["required"]\ngrammar = ["required"]',
            {"tools": tools(), "tool_choice": "required"},
            ARGUMENTS,
        ),
    ],
)
def test_calls_under_a_grammar(
    tmp_path: Path, habits: str, body: dict[str, Any], arguments: str
) -> None:
    """A placeholder in a schema is no placeholder of the script."""
    calls = asked(tmp_path, habits, CALLS, **body).tool_calls()
    assert [(call.name, call.arguments) for call in calls] == [("note", arguments)]


def test_a_required_call_where_none_is_scripted(tmp_path: Path) -> None:
    body = {"tools": tools(), "tool_choice": "required"}
    assert asked(tmp_path, "", **body).tool_calls() == []
    reader = asked(tmp_path, 'tool_choice = ["required"]', **body)
    assert [(call.name, call.arguments) for call in reader.tool_calls()] == [("note", "{}")]
    assert reader.content == ""


def test_a_required_call_is_of_a_tool_that_was_offered(tmp_path: Path) -> None:
    rules = CALLS.replace('"note"', '"search"')
    body = {"tools": tools(), "tool_choice": "required"}
    assert asked(tmp_path, "", rules, **body).tool_calls()[0].name == "search"
    obeyed = asked(tmp_path, 'tool_choice = ["required"]', rules, **body)
    assert obeyed.tool_calls()[0].name == "note"


def test_tool_choice_none_shows_the_script_no_tools(tmp_path: Path) -> None:
    rules = "[[rules]]\ntools = true\n" + CALLS.removeprefix("[[rules]]\n") + SAYS
    body = {"tools": tools(), "tool_choice": "none"}
    assert asked(tmp_path, "", rules, **body).content == "a b c d"
    assert asked(tmp_path, "tool_choice = []", rules, **body).tool_calls()


def test_json_under_a_grammar(tmp_path: Path) -> None:
    assert asked(tmp_path, "", response_format=FORMAT).content == "a b c d"
    reader = asked(tmp_path, 'grammar = ["response_format"]', response_format=FORMAT)
    assert reader.content == ARGUMENTS


def test_tools_that_never_reach_the_prompt(tmp_path: Path) -> None:
    def prompt(habits: str, **body: Any) -> int:
        return int(asked(tmp_path, habits, **body).usage["prompt_tokens"])

    assert prompt("tools_in_prompt = false", tools=tools()) == prompt("")
    assert prompt("", tools=tools()) > prompt("")


def test_prefix_cache(tmp_path: Path) -> None:
    wire = '[wire]\nusage_on = "last"\ncached_tokens = "details"\n'
    habits = '[habits]\nprefix_cache = true\ncache_off = ["cache_salt", "cache_prompt"]\n'
    longer = [*QUESTION, {"role": "assistant", "content": "a"}, *QUESTION]

    def cached(url: str, messages: list[Any], **body: Any) -> tuple[int, int]:
        usage = chunks(b"".join(reads(url, messages, **body)))[-1]["usage"]
        return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]

    with mocking(tmp_path, f"{wire}{habits}{SAYS}") as url:
        assert cached(url, QUESTION)[0] == 0
        hit, prompt = cached(url, QUESTION)
        assert hit == prompt - 1
        assert cached(url, longer)[0] == prompt
        assert cached(url, QUESTION, cache_prompt=False)[0] == 0
        assert cached(url, QUESTION, cache_salt="s")[0] == 0
        assert cached(url, QUESTION, cache_salt="s")[0] == hit
        assert cached(url, QUESTION, tools=tools())[0] == 0
    with mocking(tmp_path, wire + SAYS) as url:
        assert [cached(url, QUESTION)[0] for _ in range(2)] == [0, 0]


def test_a_stream_that_is_held_back(tmp_path: Path) -> None:
    rules = f"[timing]\ngap_ms = 5\n{SAYS}"
    with mocking(tmp_path, f"[habits]\nstreams = false\n{rules}") as url:
        (read,) = reads(url)
    assert deltas(read)[-1] == {}
    with mocking(tmp_path, rules) as url:
        assert len(reads(url)) > 4


def get(url: str) -> tuple[int, Any]:
    async def ask() -> tuple[int, Any]:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.status, await response.json()

    return asyncio.run(ask())


def test_what_is_rejected(tmp_path: Path) -> None:
    with mocking(tmp_path, '[habits.rejects]\ncache_salt = "no salt here"\n') as url:
        body = b"".join(reads(url, cache_salt="s"))
        assert b"".join(reads(url)).endswith(b"data: [DONE]\n\n")
    assert json.loads(body)["error"]["message"] == "no salt here"


def test_pages_and_the_models_entry(tmp_path: Path) -> None:
    habits = '[wire]\nengine = "vllm"\n[habits]\nentry = { max_model_len = 9 }\n'
    with mocking(tmp_path, habits) as url:
        (entry,) = get(f"{url}/models")[1]["data"]
        assert (entry["owned_by"], entry["max_model_len"]) == ("vllm", 9)
        assert get(url.removesuffix("/v1") + "/version") == (200, {"version": "0.32.0"})
        assert get(url.removesuffix("/v1") + "/props")[0] == 404


@pytest.mark.parametrize("engine", HABITS)
def test_presets_are_well_formed(engine: str) -> None:
    assert Habits().over(engine) == Habits.model_validate(HABITS[engine])


def test_a_bad_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text('[habits]\ngrammar = ["always"]')
    with pytest.raises(InputError, match=r"habits\.grammar"):
        load_scenario(path)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, ""),
        ({"const": 4}, 4),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": ["integer", "null"]}, 0),
        ({"type": "boolean"}, False),
        ({"type": "array"}, []),
        ({"type": "null"}, None),
        ({"type": "object"}, {}),
        ({"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}, {"a": "", "b": ""}),
    ],
)
def test_example(schema: dict[str, Any], value: Any) -> None:
    assert example(schema) == value

"""Schemas that are new each time, tools that fill a prompt, and prompts that no cache knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bench.guided.arms import ARMS, Material, request
from ragevalkit.bench.guided.schemas import literal_grammar, new_schema, new_tools, null_grammar
from ragevalkit.bench.guided.tool_counts import call_defects_of
from ragevalkit.bench.guided.tools import load_tools, tools_for
from ragevalkit.bench.prompts import Cold, Prompts, filler
from ragevalkit.endpoint.probe import Finding, Probe, Verdict
from ragevalkit.errors import InputError
from ragevalkit.standin.events import count_tokens
from ragevalkit.standin.heeding import example
from ragevalkit.turn.record import Call, Round, RoundClock, RoundState

VARIANTS = st.integers(0, 10**9)


def shape(schema: Any) -> Any:
    """A schema without the names of its properties."""
    if isinstance(schema, dict):
        if "properties" in schema:
            return [shape(part) for part in schema["properties"].values()]
        return {key: shape(value) for key, value in schema.items()}
    return schema


@given(VARIANTS)
def test_a_new_schema_is_one_that_can_be_met(variant: int) -> None:
    schema = new_schema(variant)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(example(schema))
    assert new_schema(variant) == schema


@given(VARIANTS)
def test_all_new_schemas_have_as_many_tokens_and_characters(variant: int) -> None:
    first, other = (orjson.dumps(new_schema(v)).decode() for v in (0, variant))
    assert len(first) == len(other)
    assert count_tokens(first) == count_tokens(other)


def test_new_schemas_differ_in_structure() -> None:
    shapes = {json.dumps(shape(new_schema(variant))) for variant in range(200)}
    assert len(shapes) > 190


@given(VARIANTS)
def test_new_tools_are_the_tools_with_a_property_that_is_new(variant: int) -> None:
    tools = load_toolbox(False).schemas
    changed = new_tools(tools, variant)
    assert [t["function"]["name"] for t in changed] == [t["function"]["name"] for t in tools]
    before, after = (of[0]["function"]["parameters"] for of in (tools, changed))
    Draft202012Validator.check_schema(after)
    assert after["required"] == before["required"]
    assert len(after["properties"]) == 1 + len(before["properties"])
    assert changed[1:] == tools[1:]
    assert tools == load_toolbox(False).schemas


@pytest.mark.parametrize(
    ("engine", "field"),
    [
        ("vLLM 0.32.0", "structured_outputs"),
        ("SGLang", "regex"),
        ("llama.cpp b11434", "grammar"),
        ("TensorRT-LLM 1.2.1", None),
        ("", None),
    ],
)
def test_the_null_grammar_and_its_check_use_the_same_field(engine: str, field: str | None) -> None:
    anything, one = null_grammar(engine), literal_grammar(engine, "abc")
    assert (list(anything) if anything else [None]) == [field]
    assert (list(one) if one else [None]) == [field]


MATERIAL = Material(
    model="m",
    tools=load_toolbox(False).schemas,
    schema=new_schema(0),
    null_grammar={"grammar": "root ::= [^\\x00]*"},
    tokens=8,
    seed=3,
    filler="so it goes",
)


def test_arms_differ_in_one_thing() -> None:
    bodies = {arm: request(arm, MATERIAL, "123", cache_salt="x") for arm in ARMS}
    for body in bodies.values():
        assert (body["seed"], body["max_completion_tokens"], body["cache_salt"]) == (3, 8, "x")
        assert body["messages"][0]["content"].startswith("123 ")
    prompts = {arm: orjson.dumps(body["messages"]) for arm, body in bodies.items()}
    assert len({prompts[arm] for arm in ("P", "T0", "T1", "T2", "T3", "N")}) == 1
    assert prompts["J"] == prompts["J0"] != prompts["P"]
    assert prompts["F"] != prompts["P"]
    added = {arm: sorted(set(body) - set(bodies["P"])) for arm, body in bodies.items()}
    assert added == {
        "P": [],
        "F": [],
        "T0": ["tool_choice", "tools"],
        "T1": ["tool_choice", "tools"],
        "T2": ["tool_choice", "tools"],
        "T3": ["tool_choice", "tools"],
        "N": ["grammar"],
        "J": ["response_format"],
        "J0": [],
    }
    strict = {a: [t["function"]["strict"] for t in bodies[a]["tools"]] for a in ("T1", "T2")}
    assert strict == {"T1": [False, False], "T2": [True, True]}


@given(st.integers(1, 120), st.integers(0, 3))
def test_any_number_of_tools_can_be_offered_with_the_users_first_one(count: int, seed: int) -> None:
    own = load_tools()
    tools, made_up = tools_for(count, own, seed)
    names = [tool["function"]["name"] for tool in tools]
    assert len(tools) == count == len(set(names))
    assert own[0]["function"]["name"] in names
    assert made_up == max(0, count - len(own))
    assert tools_for(count, own, seed) == (tools, made_up)
    for tool in tools:
        Draft202012Validator.check_schema(tool["function"]["parameters"])


def test_more_tools_hold_the_fewer() -> None:
    own = load_tools()
    few, many = ({t["function"]["name"] for t in tools_for(n, own)[0]} for n in (20, 40))
    assert few < many


def test_tools_are_read_from_files(tmp_path: Path) -> None:
    bare = {"name": "ping", "description": "Ping."}
    (tmp_path / "one.json").write_text(json.dumps(bare))
    (tmp_path / "two.json").write_text(
        json.dumps([{"type": "function", "function": {"name": n}} for n in ("a", "b")])
    )
    tools = load_tools([tmp_path / "one.json", tmp_path / "two.json"])
    assert [tool["function"]["name"] for tool in tools] == ["ping", "a", "b"]
    assert all(tool["function"]["strict"] is False for tool in tools)
    assert [
        t["function"]["name"] for t in load_tools([tmp_path / "one.json"], all_of_ours=True)
    ] == [
        "search",
        "cite",
        "ping",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "no JSON file of tools"),
        ("[]", "holds no tool"),
        ("[3]", "tool 1: no function with a name"),
        ('{"function": {}}', "no function with a name"),
        ('{"name": "a", "parameters": {"type": 3}}', "no JSON schema"),
        ('[{"name": "a"}, {"name": "a"}]', "two tools named 'a'"),
    ],
)
def test_files_that_hold_no_tools_are_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(content)
    with pytest.raises(InputError, match=words) as error:
        load_tools([path])
    assert str(path) in str(error.value)


def reply(*calls: tuple[str, str], content: str = "", finish: str = "tool_calls") -> Round:
    return Round(
        state=RoundState.DONE,
        content=content,
        finish_reason=finish,
        calls=[Call(id=None, name=name, arguments=arguments) for name, arguments in calls],
        clock=RoundClock(sent_ms=0, ended_ms=1),
    )


@pytest.mark.parametrize(
    ("round_", "kinds"),
    [
        (reply(("search", '{"query": "oil"}')), set()),
        (reply(("search", "{")), {"not_json"}),
        (reply(("search", "{"), finish="length"), {"truncated"}),
        (reply(("search", '{"text": "oil"}')), {"schema"}),
        (reply(("search", "")), {"schema"}),
        (reply(("find", "{}")), {"unknown_tool"}),
        (reply(("find", "{}"), ("search", "{")), {"unknown_tool", "not_json"}),
        (reply(content="<tool_call>{}</tool_call>", finish="stop"), {"in_content"}),
        (reply(content="The oil is fine.", finish="stop"), set()),
    ],
)
def test_what_is_wrong_with_calls(round_: Round, kinds: set[str]) -> None:
    assert call_defects_of(round_, load_tools()) == kinds


def probe(**findings: tuple[Verdict, str]) -> Probe:
    return Probe(
        endpoint="e",
        model="m",
        requests=1,
        seconds=1,
        findings={
            name: Finding(title=name, verdict=verdict, value=value, evidence="")
            for name, (verdict, value) in findings.items()
        },
    )


@pytest.mark.parametrize(
    ("found", "field", "seen"),
    [
        ({"cache_off": (Verdict.YES, "cache_salt")}, "cache_salt", True),
        ({"cache_off": (Verdict.NO, "cache_salt")}, None, False),
        (
            {"cache_off": (Verdict.UNKNOWN, ""), "engine": (Verdict.YES, "vLLM 0.32.0")},
            "cache_salt",
            False,
        ),
        ({"engine": (Verdict.YES, "Ollama 1")}, None, False),
        ({}, None, False),
    ],
)
def test_how_the_cache_is_kept_out(
    found: dict[str, tuple[Verdict, str]], field: str | None, seen: bool
) -> None:
    cold = Cold.of(probe(**found))
    assert (cold.field, cold.seen) == (field, seen)
    assert set(cold.fields()) == ({field} if field else set())


def test_salts_and_nonces_never_come_twice_and_nonces_have_one_length() -> None:
    cold = Cold("cache_salt", seen=True)
    assert len({cold.fields()["cache_salt"] for _ in range(100)}) == 100
    nonces = {cold.nonce() for _ in range(100)}
    assert len(nonces) == 100
    assert {(len(nonce), count_tokens(nonce)) for nonce in nonces} == {(12, 4)}
    assert Cold("cache_prompt").fields() == {"cache_prompt": False}


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_longer_filler_begins_as_the_shorter_one(a: int, b: int) -> None:
    short, long = filler(min(a, b)), filler(max(a, b))
    assert len(short.split()) == min(a, b)
    assert long.startswith(short)


@given(st.integers(60, 4000))
def test_prompts_reach_the_wanted_length_once_they_are_corrected(tokens: int) -> None:
    prompts = Prompts(Cold(None), ending="Count to ten.")
    for _ in range(2):
        prompts.correct(tokens, count_tokens(prompts.messages(tokens)[0]["content"]))
    length = count_tokens(prompts.messages(tokens)[0]["content"])
    assert abs(length - tokens) <= max(8, 0.03 * tokens)


def test_no_two_prompts_begin_alike() -> None:
    prompts = Prompts(Cold(None))
    starts = {prompts.messages(200)[0]["content"][:12] for _ in range(50)}
    assert len(starts) == 50

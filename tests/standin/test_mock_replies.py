"""What a scenario scripts is what the openai SDK's typed stream reads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import pytest

from ragevalkit.standin.events import Text
from ragevalkit.standin.mock import Mock
from ragevalkit.standin.request import parse_request
from ragevalkit.standin.scenario import load_scenario

Serve = Callable[[str], str]
QUESTION: list[Any] = [{"role": "user", "content": "What is the voltage?"}]


@dataclass
class Heard:
    answer: str = ""
    reasoning: str = ""
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    finish: str | None = None
    usage: Any = None
    events: list[str] = field(default_factory=list)


def hear(url: str, messages: Any = QUESTION, **options: Any) -> Heard:
    """One streamed round through the SDK."""
    heard = Heard()
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        options = {"stream_options": {"include_usage": True}, **options}
        stream = client.chat.completions.create(
            model="mock", messages=messages, stream=True, **options
        )
        for chunk in stream:
            heard.usage = chunk.usage or heard.usage
            if not chunk.choices:
                heard.events.append("usage")
                continue
            choice = chunk.choices[0]
            extra = choice.delta.model_extra or {}
            if text := extra.get("reasoning") or extra.get("reasoning_content"):
                heard.reasoning += text
                heard.events.append("reasoning")
            if choice.delta.content:
                heard.answer += choice.delta.content
                heard.events.append("answer")
            for call in choice.delta.tool_calls or []:
                entry = heard.calls.setdefault(call.index, {"id": "", "name": "", "arguments": ""})
                entry["id"] += call.id or ""
                assert call.function is not None
                entry["name"] += call.function.name or ""
                entry["arguments"] += call.function.arguments or ""
                heard.events.append("call" if call.function.name else "arguments")
            if choice.finish_reason:
                heard.finish = choice.finish_reason
                heard.events.append("finish")
            if choice.delta.role:
                heard.events.append("role")
    return heard


def rule(body: str) -> str:
    return f"[[rules]]\n{body}"


REPLIES = [
    pytest.param(
        '[rules.reply]\nanswer = "It is 24 V."',
        Heard(answer="It is 24 V.", finish="stop"),
        id="text",
    ),
    pytest.param(
        '[rules.reply]\nreasoning = "Let me think."\nanswer = "24 V"\ntokens_per_event = 3',
        Heard(answer="24 V", reasoning="Let me think.", finish="stop"),
        id="reasoning",
    ),
    pytest.param(
        '[rules.reply]\nanswer = "{question} Yes {unknown}"',
        Heard(answer="What is the voltage? Yes {unknown}", finish="stop"),
        id="placeholder",
    ),
    pytest.param(
        '[rules.reply]\n[[rules.reply.calls]]\nname = "search"\nid = "x1"\npieces = 3\n'
        'arguments = { query = "{question}", n = [1, "{page}", "{next_page}"] }',
        Heard(
            calls={
                0: {
                    "id": "x1",
                    "name": "search",
                    "arguments": '{"query":"What is the voltage?","n":[1,1,2]}',
                }
            },
            finish="tool_calls",
        ),
        id="call",
    ),
    pytest.param(
        '[rules.reply]\nfinish = "stop"\n[[rules.reply.calls]]\nname = "a"\nid = "1"\n'
        'arguments = "{\\"q\\": oops {question}"\n[[rules.reply.calls]]\nname = "no_such"\n'
        'id = ""\npieces = 0\narguments = "{}"',
        Heard(
            calls={
                0: {"id": "1", "name": "a", "arguments": '{"q": oops What is the voltage?'},
                1: {"id": "", "name": "no_such", "arguments": "{}"},
            },
            finish="stop",
        ),
        id="malformed-unknown-and-without-id",
    ),
    pytest.param(
        '[rules.reply]\n[[rules.reply.calls]]\nname = "a"\nid = "1"\nindex = 0\n'
        '[[rules.reply.calls]]\nname = "b"\nid = "2"\nindex = 0',
        Heard(calls={0: {"id": "12", "name": "ab", "arguments": "{}{}"}}, finish="tool_calls"),
        id="both-at-index-0",
    ),
    pytest.param(
        '[rules.reply]\nanswer = \'<tool_call>{"name": "search"}</tool_call>\'',
        Heard(answer='<tool_call>{"name": "search"}</tool_call>', finish="stop"),
        id="call-in-content",
    ),
    pytest.param(
        '[rules.reply]\nanswer = "cut sho"\nfinish = "length"',
        Heard(answer="cut sho", finish="length"),
        id="finish-length",
    ),
    pytest.param(
        '[rules.reply]\nanswer = "a"\nfinish = "none"\ndone = false',
        Heard(answer="a", finish=None),
        id="no-finish-no-done",
    ),
    pytest.param("[rules.reply]", Heard(finish="stop"), id="nothing"),
]


@pytest.mark.parametrize(("toml", "expected"), REPLIES)
@pytest.mark.parametrize("timing", ["", "[timing]\nheaders_ms = 1\ngap_ms = 0.5\n"])
def test_reply_arrives_as_scripted(
    mock_url: Serve, timing: str, toml: str, expected: Heard
) -> None:
    heard = hear(mock_url(timing + rule(toml)))
    assert (heard.answer, heard.reasoning, heard.calls, heard.finish) == (
        expected.answer,
        expected.reasoning,
        expected.calls,
        expected.finish,
    )


def test_order_of_channels_and_counts(mock_url: Serve) -> None:
    toml = '[rules.reply]\nreasoning = 5\nanswer = 3\n[[rules.reply.calls]]\nname = "cite"'
    heard = hear(mock_url(rule(toml)))
    kinds = ["role", *["reasoning"] * 5, *["answer"] * 3, "call", "arguments", "arguments"]
    assert heard.events == [*kinds, "finish", "usage"]
    assert heard.usage.completion_tokens == 5 + 3 + 1 + 2
    assert heard.usage.completion_tokens_details.reasoning_tokens == 5
    assert heard.usage.total_tokens == heard.usage.prompt_tokens + 11


def test_usage_only_where_scripted_and_asked(mock_url: Serve) -> None:
    url = mock_url('[[rules]]\nround = 0\n[rules.reply]\nanswer = "a"\nusage = false')
    assert hear(url).usage is None
    url = mock_url(rule('[rules.reply]\nanswer = "a"'))
    assert hear(url, stream_options={}).usage is None


def test_prompt_tokens_grow_with_tools(mock_url: Serve, tools: list[Any]) -> None:
    url = mock_url("")
    without, with_tools = hear(url), hear(url, tools=tools)
    assert with_tools.usage.prompt_tokens > without.usage.prompt_tokens > 0


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_output_budget_cuts_the_reply(mock_url: Serve, name: str) -> None:
    url = mock_url(rule("[rules.reply]\nreasoning = 10\nanswer = 5\ntokens_per_event = 4"))
    starved = hear(url, **{name: 10})
    assert (starved.answer, starved.finish) == ("", "length")
    assert starved.usage.completion_tokens == 10
    cut = hear(url, **{name: 12})
    assert (cut.usage.completion_tokens, cut.finish, bool(cut.answer)) == (12, "length", True)
    assert hear(url, **{name: 15}).finish == "stop"


def test_continuous_usage_and_token_ids(mock_url: Serve) -> None:
    url = mock_url(
        '[wire]\nreasoning_field = "reasoning_content"\ncontinuous_usage = true\n'
        "token_ids = true\n" + rule("[rules.reply]\nreasoning = 2\nanswer = 3")
    )
    with openai.OpenAI(base_url=url, api_key="none") as client:
        chunks = list(
            client.chat.completions.create(
                model="mock",
                messages=QUESTION,
                stream=True,
                extra_body={
                    "return_token_ids": True,
                    "stream_options": {"include_usage": True, "continuous_usage_stats": True},
                },
            )
        )
    usages = [chunk.usage.completion_tokens for chunk in chunks if chunk.usage]
    assert usages == [0, 1, 2, 3, 4, 5, 5, 5]
    extras = [chunk.choices[0].model_extra or {} for chunk in chunks if chunk.choices]
    assert [len(extra["token_ids"]) for extra in extras if "token_ids" in extra] == [1] * 5
    assert (chunks[1].choices[0].delta.model_extra or {})["reasoning_content"]


def test_not_streamed(mock_url: Serve) -> None:
    url = mock_url(
        rule(
            '[rules.reply]\nreasoning = "Hm."\n[[rules.reply.calls]]\nname = "search"\n'
            'arguments = { query = "{question}" }'
        )
    )
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        reply = client.chat.completions.create(model="mock", messages=QUESTION)
    message = reply.choices[0].message
    assert message.tool_calls is not None
    call = message.tool_calls[0]
    assert call.type == "function"
    assert json.loads(call.function.arguments) == {"query": "What is the voltage?"}
    assert (message.content, reply.choices[0].finish_reason) == (None, "tool_calls")
    assert (message.model_extra or {})["reasoning"] == "Hm."
    assert reply.usage is not None
    assert reply.usage.completion_tokens > 2


def converse(url: str, tools: list[Any], results: list[Any]) -> list[str]:
    """What the default scenario does over a turn: each round's call, and the reply."""
    messages = list(QUESTION)
    said: list[str] = []
    for _ in range(5):
        heard = hear(url, messages, tools=tools)
        if not heard.calls:
            return [*said, heard.answer]
        call = heard.calls[0]
        said.append(f"{call['name']} {call['arguments']}")
        function = {"name": call["name"], "arguments": call["arguments"]}
        calls = [{"id": call["id"], "type": "function", "function": function}]
        messages.append({"role": "assistant", "tool_calls": calls})
        content = json.dumps({"results": results} if call["name"] == "search" else {"cited": {}})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    raise AssertionError(said)


def test_default_scenario_searches_cites_and_answers(mock_url: Serve, tools: list[Any]) -> None:
    url = mock_url("")
    text = 'The "rated" voltage is 24 V. It may vary.'
    found = [{"document": "a.pdf", "page": 3, "label": "iii", "score": 1.0, "text": text}]
    assert converse(url, tools, found) == [
        'search {"query":"What is the voltage?"}',
        'cite {"document":"a.pdf","page":3,"quote":"The \\"rated\\" voltage is 24 V."}',
        'The "rated" voltage is 24 V.',
    ]
    assert converse(url, tools, [])[1].startswith("NOT IN DOCUMENTS:")
    assert hear(url).answer == "OK."


def test_conditions_pick_the_rule(mock_url: Serve) -> None:
    url = mock_url(
        '[[rules]]\nquestion = "(?i)VOLT"\nround = [1, 2]\n[rules.reply]\nanswer = "later"\n'
        '[[rules]]\nquestion = "volt"\n[rules.reply]\nanswer = "volt"\n'
    )
    assert hear(url).answer == "volt"
    assert hear(url, [*QUESTION, {"role": "assistant", "content": "x"}]).answer == "later"
    assert hear(url, [{"role": "user", "content": "Mass?"}]).answer == "OK."


@pytest.mark.parametrize("condition", ["every = 4", "probability = 0.25"])
def test_shares_are_reproducible(tmp_path: Path, condition: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'[[rules]]\n{condition}\n[rules.reply]\nanswer = "hit"')

    def hits() -> list[bool]:
        mock = Mock(load_scenario(path))
        asked = [[{"role": "user", "content": f"Question {number}?"}] for number in range(200)]
        bodies = [json.dumps({"messages": messages}).encode() for messages in asked]
        return [Text("answer", ("hit",)) in mock.reply(parse_request(body)) for body in bodies]

    first = hits()
    assert 25 <= sum(first) <= 75
    assert hits() == first


def test_scripted_delays_are_lower_bounds(mock_url: Serve) -> None:
    url = mock_url(
        rule(
            "[rules.timing]\nheaders_ms = 20\nfirst_token_ms = 50\ngap_ms = 5\n"
            "reasoning_gap_ms = 10\n[rules.reply]\nreasoning = 3\nanswer = 2"
        )
    )
    began = time.monotonic()
    heard = hear(url)
    assert time.monotonic() - began >= (50 + 2 * 10 + 2 * 5) / 1000
    assert heard.events[0] == "role"

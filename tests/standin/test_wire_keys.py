"""Every single key of `[wire]`, and what a reply can insert, in the bytes that arrive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest
from servers import mocking
from standin.wires import EVERYTHING, QUESTION, USAGE, chunks, deltas, read_back, stream_of

from ragevalkit.standin import dialect
from ragevalkit.standin.dialect import Dialect

REPLY = '[rules.reply]\nreasoning = "Hm"\nanswer = "a b"\n'
CALLS = '[[rules.reply.calls]]\nname = "f"\narguments = { n = 1 }\n' * 2


def says(folder: Path, wire: str = "", reply: str = "", **options: Any) -> bytes:
    scenario = f"[wire]\n{wire}\n[[rules]]\n{REPLY}{reply}"
    return stream_of(folder, scenario, **options)


SPELLINGS = [
    ('reasoning_field = "reasoning_content"', b'{"reasoning_content":"Hm"}'),
    ('reasoning_field = "reasoning_details"', b'{"reasoning_details":[{"type":"reasoning.text"'),
    ('reasoning_field = ["reasoning", "reasoning_content"]', b'"Hm","reasoning_content":"Hm"}'),
    ('role = "first_token"', b'{"role":"assistant","content":""}'),
    ('role = "every"', b'{"role":"assistant","content":"a"}'),
    ('first_content = "null"', b'{"role":"assistant","content":null}'),
    ('first_content = "absent"', b'"delta":{"role":"assistant"}'),
    ('empty_content = "null"', b'"delta":{"content":null,"tool_calls":[{"index":0'),
    ('empty_content = "empty"', b'"delta":{"content":"","reasoning":"Hm"}'),
    ('empty_reasoning = "null"', b'"delta":{"reasoning":null,"content":"a"}'),
    ('empty_reasoning = "empty"', b'"delta":{"reasoning":"","content":"a"}'),
    ('empty_calls = "null"', b'"delta":{"tool_calls":null,"content":"a"}'),
    ('empty_calls = "empty"', b'"delta":{"tool_calls":[],"content":"a"}'),
    ('empty_usage = "null"', b'"usage":null'),
    ('calls = "late"', b'{"index":1,"function":{"arguments":"{\\"n\\":1}"}}'),
    ('calls = "whole"', b'"function":{"name":"f","arguments":"{\\"n\\":1}"}}]}'),
    ('calls = "together"', b'{\\"n\\":1}"}},{"index":1,'),
    ('calls = "late"\ncall_index = "zero"', b'{"index":0,"id":"call_1_1"'),
    ('call_index = "absent"', b'[{"id":"call_1_1","type":"function"'),
    ('calls = "late"\ncall_id = "every"', b'{"index":1,"id":"call_1_1","function":{"arguments"'),
    ('call_id = "never"', b'[{"index":0,"type":"function"'),
    ('call_id = "first_call"', b'[{"index":1,"type":"function"'),
    ('call_name = "every"', b'{"name":"f","arguments":"}"}'),
    ("finish_chunk = false", b'"}"}}]},"finish_reason":"tool_calls"}'),
    ('usage_on = "last"', b'"choices":[],"usage":{"prompt_tokens"'),
    ('usage_on = "finish"', b'"finish_reason":"tool_calls"}],"usage":{"prompt_tokens"'),
    ('usage_on = "every"', b'{"content":"a"},"finish_reason":null}],"usage":{"prompt_tokens"'),
    ('usage_on = "last"\ncached_tokens = "top"', b'"cached_tokens":0'),
    (
        'usage_on = "last"\ncached_tokens = "details"',
        b'"prompt_tokens_details":{"cached_tokens":0}',
    ),
    ('usage_on = "last"\nreasoning_tokens = "top"', b',"reasoning_tokens":1}}'),
    ('server_times = "timings"', b'"timings":{"cache_n":0'),
    ('usage_on = "finish"\nserver_times = "metrics"', b'"metrics":{"queue_time_ms":0'),
    ('fields = { model = "other", x = 1 }', b'"model":"other","x":1,"choices"'),
    ('choice_fields = { native_finish_reason = "eos" }', b'"native_finish_reason":"eos"'),
    ('prefix = "data:"', b'data:{"id"'),
    ('suffix = "\\r\\n\\r\\n"', b'}]}\r\n\r\ndata: {"id"'),
    ('preamble = ": hi\\n\\n"', b': hi\n\ndata: {"id"'),
]


@pytest.mark.parametrize(("wire", "expected"), SPELLINGS, ids=[wire for wire, _ in SPELLINGS])
def test_key_shows_in_the_bytes_and_reads_back(tmp_path: Path, wire: str, expected: bytes) -> None:
    assert expected not in says(tmp_path, reply=CALLS) or wire.startswith("role")
    stream = says(tmp_path, wire, CALLS)
    assert expected in stream
    assert b"data: [DONE]" in stream or b"data:[DONE]" in stream
    reader = read_back(stream)
    assert (reader.reasoning_text, reader.content, reader.malformed_events) == ("Hm", "a b", 0)
    assert (reader.finish_reason, reader.done) == ("tool_calls", True)
    if 'call_id = "never"' not in wire:
        assert [c.arguments for c in reader.tool_calls()] == ['{"n":1}'] * 2


def test_interleaved_calls(tmp_path: Path) -> None:
    stream = says(tmp_path, 'calls = "interleaved"', CALLS)
    order = [d["tool_calls"][0]["index"] for d in deltas(stream) if "tool_calls" in d]
    assert order == [0, 1] * (len(order) // 2)
    assert [c.arguments for c in read_back(stream).tool_calls()] == ['{"n":1}'] * 2


def test_role_chunk_waits_for_the_first_token_or_stays_away(tmp_path: Path) -> None:
    insert = '[[rules.reply.inserts]]\nafter = 0\nraw = ": mark\\n\\n"\n'
    for role, before, after in (("headers", 1, 0), ("first_token", 0, 1), ("never", 0, 0)):
        stream = says(tmp_path, f'role = "{role}"', insert)
        early, late = stream.split(b": mark\n\n")
        assert (early.count(b'"role"'), late.count(b'"role"')) == (before, after)


def test_usage_never_and_token_ids(tmp_path: Path) -> None:
    assert b"usage" not in says(tmp_path, 'usage_on = "never"', **EVERYTHING)
    stream = says(tmp_path, "token_ids = true", CALLS, **EVERYTHING)
    ids = sum(len(c["choices"][0].get("token_ids", [])) for c in chunks(stream) if c["choices"])
    assert ids == chunks(stream)[-1]["usage"]["completion_tokens"]
    assert len(chunks(stream)[0]["prompt_token_ids"]) > 1


def test_continuous_usage_where_it_is_asked_for(tmp_path: Path) -> None:
    stream = says(tmp_path, "continuous_usage = true", **EVERYTHING)
    assert [c["usage"]["completion_tokens"] for c in chunks(stream)] == [0, 1, 2, 3, 3, 3]
    stream = says(tmp_path, "continuous_usage = true", **USAGE)
    assert ["usage" in c for c in chunks(stream)] == [False] * 5 + [True]


def test_every_key_is_documented_and_tried() -> None:
    assert dialect.__doc__ is not None
    tested = Path(__file__).read_text() + Path(__file__).with_name("test_engines.py").read_text()
    rows = [row.split("|")[1] for row in dialect.__doc__.splitlines() if row.startswith("| ")]
    documented = {name.strip() for row in rows for name in row.split(",")}
    for key in Dialect.model_fields:
        assert key in documented
        assert f"{key} =" in tested or f"{key}=" in tested


@pytest.mark.parametrize("shape", ["object", "beside", "event"])
def test_error_inside_the_stream(tmp_path: Path, shape: str) -> None:
    fault = '[rules.fault]\nkind = "error_event"\nafter = 2\nerror = { message = "oom", code = 5 }'
    stream = says(tmp_path, f'errors = "{shape}"', fault)
    reader = read_back(stream)
    assert (reader.content, reader.error) == ("a", {"message": "oom", "code": 5})
    assert (b"event: error\n" in stream) == (shape == "event")
    assert (b'"error":{' in stream) == (shape != "event")


INSERTS = [
    (0, 'raw = ": hello\\n\\n"', 0),
    (1, 'raw = "\\n\\n\\r\\n"', 0),
    (1, 'raw = "data: {oops\\n\\n"', 1),
    (2, 'raw = "data: 5\\n\\n"', 1),
    (2, 'raw = "event: sglext_ids\\nid: 7\\nretry: 9\\n\\n"', 0),
    (3, 'raw = "data: {\\"object\\":\\"ping\\"}\\n\\n"', 1),
    (9, 'raw = "data: "\nhex = "ff fe 0a 0a"', 1),
]


@pytest.mark.parametrize(("after", "body", "malformed"), INSERTS)
def test_inserted_bytes_lie_where_they_are_put(
    tmp_path: Path, after: int, body: str, malformed: int
) -> None:
    stream = says(tmp_path, reply=f"[[rules.reply.inserts]]\nafter = {after}\n{body}")
    raw = {key.split(" = ")[0]: key.split(" = ")[1] for key in body.split("\n")}
    data = json.loads(raw["raw"]).encode() + bytes.fromhex(json.loads(raw.get("hex", '""')))
    before, behind = stream.split(data, 1) if data.strip() else stream.split(b"\n\n\n\n\r\n", 1)
    assert before.count(b'"reasoning":') + before.count(b'"content":') == 1 + min(after, 3)
    assert b"finish_reason" in behind
    reader = read_back(stream)
    assert (reader.reasoning_text, reader.content) == ("Hm", "a b")
    assert (reader.malformed_events, reader.done) == (malformed, True)


def test_bytes_after_the_end(tmp_path: Path) -> None:
    stream = says(tmp_path, reply='[[rules.reply.inserts]]\nafter = "done"\nraw = "junk"')
    assert stream.endswith(b"data: [DONE]\n\njunk")


def test_inserts_come_before_a_fault_and_not_after_it(tmp_path: Path) -> None:
    insert = '[[rules.reply.inserts]]\nafter = {}\nraw = ": mark {}\\n\\n"\n'
    stream = says(
        tmp_path,
        reply=insert.format(2, 2) + insert.format(3, 3) + '[rules.fault]\nkind = "eof"\nafter = 2',
    )
    assert stream.endswith(b": mark 2\n\n")


LINE, NEXT_LINE = "\u2028", "\x85"
TEXTS = [
    ("one{u+2028}two{u+85}{u+0085}", f"one{LINE}two{{u+85}}{NEXT_LINE}", b"\xe2\x80\xa8"),
    ("x{u+d83d}{u+de00}y{u+1f600}", "x😀y😀", b"\\ud83d"),
    ("x{u+d83d}y", "x\ufffdy", b"\\ud83d"),
]


@pytest.mark.parametrize(("answer", "expected", "raw"), TEXTS)
def test_awkward_characters(tmp_path: Path, answer: str, expected: str, raw: bytes) -> None:
    stream = stream_of(tmp_path, f'[[rules]]\n[rules.reply]\nanswer = "{answer}"')
    assert raw in stream
    assert read_back(stream).content == expected
    arguments = f'[[rules]]\n[[rules.reply.calls]]\nname = "f"\narguments = {{ q = "{answer}" }}'
    assert read_back(stream_of(tmp_path, arguments)).tool_calls()[0].name == "f"


def test_ascii(tmp_path: Path) -> None:
    rules = '[[rules]]\n[rules.reply]\nanswer = "é{u+2028}😀"'
    stream = stream_of(tmp_path, "[wire]\nascii = true\n" + rules)
    assert stream.isascii()
    assert b"\\u00e9" in stream
    assert read_back(stream).content == f"é{LINE}😀"


def test_usage_is_scripted(tmp_path: Path) -> None:
    wire = 'cached_tokens = "details"'
    reply = (
        'cached_tokens = 3\n[rules.reply.usage]\ncompletion_tokens = 99\ntotal_tokens = "null"\n'
    )
    more = 'prompt_tokens = "absent"\nprompt_tokens_details = { audio_tokens = 1 }'
    usage = chunks(says(tmp_path, wire, reply + more, **USAGE))[-1]["usage"]
    assert usage == {
        "completion_tokens": 99,
        "total_tokens": None,
        "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }


def test_usage_on_every_event_of_one_reply(tmp_path: Path) -> None:
    stream = says(tmp_path, reply='usage_on = "every"\n' + CALLS)
    assert all("usage" in chunk for chunk in chunks(stream))
    channels = read_back(stream).channels()
    assert {name: (c.tokens, c.estimated) for name, c in channels.items()} == {
        "reasoning": (1, False),
        "answer": (2, False),
        "tool": (16, False),
    }


def test_tokens_per_event_in_turns(tmp_path: Path) -> None:
    rules = '[[rules]]\n[rules.reply]\nanswer = "a b c d e f"\ntokens_per_event = [1, 3]'
    said = [d["content"] for d in deltas(stream_of(tmp_path, rules)) if d.get("content")]
    assert said == ["a", " b c d", " e", " f"]


def test_parallel_calls_with_one_id_and_any_finish(tmp_path: Path) -> None:
    call = '[[rules.reply.calls]]\nname = "f"\nid = "same"\narguments = { n = 1 }\n'
    stream = says(tmp_path, reply='finish = "abort"\n' + call * 2)
    reader = read_back(stream)
    assert [(c.id, c.arguments) for c in reader.tool_calls()] == [("same", '{"n":1}')] * 2
    assert reader.finish_reason == "abort"


def test_a_silence_goes_on_pinging(tmp_path: Path) -> None:
    wire = '[wire]\nping = ": still here\\n\\n"\nping_ms = 10\n'
    rules = f'{wire}[[rules]]\n{REPLY}[rules.fault]\nkind = "silence"\nafter = 1'
    with (
        mocking(tmp_path, rules) as url,
        openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client,
        client.chat.completions.with_streaming_response.create(
            model="mock", messages=QUESTION, stream=True
        ) as response,
    ):
        heard = b""
        for part in response.iter_bytes():
            heard += part
            if heard.count(b": still here\n\n") == 3:
                break
    assert heard.endswith(b": still here\n\n" * 3)


def test_budget_keeps_the_scripted_end(tmp_path: Path) -> None:
    stream = says(tmp_path, "finish_chunk = false", "done = false", max_tokens=2, **USAGE)
    assert b"[DONE]" not in stream
    assert (read_back(stream).content, read_back(stream).finish_reason) == ("a", "length")
    assert chunks(stream)[-1]["usage"]["completion_tokens"] == 2


def test_not_streamed_heeds_names_and_counts(tmp_path: Path) -> None:
    wire = '[wire]\nengine = "openrouter"\ncalls = "together"\nfinish_chunk = false\n'
    with (
        mocking(tmp_path, f"{wire}[[rules]]\n{REPLY}{CALLS}") as url,
        openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):
        reply = client.chat.completions.create(model="mock", messages=QUESTION)
    message = reply.choices[0].message
    assert (message.model_extra or {})["reasoning_details"][0]["text"] == "Hm"
    assert [c.function.arguments for c in message.tool_calls or [] if c.type == "function"] == [
        '{"n":1}'
    ] * 2
    assert reply.usage is not None
    assert reply.usage.prompt_tokens_details is not None
    assert reply.choices[0].finish_reason == "tool_calls"

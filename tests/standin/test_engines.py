"""Each engine's preset: its quirks on the wire, and that one turn reads back as it was scripted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest
from servers import mocking
from standin.wires import EVERYTHING, QUESTION, USAGE, chunks, deltas, read_back, reads, stream_of

from ragevalkit.standin.dialect import PRESETS, Dialect
from ragevalkit.standin.events import count_tokens
from ragevalkit.standin.request import prompt_tokens

THOUGHT, SECOND_THOUGHT = "Two searches, to be sure.", "Found both."
ANSWER = "It is 24 V and 3 kg – «both»."
QUERIES = ("rated voltage", "mass")
TURN = f"""
[[rules]]
round = 0
[rules.reply]
reasoning = "{THOUGHT}"
[[rules.reply.calls]]
name = "search"
arguments = {{ query = "{QUERIES[0]}" }}
[[rules.reply.calls]]
name = "search"
arguments = {{ query = "{QUERIES[1]}" }}
[[rules]]
[rules.reply]
reasoning = "{SECOND_THOUGHT}"
answer = "{ANSWER}"
"""
ARGUMENTS = [json.dumps({"query": query}, separators=(",", ":")) for query in QUERIES]
CALL_TOKENS = sum(count_tokens("search") + count_tokens(text) for text in ARGUMENTS)
SECOND_ROUND = [*QUESTION, {"role": "assistant", "content": ""}]

EXACT = {"vllm", "sglang", "trtllm", "openrouter"}
"""Engines from which exact tokens of each channel are to be had."""


def scenario(engine: str, rules: str = TURN) -> str:
    return f'[wire]\nengine = "{engine}"\n{rules}'


@pytest.mark.parametrize("engine", PRESETS)
@pytest.mark.parametrize("options", [EVERYTHING, USAGE, {}], ids=["all", "usage", "nothing"])
def test_turn_reads_back(tmp_path: Path, engine: str, options: dict[str, Any]) -> None:
    with mocking(tmp_path, scenario(engine)) as url:
        first = read_back(*reads(url, **options))
        second = read_back(*reads(url, SECOND_ROUND, **options))
    assert (first.reasoning_text, first.content) == (THOUGHT, "")
    assert [(call.name, call.arguments) for call in first.tool_calls()] == [
        ("search", arguments) for arguments in ARGUMENTS
    ]
    assert (second.reasoning_text, second.content) == (SECOND_THOUGHT, ANSWER)
    assert second.tool_calls() == []
    assert (first.finish_reason, second.finish_reason) == ("tool_calls", "stop")
    for reader in (first, second):
        assert (reader.done, reader.error, reader.malformed_events) == (True, None, 0)
    if engine in EXACT and options is EVERYTHING:
        assert tokens(first) == {
            "reasoning": (count_tokens(THOUGHT), False),
            "tool": (CALL_TOKENS, False),
        }
        assert tokens(second) == {
            "reasoning": (count_tokens(SECOND_THOUGHT), False),
            "answer": (count_tokens(ANSWER), False),
        }
    elif engine == "lmstudio" or (not options and engine != "openrouter"):
        assert first.usage is None
        assert all(estimated for _, estimated in tokens(first).values())
    else:
        assert sum(n or 0 for n, _ in tokens(first).values()) == CALL_TOKENS + count_tokens(THOUGHT)


def tokens(reader: Any) -> dict[str, tuple[int | None, bool]]:
    return {name: (c.tokens, c.estimated) for name, c in reader.channels().items()}


@pytest.mark.parametrize("engine", sorted(set(PRESETS) - {"ollama"}))
def test_openai_sdk_reads_the_same(tmp_path: Path, engine: str) -> None:
    """Not from Ollama, whose index 0 for every call the SDK's users put into one."""
    calls: dict[int, list[str]] = {}
    texts = {"reasoning": "", "content": ""}
    with (
        mocking(tmp_path, scenario(engine)) as url,
        openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):
        for messages in (QUESTION, SECOND_ROUND):
            stream = client.chat.completions.create(
                model="mock", messages=messages, stream=True, **USAGE
            )
            for chunk in stream:
                for choice in chunk.choices:
                    extra = choice.delta.model_extra or {}
                    texts["content"] += choice.delta.content or ""
                    for name in ("reasoning", "reasoning_content"):
                        texts["reasoning"] += extra.get(name) or ""
                    for call in choice.delta.tool_calls or []:
                        assert call.function is not None
                        entry = calls.setdefault(call.index, ["", ""])
                        entry[0] = call.function.name or entry[0]
                        entry[1] += call.function.arguments or ""
    assert texts == {"reasoning": THOUGHT + SECOND_THOUGHT, "content": ANSWER}
    assert list(calls.values()) == [["search", arguments] for arguments in ARGUMENTS]


def both(folder: Path, engine: str, extra: str = "", **options: Any) -> tuple[bytes, bytes]:
    """The bytes of the two rounds of the turn."""
    with mocking(folder, scenario(engine, extra + TURN)) as url:
        first = b"".join(reads(url, **options))
        return first, b"".join(reads(url, SECOND_ROUND, **options))


def test_vllm(tmp_path: Path) -> None:
    extra = "[timing]\nheaders_ms = 5\nfirst_token_ms = 20\ngap_ms = 1\nqueue_ms = 8\n"
    calls, answer = both(tmp_path, "vllm", extra, **EVERYTHING)
    assert deltas(calls)[0] == {"role": "assistant", "content": ""}
    assert deltas(calls)[1] == {"reasoning": "Two"}
    assert b'"delta":{"content":" V"}' in answer
    first, *_, usage = chunks(answer)
    assert len(first["prompt_token_ids"]) == first["usage"]["prompt_tokens"]
    assert [len(c["choices"][0].get("token_ids", [])) for c in chunks(answer)[1:-2]] == [1] * (
        count_tokens(SECOND_THOUGHT) + count_tokens(ANSWER)
    )
    assert usage["choices"] == []
    gaps = count_tokens(SECOND_THOUGHT) + count_tokens(ANSWER) - 1
    assert usage["metrics"]["queue_time_ms"] == 8
    assert usage["metrics"]["time_to_first_token_ms"] == 12
    assert usage["metrics"]["generation_time_ms"] == gaps
    assert usage["metrics"]["mean_itl_ms"] == 1
    assert usage["usage"]["completion_tokens_details"]["reasoning_tokens"] == 3
    assert b"metrics" not in both(tmp_path, "vllm")[1]


def test_sglang(tmp_path: Path) -> None:
    calls, answer = both(tmp_path, "sglang", **USAGE)
    nothing = {"content": None, "reasoning_content": None, "tool_calls": None}
    assert deltas(answer)[0] == {"role": "assistant", **nothing, "content": ""}
    assert deltas(answer)[1] == {**nothing, "reasoning_content": "Found"}
    starts = [d["tool_calls"][0] for d in deltas(calls) if d["tool_calls"]]
    starts = [start for start in starts if "name" in start["function"]]
    assert [("id" in start, start["index"]) for start in starts] == [(True, 0), (False, 1)]
    usage = chunks(answer)[-1]["usage"]
    assert usage["reasoning_tokens"] == usage["completion_tokens_details"]["reasoning_tokens"] == 3
    assert [chunk["usage"] for chunk in chunks(answer)[:-1]] == [None] * (len(chunks(answer)) - 1)


def test_llamacpp(tmp_path: Path) -> None:
    extra = "[timing]\nheaders_ms = 5\nfirst_token_ms = 20\ngap_ms = 1\n"
    _, answer = both(tmp_path, "llamacpp", extra, **USAGE)
    assert deltas(answer)[0] == {"role": "assistant", "content": None}
    assert deltas(answer)[1] == {"reasoning_content": "Found"}
    *others, last = chunks(answer)
    assert all(chunk["system_fingerprint"] == "b11434-mock" for chunk in others)
    assert not any("timings" in chunk for chunk in others)
    tokens = count_tokens(SECOND_THOUGHT) + count_tokens(ANSWER)
    cached = last["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached == prompt_tokens(QUESTION)
    assert last["timings"] == {
        "cache_n": cached,
        "prompt_n": last["usage"]["prompt_tokens"] - cached,
        "prompt_ms": 20,
        "predicted_n": tokens,
        "predicted_ms": tokens - 1,
    }
    _, answer = both(tmp_path, "llamacpp", **EVERYTHING)
    counts = [chunk["timings"]["predicted_n"] for chunk in chunks(answer) if "timings" in chunk]
    assert counts == [*range(1, tokens + 1), tokens]


def test_llamacpp_pings_while_it_reads_the_prompt(tmp_path: Path) -> None:
    wire = '[wire]\nengine = "llamacpp"\nping_ms = 20\n'
    stream = stream_of(tmp_path, f"{wire}[timing]\nfirst_token_ms = 70\n{TURN}")
    assert stream.startswith(b":\n\n" * 3 + b'data: {"id"')
    assert read_back(stream).reasoning_text == THOUGHT


def test_trtllm(tmp_path: Path) -> None:
    calls, answer = both(tmp_path, "trtllm", **USAGE)
    *events, done, end = answer.split(b" \n\n")[:-1] + answer.split(b" \n\n")[-1].split(b"\n\n")
    assert (done, end) == (b"data: [DONE]", b"")
    assert all(event.startswith(b"data: {") and event.endswith(b"}") for event in events)
    assert {"content": "It", "reasoning_content": ""} in deltas(answer)
    named = [d["tool_calls"][0]["function"].get("name") for d in deltas(calls) if "tool_calls" in d]
    assert set(named) == {"search"}
    assert len(named) > 4
    assert chunks(answer)[1]["choices"][0]["avg_decoded_tokens_per_iter"] == 1
    assert "completion_tokens_details" not in chunks(answer)[-1]["usage"]


def test_ollama(tmp_path: Path) -> None:
    calls, answer = both(tmp_path, "ollama", **USAGE)
    assert deltas(answer)[0] == {"role": "assistant", "content": "", "reasoning": "Found"}
    assert all(delta["role"] == "assistant" for delta in deltas(answer))
    whole = [delta["tool_calls"] for delta in deltas(calls) if "tool_calls" in delta]
    assert [(len(c), c[0]["index"], c[0]["function"]) for c in whole] == [
        (1, 0, {"name": "search", "arguments": arguments}) for arguments in ARGUMENTS
    ]
    assert set(chunks(answer)[-1]["usage"]) == {
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
    }


def test_lmstudio(tmp_path: Path) -> None:
    calls, answer = both(tmp_path, "lmstudio", **EVERYTHING)
    pieces = [d["tool_calls"][0]["function"] for d in deltas(calls) if "tool_calls" in d]
    assert pieces == [
        part
        for arguments in ARGUMENTS
        for part in ({"name": "search", "arguments": ""}, {"arguments": arguments})
    ]
    assert b"usage" not in calls + answer
    assert {"role": "assistant", "reasoning_content": "Found"} in deltas(answer)


def test_openrouter(tmp_path: Path) -> None:
    _, answer = both(tmp_path, "openrouter")
    assert answer.startswith(b': OPENROUTER PROCESSING\n\ndata: {"id"')
    first = deltas(answer)[0]
    assert (first["role"], first["content"], first["reasoning"]) == ("assistant", "", "Found")
    assert first["reasoning_details"][0]["text"] == "Found"
    assert all(chunk["provider"] == "Mock" for chunk in chunks(answer))
    usage = chunks(answer)[-1]
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}


def test_openrouter_error_comes_beside_a_choice(tmp_path: Path) -> None:
    rule = '[[rules]]\n[rules.reply]\nanswer = "one two"\n[rules.fault]\nkind = "error_event"\n'
    error = 'after = 1\nerror = { code = 502, message = "gone" }'
    stream = stream_of(tmp_path, scenario("openrouter", rule + error))
    last = chunks(stream)[-1]
    assert last["error"] == {"code": 502, "message": "gone"}
    assert last["choices"][0]["finish_reason"] == "error"
    reader = read_back(stream)
    assert (reader.content, reader.error, reader.finish_reason) == ("one", last["error"], "error")


def test_a_call_given_whole_takes_the_time_of_its_tokens(tmp_path: Path) -> None:
    extra = '[wire]\nengine = "vllm"\n{}[timing]\nfirst_token_ms = 10\ngap_ms = 1\n'
    metrics = [
        chunks(stream_of(tmp_path, extra.format(keys) + TURN, **USAGE))[-1]["metrics"]
        for keys in ("", 'calls = "late"\n', 'calls = "whole"\n', 'calls = "together"\n')
    ]
    assert [m["generation_time_ms"] for m in metrics] == [metrics[0]["generation_time_ms"]] * 4


def test_keys_override_the_preset() -> None:
    dialect = Dialect(engine="ollama", call_index="absent")
    assert (dialect.calls, dialect.call_index, dialect.role) == ("whole", "absent", "every")


def test_every_preset_has_only_known_keys_that_differ_from_the_default() -> None:
    default = Dialect().model_dump()
    for engine, keys in PRESETS.items():
        assert Dialect.model_validate({"engine": engine}).model_dump() == {
            **default,
            "engine": engine,
            **keys,
        }

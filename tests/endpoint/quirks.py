"""Streams with the quirks that engines' descriptions and public issues tell of, by their numbers.

Public: `QUIRKS`.
"""

from __future__ import annotations

from endpoint.streams import (
    CITE,
    DONE,
    ONE,
    ROLE,
    SEARCH,
    STOP,
    TWO,
    Case,
    answers,
    call,
    call_delta,
    called,
    chunk,
    sse,
    text,
    total,
    usage,
)

TIMINGS = {"cache_n": 3, "prompt_n": 4, "prompt_ms": 8.5, "predicted_n": 5, "predicted_ms": 20.0}


def reasoning(said: str, name: str = "reasoning_content", ids: list[int] | None = None) -> bytes:
    return sse(chunk({name: said}, ids=ids))


def timings(predicted: int) -> dict[str, object]:
    return {**TIMINGS, "predicted_n": predicted}


ENGINES = {
    "vLLM: role chunk with the prompt's ids, then ids of each delta": Case(
        [
            sse(chunk({"role": "assistant", "content": ""}, prompt_token_ids=[1, 2, 3])),
            text("one", ids=[5]),
            text(" two", ids=[6, 7]),
            sse(chunk({}, "stop", ids=[2])),
            total(4),
            DONE,
        ],
        "one two",
        tokens={"answer": (4, False)},
        events={"answer": [2, 1]},
        first=1,
        completion=4,
        usage=usage(4),
    ),
    "vLLM: chunks for markup that the parser swallowed": called(
        sse(chunk({}, ids=[90, 91])),
        call("", "search", "a", ids=[92, 93]),
        call(SEARCH, ids=[94, 95, 96]),
        sse(chunk({}, ids=[97])),
        calls=[("a", "search", SEARCH)],
        tokens={"tool": (8, False)},
        events={"tool": [2, 3, 1]},
        first=2,
        completion=8,
    ),
    "vLLM: last text, last ids and the finish reason in one chunk": Case(
        [ROLE, text("one", ids=[5]), text(" two", ids=[6, 2], finish="stop"), total(3), DONE],
        "one two",
        tokens={"answer": (3, False)},
        events={"answer": [2]},
        first=1,
        usage=usage(3),
    ),
    "vLLM: metrics on the usage chunk": answers(
        ONE,
        TWO,
        sse({**chunk(), "choices": [], "usage": usage(2), "metrics": {"queue_time_ms": 1.5}}),
        tokens={"answer": (2, False)},
        usage=usage(2),
    ),
    "vLLM: usage on every chunk by --enable-force-include-usage": Case(
        [
            sse(chunk({"role": "assistant", "content": ""}, usage=usage(0))),
            text("one", usage=usage(1)),
            text(" two", usage=usage(3)),
            sse(chunk({}, "stop", usage=usage(4))),
            total(4),
            DONE,
        ],
        "one two",
        tokens={"answer": (4, False)},
        events={"answer": [2, 1]},
        first=1,
        completion=4,
        usage=usage(4),
    ),
    "SGLang: all ids at the end, in a named frame": answers(
        ONE,
        TWO,
        b"event: sglext_ids\n"
        + sse({**chunk(), "choices": [], "sglext": {"input_ids": [1, 2], "output_ids": [[7] * 6]}}),
        tokens={"answer": (6, False)},
        events={"answer": [None]},
        completion=6,
    ),
    "SGLang: reasoning tokens at the top of usage": Case(
        [
            ROLE,
            reasoning("so"),
            ONE,
            STOP,
            sse({"choices": [], "usage": {**usage(9), "reasoning_tokens": 6}}),
            DONE,
        ],
        "one",
        "so",
        tokens={"reasoning": (6, False), "answer": (3, False)},
        usage={**usage(9), "reasoning_tokens": 6},
        sdk=False,
    ),
    "SGLang: reasoning_content null beside content": answers(
        sse(chunk({"content": "one", "reasoning_content": None, "tool_calls": None})), TWO
    ),
    "SGLang: reasoning and content of one step in two chunks": Case(
        [
            ROLE,
            sse(chunk({"reasoning_content": "so"}, usage=usage(1))),
            sse(chunk({"reasoning_content": " then"}, usage=usage(3))),
            text("one", usage=usage(3)),
            text(" two", usage=usage(4)),
            STOP,
            DONE,
        ],
        "one two",
        "so then",
        tokens={"reasoning": (3, False), "answer": (1, False)},
        events={"reasoning": [2], "answer": [0, 1]},
        first=1,
        usage=usage(4),
    ),
    "llama.cpp: progress of the prompt before the first token": Case(
        [
            sse(chunk({"role": "assistant", "content": None}, prompt_progress={"processed": 512})),
            sse(chunk({"role": "assistant", "content": None}, prompt_progress={"processed": 900})),
            ONE,
            TWO,
            STOP,
            DONE,
        ],
        "one two",
    ),
    "llama.cpp: a token without text before the call's first piece": called(
        sse(chunk({"role": "assistant", "content": None}, timings=timings(0))),
        sse(chunk({"role": "assistant", "content": None}, timings=timings(1))),
        call("{", "search", "a", timings=timings(12)),
        call(SEARCH[1:], timings=timings(20)),
        calls=[("a", "search", SEARCH)],
        tokens={"tool": (20, False)},
        events={"tool": [11, 8]},
        first=1,
        completion=20,
    ),
    "llama.cpp: counts by timings alone": answers(
        ONE,
        TWO,
        sse({**chunk(), "choices": [], "timings": TIMINGS}),
        tokens={"answer": (5, False)},
        events={"answer": [None]},
        completion=5,
    ),
    "llama.cpp: timings_per_token": Case(
        [
            ROLE,
            text("one", timings=timings(1)),
            text(" two", timings=timings(4)),
            sse(chunk({}, "stop", timings=timings(5))),
            DONE,
        ],
        "one two",
        tokens={"answer": (5, False)},
        events={"answer": [3, 1]},
        first=1,
        completion=5,
    ),
    "llama.cpp: comment pings while the prompt is read": answers(b":\n\n", ONE, b":\n\n", TWO),
    "TensorRT-LLM: a space before the blank line": Case(
        [p[:-2] + b" \n\n" for p in (ROLE, ONE, TWO, STOP)] + [DONE], "one two"
    ),
    "TensorRT-LLM: reasoning empty beside content": answers(
        sse(chunk({"content": "one", "reasoning_content": ""}, avg_decoded_tokens_per_iter=1.0)),
        TWO,
    ),
    "TensorRT-LLM: empty texts where tokens came, ten at a time": answers(
        text("one", usage=usage(10)),
        text("", usage=usage(20)),
        text(" two", usage=usage(30)),
        tokens={"answer": (30, False)},
        events={"answer": [10, 10]},
        first=10,
        usage=usage(30),
    ),
    "Ollama: calls whole, in one chunk each, with their role": called(
        sse(
            chunk(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [call_delta(SEARCH, "search", "call_1")],
                }
            )
        ),
        sse(
            chunk(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [call_delta(CITE, "cite", "call_2", 1)],
                }
            )
        ),
        calls=[("call_1", "search", SEARCH), ("call_2", "cite", CITE)],
    ),
    "LM Studio: a call whose arguments all came at once, after silence": called(
        call("", "search", "a"), call(SEARCH), calls=[("a", "search", SEARCH)]
    ),
    "OpenRouter: comments, and details of the reasoning beside it": Case(
        [
            b": OPENROUTER PROCESSING\n\n",
            sse(chunk({"reasoning": "so", "reasoning_details": [{"text": "so"}]}, provider="P")),
            ONE,
            sse(chunk({"content": ""}, "stop", native_finish_reason="end_turn")),
            total(2),
            DONE,
        ],
        "one",
        "so",
        usage=usage(2),
        sdk=False,
    ),
}

COUNTS = {
    "vllm#3759 a role chunk is no first token": Case(
        [sse(chunk({"role": "assistant", "content": ""}, usage=usage(0))), STOP, DONE],
        usage=usage(0),
        tokens={},
        events={},
    ),
    "vllm#42661 several tokens in the first chunk": answers(
        text("one", usage=usage(4)),
        text(" two", usage=usage(5)),
        tokens={"answer": (5, False)},
        events={"answer": [1]},
        first=4,
        usage=usage(5),
    ),
    "vllm#7262 usage null, and in a chunk without choices": answers(
        text("one", usage=None), TWO, total(2), tokens={"answer": (2, False)}, usage=usage(2)
    ),
    "ogx#5122 cumulative usage is not summed": answers(
        text("one", usage=usage(2)),
        text(" two", usage=usage(4)),
        total(4),
        tokens={"answer": (4, False)},
        completion=4,
        usage=usage(4),
    ),
    "the final usage on every event": answers(
        text("one", usage=usage(9)),
        text(" ", usage=usage(9)),
        text("two", usage=usage(9)),
        tokens={"answer": (9, False)},
        events={"answer": [None, None]},
        usage=usage(9),
    ),
    "usage of 0 on every event but the last": answers(
        text("one", usage=usage(0)),
        text(" two", usage=usage(0)),
        total(3),
        tokens={"answer": (3, False)},
        events={"answer": [None]},
        usage=usage(3),
    ),
    "more ids than tokens, so that they are no deltas": answers(
        text("one", ids=[1]),
        text(" two", ids=[1, 2]),
        total(2),
        tokens={"answer": (2, False)},
        events={"answer": [None]},
        usage=usage(2),
    ),
    "ollama#9092 the whole reply in one chunk": Case(
        [text("one two"), STOP, total(12), DONE],
        "one two",
        tokens={"answer": (12, False)},
        events={"answer": []},
        first=12,
        usage=usage(12),
    ),
    "the whole reply in one chunk, uncounted": Case(
        [text("one two"), STOP, DONE],
        "one two",
        tokens={"answer": (2, True)},
        events={"answer": []},
    ),
    "reasoning and answer in one event, counted with others": Case(
        [
            ROLE,
            reasoning("so", ids=[1, 2]),
            sse(chunk({"reasoning_content": "th", "content": "on"}, ids=[3, 4])),
            text("e", ids=[5]),
            STOP,
            DONE,
        ],
        "one",
        "soth",
        tokens={"reasoning": (3, True), "answer": (2, True)},
        events={"reasoning": [], "answer": [2, 1]},
        first=2,
    ),
    "cached tokens and counts that are none": answers(
        ONE,
        TWO,
        sse({"choices": [], "usage": {"completion_tokens": -1, "prompt_tokens": 2.5}}),
        tokens={"answer": (2, True)},
        usage={"completion_tokens": -1, "prompt_tokens": 2.5},
        sdk=False,
    ),
}

CALLS = {
    "ollama#7881 no index": called(
        call(SEARCH, "search", "a", None),
        call(CITE, "cite", "b", None),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
        sdk=False,
    ),
    "ollama#15457 every parallel call at index 0": called(
        call(SEARCH, "search", "a"),
        call(SEARCH, "search", "b"),
        calls=[("a", "search", SEARCH), ("b", "search", SEARCH)],
        sdk=False,
    ),
    "sglang#7048 no id from the second call on": called(
        call("", "search", "a"),
        call(SEARCH),
        call("", "search", index=1),
        call(SEARCH, index=1),
        calls=[("a", "search", SEARCH), (None, "search", SEARCH)],
    ),
    "codex#7517 ids in the first deltas, indexes in all": called(
        call("", "search", "a"),
        call("", "cite", "b", 1),
        call(CITE, index=1),
        call(SEARCH, index=0),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
    ),
    "TensorRT-LLM#14290 the name on every chunk": called(
        call("", "search", "a"),
        call(SEARCH[:3], "search"),
        call(SEARCH[3:], "search"),
        call("", "search"),
        calls=[("a", "search", SEARCH)],
        sdk=False,
    ),
    "the name on every chunk, without an id": called(
        call(SEARCH[:3], "search"),
        call(SEARCH[3:], "search"),
        call("\n", "search"),
        call("", "search"),
        calls=[(None, "search", SEARCH + "\n")],
        sdk=False,
    ),
    "the name and the id on every chunk, a brace too many": called(
        call(SEARCH, "search", "a"),
        call("}", "search", "a"),
        calls=[("a", "search", SEARCH + "}")],
        sdk=False,
    ),
    "an id made up for every piece": called(
        call("", "search", "a"),
        call(SEARCH[:3], id="b"),
        call(SEARCH[3:], id="c"),
        calls=[("a", "search", SEARCH)],
        sdk=False,
    ),
    "an id made up for every piece, no index": called(
        call("", "search", "a", None),
        call(SEARCH[:3], id="b", index=None),
        call(SEARCH[3:], id="c", index=None),
        calls=[("a", "search", SEARCH)],
        sdk=False,
    ),
    "two calls of one name at one index without ids, arguments late": called(
        call("", "search"),
        call(SEARCH[:3]),
        call(SEARCH[3:]),
        call("", "search"),
        call(SEARCH[:3]),
        call(SEARCH[3:]),
        calls=[(None, "search", SEARCH)] * 2,
        sdk=False,
    ),
    "two calls of one name and one id at one index": called(
        call(SEARCH, "search", "a"),
        call(SEARCH, "search", "a"),
        calls=[("a", "search", SEARCH)] * 2,
        sdk=False,
    ),
    "empty arguments first, then the real ones, and one id": called(
        call("{}", "search", "a"),
        call(SEARCH, "search"),
        calls=[("a", "search", "{}" + SEARCH)],  # as any client would read it; not ours to mend
        sdk=False,
    ),
    "empty arguments first, then the real ones": called(
        call("{}", "search", "a"),
        call(SEARCH),
        calls=[("a", "search", "{}" + SEARCH)],
    ),
    "two objects, the name twice, no id: it can't be told whether it is one call or two": called(
        call("{}", "search"),
        call(SEARCH, "search"),
        calls=[(None, "search", "{}"), (None, "search", SEARCH)],
        sdk=False,
    ),
    "two objects in pieces, the name once: it can't be told whose fault it is": called(
        call("", "search", "a"),
        call(SEARCH),
        call(CITE),
        calls=[("a", "search", SEARCH + CITE)],
    ),
    "vllm#28806 no arguments": called(
        call(None, "search", "a"), calls=[("a", "search", "")], sdk=False
    ),
    "vllm#32152 the last brace swallowed": called(
        call("", "search", "a"), call(SEARCH[:-1]), calls=[("a", "search", SEARCH[:-1])]
    ),
    "vllm#42696 deltas without id or name": called(
        call("", "search", "a"), call(SEARCH), calls=[("a", "search", SEARCH)]
    ),
    "vllm-ascend#14501 content null in tool deltas": called(
        sse(chunk({"content": None, "tool_calls": [call_delta("", "search", "a")]})),
        sse(chunk({"content": None, "tool_calls": [call_delta(SEARCH)]})),
        calls=[("a", "search", SEARCH)],
    ),
    "vllm#41967 two calls' deltas in one event": called(
        call("", "search", "a"),
        call(SEARCH[:-1]),
        sse(chunk({"tool_calls": [call_delta(SEARCH[-1]), call_delta(CITE, "cite", "b", 1)]})),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
    ),
    "index a string or a boolean": called(
        sse(chunk({"tool_calls": [{**call_delta("", "search", "a"), "index": "0"}]})),
        sse(chunk({"tool_calls": [{**call_delta(SEARCH), "index": True}]})),
        calls=[("a", "search", SEARCH)],
        sdk=False,
    ),
}

ENDINGS = {
    "vllm#36944 last content and finish reason in one chunk": Case(
        [ROLE, ONE, text(" two", finish="stop"), DONE], "one two"
    ),
    "vllm#25054 calls, and a finish reason that says stop": Case(
        [ROLE, call(SEARCH, "search", "a"), STOP, DONE], calls=[("a", "search", SEARCH)]
    ),
    "vllm#53269 a call cut by the budget, finish tool_calls": called(
        call(SEARCH[:8], "search", "a"), calls=[("a", "search", SEARCH[:8])]
    ),
    **{
        f"a finish reason that nobody documents: {reason}": Case(
            [ROLE, ONE, sse(chunk({}, reason)), DONE], "one", finish=reason
        )
        for reason in ("repetition", "eos", "end_turn", "insufficient_system_resource")
    },
    "Qwen3.8#216 nothing but reasoning": Case(
        [ROLE, reasoning("so"), sse(chunk({}, "length")), total(4), DONE],
        reasoning="so",
        finish="length",
        tokens={"reasoning": (4, False)},
        first=4,
        usage=usage(4),
    ),
    "hermes-agent#109205 the answer filed as reasoning": Case(
        [ROLE, reasoning("one two"), STOP, DONE], reasoning="one two"
    ),
    "vllm#22975 a call left in the text": Case(
        [ROLE, text("<tool_call>"), text(SEARCH), text("</tool_call>"), STOP, DONE],
        f"<tool_call>{SEARCH}</tool_call>",
    ),
}

QUIRKS = {
    f"{group}: {name}": case
    for group, table in (
        ("engine", ENGINES),
        ("counts", COUNTS),
        ("calls", CALLS),
        ("ending", ENDINGS),
    )
    for name, case in table.items()
}

"""Streams as servers send them, with their quirks, and what is in each.

Public: `CASES`, `Case`, the builders of events, `read`, `calls_of`. Quirks that public issues tell
of are in `endpoint.quirks`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ragevalkit.endpoint.reader import StreamReader

Calls = list[tuple[str | None, str, str]]
DONE = b"data: [DONE]\n\n"
MS = 1_000_000


@dataclass
class Case:
    """A stream, a read a part, and what it holds."""

    parts: list[bytes]
    answer: str = ""
    reasoning: str = ""
    calls: Calls = field(default_factory=list)
    finish: str | None = "stop"
    tokens: dict[str, tuple[int | None, bool]] | None = None
    """Of each channel, with whether they are estimated; None: not looked at."""
    events: dict[str, list[int | None]] | None = None
    """Tokens of each event with a gap, in each channel."""
    first: int | None = None
    """Tokens of the first token-bearing event."""
    completion: int | None = None
    """Tokens of the whole reply; None: not looked at."""
    usage: dict[str, Any] | None = None
    malformed: int = 0
    done: bool = True
    sdk: bool = True
    """Whether the SDK's own typed stream reads the same."""


def sse(body: Any) -> bytes:
    return b"data: " + (body if isinstance(body, bytes) else json.dumps(body).encode()) + b"\n\n"


def chunk(
    delta: dict[str, Any] | None = None, finish: str | None = None, ids: Any = None, **fields: Any
) -> dict[str, Any]:
    """A chunk of OpenAI's shape; `fields` are added at its top."""
    choice: dict[str, Any] = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    if ids is not None:
        choice["token_ids"] = ids
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **fields}


def text(content: Any, **more: Any) -> bytes:
    return sse(chunk({"content": content}, **more))


def call(
    arguments: Any = None,
    name: str | None = None,
    id: str | None = None,
    index: int | None = 0,
    **more: Any,
) -> bytes:
    """A chunk with one delta of a tool call; what is None is left out."""
    return sse(chunk({"tool_calls": [call_delta(arguments, name, id, index)]}, **more))


def call_delta(
    arguments: Any = None, name: str | None = None, id: str | None = None, index: int | None = 0
) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    head = {k: v for k, v in (("index", index), ("id", id)) if v is not None}
    return {**head, "function": function}


def usage(completion: int, reasoning: int | None = None, prompt: int = 7) -> dict[str, Any]:
    counts: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    if reasoning is not None:
        counts["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return counts


ROLE = sse(chunk({"role": "assistant", "content": ""}))
STOP = sse(chunk({}, "stop"))
CALLED = sse(chunk({}, "tool_calls"))


def total(*counts: int) -> bytes:
    return sse({**chunk(), "choices": [], "usage": usage(*counts)})


def answers(*parts: bytes, **expected: Any) -> Case:
    """An answer of 'one two', with these parts after a role chunk, before the end."""
    return Case([ROLE, *parts, STOP, DONE], "one two", **expected)


def called(*parts: bytes, calls: Calls, **expected: Any) -> Case:
    return Case([ROLE, *parts, CALLED, DONE], calls=calls, finish="tool_calls", **expected)


ONE, TWO = text("one"), text(" two")
SEARCH = '{"query": "a"}'
CITE = '{"page": 1}'

FRAMING = {
    "as OpenAI": answers(ONE, TWO),
    "comments": answers(b": OPENROUTER PROCESSING\n\n", ONE, b":\n\n", TWO),
    "comment inside an event": answers(b": ping\n" + ONE, TWO),
    "event, id and retry lines": answers(b"event: message\nid: 7\nretry: 10\n" + ONE, TWO),
    "an event of another kind": answers(
        ONE, b'event: sglext_ids\ndata: {"ids": [1]}\n\n', TWO, malformed=1, sdk=False
    ),
    "CRLF": Case([p.replace(b"\n", b"\r\n") for p in (ROLE, ONE, TWO, STOP, DONE)], "one two"),
    "no space after data:": Case(
        [p.replace(b"data: ", b"data:") for p in (ROLE, ONE, TWO, STOP, DONE)], "one two"
    ),
    "trailing spaces": Case(
        [p.replace(b"\n\n", b"  \n\n") for p in (ROLE, ONE, TWO, STOP, DONE)], "one two", sdk=False
    ),
    "data over several lines": answers(
        ONE,
        sse(json.dumps(chunk({"content": " two"}), indent=1).replace("\n", "\ndata: ").encode()),
    ),
    "empty data": answers(ONE, b"data:\n\ndata: \n\n", TWO, sdk=False),
    "blank lines": answers(ONE, b"\n\n\n", TWO),
    "no last blank line": Case([ROLE, ONE, TWO, STOP, DONE.rstrip()], "one two"),
    "no end of the last line": Case(
        [ROLE, ONE, TWO, STOP.rstrip()], "one two", done=False, sdk=False
    ),
    "no [DONE]": Case([ROLE, ONE, TWO, STOP], "one two", done=False),
    "no finish reason": Case([ROLE, ONE, TWO, DONE], "one two", finish=None),
    "nothing": Case([], finish=None, done=False),
    "everything in one read": Case([ROLE + ONE + TWO + STOP + DONE], "one two"),
    "what follows [DONE] on the same read": Case(
        [ROLE, ONE, TWO, STOP, DONE + b": bye\n\n"], "one two"
    ),
    "lines that are no JSON": answers(ONE, sse(b"upstream hiccup"), TWO, malformed=1, sdk=False),
    "JSON that is no object": answers(
        ONE, sse(b"3"), sse(b"null"), sse(b"[1]"), sse(b'"s"'), TWO, malformed=4, sdk=False
    ),
    "bytes that are no UTF-8": Case(
        [ROLE, text("oneX").replace(b"X", b"\xff"), STOP, DONE], "one�", sdk=False
    ),
    "separators that are no line ends": Case(
        [
            sse(
                json.dumps(chunk({"content": "a\u2028b\u2029c\x85d"}), ensure_ascii=False).encode()
            ),
            STOP,
            DONE,
        ],
        "a\u2028b\u2029c\x85d",
    ),
    "a surrogate pair over two events": Case(
        [ROLE, text("\ud83d"), text("\ude00!"), STOP, DONE], "😀!", sdk=False
    ),
    "half of a surrogate pair": Case([ROLE, text("\ud83d!"), STOP, DONE], "�!", sdk=False),
    "NaN": Case([ROLE, text("one", score=float("nan")), STOP, DONE], "one", sdk=False),
    "NUL and controls": Case([ROLE, text("a\x00b\x1bc\r\nd"), STOP, DONE], "a\x00b\x1bc\r\nd"),
}

TEXTS = {
    "a first chunk that is the role alone": answers(ONE, TWO, tokens={"answer": (2, True)}),
    "role in every chunk": answers(
        *[sse(chunk({"role": "assistant", "content": t})) for t in ("one", " two")]
    ),
    "content null": Case(
        [sse(chunk({"role": "assistant", "content": None})), ONE, text(None), TWO, STOP, DONE],
        "one two",
    ),
    "content a list of parts": answers(
        text([{"type": "text", "text": "one"}, {"type": "text", "text": " "}]),
        text(["two"]),
        sdk=False,
    ),
    "content of a wrong type": answers(ONE, text(7), text({"a": 1}), TWO, sdk=False),
    "finish in the chunk of the last content": Case(
        [ROLE, ONE, text(" two", finish="stop"), DONE], "one two"
    ),
    "content after the finish reason": Case([ROLE, ONE, STOP, TWO, DONE], "one two"),
    "choices null or absent": answers(
        ONE, sse({**chunk(), "choices": None, "usage": None}), sse({"usage": None}), TWO, sdk=False
    ),
    "delta null": answers(ONE, sse({"choices": [{"index": 0, "delta": None}]}), TWO, sdk=False),
    "a whole message beside the last delta": answers(
        ONE, TWO, sse({"choices": [{"delta": {}, "message": {"content": "one two"}}]}), sdk=False
    ),
    **{
        f"reasoning as {name}": Case(
            [ROLE, *[sse(chunk({name: t})) for t in ("so", " then")], ONE, TWO, STOP, DONE],
            "one two",
            "so then",
        )
        for name in ("reasoning", "reasoning_content")
    },
    "reasoning under both names": Case(
        [ROLE, sse(chunk({"reasoning": "so", "reasoning_content": "so"})), STOP, DONE],
        reasoning="so",
        sdk=False,
    ),
    "reasoning_details": Case(
        [
            ROLE,
            sse(chunk({"reasoning_details": [{"type": "reasoning.text", "text": "so"}]})),
            sse(chunk({"content": "", "reasoning_details": [{"summary": " then"}, {"data": "e"}]})),
            STOP,
            DONE,
        ],
        reasoning="so then",
        sdk=False,
    ),
    "reasoning beside its details": Case(
        [ROLE, sse(chunk({"reasoning": "so", "reasoning_details": [{"text": "so"}]})), STOP, DONE],
        reasoning="so",
        sdk=False,
    ),
    "reasoning empty beside content": Case(
        [ROLE, sse(chunk({"content": "one", "reasoning_content": ""})), STOP, DONE], "one"
    ),
    "reasoning and content in one event": Case(
        [ROLE, sse(chunk({"content": "one", "reasoning": "so"})), STOP, total(6), DONE],
        "one",
        "so",
        tokens={"reasoning": (2, True), "answer": (4, True)},
        usage=usage(6),
    ),
}

CALLS = {
    "as OpenAI": called(
        call("", "search", "a"), call('{"query"'), call(': "a"}'), calls=[("a", "search", SEARCH)]
    ),
    "parallel": called(
        call("", "search", "a"),
        call(SEARCH),
        call("", "cite", "b", 1),
        call(CITE, index=1),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
    ),
    "parallel, interleaved": called(
        call("", "search", "a"),
        call("", "cite", "b", 1),
        call(SEARCH[:5]),
        call(CITE[:5], index=1),
        call(SEARCH[5:]),
        call(CITE[5:], index=1),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
    ),
    "parallel, in one event": called(
        sse(
            chunk(
                {
                    "tool_calls": [
                        call_delta(SEARCH, "search", "a"),
                        call_delta(CITE, "cite", "b", 1),
                    ]
                }
            )
        ),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
    ),
    "no index": called(
        call("", "search", "a", None),
        call(SEARCH[:4], index=None),
        call(SEARCH[4:], index=None),
        calls=[("a", "search", SEARCH)],
        sdk=False,
    ),
    "no index, parallel by id": called(
        call("", "search", "a", None),
        call("", "cite", "b", None),
        call(SEARCH, id="a", index=None),
        call(CITE, id="b", index=None),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
        sdk=False,
    ),
    "no id": called(
        call("", "search"),
        call(SEARCH),
        call("", "cite", index=1),
        call(CITE, index=1),
        calls=[(None, "search", SEARCH), (None, "cite", CITE)],
        sdk=False,
    ),
    "id empty": called(call(SEARCH, "search", ""), calls=[(None, "search", SEARCH)], sdk=False),
    "id in the first delta alone": called(
        call("", "search", "a"),
        call(SEARCH),
        call("", "cite", "b", 1),
        call(CITE, index=1),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
    ),
    "id in every delta": called(
        call("", "search", "a"),
        call(SEARCH[:4], id="a"),
        call(SEARCH[4:], id="a"),
        calls=[("a", "search", SEARCH)],
        sdk=False,
    ),
    "index from the second delta on": called(
        call("", "search", "a", None), call(SEARCH), calls=[("a", "search", SEARCH)], sdk=False
    ),
    "all index 0, new ids": called(
        call(SEARCH, "search", "a"),
        call("", "cite", "b"),
        call(CITE[:5]),
        call(CITE[5:]),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
        sdk=False,
    ),
    "all index 0, ids on every delta, interleaved": called(
        call("", "search", "a"),
        call("", "cite", "b"),
        call(SEARCH, id="a"),
        call(CITE, id="b"),
        calls=[("a", "search", SEARCH), ("b", "cite", CITE)],
        sdk=False,
    ),
    "all index 0, no ids": called(
        call(SEARCH, "search"),
        call(SEARCH, "search"),
        call("", "cite"),
        call(CITE),
        calls=[(None, "search", SEARCH)] * 2 + [(None, "cite", CITE)],
        sdk=False,
    ),
    "neither index nor id, whole calls": called(
        call(SEARCH, "search", index=None),
        call(CITE, "cite", index=None),
        calls=[(None, "search", SEARCH), (None, "cite", CITE)],
        sdk=False,
    ),
    "Ollama's whole calls": called(
        call(SEARCH, "search", "call_1"),
        call(CITE, "cite", "call_2", 1),
        calls=[("call_1", "search", SEARCH), ("call_2", "cite", CITE)],
    ),
    "two calls with one id": called(
        call(SEARCH, "search", "a"),
        call(CITE, "cite", "a", 1),
        calls=[("a", "search", SEARCH), ("a", "cite", CITE)],
    ),
    "two calls with one id and no index": called(
        call(SEARCH, "search", "a", None),
        call(CITE, "cite", "a", None),
        calls=[("a", "search", SEARCH), ("a", "cite", CITE)],
        sdk=False,
    ),
    "the name on every delta": called(
        call("", "search", "a"),
        call(SEARCH[:4], "search"),
        call(SEARCH[4:], "search"),
        call("", "search"),
        calls=[("a", "search", SEARCH)],
        sdk=False,
    ),
    "the name in pieces": called(
        call("", "sea", "a"), call("", "rch"), call(SEARCH), calls=[("a", "search", SEARCH)]
    ),
    "arguments as an object": called(
        call({"query": "ä"}, "search", "a"), calls=[("a", "search", '{"query": "ä"}')], sdk=False
    ),
    "arguments null or absent": called(
        sse(
            chunk(
                {
                    "tool_calls": [
                        {"index": 0, "id": "a", "function": {"name": "search", "arguments": None}}
                    ]
                }
            )
        ),
        call(),
        calls=[("a", "search", "")],
        sdk=False,
    ),
    "arguments that are no JSON": called(
        call('{"query": ', "search", "a"), calls=[("a", "search", '{"query": ')]
    ),
    "content null in tool deltas": called(
        sse(chunk({"content": None, "tool_calls": [call_delta(SEARCH, "search", "a")]})),
        calls=[("a", "search", SEARCH)],
    ),
    "tool_calls null or of a wrong type": answers(
        ONE,
        sse(chunk({"tool_calls": None})),
        sse(chunk({"tool_calls": {"a": 1}})),
        sse(chunk({"tool_calls": [None, "x"]})),
        TWO,
        sdk=False,
    ),
    "text before a call": Case(
        [ROLE, ONE, TWO, call(SEARCH, "search", "a"), CALLED, DONE],
        "one two",
        calls=[("a", "search", SEARCH)],
        finish="tool_calls",
    ),
    "finish says stop": Case(
        [ROLE, call(SEARCH, "search", "a"), STOP, DONE], calls=[("a", "search", SEARCH)]
    ),
}

COUNTS = {
    "usage in a chunk without choices": answers(
        ONE,
        TWO,
        total(5),
        tokens={"answer": (5, False)},
        usage=usage(5),
        events={"answer": [None]},
    ),
    "usage beside the finish reason": Case(
        [ROLE, ONE, TWO, sse(chunk({}, "stop", usage=usage(5))), DONE],
        "one two",
        tokens={"answer": (5, False)},
        usage=usage(5),
        events={"answer": [None]},
    ),
    "usage beside the last content": Case(
        [ROLE, ONE, text(" two", finish="stop", usage=usage(5)), DONE],
        "one two",
        tokens={"answer": (5, False)},
        usage=usage(5),
        events={"answer": [None]},
    ),
    "usage of the prompt first, of the rest last": Case(
        [
            sse(chunk({"role": "assistant"}, usage=usage(0))),
            ONE,
            text(" two", finish="stop", usage=usage(5)),
            DONE,
        ],
        "one two",
        tokens={"answer": (5, False)},
        usage=usage(5),
        events={"answer": [None]},
    ),
    "usage null on every chunk": answers(
        text("one", usage=None),
        text(" two", usage=None),
        total(5),
        tokens={"answer": (5, False)},
        usage=usage(5),
    ),
    "continuous usage": Case(
        [
            sse(chunk({"role": "assistant", "content": ""}, usage=usage(0))),
            sse(chunk({"reasoning": "so"}, usage=usage(3))),
            sse(chunk({"reasoning": " then"}, usage=usage(4))),
            text("one", usage=usage(6)),
            text(" two", usage=usage(7)),
            sse(chunk({}, "stop", usage=usage(8))),
            total(8),
            DONE,
        ],
        "one two",
        "so then",
        tokens={"reasoning": (4, False), "answer": (4, False)},
        events={"reasoning": [1], "answer": [2, 1, 1]},
        first=3,
        usage=usage(8),
    ),
    "continuous usage over events without text": answers(
        text("one", usage=usage(1)),
        text("", usage=usage(3)),
        text(" two", usage=usage(4)),
        tokens={"answer": (4, False)},
        events={"answer": [2, 1]},
        first=1,
        usage=usage(4),
    ),
    "usage that runs along until half-way": Case(
        [ROLE, text("one", usage=usage(1)), text(" "), text("two", usage=usage(4)), STOP, DONE],
        "one two",
        tokens={"answer": (4, False)},
        events={"answer": [None, None]},
        first=1,
        usage=usage(4),
    ),
    "usage that falls": answers(
        text("one", usage=usage(4)),
        text(" two", usage=usage(2)),
        tokens={"answer": (2, False)},
        events={"answer": [None]},
        usage=usage(2),
    ),
    "token ids": answers(
        text("one", ids=[1, 2]),
        text(" two", ids=[3]),
        tokens={"answer": (3, False)},
        events={"answer": [1]},
        first=2,
    ),
    "token ids of events without text": Case(
        [
            sse(chunk({"reasoning": "so"}, ids=[1])),
            sse(chunk({}, ids=[2])),
            text("one two", ids=[3]),
            sse(chunk({}, "stop", ids=[])),
            DONE,
        ],
        "one two",
        "so",
        tokens={"reasoning": (1, False), "answer": (2, False)},
        events={"reasoning": [], "answer": [1, 1]},
        first=1,
    ),
    "reasoning tokens in usage": Case(
        [ROLE, sse(chunk({"reasoning": "so"})), ONE, STOP, total(9, 6), DONE],
        "one",
        "so",
        tokens={"reasoning": (6, False), "answer": (3, False)},
        usage=usage(9, 6),
    ),
    "reasoning tokens without the reasoning": answers(
        ONE, TWO, total(9, 6), tokens={"answer": (3, False)}, usage=usage(9, 6)
    ),
    "more reasoning tokens than tokens": Case(
        [ROLE, sse(chunk({"reasoning": "one"})), ONE, STOP, total(4, 6), DONE],
        "one",
        "one",
        tokens={"reasoning": (2, True), "answer": (2, True)},
        usage=usage(4, 6),
    ),
    "three channels, split by characters": Case(
        [
            ROLE,
            sse(chunk({"reasoning": "r" * 10})),
            text("a" * 30),
            call("", "cite", "a"),
            call("b" * 56),
            CALLED,
            total(10),
            DONE,
        ],
        "a" * 30,
        "r" * 10,
        calls=[("a", "cite", "b" * 56)],
        finish="tool_calls",
        usage=usage(10),
        tokens={"reasoning": (1, True), "tool": (6, True), "answer": (3, True)},
    ),
    "a name that is repeated counts once": called(
        call("", "search", "a"),
        call("{", "search"),
        call("}", "search"),
        calls=[("a", "search", "{}")],
        tokens={"tool": (2, True)},
        sdk=False,
    ),
    "no counts at all": answers(ONE, TWO, tokens={"answer": (2, True)}),
    "usage of wrong types": answers(
        ONE,
        TWO,
        sse({"choices": [], "usage": {"completion_tokens": "5", "prompt_tokens": True}}),
        tokens={"answer": (2, True)},
        sdk=False,
        usage={"completion_tokens": "5", "prompt_tokens": True},
    ),
}

CASES = {
    f"{group}: {name}": case
    for group, table in (
        ("framing", FRAMING),
        ("text", TEXTS),
        ("calls", CALLS),
        ("counts", COUNTS),
    )
    for name, case in table.items()
}


def read(parts: Iterable[bytes]) -> StreamReader:
    """The parts, read one each 10 ms."""
    reader = StreamReader()
    at = 0
    for part in parts:
        at += 10 * MS
        reader.feed(part, at)
    reader.close(at + 10 * MS)
    return reader


def calls_of(reader: StreamReader) -> Calls:
    return [(c.id, c.name, c.arguments) for c in reader.tool_calls()]

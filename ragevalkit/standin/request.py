"""One chat-completions request as a model sees it: messages, tools and limits, and nothing else.

Public: `BadRequest`, `ChatRequest`, `parse_request`, `prompt_tokens`, `text_of`, `Passage`,
`Conversation`, `read_conversation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from ragevalkit.standin.events import count_tokens
from ragevalkit.standin.habits import Habits, Wishes, read_wishes

_HABITS = Habits()
_TOOL_ROLES = ("tool", "function")


class BadRequest(Exception):
    """The request body can't be answered; `param` names the field, if one is at fault."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What of a request body the stand-ins heed."""

    messages: Sequence[Mapping[str, Any]]
    tools: frozenset[str]
    """Names of the tools that may be called; empty with `tool_choice` "none"."""
    stream: bool
    include_usage: bool
    continuous_usage: bool
    token_ids: bool
    max_tokens: int | None
    """Output budget in tokens, reasoning included."""
    prompt_tokens: int
    seed: int | None = None
    """The sampling seed; an agent sends another one for each repeat of a question."""
    timings_per_token: bool = False
    """llama.cpp's: its timings on every chunk."""
    wishes: Wishes = field(default_factory=Wishes)


def parse_request(body: bytes, habits: Habits = _HABITS) -> ChatRequest:
    """Read the body of `POST /v1/chat/completions`, as an engine of these habits does.

    Unknown fields are ignored, as most servers do. Raises `BadRequest`.
    """
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object.")
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("'messages' must be a list that is not empty.", "messages")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            where = f"messages[{number}]"
            raise BadRequest(f"'{where}' must be an object with a 'role'.", where)
    if data.get("n") not in (None, 1):
        raise BadRequest("'n' must be 1.", "n")
    for name, words in habits.rejects.items():
        if name in data:
            raise BadRequest(words, name)
    options = data.get("stream_options") or {}
    if not isinstance(options, dict):
        raise BadRequest("'stream_options' must be an object.", "stream_options")
    seed = data.get("seed")
    tools = _tool_names(data.get("tools"))
    prompt = prompt_tokens(messages)
    if tools and habits.tools_in_prompt:
        prompt += count_tokens(orjson.dumps(data["tools"]).decode())
    return ChatRequest(
        messages=messages,
        tools=frozenset() if _are_barred(data, habits) else tools,
        stream=data.get("stream") is True,
        include_usage=options.get("include_usage") is True,
        continuous_usage=options.get("continuous_usage_stats") is True,
        token_ids=data.get("return_token_ids") is True,
        max_tokens=_budget(data, habits),
        prompt_tokens=prompt,
        seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        timings_per_token=data.get("timings_per_token") is True,
        wishes=read_wishes(data, habits),
    )


def prompt_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of the messages, with four for the frame of each."""
    return sum(4 + _message_tokens(message) for message in messages)


def _are_barred(data: Mapping[str, Any], habits: Habits) -> bool:
    """Whether the model is shown no tools, since none may be called or they are dropped."""
    none = data.get("tool_choice") == "none" and "none" in habits.tool_choice
    return none or not habits.tools_in_prompt


def _budget(data: Mapping[str, Any], habits: Habits) -> int | None:
    for name in habits.budget:
        limit = data.get(name)
        if limit is None:
            continue
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise BadRequest(f"'{name}' must be a whole number of at least 1.", name)
        return limit
    return None


def _tool_names(tools: Any) -> frozenset[str]:
    if tools is None:
        return frozenset()
    if not isinstance(tools, list):
        raise BadRequest("'tools' must be a list.", "tools")
    names = set()
    for number, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not name:
            where = f"tools[{number}].function.name"
            raise BadRequest(f"'{where}' is missing.", where)
        names.add(name)
    return frozenset(names)


def _message_tokens(message: Mapping[str, Any]) -> int:
    tokens = count_tokens(text_of(message))
    if calls := message.get("tool_calls"):
        tokens += count_tokens(orjson.dumps(calls).decode())
    return tokens


def text_of(message: Mapping[str, Any]) -> str:
    """A message's text: its content, or the text parts of it with a newline between."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "\n".join(text for text in texts if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class Passage:
    """One search result."""

    document: str
    page: int
    """1-based."""
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Where a conversation stands, read from its messages alone."""

    question: str
    """Text of the last user message; empty where there is none."""
    earlier: tuple[str, ...]
    """Texts of the user messages before it, oldest first."""
    round: int
    """Assistant messages since the last user message."""
    calls: tuple[str, ...]
    """Names of the tools called since the last user message, in order."""
    searches: tuple[tuple[Passage, ...], ...]
    """Results of each search answered since the last user message; errors are left out."""


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Read the state of a conversation. Accepts any messages; what makes no sense is skipped."""
    users = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    start = users[-1] if users else -1
    calls: list[str] = []
    searches: list[tuple[Passage, ...]] = []
    rounds = 0
    for message in messages[start + 1 :]:
        if message.get("role") == "assistant":
            rounds += 1
            calls += _called(message)
        elif message.get("role") in _TOOL_ROLES:
            found = _passages(text_of(message))
            if found is not None:
                searches.append(found)
    return Conversation(
        question=text_of(messages[start]) if users else "",
        earlier=tuple(text_of(messages[at]) for at in users[:-1]),
        round=rounds,
        calls=tuple(calls),
        searches=tuple(searches),
    )


def _called(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("tool_calls")
    names = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            names.append(function["name"])
    return names


def _passages(content: str) -> tuple[Passage, ...] | None:
    """The results in a tool message; None where it isn't the answer of a search."""
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, list):
        return None
    found = []
    for result in results:
        if not isinstance(result, dict):
            continue
        document, page, text = (result.get(key) for key in ("document", "page", "text"))
        if (
            isinstance(document, str)
            and isinstance(page, int)
            and not isinstance(page, bool)
            and isinstance(text, str)
        ):
            found.append(Passage(document, page, text))
    return tuple(found)

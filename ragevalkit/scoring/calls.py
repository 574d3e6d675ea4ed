"""Tool calls that went wrong on the wire.

Public: `leaked_call`, `without_leaked_calls`, `leak`, `call_defects`, `repeated_calls`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection

import orjson

from ragevalkit.turn.record import Round, Turn

_MARKUP = re.compile(
    r"<tool_call>.*?(?:</tool_call>|\Z)"  # Hermes, Qwen
    r"|<function(?:=|_call>|\s+name=).*?(?:</function(?:_call)?>|\Z)"  # Qwen XML, Llama
    r"|<\|python_tag\|>.*\Z"  # Llama
    r"|\[TOOL_CALLS\].*\Z"  # Mistral
    r"|<\|?tool[▁_]calls?[▁_]begin\|?>.*\Z|<｜tool▁calls▁begin｜>.*\Z",  # DeepSeek, Kimi
    re.S,
)
_FENCE = re.compile(r"\A```(?:json|tool_call)?\s*(.*?)\s*```\Z", re.S)
_BRACE = re.compile(r"(?:^|(?<=[\s:`]))\{")
_MOST_BRACES = 50
"""At so many places, from the left, a reply is tried as ending in a call."""

OFFERED = ("search", "cite")


def leaked_call(text: str, tools: Collection[str] = OFFERED) -> bool:
    """Whether `text` holds a tool call that the server left in it, in any known form.

    Args:
        tools: names of the tools that the model was offered.
    """
    return bool(_MARKUP.search(text)) or _bare_call_start(text, tools) is not None


def without_leaked_calls(text: str, tools: Collection[str] = OFFERED) -> str:
    """What is left for a reader once calls that were left in the text are taken out."""
    return _MARKUP.sub("", text[: _bare_call_start(text, tools)])


def call_defects(turn: Turn) -> set[str]:
    """Kinds of call defects of a turn: `not_json`, `truncated`, `unknown_tool`, `schema`,
    `in_content`, `in_reasoning`, `duplicate_id`."""
    kinds = {call.defect for round_ in turn.rounds for call in round_.calls if call.defect}
    if any(call.duplicate_id for round_ in turn.rounds for call in round_.calls):
        kinds.add("duplicate_id")
    kinds.update(kind for r in turn.rounds if (kind := leak(r, turn.tools)))
    return kinds


def repeated_calls(turn: Turn) -> int:
    """How many well-formed calls had been made before with the same arguments."""
    seen: set[tuple[str, bytes]] = set()
    repeated = 0
    for call in (c for round_ in turn.rounds for c in round_.calls if c.defect is None):
        key = (call.name, _canonical(call.arguments))
        repeated += key in seen
        seen.add(key)
    return repeated


def _canonical(arguments: str) -> bytes:
    """The same for the same arguments, whatever their order and spacing."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # the latter: nested too deep
        return arguments.encode(errors="replace")


def leak(round_: Round, tools: Collection[str] = OFFERED) -> str | None:
    """Where a round left a call that the server should have read: `in_content`, `in_reasoning`."""
    if leaked_call(round_.content, tools):
        return "in_content"
    if _only_reasoned(round_) and leaked_call(round_.reasoning, tools):
        return "in_reasoning"
    return None


def _only_reasoned(round_: Round) -> bool:
    """A call in the reasoning counts where the round ended with it as its only yield; else, or
    where something cut the reasoning off, it was a thought."""
    cut_off = round_.finish_reason in (None, "length")
    return not cut_off and not round_.calls and not round_.content.strip()


def _bare_call_start(text: str, tools: Collection[str]) -> int | None:
    """Where a call without any markup begins that goes on to the end of the text.

    The whole text may be calls, in JSON (of whatever tool) or as Python writes them; or it may end
    in the JSON of an offered tool's call. A call's JSON with prose after it is quoted, not made.
    """
    if _is_json_call(text) or _is_python_call(text, tools):
        return 0
    end = text.rstrip("` \n")
    if not end.endswith("}"):
        return None
    for brace in itertools.islice(_BRACE.finditer(end), _MOST_BRACES):
        value = _loaded(end[brace.start() :])
        if _looks_like_call(value, tools):
            return brace.start()
    return None


def _is_json_call(text: str) -> bool:
    """Whether the whole text is a JSON object, or a list of them, in the form of a call."""
    text = text.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1]
    if not text.startswith(("{", "[")):
        return False
    value = _loaded(text)
    calls = value if isinstance(value, list) else [value]
    return bool(calls) and all(map(_looks_like_call, calls))


def _is_python_call(text: str, tools: Collection[str]) -> bool:
    """Whether the whole text is such as `[search(query="noise")]`."""
    text = text.strip()
    names = "|".join(map(re.escape, tools))
    call = rf"(?:{names})\(\s*\w+\s*=[^\n]*\)"
    return bool(names) and re.fullmatch(rf"{call}|\[\s*{call}\s*\]", text) is not None


def _loaded(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _looks_like_call(value: object, tools: Collection[str] | None = None) -> bool:
    """Whether a JSON value has the form of a call, of one of `tools` if they are given."""
    if not isinstance(value, dict):
        return False
    function = value.get("function")
    value = function if isinstance(function, dict) else value
    name = value.get("name")
    if not isinstance(name, str) or (tools is not None and name not in tools):
        return False
    return isinstance(value.get("arguments"), dict | str) or isinstance(
        value.get("parameters"), dict
    )

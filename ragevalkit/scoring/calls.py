"""Tool calls that went wrong on the wire.

Public: `leaked_call`, `without_leaked_calls`, `leak`, `call_defects`, `repeated_calls`.
"""

from __future__ import annotations

import re

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


def leaked_call(text: str) -> bool:
    """Whether `text` holds a tool call that the server left in it, in any known form."""
    return bool(_MARKUP.search(text)) or _is_bare_call(text)


def without_leaked_calls(text: str) -> str:
    """What is left for a reader once calls that were left in the text are taken out."""
    return "" if _is_bare_call(text) else _MARKUP.sub("", text)


def call_defects(turn: Turn) -> set[str]:
    """Kinds of call defects of a turn: `not_json`, `truncated`, `unknown_tool`, `schema`,
    `in_content`, `in_reasoning`, `duplicate_id`."""
    kinds = {call.defect for round_ in turn.rounds for call in round_.calls if call.defect}
    if any(call.duplicate_id for round_ in turn.rounds for call in round_.calls):
        kinds.add("duplicate_id")
    kinds.update(kind for kind in map(leak, turn.rounds) if kind)
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
    except orjson.JSONDecodeError:
        return arguments.encode(errors="replace")


def leak(round_: Round) -> str | None:
    """Where a round left a call that the server should have read: `in_content`, `in_reasoning`."""
    if leaked_call(round_.content):
        return "in_content"
    if _only_reasoned(round_) and leaked_call(round_.reasoning):
        return "in_reasoning"
    return None


def _only_reasoned(round_: Round) -> bool:
    """A call in the reasoning counts where the round ended with it as its only yield; else, or
    where something cut the reasoning off, it was a thought."""
    cut_off = round_.finish_reason in (None, "length")
    return not cut_off and not round_.calls and not round_.content.strip()


def _is_bare_call(text: str) -> bool:
    """Whether the whole text is a JSON object, or a list of them, in the form of a call."""
    text = text.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1]
    if not text.startswith(("{", "[")):
        return False
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    calls = value if isinstance(value, list) else [value]
    return bool(calls) and all(map(_looks_like_call, calls))


def _looks_like_call(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    function = value.get("function")
    value = function if isinstance(function, dict) else value
    return isinstance(value.get("name"), str) and (
        isinstance(value.get("arguments"), dict | str) or isinstance(value.get("parameters"), dict)
    )

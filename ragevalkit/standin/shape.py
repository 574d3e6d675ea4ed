"""A scripted reply as the token-bearing events of a stream, in the shape of a dialect.

Public: `Step`, `steps`, `with_reason`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice, zip_longest
from typing import Any

import orjson

from ragevalkit.standin.dialect import Dialect
from ragevalkit.standin.events import Arguments, Call, Delta, Text, Together, pieces
from ragevalkit.standin.request import Conversation
from ragevalkit.standin.script import Reply, ScriptedCall
from ragevalkit.standin.sentences import split_sentences
from ragevalkit.standin.wire import to_json

_PLACEHOLDER = re.compile(
    r"\{(?:(question|document|page|next_page|quote)|u\+((?:10|0?[0-9a-fA-F])?[0-9a-fA-F]{4}))\}"
)
_FILLER = (" so", " then", " the", " next", " step", " is", " to", " look", " again", " here")
_LONGEST_QUOTE = 300


@dataclass(frozen=True, slots=True)
class Step:
    """One event, and how many gaps between token events pass before it."""

    event: Delta
    gaps: int = 1


def steps(reply: Reply, dialect: Dialect, now: Conversation, messages: int) -> list[Step]:
    """The token-bearing events of a reply, in the order of the wire: reasoning, answer, calls.

    Args:
        messages: number of messages in the request, for ids that don't repeat in a conversation.
    """
    values = _placeholders(now)
    size = reply.tokens_per_event
    sizes = [size] if isinstance(size, int) else size
    reasoning = _groups(_tokens(reply.reasoning, values), sizes)
    answer = _groups(_tokens(reply.answer, values), sizes)
    calls = []
    for number, call in enumerate(reply.calls):
        start, arguments = _call(call, number, dialect, messages, values)
        calls.append(_call_steps(call, start, arguments, dialect, sizes))
    return [
        *(Step(Text("reasoning", part)) for part in reasoning),
        *(Step(Text("answer", part)) for part in answer),
        *_in_order(calls, dialect),
    ]


def with_reason(said: Sequence[Step], reason: str | None) -> list[Step]:
    """The steps with the finish reason on the last of them."""
    *before, last = said
    parts = last.event.parts if isinstance(last.event, Together) else (last.event,)
    return [*before, replace(last, event=Together(parts, reason))]


def _call(
    call: ScriptedCall, number: int, dialect: Dialect, messages: int, values: Mapping[str, str]
) -> tuple[Call, tuple[str, ...]]:
    """The start of a call, and the tokens of its arguments."""
    index = {"position": number, "zero": 0, "absent": None}[dialect.call_index]
    has_id = dialect.call_id in ("once", "every") or (
        dialect.call_id == "first_call" and not number
    )
    made_up = f"call_{messages}_{number}" if has_id else ""
    if isinstance(call.arguments, str):
        text = _fill(call.arguments, values, escape=True)
    else:
        text = to_json(_filled(call.arguments, values)).decode()
    start = Call(
        index if call.index is None else call.index,
        made_up if call.id is None else call.id,
        call.name,
    )
    return start, pieces(text)


def _call_steps(
    call: ScriptedCall,
    start: Call,
    arguments: tuple[str, ...],
    dialect: Dialect,
    sizes: Sequence[int],
) -> list[Step]:
    """The events of one call."""
    fine = list(_groups(arguments, sizes))
    if call.pieces == 0:
        return [Step(replace(start, pieces=arguments))]
    if call.pieces is None and dialect.calls in ("whole", "together"):
        return [Step(replace(start, pieces=arguments), gaps=1 + len(fine))]
    gaps = 1
    if call.pieces is not None:
        fine = list(_groups(arguments, [max(1, -(-len(arguments) // call.pieces))]))
    elif dialect.calls == "late":
        fine, gaps = [arguments], len(fine)
    again = Arguments(
        start.index,
        (),
        id=start.id if dialect.call_id == "every" else "",
        name=start.name if dialect.call_name == "every" else "",
    )
    return [Step(start), *(Step(replace(again, pieces=part), gaps) for part in fine if part)]


def _in_order(calls: list[list[Step]], dialect: Dialect) -> Iterable[Step]:
    """The events of all calls of a reply."""
    if dialect.calls == "interleaved":
        turns = chain.from_iterable(zip_longest(*calls))
        return [step for step in turns if step is not None]
    one_by_one = list(chain.from_iterable(calls))
    if dialect.calls != "together" or not calls:
        return one_by_one
    parts = [step.event for step in one_by_one if not isinstance(step.event, Together)]
    return [Step(Together(tuple(parts)), sum(step.gaps for step in one_by_one))]


def _placeholders(now: Conversation) -> dict[str, str]:
    values = {"question": now.question, "document": "", "page": "1", "next_page": "2", "quote": ""}
    if now.searches and now.searches[-1]:
        first = now.searches[-1][0]
        quote = next(iter(split_sentences(first.text[:5000])), "")[:_LONGEST_QUOTE]
        values |= {"document": first.document, "quote": quote}
        values |= {"page": str(first.page), "next_page": str(first.page + 1)}
    return values


def _fill(text: str, values: Mapping[str, str], *, escape: bool = False) -> str:
    def value(match: re.Match[str]) -> str:
        if match[2]:
            return chr(int(match[2], 16))
        plain = values[match[1]]
        return orjson.dumps(plain).decode()[1:-1] if escape else plain

    return _PLACEHOLDER.sub(value, text)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """A TOML value with its strings filled."""
    if value in ("{page}", "{next_page}"):
        return int(values[value[1:-1]])
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    return value


def _tokens(text: str | int, values: Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(text, int):
        return tuple(_FILLER[at % len(_FILLER)] for at in range(text))
    return pieces(_fill(text, values))


def _groups(tokens: Sequence[str], sizes: Sequence[int]) -> Iterator[tuple[str, ...]]:
    rest = iter(tokens)
    for size in cycle(sizes):
        group = tuple(islice(rest, size))
        if not group:
            return
        yield group

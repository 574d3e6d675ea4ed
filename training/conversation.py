"""The conversation that an adapter learns: what the agent sends, and what it is to write.

Public: `search_query`, `opening`, `thought`, `ending`, `rendered`, `emphasis`,
`conversation_hash`, `Finding`.

System prompt, tool schemas, search results and tool messages are the agent's own, rendered by the
template that llama.cpp is given, so a change to any of them asks for another training;
`conversation_hash` tells.

A model this small can't judge five pages at a glance. Its reasoning repeats the question, quotes a
sentence from the page that comes nearest, another where a second page comes as near, and says
whether that answers it. What follows is settled: it cites the pages and replies with the sentence,
or declines.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment

from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bank import Question
from ragevalkit.standin.extraction import content_terms
from ragevalkit.standin.local import ASSISTANT_TEMPLATE
from ragevalkit.standin.sentences import plain
from ragevalkit.turn.protocol import DECLINE_MARKER, cite_result, search_result

LONGEST_QUOTE = 30
"""Words of a quote; a longer one is cut."""
DECLINE = f"{DECLINE_MARKER}: the pages that were found don't say it."

EMPHASIS = {
    re.compile(r"\nAnswered:( yes| no)\n"): 8.0,
    re.compile(r"</think>\n(<tool|NOT)"): 8.0,
    re.compile(r"(<think>\nAsked: [^\n]+\n)"): 4.0,
    re.compile(r"\{\"query\": \"([^\n]+)\"\}"): 4.0,
    re.compile(r"\n(\S+ \d+:)"): 2.0,
    re.compile(r" \d+:( \S+ \S+ \S+)"): 2.0,
    re.compile(r"\{\"document\": .+, \"page\":( \d+)\}"): 2.0,
}
"""What counts more than once in the loss; elsewhere a token counts once."""

_ASKED = re.compile(r"<think>\nAsked: [^\n]+\n")


@dataclass(frozen=True)
class Finding:
    """What the reasoning quotes from one search result."""

    result: dict[str, Any]
    quote: str


def search_query(question: Question) -> str:
    """The question's words without those that carry no meaning."""
    return " ".join(content_terms(_asked(question))) or question.question


def opening(question: Question, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation up to the results of a search for the question."""
    return [
        {"role": "system", "content": load_prompt()},
        *({"role": m.role, "content": m.content} for m in question.history),
        {"role": "user", "content": question.question},
        _calling("search", {"query": search_query(question)}),
        {"role": "tool", "content": search_result(results)},
    ]


def thought(question: Question, findings: Sequence[Finding], answers: bool) -> str:
    """What the assistant thinks of the results."""
    lines = [f"Asked: {' '.join(_asked(question).split())}", *map(_line, findings)]
    return "\n".join([*lines, f"Answered: {'yes' if answers else 'no'}"])


def _line(finding: Finding) -> str:
    return f"{finding.result['document']} {finding.result['page']}: {_cut(finding.quote)}"


def _cut(quote: str) -> str:
    return " ".join(quote.split()[:LONGEST_QUOTE])


def ending(
    question: Question, findings: Sequence[Finding], answers: Sequence[Finding]
) -> list[dict[str, Any]]:
    """The rest of a turn: the thought, and the citations and the reply, or the decline.

    Args:
        findings: what comes near.
        answers: those that the reply is made of; none where they don't answer.
    """
    reasoning = {"reasoning_content": thought(question, findings, bool(answers))}
    if not answers:
        return [{"role": "assistant", "content": DECLINE} | reasoning]
    messages: list[dict[str, Any]] = []
    for finding in findings:
        arguments = {"document": finding.result["document"], "page": finding.result["page"]}
        cited = cite_result(**arguments, label=finding.result["label"])
        messages += [_calling("cite", arguments) | reasoning, {"role": "tool", "content": cited}]
        reasoning = {}
    reply = " ".join(dict.fromkeys(plain(_cut(finding.quote)) for finding in answers))
    return [*messages, {"role": "assistant", "content": reply}]


def _asked(question: Question) -> str:
    """The question; one that follows another with that before it."""
    earlier = [m.content for m in question.history if m.role == "user"][-1:]
    return " ".join([*earlier, question.question])


def _calling(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"role": "assistant", "tool_calls": [{"function": function}]}


def rendered(messages: list[dict[str, Any]], tools: bool) -> tuple[str, list[tuple[int, int]]]:
    """The conversation as text, and where in it the assistant's messages of the turn stand.

    Args:
        tools: whether there are tools to call.
    """
    schemas = load_toolbox().schemas if tools else []
    users = [at for at, m in enumerate(messages) if m["role"] == "user"]
    text = _render(messages, schemas, False)
    spans = []
    for at in range(users[-1] + 1 if users else 0, len(messages)):
        if messages[at]["role"] == "assistant":
            begin = len(_render(messages[:at], schemas, True))
            spans.append((begin, len(_render(messages[: at + 1], schemas, False)) - 1))
    return text, spans


def after_asked(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The part of a span after the question's repetition: where that stands nowhere else."""
    found = _ASKED.match(text, *span)
    return (found.end() if found else span[0]), span[1]


def _render(messages: list[dict[str, Any]], tools: list[dict[str, Any]], reply: bool) -> str:
    filled = [{"content": None, "tool_calls": None, **message} for message in messages]
    return str(_template().render(messages=filled, tools=tools, add_generation_prompt=reply))


@cache
def _template() -> Any:
    environment = Environment()
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(ASSISTANT_TEMPLATE.read_text(encoding="utf-8"))


def emphasis(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """Where the turn is decided, with how many times more than another token one there counts."""
    return [
        (found.start(1), found.end(1), weight)
        for pattern, weight in EMPHASIS.items()
        for begin, end in spans
        for found in pattern.finditer(text, begin, end)
    ]


def conversation_hash() -> str:
    """16 hex digits over what the model sees and is to write in one turn of either kind."""
    question = Question(id="q", question="How high?", answerable=True)
    result = {"document": "guide", "page": 2, "label": "ii", "score": 1.5, "text": "It is 3 m."}
    other = result | {"page": 3}
    near = [Finding(result, "It is 3 m."), Finding(other, "It was 2 m.")]
    texts = [
        rendered(
            opening(question, [result, other]) + ending(question, near, near[:answering]),
            tools=True,
        )[0]
        for answering in (1, 0)
    ]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

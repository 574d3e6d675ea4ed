"""The conversation that an adapter learns: what the agent sends, and what it is to write.

Public: `search_query`, `opening`, `reading`, `thought`, `ending`, `rendered`, `emphasis`,
`conversation_hash`, `CITED`.

System prompt, tool schemas, search results and tool messages are the agent's own, rendered by the
template that llama.cpp is given, so a change to any of them asks for another training;
`conversation_hash` tells.

A model this small can neither judge five pages at a glance nor rank them better than the search
did. The template repeats the question after the results; the reasoning quotes the sentence that
comes nearest and says whether that answers it. What follows is settled: it cites the first three
pages at once and replies with the sentence, or declines.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment

from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bank import Question
from ragevalkit.standin.extraction import content_terms
from ragevalkit.standin.local import TEMPLATE
from ragevalkit.standin.sentences import plain
from ragevalkit.turn.protocol import DECLINE_MARKER, cite_result, search_result

CITED = 3
"""Pages that are cited for an answer; fewer than one in ten stands on a later one."""
_AROUND = ".,:;!?()\"'`“”‘’"
LONGEST_QUOTE = 24
"""Words of a quote; a longer one is cut."""
DECLINE = f"{DECLINE_MARKER}: they don't say it."

EMPHASIS = {
    re.compile(r"\nAnswered:( yes)\n"): 20.0,
    re.compile(r"\nAnswered:( no)\n"): 12.5,
    re.compile(r"</think>\n(<tool|NOT)"): 8.0,
    re.compile(r"(?<=assistant\n)(<tool_call>\n\{\"name\": \"\w+)"): 8.0,
    re.compile(r"\{\"query\": \"([^\n]+)\"\}"): 4.0,
    re.compile(r"</tool_call>(\n<tool|<\|im_end)"): 4.0,
    re.compile(r"^Found:( \S+ \S+ \S+)", re.MULTILINE): 3.0,
    re.compile(r"(?<=assistant\n)(?!<)(\S+ \S+ \S+)"): 3.0,
    re.compile(r"\{\"document\": .+, \"page\":( \d+)\}"): 4.0,
}
"""What counts more than once in the loss; elsewhere a token counts once. A no counts less than a
yes, so that in doubt the model answers: documents aren't asked about at random."""


def search_query(question: Question) -> str:
    """The question's words, as it writes them, without those that carry no meaning."""
    words = [word.strip(_AROUND) for word in _asked(question).split()]
    return " ".join(word for word in words if content_terms(word)) or question.question


def opening(question: Question, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation up to the results of a search for the question."""
    return [
        {"role": "system", "content": load_prompt()},
        *_questions(question),
        _calling(("search", {"query": search_query(question)})),
        {"role": "tool", "content": search_result(results)},
    ]


def reading(question: Question, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of a search for the question alone, without prompt and call."""
    return [*_questions(question), {"role": "tool", "content": search_result(results)}]


def _questions(question: Question) -> list[dict[str, Any]]:
    earlier = [{"role": m.role, "content": m.content} for m in question.history]
    return [*earlier, {"role": "user", "content": question.question}]


def thought(quotes: Sequence[str], answers: bool) -> str:
    """What the assistant thinks of the results.

    Args:
        quotes: the sentences that come nearest.
        answers: whether they answer the question.
    """
    found = [f"Found: {_cut(quote)}" for quote in quotes]
    return "\n".join([*found, f"Answered: {'yes' if answers else 'no'}"])


def _cut(quote: str) -> str:
    return " ".join(quote.split()[:LONGEST_QUOTE])


def ending(quotes: Sequence[str], cited: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rest of a turn: the thought, and the citations and the reply, or the decline.

    Args:
        quotes: the sentences that come nearest, of which the reply is made.
        cited: the results that are cited; none where the quotes don't answer.
    """
    reasoning = {"reasoning_content": thought(quotes, bool(cited))}
    if not cited:
        return [{"role": "assistant", "content": DECLINE} | reasoning]
    pages = [{"document": result["document"], "page": result["page"]} for result in cited]
    told = [cite_result(r["document"], r["page"], r["label"]) for r in cited]
    reply = " ".join(dict.fromkeys(plain(_cut(quote)) for quote in quotes))
    return [
        _calling(*(("cite", page) for page in pages)) | reasoning,
        *({"role": "tool", "content": content} for content in told),
        {"role": "assistant", "content": reply},
    ]


def _asked(question: Question) -> str:
    """The question; one that follows another with that before it."""
    earlier = [m.content for m in question.history if m.role == "user"][-1:]
    return " ".join([*earlier, question.question])


def _calling(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    functions = [
        {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        for name, arguments in calls
    ]
    return {"role": "assistant", "tool_calls": [{"function": f} for f in functions]}


def rendered(
    messages: list[dict[str, Any]], tools: bool, instead: tuple[Question, Question] | None = None
) -> tuple[str, list[tuple[int, int]]]:
    """The conversation as text, and where in it the assistant's messages of the turn stand.

    Args:
        tools: whether there are tools to call.
        instead: the question that the messages are about, and another that is to stand in its place
            after the results, and only there.
    """
    schemas = load_toolbox().schemas if tools else []
    users = [at for at, m in enumerate(messages) if m["role"] == "user"]

    def render(until: int, reply: bool) -> str:
        text = _render(messages[:until], schemas, reply)
        if instead is None:
            return text
        one, other = (f"\nQuestion: {_asked(question)}<|im_end|>" for question in instead)
        return text.replace(one, other)

    spans = [
        (len(render(at, True)), len(render(at + 1, False)) - 1)
        for at in range(users[-1] + 1, len(messages))
        if messages[at]["role"] == "assistant"
    ]
    return render(len(messages), False), spans


def _render(messages: list[dict[str, Any]], tools: list[dict[str, Any]], reply: bool) -> str:
    filled = [{"content": None, "tool_calls": None, **message} for message in messages]
    return str(_template().render(messages=filled, tools=tools, add_generation_prompt=reply))


@cache
def _template() -> Any:
    environment = Environment()
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


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
    results = [result, result | {"page": 3}]
    texts = [
        rendered(opening(question, results) + ending(["It is 3 m."], cited), tools=True)[0]
        for cited in (results, [])
    ]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

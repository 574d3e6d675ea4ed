"""What the baseline does with a conversation, and that no conversation upsets it."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.standin.baseline import Baseline
from ragevalkit.standin.events import Arguments, Call, Finish, Text
from ragevalkit.standin.request import ChatRequest, parse_request
from ragevalkit.standin.sentences import MOST_WORDS, read_units, split_sentences
from ragevalkit.turn.protocol import DECLINE_MARKER, cite_result, search_result, tool_error

VOLTAGE = "The pump runs on three phases. Its rated voltage is 24 V. Keep it dry."
TABLE = "Maintenance\n\n| part | interval |\n| filter | 6 months |\n| seal | 2 years |"
PDF_TABLE = """Power and noise
Power is drawn from the mains. Noise is given at a distance of one metre, in a room
at 23 °C.
Machine Power Noise
Alder 5, idle 18 W 19 dB
Alder 5, busy 150 W 31 dB
Alder 7, busy 110 W 27 dB
Both machines stand on a shelf."""
LIST = "Issue C:\n• The filter is new.\n• The pump now\ndraws 9 W.\nKeep it dry."


def result(text: str, document: str = "pump.pdf", page: int = 3) -> dict[str, Any]:
    return {"document": document, "page": page, "label": None, "score": 1.0, "text": text}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    calls = [{"id": "c", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c", "content": content}


def searched(*texts: str) -> list[dict[str, Any]]:
    results = [result(text, page=at) for at, text in enumerate(texts, 3)]
    return [called("search"), told(search_result(results))]


def ask(messages: list[dict[str, Any]], tools: tuple[str, ...] = ("search", "cite")) -> Any:
    """`(tool, arguments)` of the baseline's call, or its reply."""
    request = ChatRequest(messages, frozenset(tools), True, True, False, False, None, 0)
    events = list(Baseline().reply(request))
    assert isinstance(events[-1], Finish)
    calls = [event.name for event in events if isinstance(event, Call)]
    pieces = [p for e in events if isinstance(e, Text | Arguments) for p in e.pieces]
    return (calls[0], json.loads("".join(pieces))) if calls else "".join(pieces)


Q = user("What is the rated voltage of the pump?")
QUOTE = "Its rated voltage is 24 V."
SAID = [{"role": "assistant", "content": "24 V."}]
CITATION = ("cite", {"document": "pump.pdf", "page": 3, "quote": QUOTE})
FIRST = ("search", {"query": "rated voltage pump"})

CONVERSATIONS = [
    pytest.param([Q], FIRST, id="searches-first"),
    pytest.param([user([{"type": "text", "text": Q["content"]}])], FIRST, id="content-in-parts"),
    pytest.param([Q, *searched(VOLTAGE)], CITATION, id="cites"),
    pytest.param([Q, called("search"), told("{}")], "search", id="odd-result"),
    pytest.param(
        [Q, *searched(VOLTAGE), called("cite"), told(cite_result("pump.pdf", 3, None))],
        QUOTE,
        id="answers",
    ),
    pytest.param(
        [Q, *searched(VOLTAGE), called("cite"), told(tool_error("no such page"))],
        QUOTE,
        id="answers-though-the-citation-failed",
    ),
    pytest.param([Q, *searched()], "search", id="searches-again"),
    pytest.param([Q, *searched("Bananas are yellow fruit.")], "search", id="again-when-poor"),
    pytest.param([Q, *searched(), *searched(VOLTAGE)], CITATION, id="second-search-helps"),
    pytest.param([Q, *searched(), *searched()], DECLINE_MARKER, id="declines-empty"),
    pytest.param(
        [Q, *searched("Bananas are yellow fruit."), *searched("Apples are red fruit.")],
        DECLINE_MARKER,
        id="declines-poor",
    ),
    pytest.param([Q, called("search"), told("boom")], "search", id="result-not-json"),
    pytest.param([Q, called("search"), told(tool_error("bad"))], "search", id="result-error"),
    pytest.param([user("")], "search", id="empty-question"),
    pytest.param([{"role": "system", "content": "x"}], "search", id="no-question"),
    pytest.param(
        [user("What is the maintenance interval of the filter?"), *searched(TABLE)],
        ("cite", {"document": "pump.pdf", "page": 3, "quote": "| filter | 6 months |"}),
        id="table-row",
    ),
    pytest.param(
        [user("How loud is an Alder 5 when busy?"), *searched(VOLTAGE, PDF_TABLE)],
        ("cite", {"document": "pump.pdf", "page": 4, "quote": "Alder 5, busy 150 W 31 dB"}),
        id="row-of-a-pdf-by-its-column-heads",
    ),
    pytest.param(
        [user("How many watts does the pump draw since issue C?"), *searched(LIST)],
        ("cite", {"document": "pump.pdf", "page": 3, "quote": "• The pump now\ndraws 9 W."}),
        id="list-item",
    ),
    pytest.param(
        [user("How heavy is the pump?"), *searched("It is yellow.")],
        ("search", {"query": "weight heavy pump"}),
        id="rewords",
    ),
    pytest.param(
        [Q, *SAID, user("And for how long does it run?"), *searched("The pump runs for 6 hours.")],
        ("cite", {"document": "pump.pdf", "page": 3, "quote": "The pump runs for 6 hours."}),
        id="follow-up-answered",
    ),
    pytest.param(
        [Q, *SAID, user("And how heavy is it?")],
        ("search", {"query": "heavy rated voltage pump"}),
        id="follow-up-borrows",
    ),
    pytest.param(
        [Q, *searched(VOLTAGE), *SAID, user("Pump weight kg?")],
        ("search", {"query": "pump weight kg"}),
        id="new-question-searches-anew",
    ),
]


@pytest.mark.parametrize(("messages", "expected"), CONVERSATIONS)
def test_conversation(messages: list[dict[str, Any]], expected: Any) -> None:
    said = ask(messages)
    if expected == "search":
        assert said[0] == "search"
        assert said[1]["query"]
    elif expected == DECLINE_MARKER:
        assert said == f"{DECLINE_MARKER}: the documents don't state this."
    else:
        assert said == expected


@pytest.mark.parametrize(
    ("messages", "tools", "expected"),
    [
        ([Q], (), DECLINE_MARKER),
        ([user("Reply with OK.")], (), "OK."),
        ([user("Please answer with the single word 'ok'")], (), "OK."),
        ([Q, *searched(VOLTAGE)], (), QUOTE),
        ([Q, *searched(VOLTAGE)], ("search",), QUOTE),
        ([Q], ("weather",), DECLINE_MARKER),
    ],
)
def test_other_tools(messages: list[dict[str, Any]], tools: tuple[str, ...], expected: str) -> None:
    assert ask(messages, tools).startswith(expected)


ENDLESS = "The rated voltage\nof the pump is 24 V" + ", and so on" * 60 + "."


@pytest.mark.parametrize(
    ("question", "text", "reply"),
    [
        ("What is the rated voltage of the pump?", "The rated voltage\nof it: 24 V.", None),
        ("What is the rated voltage of the pump?", ENDLESS, None),
        ("What is the maintenance interval of the filter?", TABLE, "filter, 6 months"),
        ("How many watts does the pump draw since issue C?", LIST, "The pump now draws 9 W."),
    ],
)
def test_quote_is_exact_and_reply_short(question: str, text: str, reply: str | None) -> None:
    name, arguments = ask([user(question), *searched(text)])
    assert name == "cite"
    assert arguments["quote"] in text
    assert len(arguments["quote"]) <= 200
    said = ask([user(question), *searched(text), called("cite"), told("{}")])
    assert len(said.split()) <= MOST_WORDS
    assert "\n" not in said
    assert said == (reply or said)


UNITS = [
    ("One. Two\nmore? Three", ["One.", "Two\nmore?", "Three"]),
    ("See Fig. 3 and Dr. Who. U. S. Grant ate.", ["See Fig. 3 and Dr. Who.", "U. S. Grant ate."]),
    ("It ended.[3]\n[4] It began.", ["It ended.[3]\n[4]", "It began."]),
    ("- one thing\n- another\n", ["- one thing", "- another"]),
    ("1. Press it.\n2. Wait.", ["1. Press it.", "2. Wait."]),
    ("# Pump\nIt runs.", ["# Pump", "It runs."]),
    ("Weight 3 kg\nHeight 52 mm", ["Weight 3 kg", "Height 52 mm"]),
    ("It is used in\nNorway and\nSweden.", ["It is used in\nNorway and\nSweden."]),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), UNITS)
def test_split_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "answers", "context"),
    [
        (TABLE, ["| filter | 6 months |", "| seal | 2 years |"], "| part | interval |"),
        (PDF_TABLE, PDF_TABLE.split("\n")[4:7], "Power and noise Machine Power Noise"),
        (LIST, ["• The filter is new.", "• The pump now\ndraws 9 W."], "Issue C:"),
    ],
)
def test_context_of_rows_and_items(text: str, answers: list[str], context: str) -> None:
    units = [unit for unit in read_units(text) if unit.text in answers]
    assert [unit.text for unit in units] == answers
    assert all(context in unit.context and not unit.heading for unit in units)


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        (TABLE, ["Maintenance", "| part | interval |"]),
        (PDF_TABLE, ["Power and noise", "Machine Power Noise"]),
        (LIST, ["Issue C:"]),
    ],
)
def test_headings(text: str, headings: list[str]) -> None:
    assert [unit.text for unit in read_units(text) if unit.heading] == headings


def test_over_http_with_the_sdk(baseline_url: str, tools: list[Any]) -> None:
    with openai.OpenAI(base_url=baseline_url, api_key="none", max_retries=0) as client:
        messages: list[Any] = [Q, *searched(VOLTAGE), called("cite"), told("{}")]
        chunks = list(
            client.chat.completions.create(
                model="baseline",
                messages=messages,
                tools=tools,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        whole = client.chat.completions.create(model="baseline", messages=messages, tools=tools)
    said = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
    assert said == ["Its", " rated", " voltage", " is", " 24", " V."]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage == whole.usage
    assert whole.choices[0].message.content == QUOTE


@given(st.text(alphabet=st.sampled_from("aB1 .!\n-|*#\"'é"), max_size=200))
def test_sentences_are_exact_parts(text: str) -> None:
    sentences = split_sentences(text)
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)
    at = 0
    for sentence in sentences:
        at = text.index(sentence, at) + len(sentence)
    assert "".join("".join(sentences).split()) == "".join(text.split())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
vocabulary = [
    "How",
    "heavy",
    "long",
    "weight",
    "pump",
    "Pump's",
    "age",
    "F-3",
    "24",
    "1,5",
    "kg",
    "when?",
    "|",
    "#",
    "•",
    ":",
    ".",
    "\n",
]
prose = st.lists(st.sampled_from(vocabulary), max_size=12).map(" ".join)
results = st.lists(
    st.fixed_dictionaries(
        {}, optional={"document": json_values, "page": json_values, "text": json_values}
    )
    | st.builds(result, prose | st.text(max_size=80), prose, st.integers(1, 9)),
    max_size=3,
)
contents = prose | json_values | results.map(lambda found: json.dumps({"results": found}))
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "function", "x"])},
    optional={
        "content": contents,
        "tool_calls": json_values | st.just([{"function": {"name": "search"}}]),
    },
)


@settings(deadline=None)
@given(st.lists(messages, min_size=1, max_size=8), st.booleans())
def test_never_raises(said: list[dict[str, Any]], with_tools: bool) -> None:
    body: dict[str, Any] = {"messages": said, "stream": True}
    if with_tools:
        names = ("search", "cite")
        body["tools"] = [{"type": "function", "function": {"name": name}} for name in names]
    request = parse_request(json.dumps(body).encode())
    events = list(Baseline().reply(request))
    assert isinstance(events[-1], Finish)
    assert events == list(Baseline().reply(request))

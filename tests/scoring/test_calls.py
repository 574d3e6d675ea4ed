"""Calls left in the text, each form with its near miss."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scoring.turns import ANSWER, call, round_, turn

from ragevalkit.scoring.calls import call_defects, leak, leaked_call, without_leaked_calls

BARE = '{"name": "search", "arguments": {"query": "noise"}}'

LEAKED = {
    f"<tool_call>{BARE}</tool_call>": "",
    f"<tool_call>{BARE}": "",
    f"I will search.\n<tool_call>\n{BARE}\n</tool_call>\nDone.": "I will search.\n\nDone.",
    f"A<tool_call>{BARE}</tool_call>B<tool_call>{BARE}</tool_call>C": "ABC",
    "<tool_call>\n<function=search>\n<parameter=query>x</parameter>\n</function>\n</tool_call>": "",
    "<function=search>{}</function>ok": "ok",
    "<function=search><parameter=query>noise</parameter>": "",
    '<function name="search">x</function>': "",
    "<function_call>search()</function_call> then": " then",
    '<|python_tag|>search.call(query="x")': "",
    f"So: [TOOL_CALLS][{BARE}]": "So: ",
    f"<|tool_calls_begin|>{BARE}": "",
    "<｜tool▁calls▁begin｜>search": "",
    "<|tool_call_begin|>functions.search:0": "",
    BARE: "",
    f"  {BARE}\n": "",
    f"[{BARE}, {BARE}]": "",
    f"```json\n{BARE}\n```": "",
    f"```\n{BARE}```": "",
    '{"name": "search", "arguments": "{}"}': "",
    '{"name": "search", "parameters": {"query": "x"}}': "",
    '{"type": "function", "function": {"name": "search", "arguments": {}}}': "",
    '{"name": "unheard_of", "arguments": {}}': "",
    f"I will search for that: {BARE}": "I will search for that: ",
    f"Let me look.\n```json\n{BARE}\n```": "Let me look.\n```json\n",
    '[search(query="noise")]': "",
    '[search(query="noise"), cite(document="guide", page=4)]': "",
    'search(query="noise")': "",
}

NOT_LEAKED = [
    "",
    ANSWER,
    # JSON that is no call
    "{}",
    "[]",
    "[1, 2]",
    '{"name": "Tarn 1", "weight": "3.4 kg"}',
    '{"arguments": {"query": "x"}}',
    '{"name": 4, "arguments": {}}',
    '{"name": "search", "arguments": null}',
    '{"name": "search", "parameters": "none"}',
    f'[{BARE}, {{"port": 8080}}]',
    '```json\n{"port": 8080}\n```',
    '```json\n{"arguments": {"query": "x"}}\n```',
    # a call's JSON inside prose is quoted, not made
    f"The log shows {BARE} at noon.",
    f"```json\n{BARE}\n```\nis what the manual gives as an example.",
    'It is set by {"name": "port", "parameters": {"value": 8080}}',
    "[research(topic=1)]",
    'In Python: search(query="noise") finds it.',
    # markup that only looks alike
    "Close the <tool> tag.",
    "The <functional> layer.",
    "Set function=search in the file.",
    "tool_calls are listed in chapter 4.",
    "a [TOOL] and [tool_calls] of the log",
]


@pytest.mark.parametrize(("text", "rest"), LEAKED.items())
def test_a_leaked_call_is_found_and_taken_out(text: str, rest: str) -> None:
    assert leaked_call(text)
    assert without_leaked_calls(text) == rest
    assert leak(round_(content=text)) == "in_content"
    assert call_defects(turn(reply=text)) == {"in_content"}


@pytest.mark.parametrize("text", NOT_LEAKED)
def test_what_is_no_call_is_left(text: str) -> None:
    assert not leaked_call(text)
    assert without_leaked_calls(text) == text
    assert call_defects(turn(reply=text)) == set()


@settings(deadline=None)
@given(st.text())
def test_text_without_a_leaked_call_is_left_whole(text: str) -> None:
    assert leaked_call(text) or without_leaked_calls(text) == text


MARKUP = f"<tool_call>{BARE}</tool_call>"


@pytest.mark.parametrize(
    ("round_made", "where"),
    [
        (round_(reasoning=MARKUP), "in_reasoning"),
        (round_(reasoning=f"I search. {MARKUP}", content=" \n"), "in_reasoning"),
        (round_(reasoning=BARE, finish="tool_calls"), "in_reasoning"),
        (round_(content=MARKUP, reasoning=MARKUP), "in_content"),
        (round_(call(), content=MARKUP), "in_content"),
        # a thought: a real call or a reply came of it, or the reasoning was cut off
        (round_(call(), reasoning=MARKUP), None),
        (round_(content=ANSWER, reasoning=MARKUP), None),
        (round_(reasoning=MARKUP, finish="length"), None),
        (round_(reasoning="I should call search."), None),
    ],
)
def test_a_call_in_the_reasoning_counts_where_nothing_else_came(
    round_made: object, where: str | None
) -> None:
    assert leak(round_made) == where


def test_a_call_in_the_reasoning_that_a_deadline_cut_off_is_a_thought() -> None:
    cut = round_(reasoning=MARKUP)
    cut.finish_reason = None
    assert leak(cut) is None


@pytest.mark.parametrize(
    ("calls", "kinds"),
    [
        ([call()], set()),
        ([call(), call("cite", id="call_2")], set()),
        ([call(id=None), call(id=None)], set()),
        ([call(defect="not_json")], {"not_json"}),
        ([call(defect="truncated")], {"truncated"}),
        ([call("grep", defect="unknown_tool")], {"unknown_tool"}),
        ([call(defect="schema")], {"schema"}),
        ([call(defect="schema", recovered=True), call()], {"schema"}),
        ([call(), call(duplicate_id=True)], {"duplicate_id"}),
        ([call(defect="schema"), call(defect="schema", duplicate_id=True)],
         {"schema", "duplicate_id"}),
    ],
)  # fmt: skip
def test_kinds_of_call_defects(calls: list[object], kinds: set[str]) -> None:
    assert call_defects(turn(round_(*calls), reply=ANSWER)) == kinds
    assert call_defects(turn(*(round_(one) for one in calls), reply=ANSWER)) == kinds

"""The agent against servers over HTTP: what it sends, how its turns end, what it records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from servers import completion, raw_server, response

from ragevalkit.agent.graph import Agent, Limits
from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bank import Question
from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.endpoint.client import ChatClient, Retries, Timeouts
from ragevalkit.endpoint.profile import Profile
from ragevalkit.turn.record import Ended, RoundState, Turn

QUESTION = Question(
    id="q",
    question="How tall is the mast?",
    answerable=True,
    evidence=[{"document": "guide", "page": 2}],
    history=[
        {"role": "user", "content": "Is there a mast?"},
        {"role": "assistant", "content": "Yes."},
    ],
)
SEARCH = ("s1", "search", '{"query": "mast"}')


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    path = tmp_path / "guide.md"
    path.write_text("<!-- page: i -->\nContents\n<!-- page: 1 -->\nThe mast is 12 metres tall.\n")
    return open_corpus(path)


class Script:
    """Answers the rounds of a turn one after the other and keeps what it was sent."""

    def __init__(self, *replies: list[bytes]) -> None:
        self.replies, self.requests = list(replies), []  # type: ignore[var-annotated]

    def __call__(self, path: str, body: bytes) -> list[bytes]:
        self.requests.append(json.loads(body))
        return self.replies[min(len(self.requests), len(self.replies)) - 1]


def ask(
    script: Callable[[str, bytes], list[bytes]],
    corpus: Corpus,
    *,
    limits: Limits | None = None,
    strict: bool | None = None,
    repeat: int = 0,
    **profile: Any,
) -> Turn:
    async def one_turn(url: str) -> Turn:
        client = ChatClient(
            Profile(name="p", base_url=url, **profile),
            concurrency=1,
            retries=Retries(most=1, first_wait_s=0),
            timeouts=Timeouts(stall_s=20),
        )
        client.proven = True
        toolbox = load_toolbox(strict)
        agent = Agent(client, "m", toolbox, load_prompt(), limits or Limits(), seed=7)
        try:
            return await agent.ask(QUESTION, corpus, repeat)
        finally:
            await client.close()

    with raw_server(script) as url:
        return asyncio.run(one_turn(url))


def test_a_whole_turn(corpus: Corpus) -> None:
    script = Script(
        completion(calls=[SEARCH]),
        completion(
            "Found it.", calls=[("c1", "cite", '{"document": "guide", "page": 2, "quote": "12"}')]
        ),
        completion("12 metres."),
    )
    turn = ask(script, corpus)
    assert (turn.ended, turn.reply, turn.error) == (Ended.REPLY, "12 metres.", None)
    assert [c.model_dump() for c in turn.citations] == [
        {"document": "guide", "page": 2, "quote": "12", "exists": True}
    ]
    search, cite = turn.rounds[0].calls[0], turn.rounds[1].calls[0]
    assert [(p.document, p.page) for p in search.returned] == [("guide", 2)]
    results = json.loads(search.result or "")["results"]
    assert results[0] | {"score": 0} == {
        "document": "guide",
        "page": 2,
        "label": "1",
        "score": 0,
        "text": "The mast is 12 metres tall.",
    }
    assert json.loads(cite.result or "") == {
        "cited": {"document": "guide", "page": 2, "label": "1"}
    }
    assert turn.bank_line == QUESTION.line()
    assert sum(turn.composition_ms.values()) == pytest.approx(turn.wall_ms, abs=0.01)
    assert Turn.model_validate_json(turn.model_dump_json()) == turn


def test_what_is_sent(corpus: Corpus) -> None:
    script = Script(completion(calls=[SEARCH]), completion("12 metres."))
    ask(
        script,
        corpus,
        repeat=2,
        sampling={"temperature": 0.6, "top_k": 20},
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
    )
    first, second = script.requests
    assert [m["role"] for m in first["messages"]] == ["system", "user", "assistant", "user"]
    assert first["messages"][-1]["content"] == QUESTION.question
    assert first["model"] == "m"
    assert first["stream"] is True
    assert first["stream_options"] == {"include_usage": True}
    assert (first["temperature"], first["top_p"], first["top_k"]) == (0.6, 1.0, 20)
    assert first["seed"] == 9, "a repeat has a seed of its own"
    assert first["max_completion_tokens"] == 12_000
    assert first["chat_template_kwargs"] == {"enable_thinking": False}
    assert [t["function"]["name"] for t in first["tools"]] == ["search", "cite"]
    assert second["messages"][:4] == first["messages"]
    assert [m["role"] for m in second["messages"][4:]] == ["assistant", "tool"]
    assert second["messages"][4]["tool_calls"][0]["function"]["arguments"] == SEARCH[2]
    assert second["messages"][5]["tool_call_id"] == "s1"


@pytest.mark.parametrize(
    ("strict", "required"),
    [(None, ["query"]), (False, ["query"]), (True, ["query", "document"])],
)
def test_strict_variants(corpus: Corpus, strict: bool | None, required: list[str]) -> None:
    script = Script(
        completion(calls=[("s1", "search", '{"query": "mast", "document": null}')]),
        completion("12 metres."),
    )
    turn = ask(script, corpus, strict=strict)
    function = script.requests[0]["tools"][0]["function"]
    assert function.get("strict") is strict
    assert ("strict" in function) is (strict is not None)
    assert function["parameters"]["required"] == required
    null_is_allowed = strict is True
    assert turn.rounds[0].calls[0].defect == (None if null_is_allowed else "schema")


@pytest.mark.parametrize(
    ("call", "finish", "defect", "told"),
    [
        (("a", "search", '{"query": "mast"'), "", "not_json", "not JSON"),
        (("a", "search", '{"query": "mast'), "length", "truncated", "not JSON"),
        (("a", "search", ""), "length", "truncated", "missing"),
        (("a", "find", "{}"), "", "unknown_tool", "no tool 'find'"),
        (("a", "search", "{}"), "", "schema", "'query' is a required property"),
        (("a", "search", ""), "", "schema", "'query' is a required property"),
        (("a", "search", '"mast"'), "", "schema", "is not of type 'object'"),
        (("a", "search", '{"query": 5}'), "", "schema", "'query'"),
        (("a", "search", '{"query": "x", "top": 3}'), "", "schema", "'top' was unexpected"),
        (("a", "cite", '{"document": "guide", "page": "2"}'), "", "schema", "'page'"),
        (("a", "cite", '{"document": "guide", "page": 0}'), "", "schema", "'page'"),
        (("a", "cite", '{"document": "guide", "page": 3}'), "", None, "'guide' has 2 pages"),
        (("a", "cite", '{"document": "guide", "page": 1e30}'), "", None, "'guide' has 2 pages"),
        (("a", "cite", '{"document": "atlas", "page": 1}'), "", None, "no document 'atlas'"),
        (("a", "search", '{"query": "x", "document": "atlas"}'), "", None, "no document 'atlas'"),
        (("a", "search", '{"query": ""}'), "", None, '"results":[]'),
        (("a", "search", '{"query": "mast", "document": "GUIDE.md"}'), "", None, '"page":2'),
    ],
)
def test_calls_are_answered_and_recorded_as_they_came(
    corpus: Corpus, call: tuple[str, str, str], finish: str, defect: str | None, told: str
) -> None:
    script = Script(completion(calls=[call], finish=finish), completion("So be it."))
    turn = ask(script, corpus)
    recorded = turn.rounds[0].calls[0]
    assert (recorded.name, recorded.arguments, recorded.defect) == (call[1], call[2], defect)
    assert told in (recorded.result or "")
    assert turn.reply == "So be it."
    assert Turn.model_validate(orjson.loads(turn.model_dump_json())) == turn, "as from its file"
    replayed = script.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(replayed), dict), "a server must be able to take it back"
    assert script.requests[1]["messages"][-1]["content"] == recorded.result


def test_the_budget_cuts_off_the_last_call_alone(corpus: Corpus) -> None:
    calls = [("a", "search", '{"query": "mast"'), ("b", "search", '{"que')]
    turn = ask(Script(completion(calls=calls, finish="length"), completion("12 metres.")), corpus)
    assert [c.defect for c in turn.rounds[0].calls] == ["not_json", "truncated"]


def test_names_that_no_function_can_have_do_not_go_back(corpus: Corpus) -> None:
    calls = [("a", "", "{}"), ("b", "search the web!", "{}"), SEARCH]
    script = Script(completion(calls=calls), completion("12 metres."))
    turn = ask(script, corpus)
    assert [c.name for c in turn.rounds[0].calls] == ["", "search the web!", "search"]
    sent = script.requests[1]["messages"][4]["tool_calls"]
    assert [c["function"]["name"] for c in sent] == ["_", "search_the_web_", "search"]


def test_ids_are_made_unique_for_the_server_and_kept_in_the_record(corpus: Corpus) -> None:
    script = Script(
        completion(calls=[("x", *SEARCH[1:]), ("x", *SEARCH[1:]), (None, *SEARCH[1:])]),
        completion("12 metres."),
    )
    turn = ask(script, corpus)
    assert [(c.id, c.duplicate_id) for c in turn.rounds[0].calls] == [
        ("x", False),
        ("x", True),
        (None, False),
    ]
    messages = script.requests[1]["messages"]
    sent = [call["id"] for call in messages[4]["tool_calls"]]
    assert len(set(sent)) == 3
    assert [m["tool_call_id"] for m in messages[5:]] == sent


def test_a_later_good_call_marks_an_earlier_bad_one_as_recovered(corpus: Corpus) -> None:
    script = Script(
        completion(calls=[("a", "search", "{"), ("b", "cite", "{"), ("c", "find", "{}")]),
        completion(calls=[SEARCH]),
        completion("12 metres."),
    )
    turn = ask(script, corpus)
    assert [c.recovered for c in turn.rounds[0].calls] == [True, False, True]


def reasoning_only(finish: str) -> list[bytes]:
    chunk = {"choices": [{"delta": {"reasoning": "Let me think"}, "finish_reason": finish}]}
    whole = completion()
    whole[1] = f"data: {json.dumps(chunk)}\n\n".encode()
    del whole[2]
    return whole


OVERFLOW = response(
    b'{"error": {"message": "This model\'s maximum context length is 4096 tokens."}}',
    status="400 Bad Request",
)
REJECTED = response(b'{"error": {"message": "bad history"}}', status="400 Bad Request")
DOWN = response(b"down", status="503 Service Unavailable")


@pytest.mark.parametrize(
    ("replies", "limits", "ended", "rounds"),
    [
        ([completion("Yes.")], Limits(), Ended.REPLY, 1),
        ([completion(calls=[SEARCH])], Limits(rounds=3), Ended.ROUND_LIMIT, 3),
        (
            [completion(calls=[SEARCH, SEARCH])],
            Limits(tool_results=3),
            Ended.TOOL_RESULT_LIMIT,
            2,
        ),
        ([completion("The mast is", finish="length")], Limits(), Ended.TRUNCATED, 1),
        ([reasoning_only("length")], Limits(), Ended.BUDGET_EXHAUSTED, 1),
        ([reasoning_only("stop")], Limits(), Ended.REPLY, 1),
        ([completion(calls=[SEARCH]), OVERFLOW], Limits(), Ended.CONTEXT_OVERFLOW, 2),
        ([completion(calls=[SEARCH]), REJECTED], Limits(), Ended.SERVER_REJECTED, 2),
        ([completion(calls=[SEARCH]), DOWN], Limits(), Ended.INFRA_ERROR, 2),
    ],
    ids=lambda value: str(value) if isinstance(value, Ended) else "",
)
def test_every_turn_ends_in_a_named_way(
    corpus: Corpus, replies: list[list[bytes]], limits: Limits, ended: Ended, rounds: int
) -> None:
    turn = ask(Script(*replies), corpus, limits=limits)
    assert (turn.ended, len(turn.rounds)) == (ended, rounds)
    if ended in (Ended.CONTEXT_OVERFLOW, Ended.SERVER_REJECTED, Ended.INFRA_ERROR):
        assert turn.error


def test_a_server_that_fails_at_this_turn_alone_is_no_infrastructure_error(
    corpus: Corpus,
) -> None:
    def answer(path: str, body: bytes) -> list[bytes]:
        is_control = "tools" not in json.loads(body)
        return completion("OK.") if is_control else DOWN

    turn = ask(answer, corpus)
    assert turn.ended is Ended.SERVER_REJECTED
    assert [a.state for a in turn.rounds[0].attempts] == [RoundState.SERVER_ERROR] * 2


def test_the_turn_limit_keeps_what_came_so_far(
    corpus: Corpus, mock_url: Callable[[str], str]
) -> None:
    url = mock_url(
        '[[rules]]\n[rules.reply]\nanswer = "The mast is"\n'
        '[rules.fault]\nkind = "silence"\nafter = 2\n'
    )

    async def one_turn() -> Turn:
        client = ChatClient(Profile(name="p", base_url=url), concurrency=1)
        limits = Limits(turn_s=0.5)
        agent = Agent(client, "mock", load_toolbox(), load_prompt(), limits)
        try:
            return await agent.ask(QUESTION, corpus)
        finally:
            await client.close()

    turn = asyncio.run(one_turn())
    assert turn.ended is Ended.TURN_TIMEOUT
    assert turn.rounds[0].state is RoundState.DEADLINE
    assert turn.rounds[0].content
    assert turn.wall_ms >= 500


def test_time_that_ran_out_waiting_for_a_busy_server_is_infrastructure(corpus: Corpus) -> None:
    busy = response(b"busy", status="429 Too Many Requests", headers="Retry-After: 30\r\n")
    turn = ask(Script(completion(calls=[SEARCH]), busy), corpus, limits=Limits(turn_s=1))
    assert turn.ended is Ended.INFRA_ERROR
    assert "HTTP 429: busy" in (turn.error or "")
    assert [a.state for a in turn.rounds[1].attempts] == [RoundState.BUSY]


def test_reasoning_goes_back_under_its_own_name(corpus: Corpus) -> None:
    chunk = {"choices": [{"delta": {"reasoning_content": "I should search."}}]}
    searching = completion(calls=[SEARCH])
    searching.insert(1, f"data: {json.dumps(chunk)}\n\n".encode())
    script = Script(searching, completion("12 metres."))
    turn = ask(script, corpus)
    assert turn.rounds[0].reasoning == "I should search."
    assert script.requests[1]["messages"][4]["reasoning_content"] == "I should search."

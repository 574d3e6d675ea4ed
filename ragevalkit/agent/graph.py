"""The agent: a LangGraph of a model node and a tools node over plain OpenAI messages.

Public: `Agent`, `Limits`.

The prebuilt nodes of LangGraph end a turn silently at a malformed call, coerce arguments and drop
reasoning, which is what this tool measures; nodes and router are therefore its own.
"""

from __future__ import annotations

import asyncio
import operator
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ragevalkit.agent.history import assistant_message, first_messages
from ragevalkit.agent.tools import NAMES, Toolbox
from ragevalkit.bank import Question
from ragevalkit.corpus import Corpus
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.turn.composition import compose
from ragevalkit.turn.record import Citation, Ended, Round, RoundState, Turn, milliseconds


@dataclass(frozen=True)
class Limits:
    """What ends a turn that would not end by itself."""

    rounds: int = 16
    """Requests to the model in one turn."""
    tool_results: int = 32
    """Tool results in one turn."""
    output_tokens: int = 12_000
    """`max_completion_tokens` of each request."""
    turn_s: float = 600.0


class _State(TypedDict):
    messages: Annotated[list[dict[str, Any]], operator.add]
    ended: Ended | None


@dataclass
class _Context:
    """What the nodes of one turn share; none of it belongs in the graph's state."""

    corpus: Corpus
    parameters: dict[str, Any]
    """The request's fields besides messages."""
    origin_ns: int
    rounds: list[Round] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    error: str | None = None

    def now_ms(self) -> float:
        return milliseconds(time.perf_counter_ns() - self.origin_ns)


@dataclass(frozen=True)
class Agent:
    """Asks questions of one endpoint, with the same prompt, tools and limits each time."""

    client: ChatClient
    model: str
    toolbox: Toolbox
    prompt: str
    limits: Limits
    seed: int = 0

    async def ask(self, question: Question, corpus: Corpus, repeat: int = 0) -> Turn:
        """One turn, from the user's message to the final reply.

        Returns the record with `outcome` left empty; scoring fills it in.

        Raises:
            EndpointUnusable: the endpoint has never completed a request and can't be used.
        """
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        context = _Context(corpus, self._parameters(repeat), time.perf_counter_ns())
        state: _State = {"messages": first_messages(self.prompt, question), "ended": None}
        try:
            async with asyncio.timeout(self.limits.turn_s):
                final = await self._graph.ainvoke(
                    state,
                    # model, tools, model, …: at most twice the rounds; the limit itself is ours
                    config={"recursion_limit": 2 * self.limits.rounds + 4},
                    context=context,
                )
            ended = final["ended"]
        except TimeoutError:
            lost = _lost_to_infrastructure(context.rounds)
            ended = Ended.INFRA_ERROR if lost else Ended.TURN_TIMEOUT
            context.error = f"the turn's limit of {self.limits.turn_s:g} s was reached"
            context.error += f" after: {lost}" if lost else ""
        wall_ms = context.now_ms()
        last = context.rounds[-1] if context.rounds else None
        replied = last is not None and not last.calls and ended is not Ended.INFRA_ERROR
        return Turn.model_construct(
            question_id=question.id,
            question_hash=question.hash,
            repeat=repeat,
            outcome="",
            ended=ended,
            error=context.error,
            reply=last.content if last and replied else "",
            citations=context.citations,
            rounds=context.rounds,
            started_at=started_at,
            wall_ms=wall_ms,
            composition_ms=compose(context.rounds, wall_ms),
            corpus=question.corpus or "",
            tools=list(NAMES),
            bank_line=question.line(),
        )

    def _parameters(self, repeat: int) -> dict[str, Any]:
        return {
            "model": self.model,
            **self.client.profile.sampling.parameters(),
            # repeats at one seed would be the same turn again
            "seed": self.seed + repeat,
            "max_completion_tokens": self.limits.output_tokens,
            "tools": self.toolbox.schemas,
        }

    @cached_property
    def _graph(self) -> Any:
        graph = StateGraph(_State, context_schema=_Context)
        graph.add_node("model", self._model_node)
        graph.add_node("tools", self._tools_node)
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", _route("tools"), ["tools", END])
        graph.add_conditional_edges("tools", _route("model"), ["model", END])
        return graph.compile()

    async def _model_node(self, state: _State, runtime: Runtime[_Context]) -> dict[str, Any]:
        context = runtime.context
        body = {**context.parameters, "messages": state["messages"]}
        round_ = await self.client.complete(body, context.rounds, context.origin_ns)
        if round_.state is not RoundState.DONE:
            context.error = round_.error
            return {"ended": await self._failure(round_)}
        if not round_.calls:
            return {"ended": _reply_end(round_)}
        return {"messages": [assistant_message(round_)]}

    async def _tools_node(self, state: _State, runtime: Runtime[_Context]) -> dict[str, Any]:
        context = runtime.context
        round_ = context.rounds[-1]
        sent = [call["id"] for call in state["messages"][-1]["tool_calls"]]
        results: list[dict[str, Any]] = []
        seen = {c.id for r in context.rounds[:-1] for c in r.calls if c.id is not None}
        held = sum(len(r.calls) for r in context.rounds[:-1])
        for id_, call in zip(sent, round_.calls, strict=True):
            if held >= self.limits.tool_results:
                return {"messages": results, "ended": Ended.TOOL_RESULT_LIMIT}
            held += 1
            call.started_ms = context.now_ms()
            call.duplicate_id = call.id in seen
            if call.id is not None:
                seen.add(call.id)
            # the budget ends inside the last call; those before it were whole
            cut_off = round_.finish_reason == "length" and call is round_.calls[-1]
            self.toolbox.execute(call, context.corpus, context.citations, cut_off=cut_off)
            call.ended_ms = context.now_ms()
            results.append({"role": "tool", "tool_call_id": id_, "content": call.result})
            if call.defect is None:
                _mark_recovered(context.rounds, call.name)
        limit_reached = len(context.rounds) >= self.limits.rounds
        return {"messages": results, "ended": Ended.ROUND_LIMIT if limit_reached else None}

    async def _failure(self, round_: Round) -> Ended:
        match round_.state:
            case RoundState.OVERFLOW:
                return Ended.CONTEXT_OVERFLOW
            case RoundState.REJECTED:
                return Ended.SERVER_REJECTED
            case RoundState.SERVER_ERROR if await self.client.control(self.model) is None:
                # the server is well: it is this turn that it fails at
                return Ended.SERVER_REJECTED
        return Ended.INFRA_ERROR


def _route(next_node: str) -> Any:
    def route(state: _State) -> str:
        return END if state["ended"] else next_node

    return route


def _lost_to_infrastructure(rounds: list[Round]) -> str | None:
    """The last failure of a turn whose time ran out in the pause after it, where it was a busy
    server's or a connection's: the model was not asked any more."""
    last = rounds[-1].attempts[-1] if rounds and rounds[-1].attempts else None
    if last is None or last.waited_s is None or last.state is RoundState.SERVER_ERROR:
        return None
    return last.error or last.state.value


def _reply_end(round_: Round) -> Ended:
    if round_.finish_reason == "length":
        return Ended.TRUNCATED if round_.content.strip() else Ended.BUDGET_EXHAUSTED
    return Ended.REPLY


def _mark_recovered(rounds: list[Round], name: str) -> None:
    for round_ in rounds:
        for call in round_.calls:
            if call.defect is not None and call.result is not None:
                # any call that is carried out makes up for one of a tool that there isn't
                call.recovered |= call.name == name or call.defect == "unknown_tool"

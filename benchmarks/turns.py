"""CPU time of a turn: the whole run against a bare aiohttp loop that sends the same requests.

    python benchmarks/turns.py [--turns 1000] [--concurrency 16] [--repetitions 5] [--json]

A turn is 3 rounds (search, cite, a reply of 64 tokens, each streamed as its own event) against an
endpoint in another process that answers at once. CPU time is this process's, over all threads. The
parts are measured by leaving things out, in the same run and in turns: `bare` is aiohttp alone,
`sdk` sends the same bytes through the openai SDK and reads them raw, `graph` runs a LangGraph of
the same shape whose nodes do nothing, `run` is all of ragevalkit, from plan to summary, without the
report. What `run` takes beyond the others is our own share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import operator
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import aiohttp
import httpx2
from langgraph.graph import END, START, StateGraph
from openai import AsyncOpenAI, AsyncStream, DefaultAioHttpClient

from ragevalkit import resources
from ragevalkit.agent.graph import Agent, Limits
from ragevalkit.agent.history import load_prompt
from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bank import Bank, Question
from ragevalkit.cli.progress import Silent
from ragevalkit.cli.wiring import connect
from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.profile import Profile
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.run import Plan, execute
from ragevalkit.standin import start

SCENARIO = """
[[rules]]
round = 0
[[rules.reply.calls]]
name = "search"
arguments = { query = "noise at one metre in balanced mode" }

[[rules]]
round = 1
[[rules.reply.calls]]
name = "cite"
arguments = { document = "{document}", page = "{page}" }

[[rules]]
round = 2
[rules.reply]
answer = 64
"""
TARGET = 7.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        scenario.write_text(SCENARIO)
        with start("mock", scenario) as standin:
            result = measure(Path(folder), standin.base_url, standin.model, options)
    print(json.dumps(result, indent=2) if options.json else table(result, options))


def measure(
    folder: Path, base_url: str, model: str, options: argparse.Namespace
) -> dict[str, float]:
    corpus = open_corpus(resources.packaged("corpora", "tarn"))
    profile = Profile(name="mock", base_url=base_url, model=model)
    bodies = asyncio.run(recorded_bodies(profile, model, corpus))
    milliseconds: dict[str, list[float]] = {"bare": [], "sdk": [], "graph": [], "run": []}
    for repetition in range(options.repetitions + 1):
        taken = {
            "bare": cpu(lambda: asyncio.run(bare(base_url, bodies, options))),
            "sdk": cpu(lambda: asyncio.run(sdk(base_url, bodies, options))),
            "graph": cpu(lambda: asyncio.run(graph(options))),
            "run": cpu(lambda r=repetition: run(folder / f"run-{r}", profile, corpus, options)),
        }
        if repetition:  # the first one warms up
            for name, seconds in taken.items():
                milliseconds[name].append(1000 * seconds / options.turns)
    medians = {name: statistics.median(values) for name, values in milliseconds.items()}
    return {
        **{f"{name}_ms": value for name, value in medians.items()},
        "sdk_share_ms": medians["sdk"] - medians["bare"],
        "own_share_ms": medians["run"] - medians["sdk"] - medians["graph"],
        "ratio": medians["run"] / medians["bare"],
        "target": TARGET,
    }


def cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


async def recorded_bodies(profile: Profile, model: str, corpus: Corpus) -> list[bytes]:
    """The three request bodies of a turn, as our own client sends them."""
    client = ChatClient(profile, concurrency=1)
    bodies: list[bytes] = []
    stream = client._stream

    async def recording(content: bytes, *rest: Any) -> None:
        bodies.append(content)
        await stream(content, *rest)

    client._stream = recording  # type: ignore[method-assign]
    agent = Agent(client, model, load_toolbox(), load_prompt(), Limits())
    turn = await agent.ask(questions(1)[0], corpus)
    await client.close()
    assert len(bodies) == 3, turn.error
    assert turn.rounds[2].completion_tokens == 64, turn.rounds[2]
    return bodies


async def shared_out(turn: Callable[[], Awaitable[None]], options: argparse.Namespace) -> None:
    left = iter(range(options.turns))

    async def work() -> None:
        for _ in left:
            await turn()

    await asyncio.gather(*(work() for _ in range(options.concurrency)))


def stamps() -> Callable[[], None]:
    """Keeps the time of every read, as any client that measures must."""
    taken: list[int] = []
    return lambda: taken.append(time.perf_counter_ns())


async def bare(base_url: str, bodies: list[bytes], options: argparse.Namespace) -> None:
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    stamp = stamps()
    connector = aiohttp.TCPConnector(limit=options.concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def turn() -> None:
            for body in bodies:
                async with session.post(
                    f"{base_url}/chat/completions", data=body, headers=headers
                ) as response:
                    async for _ in response.content.iter_any():
                        stamp()

        await shared_out(turn, options)


async def sdk(base_url: str, bodies: list[bytes], options: argparse.Namespace) -> None:
    limits = httpx2.Limits(
        max_connections=options.concurrency, max_keepalive_connections=options.concurrency
    )
    client = AsyncOpenAI(
        base_url=base_url,
        api_key="none",
        max_retries=0,
        http_client=DefaultAioHttpClient(limits=limits),
    )
    stamp = stamps()

    async def turn() -> None:
        for body in bodies:
            stream = await client.post(
                "/chat/completions",
                cast_to=object,
                content=body,
                stream=True,
                stream_cls=AsyncStream[object],
                options={"headers": {"content-type": "application/json"}},
            )
            async for _ in stream.response.aiter_bytes():
                stamp()
            await stream.response.aclose()

    await shared_out(turn, options)
    await client.close()


class State(TypedDict):
    messages: Annotated[list[dict[str, Any]], operator.add]
    rounds: Annotated[int, operator.add]


async def graph(options: argparse.Namespace) -> None:
    async def model(state: State) -> dict[str, Any]:
        return {"messages": [{}], "rounds": 1}

    async def tools(state: State) -> dict[str, Any]:
        return {"messages": [{}]}

    def after_model(state: State) -> str:
        return "tools" if state["rounds"] < 3 else END

    built = StateGraph(State)
    built.add_node("model", model)
    built.add_node("tools", tools)
    built.add_edge(START, "model")
    built.add_conditional_edges("model", after_model, ["tools", END])
    built.add_conditional_edges("tools", lambda state: "model", ["model", END])
    compiled = built.compile()

    async def turn() -> None:
        await compiled.ainvoke({"messages": [{}, {}], "rounds": 0}, config={"recursion_limit": 36})

    await shared_out(turn, options)


def questions(count: int) -> list[Question]:
    return [
        Question(
            id=f"q{number}",
            question=f"How loud is the machine in balanced mode, at place {number}?",
            answerable=True,
            evidence=[{"document": "operator-guide", "page": 10}],
        )
        for number in range(count)
    ]


def run(folder: Path, profile: Profile, corpus: Corpus, options: argparse.Namespace) -> None:
    asked = questions(options.turns)
    plan = Plan(
        folder=RunFolder(folder),
        bank=Bank("benchmark", Path("benchmark.jsonl"), asked, list(range(1, len(asked) + 1))),
        corpora={"": corpus},
        profile=profile,
        connect=connect,
        prompt=load_prompt(),
        toolbox=load_toolbox(),
        concurrency=options.concurrency,
    )
    result = execute(plan, Silent())
    assert result.summary.scored == options.turns, result
    assert result.summary.timing.rounds.p50 == 3, result


def table(result: dict[str, float], options: argparse.Namespace) -> str:
    rows = [
        ("bare aiohttp loop", result["bare_ms"]),
        ("openai SDK, beyond that", result["sdk_share_ms"]),
        ("LangGraph", result["graph_ms"]),
        ("ragevalkit's own share", result["own_share_ms"]),
        ("the whole run", result["run_ms"]),
    ]
    lines = [f"{name:26}{value:8.2f} ms" for name, value in rows]
    return "\n".join(
        [
            f"CPU time a turn of 3 rounds, {options.turns} turns, {options.concurrency} at once",
            *lines,
            f"run / bare: {result['ratio']:.1f} (target: at most {TARGET:.0f})",
        ]
    )


if __name__ == "__main__":
    main()

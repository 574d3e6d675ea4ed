"""Lateness of token stamps and CPU a token: our client, bare aiohttp, and the SDK's typed stream.

    python benchmarks/lateness.py [--streams 64 256] [--seconds 4] [--repetitions 5] [--json]

Each stream brings 50 tokens a second, staggered, from a server that says in each token when it sent
it (`ragevalkit bench calibrate`). The clients take turns, each in a process of its own with a
server of its own, so that a busy machine hits all alike; a ratio is taken within a repetition, and
the median over the repetitions is printed. Exits with 1 where `ragevalkit` is past a target.

`bare` splits reads at blank lines, parses each event with orjson and keeps its stamp and its text.
`ragevalkit` is the client of a run, up to the record of the round. `sdk` is `create(stream=True)`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

import aiohttp
import orjson
from openai import AsyncOpenAI

from ragevalkit.bench.calibrate import RAMP_S, Load, ask
from ragevalkit.bench.loopback import Clock, Loopback, Token, tokens_of
from ragevalkit.bench.loopback_server import Schedule
from ragevalkit.endpoint.client import ChatClient, Retries
from ragevalkit.endpoint.instrument import frozen_heap

TARGET = 2.0
"""Most that `ragevalkit` may take, in multiples of `bare`."""
MEASURES = {"p50_ms": "p50 ms", "p99_ms": "p99 ms", "cpu_us": "CPU µs a token"}

Stamped = tuple[list[int], list[str]]
"""Times and texts of a stream's tokens: two lists, since a tuple for each token would make the
garbage collector stop every client for tens of milliseconds."""
T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--client", choices=CLIENTS, help="measure this one, in this process")
    options = parser.parse_args()
    if options.client:
        load = Load(options.streams[0], seconds=options.seconds)
        print(json.dumps(asyncio.run(measure(options.client, load))))
        return
    results = {str(n): compare(n, options) for n in options.streams}
    print(json.dumps(results, indent=2) if options.json else table(results, options))
    missed = [r for result in results.values() for r in result["ratios"]["ragevalkit"].values()]
    sys.exit(max(missed) > TARGET)


def compare(streams: int, options: argparse.Namespace) -> dict[str, Any]:
    """Medians of each client, and the medians of their ratios to `bare`."""
    runs: dict[str, list[dict[str, float]]] = {client: [] for client in CLIENTS}
    for number in range(options.repetitions):
        for client, taken in runs.items():
            print(f"{streams} streams, {number + 1}: {client}", file=sys.stderr)
            taken.append(in_own_process(client, streams, options.seconds))
    medians = {c: {m: statistics.median(r[m] for r in runs[c]) for m in runs[c][0]} for c in runs}
    ratios = {
        client: {
            m: statistics.median(a[m] / b[m] for a, b in zip(taken, runs["bare"], strict=True))
            for m in MEASURES
        }
        for client, taken in runs.items()
        if client != "bare"
    }
    return {"medians": medians, "ratios": ratios, "target": TARGET, "runs": runs}


def in_own_process(client: str, streams: int, seconds: float) -> dict[str, float]:
    command = [sys.executable, __file__, "--client", client]
    command += ["--streams", str(streams), "--seconds", str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


async def measure(client: str, load: Load) -> dict[str, float]:
    with Loopback() as loopback:
        streams, cpu_s = await CLIENTS[client](loopback, load)
    tokens = [token for stream in streams for token in stream[: load.tokens]]
    assert len(tokens) == load.streams * load.tokens
    late = statistics.quantiles((t.lateness_ms for t in tokens), n=100)
    server = statistics.quantiles((t.server_late_ms for t in tokens), n=100)
    return {
        "p50_ms": late[49],
        "p99_ms": late[98],
        "cpu_us": 1e6 * cpu_s / len(tokens),
        "server_p99_ms": server[98],
    }


async def timed(ask: Callable[[list[Schedule]], Awaitable[T]], load: Load) -> tuple[T, float]:
    """What `ask` brings for a load, and the CPU seconds that it took, once connections are open."""
    await ask([Schedule(answer=2, gap_ns=load.gap_ns, streams=load.streams)] * load.streams)
    with frozen_heap():
        began = time.process_time()
        brought = await ask(load.schedules())
        return brought, time.process_time() - began


async def ragevalkit(loopback: Loopback, load: Load) -> tuple[list[list[Token]], float]:
    client = ChatClient(loopback.profile, concurrency=load.streams, retries=Retries(most=0))
    rounds, cpu_s = await timed(lambda schedules: ask(loopback, client, schedules), load)
    await client.close()
    return [tokens_of(round_, origin_ns, Clock(0, 0)) for round_, origin_ns in rounds], cpu_s


async def bare(loopback: Loopback, load: Load) -> tuple[list[list[Token]], float]:
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    address = f"{loopback.profile.base_url}/chat/completions"

    async def stream(schedule: Schedule) -> Stamped:
        stamps, texts = stamped = list[int](), list[str]()
        body = orjson.dumps({**loopback.body(schedule), "stream": True})
        async with session.post(address, data=body, headers=headers) as response:
            unfinished = b""
            async for read in response.content.iter_any():
                now_ns = time.perf_counter_ns()
                *events, unfinished = (unfinished + read).split(b"\n\n")
                for event in events:
                    if event == b"data: [DONE]":
                        continue
                    choices = orjson.loads(event[6:])["choices"]
                    if choices and (text := choices[0]["delta"].get("content")):
                        stamps.append(now_ns)
                        texts.append(text)
        return stamped

    connector = aiohttp.TCPConnector(limit=load.streams)
    async with aiohttp.ClientSession(connector=connector) as session:
        streams, cpu_s = await timed(at_once(stream), load)
    return [list(map(token, *stamped)) for stamped in streams], cpu_s


async def sdk(loopback: Loopback, load: Load) -> tuple[list[list[Token]], float]:
    client = AsyncOpenAI(base_url=loopback.profile.base_url, api_key="none", max_retries=0)

    async def stream(schedule: Schedule) -> Stamped:
        stamps, texts = stamped = list[int](), list[str]()
        chunks = await client.chat.completions.create(
            model="loopback",
            messages=[{"role": "user", "content": "Stream."}],
            stream=True,
            extra_body={"schedule": asdict(schedule)},
        )
        async for chunk in chunks:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                stamps.append(time.perf_counter_ns())
                texts.append(text)
        return stamped

    streams, cpu_s = await timed(at_once(stream), load)
    await client.close()
    return [list(map(token, *stamped)) for stamped in streams], cpu_s


CLIENTS = {"bare": bare, "ragevalkit": ragevalkit, "sdk": sdk}


def at_once(
    stream: Callable[[Schedule], Awaitable[Stamped]],
) -> Callable[[list[Schedule]], Awaitable[list[Stamped]]]:
    """All streams together, begun as our own client begins them."""

    async def later(number: int, schedule: Schedule) -> Stamped:
        await asyncio.sleep(number * RAMP_S)
        return await stream(schedule)

    async def streams(schedules: list[Schedule]) -> list[Stamped]:
        return await asyncio.gather(*map(later, range(len(schedules)), schedules))

    return streams


def token(read_ns: int, text: str) -> Token:
    due_ns, sent_ns = map(int, text.rstrip(";").split())
    return Token(due_ns, sent_ns, read_ns)


def table(results: dict[str, Any], options: argparse.Namespace) -> str:
    lines = [
        f"Lateness of token stamps, {options.seconds:g} s of 50 tokens/s a stream, medians of "
        f"{options.repetitions} (in brackets: multiples of bare, target at most {TARGET:g})"
    ]
    heads = [f"{head:>21}" for head in (*MEASURES.values(), "server late p99 ms")]
    lines.append(f"{'streams':8}{'client':12}{''.join(heads)}")
    for streams, result in results.items():
        for client, medians in result["medians"].items():
            ratios = result["ratios"].get(client)
            cells = [
                f"{medians[m]:.3f}" + (f" ({ratios[m]:,.2f})" if ratios else "") for m in MEASURES
            ]
            cells.append(f"{medians['server_p99_ms']:.3f}")
            lines.append(f"{streams:8}{client:12}{''.join(f'{cell:>21}' for cell in cells)}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

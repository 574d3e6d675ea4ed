"""Times of an endpoint whose times are known: what the records of rounds say against the truth.

    python benchmarks/known_timing.py [--concurrency 1 16] [--rounds 8] [--json]

Each round's first token is due 300 ms after the request, then come 40 tokens of reasoning and 60 of
answer, one every 15 ms. `off by` is the median of what the record says less what is true, over
rounds or gaps; it may be 2 ms, or the floor that `ragevalkit bench calibrate` finds at that
concurrency, which is measured before. `server` is the server's own part of it, by the times that it
sends along. Exits with 1 where a time is off by more.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import time
from typing import Any

from ragevalkit.bench.calibrate import Load, measure
from ragevalkit.bench.loopback import Clock, Loopback, Token, tokens_of
from ragevalkit.bench.loopback_server import Schedule
from ragevalkit.endpoint.client import ChatClient, Retries
from ragevalkit.turn.record import Round, RoundState

FIRST_MS, GAP_MS, REASONING, ANSWER = 300.0, 15.0, 40, 60
ALLOWED_MS = 2.0
TRUTH_MS = {"first token": FIRST_MS, "first answer": FIRST_MS + REASONING * GAP_MS, "gap": GAP_MS}

Errors = dict[str, list[float]]
"""By name of the time: milliseconds that each value is off by."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--rounds", type=int, default=8, help="one after the other")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = [asyncio.run(compare(n, options.rounds)) for n in options.concurrency]
    print(json.dumps(results, indent=2) if options.json else "\n".join(map(table, results)))
    sys.exit(not all(time["ok"] for result in results for time in result["times"].values()))


async def compare(concurrency: int, rounds: int) -> dict[str, Any]:
    """What each time is off by, at one concurrency."""
    print(f"{concurrency} at once: the floor, then {rounds} rounds each", file=sys.stderr)
    with Loopback() as loopback:
        reading, _ = await measure(loopback, Load(concurrency), Clock(0, 0))
        client = ChatClient(loopback.profile, concurrency=concurrency, retries=Retries(most=0))
        ours: Errors = {name: [] for name in TRUTH_MS}
        servers: Errors = {name: [] for name in TRUTH_MS}

        async def work(number: int) -> None:
            await asyncio.sleep(number * FIRST_MS / 1000 / concurrency)
            for _ in range(rounds):
                round_, tokens = await ask(loopback, client)
                take(round_, tokens, ours, servers)

        await asyncio.gather(*map(work, range(concurrency)))
        await client.close()
    allowed_ms = max(ALLOWED_MS, reading.floor_ms or 0)
    times = {name: summed_up(ours[name], servers[name], allowed_ms) for name in TRUTH_MS}
    return {"concurrency": concurrency, "floor_ms": reading.floor_ms, "times": times}


async def ask(loopback: Loopback, client: ChatClient) -> tuple[Round, list[Token]]:
    schedule = Schedule(
        answer=ANSWER,
        reasoning=REASONING,
        gap_ns=round(1e6 * GAP_MS),
        first_ns=round(1e6 * FIRST_MS),
    )
    origin_ns = time.perf_counter_ns()
    round_ = await client.complete(loopback.body(schedule), [], origin_ns)
    assert round_.state is RoundState.DONE, round_.error
    return round_, tokens_of(round_, origin_ns, Clock(0, 0))


def take(round_: Round, tokens: list[Token], ours: Errors, servers: Errors) -> None:
    """Add what a round's times are off by, and what the server's part of it is."""
    clock, reasoning, answer = round_.clock, round_.reasoning_channel, round_.answer_channel
    assert clock.first_token_ms is not None
    assert clock.first_answer_ms is not None
    assert reasoning is not None
    assert answer is not None
    ours["first token"].append(clock.first_token_ms - clock.sent_ms - FIRST_MS)
    ours["first answer"].append(clock.first_answer_ms - TRUTH_MS["first answer"])
    ours["gap"] += [gap - GAP_MS for gap in reasoning.gaps_ms + answer.gaps_ms]
    servers["first token"].append(tokens[0].server_late_ms)
    servers["first answer"].append(tokens[REASONING].server_late_ms)
    servers["gap"] += [b.server_late_ms - a.server_late_ms for a, b in itertools.pairwise(tokens)]


def summed_up(ours: list[float], servers: list[float], allowed_ms: float) -> dict[str, Any]:
    off_ms = statistics.median(ours)
    return {
        "off_ms": off_ms,
        "server_ms": statistics.median(servers),
        "off_most_ms": max(map(abs, ours)),
        "server_most_ms": max(map(abs, servers)),
        "n": len(ours),
        "allowed_ms": allowed_ms,
        "ok": abs(off_ms) <= allowed_ms,
    }


def table(result: dict[str, Any]) -> str:
    heads = ("true ms", "measured ms", "off by", "server", "at most", "server", "n")
    lines = [
        f"{result['concurrency']} at once; floor {result['floor_ms']:.3f} ms",
        f"{'':14}" + "".join(f"{head:>13}" for head in heads),
    ]
    for name, of in result["times"].items():
        numbers = (TRUTH_MS[name], TRUTH_MS[name] + of["off_ms"], of["off_ms"], of["server_ms"])
        cells = [f"{n:.3f}" for n in (*numbers, of["off_most_ms"], of["server_most_ms"])]
        verdict = "" if of["ok"] else f"  more than {of['allowed_ms']:.1f} ms"
        lines.append(f"{name:14}{''.join(f'{c:>13}' for c in (*cells, of['n']))}{verdict}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

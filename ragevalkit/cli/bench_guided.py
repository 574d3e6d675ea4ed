"""`ragevalkit bench guided`: what tools, their grammars and JSON schemas cost."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.wiring import REPORTS

if TYPE_CHECKING:
    from ragevalkit.bench.guided import GuidedResult

_INTERVAL_S = 2.0
"""Between two lines on how far the bench is."""
_MOST_TOOLS = 512


def command(
    endpoint: Annotated[
        str,
        typer.Option(help="mock (mock:FILE), a profile of ragevalkit.toml, or a URL."),
    ] = "mock",
    tools: Annotated[
        str | None,
        typer.Option(
            help="Numbers of tools to go through, such as 1,2,5,20, in place of the arms."
        ),
    ] = None,
    schemas: Annotated[
        list[Path] | None,
        typer.Option(
            help="JSON file of tools in place of the agent's; may be given several times."
        ),
    ] = None,
    arms: Annotated[
        str | None, typer.Option(help="Only these arms, such as P,F,T0,T1. [default: all]")
    ] = None,
    margin: Annotated[
        str, typer.Option(help="First-token differences inside it count as none.")
    ] = "5ms",
    gap_margin: Annotated[str, typer.Option(help="The same for the time per token.")] = "0.5ms",
    precision: Annotated[
        str, typer.Option(help="Wanted half of a 95 % interval; a pilot sizes the bench to it.")
    ] = "5ms",
    minutes: Annotated[
        float, typer.Option(min=0.01, help="The most that the blocks may take.")
    ] = 10.0,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="So many blocks, in place of what the pilot says.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, help="Output budget of each request.")] = 32,
    of_run: Annotated[
        str | None, typer.Option(help="A run in whose turns the cost of tools is stated.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the order of the arms.")] = 0,
    stall_timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds without a byte from the server.")
    ] = 120,
    name: Annotated[
        str | None, typer.Option(help="The folder in reports/. [default: guided-<endpoint>]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> int:
    """Measure what tools, their grammars and JSON schemas cost, in pairs of like requests.

    Each arm is shown to be what it should be before its difference counts. The same command
    continues a bench that was interrupted.
    """
    from ragevalkit.bench.folder import BenchFolder, bench_name
    from ragevalkit.bench.guided import Plan, guided
    from ragevalkit.bench.guided.tools import load_tools
    from ragevalkit.cli import wiring
    from ragevalkit.endpoint.client import Timeouts
    from ragevalkit.report.html.write import write_bench

    profile = wiring.resolve_endpoint(endpoint)
    profile.api_key()  # a missing key is said before anything else is done
    run = wiring.find_run(of_run) if of_run else None
    counts = _counts(tools)
    folder = bench_name("guided-tools" if counts else "guided", profile.name, name)
    plan = Plan(
        folder=BenchFolder(REPORTS / folder),
        profile=profile,
        connect=wiring.connect,
        tools=load_tools(schemas or [], all_of_ours=bool(counts)),
        arms=_arms(arms),
        counts=counts,
        tokens=tokens,
        seed=seed,
        margin_ms=_milliseconds("--margin", margin),
        gap_margin_ms=_milliseconds("--gap-margin", gap_margin),
        precision_ms=_milliseconds("--precision", precision),
        minutes=minutes,
        blocks=blocks,
        timeouts=Timeouts(stall_s=stall_timeout),
    )
    watch = _Watch()
    if run is None:
        result = guided(plan, watch)
    else:
        result = guided(plan, watch, run.name, run.read_turns([]))
    write_bench(plan.folder.path)
    _print(result, as_json)
    if result.stopped is not None:
        watch.warns(f"stopped: {result.stopped}; the same command continues the bench")
    return 3 if result.stopped is not None else 0


def _print(result: GuidedResult, as_json: bool) -> None:
    from ragevalkit.report.bench_guided import guided_tables
    from ragevalkit.report.terminal import print_table

    if as_json:
        typer.echo(result.model_dump_json(indent=2))
        return
    for table in guided_tables(result):
        print_table(table)
    typer.echo()
    for sentence in result.says:
        typer.echo(sentence)
    folder = REPORTS / result.name
    typer.echo(f"\nResults are in {folder}/: report.html, result.json, requests.jsonl, bench.json")


def _milliseconds(option: str, text: str) -> float:
    from ragevalkit.errors import InputError

    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s*(ms|s)?", text.strip(), re.A)
    number = float(match[1]) * (1000 if match[2] == "s" else 1) if match else 0.0
    if not number > 0:
        raise InputError(f"{option} takes a time above 0 such as 5ms, not '{text}'")
    return number


def _counts(text: str | None) -> tuple[int, ...]:
    from ragevalkit.errors import InputError

    if text is None:
        return ()
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(re.fullmatch(r"\d{1,4}", word, re.A) for word in words):
        raise InputError(f"--tools takes numbers with commas between, such as 1,2,5,20: '{text}'")
    numbers = sorted({int(word) for word in words})
    if not 1 <= numbers[0] <= numbers[-1] <= _MOST_TOOLS:
        raise InputError(f"--tools takes numbers from 1 to {_MOST_TOOLS}, not {text}")
    return tuple(numbers)


def _arms(text: str | None) -> tuple[str, ...]:
    from ragevalkit.bench.guided.arms import ARMS
    from ragevalkit.errors import InputError

    if text is None:
        return tuple(ARMS)
    wanted = {word.strip() for word in text.split(",") if word.strip()}
    if unknown := wanted - ARMS.keys():
        raise InputError(f"there is no arm '{min(unknown)}'; arms are {', '.join(ARMS)}")
    if len(wanted) < 2:
        raise InputError("--arms takes two or more arms")
    return tuple(arm for arm in ARMS if arm in wanted)


class _Watch:
    """Says on standard error how the bench goes on."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def checks(self, what: str) -> None:
        self._now_and_then(f"looking at: {what}")

    def warns(self, line: str) -> None:
        typer.echo(f"ragevalkit: {line}", err=True)

    def says(self, line: str) -> None:
        typer.echo(line, err=True)

    def progress(self, done: int, of: int, what: str) -> None:
        self._now_and_then(f"{done} of {of} {what}")

    def _now_and_then(self, line: str) -> None:
        now = time.monotonic()
        if now - self._said >= _INTERVAL_S:
            self._said = now
            typer.echo(line, err=True)

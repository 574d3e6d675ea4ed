"""`ragevalkit bench stream`: how replies stream, and what another way of serving gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.wiring import REPORTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragevalkit.bench.stream_result import StreamResult

_MOST_TOKENS = 1_000_000


def command(
    benches: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BENCH]...", help="With --compare: names of finished benches."),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(help="baseline, mock (mock:FILE), a profile of ragevalkit.toml, or a URL."),
    ] = "baseline",
    against: Annotated[
        list[str] | None,
        typer.Option(help="An endpoint to be held against the first; may be given several times."),
    ] = None,
    lengths: Annotated[
        str, typer.Option(help="Output lengths in tokens, with commas between.")
    ] = "32,128,512",
    prompts: Annotated[
        int, typer.Option(min=1, help="Prompts, each asked for every length of every endpoint.")
    ] = 6,
    stall_timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds without a byte from the server.")
    ] = 120.0,
    seed: Annotated[int, typer.Option(min=0, help="Draws the prompts and the order.")] = 0,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Ask nothing: hold finished benches against the first of them."
        ),
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="The folder in reports/. [default: stream-<endpoint>]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> int:
    """Measure decode rate, gaps, stalls and drafts, and pair endpoints prompt by prompt.

    For speculative decoding, serve each depth and give them all: --endpoint depth0 --against depth1
    --against depth2. Where they can't be served at once, bench each and then give --compare with
    the benches' names. The same command continues a bench that was interrupted.
    """
    from ragevalkit.errors import InputError

    if compare != bool(benches):
        raise InputError("benches are given after --compare: bench stream --compare NAME NAME")
    if benches:
        return _compare(benches, as_json)

    from contextlib import ExitStack

    from ragevalkit.bench.folder import BenchFolder, bench_name
    from ragevalkit.bench.stream import MOST_PROMPTS, StreamPlan, run_stream
    from ragevalkit.cli import wiring
    from ragevalkit.cli.steps import Steps, numbers
    from ragevalkit.endpoint.client import Timeouts
    from ragevalkit.report.html.write import write_bench
    from ragevalkit.runs.loop import run_to_end

    plan = StreamPlan(numbers("--lengths", lengths, _MOST_TOKENS), prompts, seed)
    if not plan.lengths:
        raise InputError("--lengths is empty: there is nothing to measure")
    if prompts > MOST_PROMPTS:
        raise InputError(f"there are {MOST_PROMPTS} prompts, and --prompts asks for {prompts}")
    profiles = [wiring.resolve_endpoint(each) for each in (endpoint, *(against or ()))]
    for profile in profiles:
        profile.api_key()  # a missing key is said before anything else is done
    arms = _arm_names([profile.name for profile in profiles])
    folder = BenchFolder(REPORTS / bench_name("stream", "-vs-".join(arms), name))
    with ExitStack() as servers, Steps() as steps:
        connected = [servers.enter_context(wiring.connect(profile)) for profile in profiles]
        result = run_to_end(
            run_stream(
                dict(zip(arms, connected, strict=True)),
                plan,
                folder,
                steps,
                timeouts=Timeouts(stall_s=stall_timeout),
            )
        )
    write_bench(folder.path)
    _print(result, as_json)
    if not as_json:
        files = "report.html, result.json, requests.jsonl, bench.json, server.json"
        typer.echo(f"\nResults are in {folder.path}/: {files}")
    return 3 if result.failed else 0


def _compare(names: Sequence[str], as_json: bool) -> int:
    from pathlib import Path

    from ragevalkit.bench.folder import BenchFolder
    from ragevalkit.bench.stream import compare_streams
    from ragevalkit.errors import InputError

    if len(set(names)) < max(2, len(names)):
        raise InputError("--compare takes two benches or more, each once")
    paths = [next((p for p in (REPORTS / n, Path(n)) if p.is_dir()), REPORTS / n) for n in names]
    _print(compare_streams([BenchFolder(path) for path in paths]), as_json)
    return 0


def _arm_names(names: Sequence[str]) -> list[str]:
    """Names that are all different: `-2` follows the second of a kind."""
    return [
        name if name not in names[:place] else f"{name}-{names[:place].count(name) + 1}"
        for place, name in enumerate(names)
    ]


def _print(result: StreamResult, as_json: bool) -> None:
    from ragevalkit.report.bench_stream import stream_tables
    from ragevalkit.report.terminal import print_table

    if as_json:
        typer.echo(result.model_dump_json(indent=2))
        return
    for table in stream_tables(result):
        print_table(table)

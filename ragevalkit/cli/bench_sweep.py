"""`ragevalkit bench sweep`: speed against prompt length, context and concurrency."""

from __future__ import annotations

from typing import Annotated

import typer

from ragevalkit.cli.wiring import REPORTS

_MOST_TOKENS = 10_000_000
_MOST_STREAMS = 512


def command(
    endpoint: Annotated[
        str,
        typer.Option(help="baseline, mock (mock:FILE), a profile of ragevalkit.toml, or a URL."),
    ] = "baseline",
    lengths: Annotated[
        str, typer.Option(help="Prompt lengths in tokens, with commas between; empty: none.")
    ] = "128,512,2048,8192",
    streams: Annotated[
        str, typer.Option(help="Streams at once, with commas between; empty: none.")
    ] = "1,2,4,8,16",
    repeats: Annotated[
        int, typer.Option(min=1, help="Of each cell; fewer than 3 give no intervals.")
    ] = 3,
    output_tokens: Annotated[int, typer.Option(min=2, help="Tokens of each reply.")] = 64,
    prompt_tokens: Annotated[
        int, typer.Option(min=16, help="Tokens of each prompt while streams vary.")
    ] = 256,
    requests: Annotated[
        int, typer.Option(min=2, help="Requests of each stream; the first doesn't count.")
    ] = 3,
    minutes: Annotated[
        float, typer.Option(min=0.0, help="Begin no further cell after so many minutes.")
    ] = 10.0,
    stall_timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds without a byte from the server.")
    ] = 600.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the order and the prompts' texts.")] = 0,
    name: Annotated[
        str | None, typer.Option(help="The folder in reports/. [default: sweep-<endpoint>]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> int:
    """Measure prefill against prompt length, decoding against context, and both against streams.

    Each cell is asked several times, in random order, with prompts that no cache knows. The same
    command continues a sweep that was interrupted, or ran out of minutes.
    """
    from ragevalkit.bench.folder import BenchFolder, bench_name
    from ragevalkit.bench.sweep import MOST_STREAMS, Plan, run_sweep
    from ragevalkit.cli import wiring
    from ragevalkit.cli.steps import Steps, numbers
    from ragevalkit.endpoint.client import Timeouts
    from ragevalkit.errors import InputError
    from ragevalkit.report.bench_sweep import sweep_tables
    from ragevalkit.report.html.write import write_bench
    from ragevalkit.report.terminal import print_table
    from ragevalkit.runs.loop import run_to_end

    plan = Plan(
        lengths=numbers("--lengths", lengths, _MOST_TOKENS),
        streams=numbers("--streams", streams, _MOST_STREAMS),
        repeats=repeats,
        output_tokens=output_tokens,
        prompt_tokens=prompt_tokens,
        requests=requests,
        seed=seed,
    )
    if not plan.lengths and not plan.streams:
        raise InputError("--lengths and --streams are both empty: there is nothing to measure")
    profile = wiring.resolve_endpoint(endpoint)
    profile.api_key()  # a missing key is said before anything else is done
    folder = BenchFolder(REPORTS / bench_name("sweep", profile.name, name))
    with wiring.connect(profile) as connected, Steps() as steps:
        if any(n > MOST_STREAMS for n in plan.streams):
            steps.warns(f"above {MOST_STREAMS} streams this client may be what limits")
        result = run_to_end(
            run_sweep(
                connected,
                plan,
                folder,
                steps,
                seconds=60 * minutes,
                timeouts=Timeouts(stall_s=stall_timeout),
            )
        )
    write_bench(folder.path)
    if as_json:
        typer.echo(result.model_dump_json(indent=2))
    else:
        for table in sweep_tables(result):
            print_table(table)
        files = "report.html, result.json, cells.jsonl, requests.jsonl, bench.json"
        typer.echo(f"\nResults are in {folder.path}/: {files}")
    return 3 if result.failed else 0

"""`ragevalkit run`: ask a bank's questions of an endpoint and score the turns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.wiring import REPORTS

if TYPE_CHECKING:
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.runs.run import RunResult

_MOST = 2**31 - 1
"""Largest number that an option takes; many servers take no larger one."""


def run(
    bank: str | Path = "tarn",
    endpoint: str = "baseline",
    *,
    corpus: str | None = None,
    name: str | None = None,
    repeats: int = 1,
    concurrency: int = 1,
    limit: int | None = None,
    tags: list[str] | None = None,
    budget: int = 12_000,
    seed: int = 0,
    report: bool = True,
    rounds: int = 16,
    turn_timeout: float = 600.0,
    stall_timeout: float = 120.0,
    retries: int = 3,
    judge: str | None = None,
    observer: Announcer | None = None,
) -> RunResult:
    """Begin or continue a run in reports/<name>/; the command's options under their names.

    Raises:
        RagevalkitError: bad input, an endpoint that can't be used, or a full disk.
    """
    from ragevalkit.agent.graph import Limits
    from ragevalkit.agent.history import load_prompt
    from ragevalkit.agent.tools import load_toolbox
    from ragevalkit.bank import load_bank
    from ragevalkit.cli import wiring
    from ragevalkit.cli.progress import Silent
    from ragevalkit.endpoint.client import Retries, Timeouts
    from ragevalkit.errors import EndpointUnusable, InputError
    from ragevalkit.report.page import write_page
    from ragevalkit.runs.folder import RunFolder, check_run_name
    from ragevalkit.runs.rescoring import rescore
    from ragevalkit.runs.run import Plan, execute

    numbers = {
        "repeats": (repeats, 1),
        "concurrency": (concurrency, 1),
        "limit": (1 if limit is None else limit, 1),
        "budget": (budget, 1),
        "seed": (seed, 0),
        "rounds": (rounds, 1),
        "turn_timeout": (turn_timeout, 0.1),
        "stall_timeout": (stall_timeout, 0.1),
        "retries": (retries, 0),
    }
    for option, (number, least) in numbers.items():
        if not least <= number <= _MOST:
            raise InputError(f"{option} must be a number from {least} to {_MOST}, not {number}")
    observer = observer or Silent()
    questions = load_bank(bank)
    profile = wiring.resolve_endpoint(endpoint)
    profile.api_key()  # a missing key is said before anything else is done
    if judge:
        wiring.resolve_endpoint(judge).api_key()
    folder = check_run_name(f"{questions.name}-{_slug(profile.name)}" if name is None else name)
    plan = Plan(
        folder=RunFolder(REPORTS / folder),
        bank=questions,
        corpora=wiring.open_corpora(questions, corpus, observer.reads_corpus),
        profile=profile,
        connect=wiring.connect,
        prompt=load_prompt(),
        toolbox=load_toolbox(profile.strict),
        limits=Limits(rounds=rounds, output_tokens=budget, turn_s=turn_timeout),
        repeats=repeats,
        concurrency=concurrency,
        limit=limit,
        tags=tags or [],
        seed=seed,
        retries=Retries(most=retries),
        timeouts=Timeouts(stall_s=stall_timeout),
    )
    result = execute(plan, observer)
    if report:
        write_page(plan.folder, result.summary)
    if judge and not result.interrupted:
        try:
            wiring.judge(plan.folder, judge, None, observer)
        except EndpointUnusable as error:
            observer.warns(f"the judge: {error}; the run is kept, `score --judge` asks it again")
            return replace(result, judge_failed=True)
        result = replace(result, summary=rescore(plan.folder, plan.corpora).summary)
        if report:
            write_page(plan.folder, result.summary)
    return result


def command(
    bank: Annotated[
        str, typer.Option(help="A bank's file, or its name under question_banks/.")
    ] = "tarn",
    endpoint: Annotated[
        str,
        typer.Option(
            help="baseline, mock (mock:FILE with a scenario), a profile of ragevalkit.toml, or a "
            "URL."
        ),
    ] = "baseline",
    corpus: Annotated[
        str | None,
        typer.Option(help="A folder, a file or a name under corpora/, instead of the bank's own."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The run's folder in reports/. [default: <bank>-<endpoint>]")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Ask every question so many times.")] = 1,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Turns at once; timings compare only at the same number.")
    ] = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only the first so many questions.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="Ask only questions with this tag; may be given several times."),
    ] = None,
    budget: Annotated[
        int, typer.Option(min=1, help="max_completion_tokens of each request.")
    ] = 12_000,
    seed: Annotated[int, typer.Option(min=0, help="Sampling seed of the first repeat.")] = 0,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Most requests in one turn.")] = 16,
    turn_timeout: Annotated[float, typer.Option(min=0.1, help="Most seconds for one turn.")] = 600,
    stall_timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds without a byte from the server.")
    ] = 120,
    retries: Annotated[
        int,
        typer.Option(
            min=0, help="Retries of a request after 408, 409, 429, 5xx or a broken connection."
        ),
    ] = 3,
    judge: Annotated[
        str | None,
        typer.Option(help="An endpoint that judges answers against their references afterwards."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")
    ] = False,
) -> int:
    """Ask a bank's questions of an endpoint and score the turns.

    The same command continues a run that was interrupted.
    """
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.report.terminal import print_run

    with Announcer() as announcer:
        result = run(
            bank,
            endpoint,
            corpus=corpus,
            name=name,
            repeats=repeats,
            concurrency=concurrency,
            limit=limit,
            tags=tag,
            budget=budget,
            seed=seed,
            report=not no_report,
            rounds=rounds,
            turn_timeout=turn_timeout,
            stall_timeout=stall_timeout,
            retries=retries,
            judge=judge,
            observer=announcer,
        )
    if as_json:
        typer.echo(result.summary.model_dump_json(indent=2))
    else:
        print_run(result.summary, REPORTS / result.summary.run)
    if result.stopped is not None:
        announcer.warns(
            f"stopped: ten turns in a row ended in an infrastructure error, the last one by: "
            f"{result.stopped}; the same command continues the run"
        )
    elif result.interrupted:
        announcer.warns("interrupted; the same command continues the run")
    return result.exit_code


def _slug(endpoint: str) -> str:
    """A name for the run's folder from an endpoint's name, which may be a host and port."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", endpoint).strip("-.") or "endpoint"

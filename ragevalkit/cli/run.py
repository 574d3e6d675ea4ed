"""`ragevalkit run`: ask a bank's questions of an endpoint and score the turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.wiring import REPORTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragevalkit.cli.progress import Announcer
    from ragevalkit.runs.plan import Plan
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
    probe: bool = True,
    against: str | None = None,
    allow: Sequence[str] = (),
    observer: Announcer | None = None,
) -> RunResult:
    """Begin or continue a run in reports/<name>/; the command's options under their names.

    With `against` two endpoints are asked the same questions, alternating. The result is that of
    `endpoint`, the other one's is its `against`; `ragevalkit.compare` takes the runs' names from
    their summaries: `compare(result.against.summary.run, result.summary.run)`.

    Raises:
        RagevalkitError: bad input, an endpoint that can't be used, or a full disk.
    """
    from ragevalkit.agent.graph import Limits
    from ragevalkit.agent.history import load_prompt
    from ragevalkit.agent.tools import load_toolbox
    from ragevalkit.bank import load_bank
    from ragevalkit.cli import wiring
    from ragevalkit.cli.against import check_alike, run_names
    from ragevalkit.cli.progress import Silent
    from ragevalkit.endpoint.client import Retries, Timeouts
    from ragevalkit.errors import InputError
    from ragevalkit.runs.folder import RunFolder
    from ragevalkit.runs.plan import Plan
    from ragevalkit.runs.run import alternating, execute, execute_against

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
    if allow and against is None:
        raise InputError("allow needs against: it says what may differ between two runs")
    observer = observer or Silent()
    questions = load_bank(bank)
    asked = [wiring.resolve_endpoint(of) for of in (endpoint, against) if of is not None]
    for profile in asked + ([wiring.resolve_endpoint(judge)] if judge else []):
        profile.api_key()  # a missing key is said before anything else is done
    names = run_names(questions.name, [profile.name for profile in asked], name)
    plan = Plan(
        folder=RunFolder(REPORTS / names[0]),
        bank=questions,
        corpora=wiring.open_corpora(questions, corpus, observer.reads_corpus),
        profile=asked[0],
        connect=wiring.connect,
        prompt=load_prompt(),
        toolbox=load_toolbox(asked[0].strict),
        limits=Limits(rounds=rounds, output_tokens=budget, turn_s=turn_timeout),
        repeats=repeats,
        concurrency=concurrency,
        limit=limit,
        tags=tags or [],
        seed=seed,
        retries=Retries(most=retries),
        timeouts=Timeouts(stall_s=stall_timeout),
        probe=probe,
    )
    if against is None:
        return _finish(plan, execute(plan, observer), report, judge, observer)
    toolbox = load_toolbox(asked[1].strict)
    other = replace(plan, folder=RunFolder(REPORTS / names[1]), profile=asked[1], toolbox=toolbox)
    check_alike(other, plan, allow)
    result = execute_against(*alternating(other, plan), observer)
    assert result.against is not None
    of_other = _finish(other, result.against, report, judge, observer)
    return replace(_finish(plan, result, report, judge, observer), against=of_other)


def _finish(
    plan: Plan, result: RunResult, report: bool, judge: str | None, observer: Announcer
) -> RunResult:
    """Write the page of a run, and have its answers judged."""
    from ragevalkit.cli import wiring
    from ragevalkit.errors import EndpointUnusable
    from ragevalkit.report.html.write import write_run
    from ragevalkit.runs.rescoring import rescore

    if report:
        observer.writes(plan.folder.report)
        write_run(plan.folder, result.summary)
    if judge and not result.interrupted:
        try:
            wiring.judge(plan.folder, judge, None, observer)
        except EndpointUnusable as error:
            observer.warns(f"the judge: {error}; the run is kept, `score --judge` asks it again")
            return replace(result, judge_failed=True)
        result = replace(result, summary=rescore(plan.folder, plan.corpora).summary)
        if report:
            observer.writes(plan.folder.report)
            write_run(plan.folder, result.summary)
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
    no_probe: Annotated[
        bool,
        typer.Option(
            "--no-probe", help="Send no request but the turns' own; counts may be estimated then."
        ),
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(help="Ask this endpoint, too, alternating, and hold --endpoint against it."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="With --against: compare though this field differs; may be repeated."),
    ] = None,
    gate: Annotated[
        str | None,
        typer.Option(help="With --against: a gate file. [default: no metric may be worse]"),
    ] = None,
    no_gate: Annotated[
        bool, typer.Option("--no-gate", help="With --against: decide nothing.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the summary, or with --against the comparison, as JSON and nothing else.",
        ),
    ] = False,
) -> int:
    """Ask a bank's questions of an endpoint and score the turns.

    The same command continues a run that was interrupted. With --against it alternates between
    two endpoints, then compares them, and exits as `ragevalkit compare` does.
    """
    from ragevalkit.cli.against import check_options, conclude
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.report.terminal import print_run

    check_options(against, allow or (), gate, no_gate)
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
            probe=not no_probe,
            against=against,
            allow=allow or (),
            observer=announcer,
        )
    if result.against is not None:
        return conclude(
            result, allow or (), gate, no_gate, as_json, announcer, report=not no_report
        )
    if as_json:
        typer.echo(result.summary.model_dump_json(indent=2))
    else:
        print_run(result.summary, REPORTS / result.summary.run)
    announcer.ends(result)
    return result.exit_code

"""`ragevalkit bench budget`: how many output tokens an answer needs, and what limits thinking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragevalkit.cli.wiring import REPORTS

if TYPE_CHECKING:
    from ragevalkit.bench.budget.result import BudgetResult

_BUDGETS = "64,256,1024,4096,12000"
_MOST = 2**31 - 1


def command(
    runs_to_read: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="With --from-runs: names or folders of runs."),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(help="baseline, mock (mock:FILE), a profile of ragevalkit.toml, or a URL."),
    ] = "baseline",
    bank: Annotated[
        str, typer.Option(help="A bank's file, or its name under question_banks/.")
    ] = "tarn",
    corpus: Annotated[
        str | None, typer.Option(help="With --agent: a corpus instead of the bank's own.")
    ] = None,
    budgets: Annotated[
        str, typer.Option(help="Output budgets in tokens, with commas between.")
    ] = _BUDGETS,
    runs: Annotated[int, typer.Option(min=1, help="Runs at each budget.")] = 3,
    questions: Annotated[
        int,
        typer.Option(min=1, help="Questions of the bank, drawn by the seed; the runs share them."),
    ] = 3,
    agent: Annotated[
        bool, typer.Option("--agent", help="Whole turns with tools, instead of single requests.")
    ] = False,
    no_controls: Annotated[
        bool, typer.Option("--no-controls", help="Leave out the thinking controls.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Draws questions and order.")] = 0,
    turn_timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds for one request, or one turn.")
    ] = 600,
    stall_timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds without a byte from the server.")
    ] = 120,
    from_runs: Annotated[
        bool,
        typer.Option(
            "--from-runs", help="Ask nothing: quality against budget, from finished runs."
        ),
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="The folder in reports/. [default: budget-<endpoint>]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> int:
    """Ask at rising output budgets, and say from which on every run answers.

    A model that reasons first may spend a small budget on that alone. The same command continues a
    bench that was interrupted.
    """
    from ragevalkit.errors import InputError

    if from_runs != bool(runs_to_read):
        raise InputError("runs are given after --from-runs: bench budget --from-runs RUN RUN")
    if runs_to_read:
        return _print_curve(runs_to_read, as_json)

    import random

    from ragevalkit.bank import load_bank
    from ragevalkit.bench.budget.ladder import Setup, measure
    from ragevalkit.bench.budget.plan import Ladder
    from ragevalkit.bench.folder import BenchFolder, bench_name
    from ragevalkit.cli import wiring
    from ragevalkit.cli.progress import Announcer
    from ragevalkit.cli.steps import Steps
    from ragevalkit.endpoint.client import Timeouts
    from ragevalkit.report.html.write import write_bench
    from ragevalkit.runs.loop import run_to_end

    asked = load_bank(bank)
    chosen = min(questions, runs, len(asked.questions))
    ladder = Ladder(
        budgets=_budgets(budgets),
        runs=runs,
        questions=tuple(random.Random(seed).sample(asked.questions, chosen)),
        seed=seed,
        agent=agent,
    )
    profile = wiring.resolve_endpoint(endpoint)
    profile.api_key()  # a missing key is said before anything else is done
    folder = BenchFolder(REPORTS / bench_name("budget", profile.name, name))
    with Announcer() as announcer:
        corpora = wiring.open_corpora(asked, corpus, announcer.reads_corpus) if agent else {}
    with wiring.connect(profile) as connected, Steps() as steps:
        setup = Setup(
            folder,
            connected,
            asked,
            ladder,
            corpora,
            controls=not no_controls,
            turn_s=turn_timeout,
            timeouts=Timeouts(stall_s=stall_timeout),
        )
        result = run_to_end(measure(setup, steps))
    write_bench(folder.path)
    _print(result, as_json)
    return 3 if result.lost else 0


def _budgets(text: str) -> tuple[int, ...]:
    from ragevalkit.cli.steps import numbers
    from ragevalkit.errors import InputError

    budgets = numbers("--budgets", text, _MOST)
    if not budgets:
        raise InputError("--budgets needs a number at least")
    return budgets


def _print(result: BudgetResult, as_json: bool) -> None:
    from ragevalkit.report.bench_budget import budget_tables
    from ragevalkit.report.terminal import print_table

    if as_json:
        typer.echo(result.model_dump_json(indent=2))
        return
    for table in budget_tables(result):
        print_table(table)
    folder = REPORTS / result.name
    typer.echo(f"\nResults are in {folder}/: report.html, result.json, requests.jsonl, bench.json")


def _print_curve(names: list[str], as_json: bool) -> int:
    from ragevalkit.bench.budget.curve import curve_of
    from ragevalkit.cli.wiring import find_run
    from ragevalkit.report.bench_budget import curve_table
    from ragevalkit.report.terminal import print_table

    curve = curve_of([find_run(name) for name in names])
    if as_json:
        typer.echo(curve.model_dump_json(indent=2))
    else:
        print_table(curve_table(curve))
    return 0

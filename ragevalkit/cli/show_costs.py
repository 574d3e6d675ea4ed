"""`ragevalkit show RUN --costs`: where the time went, and what a correct answer costs.

Public: `show_costs`, `PowerOptions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ragevalkit.endpoint.power.log import PowerLog
    from ragevalkit.runs.folder import RunFolder

POWER_FILE = "power.csv"
"""Written beside a run where the tool ran beside the card."""


@dataclass(frozen=True)
class PowerOptions:
    """The options on power, as given."""

    log: str | None = None
    zone: str | None = None
    device: str | None = None
    scope: str | None = None
    idle_watts: float | None = None


def show_costs(folder: RunFolder, power: PowerOptions, as_json: bool) -> None:
    """Print a run's costs.

    Raises:
        InputError: the run isn't scored, or the log doesn't fit it.
    """
    from ragevalkit.bench.scored import scored_turns
    from ragevalkit.report.costs import costs_tables
    from ragevalkit.report.terminal import print_table
    from ragevalkit.scoring.costs import costs_of

    costs = costs_of(
        folder.name, scored_turns(folder), _log(folder, power), power.idle_watts, power.scope
    )
    if as_json:
        typer.echo(costs.model_dump_json(indent=2))
        return
    for table in costs_tables(costs):
        print_table(table)


def _log(folder: RunFolder, power: PowerOptions) -> PowerLog | None:
    from ragevalkit.endpoint.power.log import read_power_log
    from ragevalkit.errors import InputError

    beside = folder.path / POWER_FILE
    path = Path(power.log) if power.log else beside if beside.exists() else None
    if path is None:
        if power != PowerOptions():
            raise InputError(f"there is no {beside}, so options on power need --power-log")
        return None
    return read_power_log(path, power.zone, power.device)

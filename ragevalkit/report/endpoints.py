"""Tables about endpoints.

Public: `endpoints_table`, `probe_tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ragevalkit.report.numbers import counted, seconds
from ragevalkit.report.tables import Table

if TYPE_CHECKING:
    from ragevalkit.endpoint.options import RequestOptions
    from ragevalkit.endpoint.probe import Finding, Probe
    from ragevalkit.endpoint.profile import Profile


def endpoints_table(profiles: Iterable[Profile], built_in: Mapping[str, str]) -> Table:
    """Known endpoints, a row each."""
    rows = [[name, "built in", "", meaning] for name, meaning in built_in.items()]
    rows += [
        [p.name, p.base_url, p.model or "", ", ".join(filter(None, (p.precision, p.hardware)))]
        for p in profiles
    ]
    return Table("Endpoints", ["name", "address", "model", "what it is"], rows, text_columns=4)


def probe_tables(probe: Probe) -> list[Table]:
    """What a probe found, a row a check, and what follows for measurements."""
    found = [[of.title, _found(of), of.evidence] for of in probe.findings.values()]
    cost = f"{counted(probe.requests, 'request')} in {seconds(probe.seconds)}."
    title = f"What {probe.endpoint} is"
    tables = [Table(title, ["check", "finding", "how it was seen"], found, [cost], text_columns=3)]
    follows = [[line] for line in [_asking(probe.options()), *probe.warnings()]]
    tables.append(Table("What follows for measurements", [""], follows))
    return tables


def _found(finding: Finding) -> str:
    verdict = finding.verdict.replace("_", " ")
    return verdict if finding.value is None else f"{verdict}: {finding.value}"


def _asking(options: RequestOptions) -> str:
    """How a run will ask."""
    if options.token_ids:
        counts = "the ids of each event's tokens"
    elif options.continuous_usage:
        counts = "usage on every event"
    elif options.token_timings:
        counts = "llama.cpp's running count on every event"
    else:
        counts = "usage at the end" if options.usage else "nothing the server gives"
    return f"tokens are counted by {counts}; the output budget is sent as {options.budget_field}"

"""report.html: the run's tables in one file that needs nothing else.

Public: `write_page`.
"""

from __future__ import annotations

from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from ragevalkit import __version__
from ragevalkit.report.tables import Table, run_tables
from ragevalkit.runs.folder import RunFolder, replace_file
from ragevalkit.scoring.summary import Summary


def write_page(folder: RunFolder, summary: Summary) -> None:
    """Write report.html into a run's folder.

    Raises:
        RunFolderError: the disk is full, or the folder can't be written.
    """
    environment = Environment(
        loader=PackageLoader("ragevalkit.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("run.html").render(
        summary=summary,
        tables=[*run_tables(summary), _conditions(folder)],
        version=__version__,
    )
    replace_file(folder.report, [page.encode("utf-8", "replace")])


def _conditions(folder: RunFolder) -> Table:
    manifest = folder.read_manifest() or {}
    settings = dict(_flat(manifest.get("settings", {})))
    for name in ("concurrency", "created_at", "scored_with"):
        settings[name] = manifest.get(name)
    rows = [
        [name, value if isinstance(value, str) else orjson.dumps(value).decode()]
        for name, value in settings.items()
        if value is not None and value != {} and value != []
    ]
    return Table("Conditions", ["setting", "value"], rows, text_columns=2)


def _flat(settings: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat = []
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            flat += _flat(value, f"{prefix}{name}.")
        else:
            flat.append((f"{prefix}{name}", value))
    return flat

"""The page of a bench.

Public: `bench_page`, `BENCHES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import singledispatch
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ragevalkit.bench.budget.result import BudgetResult
from ragevalkit.bench.calibrate import Calibration
from ragevalkit.bench.folder import BenchFolder
from ragevalkit.bench.guided.result import GuidedResult
from ragevalkit.bench.session import Floor
from ragevalkit.bench.stream_result import StreamResult
from ragevalkit.bench.sweep_result import SweepResult
from ragevalkit.errors import InputError
from ragevalkit.report.bench_budget import budget_tables
from ragevalkit.report.bench_guided import guided_tables
from ragevalkit.report.bench_stream import stream_tables
from ragevalkit.report.bench_sweep import floor_notes, sweep_tables
from ragevalkit.report.benches import calibration_tables
from ragevalkit.report.charts.budget import budget_charts
from ragevalkit.report.charts.guided import guided_charts
from ragevalkit.report.charts.rates import calibration_charts, stream_charts, sweep_charts
from ragevalkit.report.html.bench_verdict import bench_verdict
from ragevalkit.report.html.conditions import conditions_table
from ragevalkit.report.html.parts import Page, Prose, Section
from ragevalkit.report.tables import instrument_line

BENCHES: dict[str, type[BaseModel]] = {
    "guided": GuidedResult,
    "budget": BudgetResult,
    "stream": StreamResult,
    "sweep": SweepResult,
}
"""Results by the name of their bench; `calibrate` has a file of its own."""
_CALIBRATION = "calibration.json"


def bench_page(folder: Path) -> Page:
    """The page of the bench in a folder.

    Raises:
        InputError: it holds no finished bench, or a damaged one.
    """
    result, manifest = _read(folder)
    conditions = conditions_table({folder.name: manifest})
    sections = [*_sections(result), Section("conditions", "Conditions", [conditions])]
    return Page(
        kind="bench",
        title=folder.name,
        verdict=bench_verdict(result),
        facts=list(_facts(result, manifest)),
        sections=[section for section in sections if section.blocks],
    )


def _read(folder: Path) -> tuple[BaseModel, Mapping[str, Any]]:
    """The result of a bench, and its manifest; of `calibrate` what it was asked."""
    calibration = folder / _CALIBRATION
    if calibration.exists():
        result = _parsed(calibration, Calibration)
        return result, result.model_dump(exclude={"name", "loads"})
    manifest = BenchFolder(folder).read_manifest()
    if manifest is None:
        raise InputError(f"{folder} holds no bench")
    bench = manifest["settings"].get("bench")
    if bench not in BENCHES:
        raise InputError(f"{folder} holds a bench '{bench}', which this version doesn't know")
    path = folder / "result.json"
    if not path.exists():
        raise InputError(f"{folder} holds a bench that isn't finished; the same command continues")
    return _parsed(path, BENCHES[bench]), manifest


def _parsed(path: Path, kind: type[BaseModel]) -> BaseModel:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
        raise InputError(f"{path} is damaged, or of another version: {first}") from error


def _facts(result: BaseModel, manifest: Mapping[str, Any]) -> Iterator[str]:
    arms = result.arms.values() if isinstance(result, StreamResult) else [result]
    for arm in arms:
        if endpoint := getattr(arm, "endpoint", None):
            yield f"endpoint {endpoint}, model {getattr(arm, 'model', None)}"
    bench = manifest.get("settings", {}).get("bench", "calibrate")
    yield f"bench {bench}"
    if begun := manifest.get("created_at"):
        yield f"begun {str(begun)[:19].replace('T', ' ')} UTC"


@singledispatch
def _sections(result: object) -> list[Section]:
    raise TypeError(f"{type(result).__name__} is no bench's result")


@_sections.register
def _guided(result: GuidedResult) -> list[Section]:
    tables = guided_tables(result)
    at = {table.columns[0]: table for table in tables}.get
    contrasts = [table for table in tables if table.columns[0] == "contrast"]
    charts = guided_charts(result)
    return [
        Section.of("contrasts", "Contrasts", *(charts if contrasts else ()), *contrasts),
        Section.of("arms", "Arms, and whether they were engaged", at("arm")),
        Section.of("first-use", "First use of a grammar", at("grammar")),
        Section.of("counts", "Numbers of tools", *(() if contrasts else charts), at("tools")),
        _instrument([("", result.floor)]),
    ]


@_sections.register
def _budget(result: BudgetResult) -> list[Section]:
    ladder, *controls = budget_tables(result)
    return [
        Section.of("budgets", "Output budgets", *budget_charts(result), ladder),
        Section.of("controls", "Thinking controls", *controls),
        _instrument([("", result.floor)]),
    ]


@_sections.register
def _stream(result: StreamResult) -> list[Section]:
    rates, gaps, *gains = stream_tables(result)
    return [
        Section.of("curves", "Curves", *stream_charts(result)),
        Section.of("gains", "Gains", *gains),
        Section.of("rates", "Rates", rates),
        Section.of("gaps", "Gaps and stalls", gaps),
        _instrument([(name, arm.floor) for name, arm in result.arms.items()]),
    ]


@_sections.register
def _sweep(result: SweepResult) -> list[Section]:
    at = {table.columns[0]: table for table in sweep_tables(result)}.get
    return [
        Section.of("curves", "Curves", *sweep_charts(result)),
        Section.of("lengths", "Prompt lengths", at("prompt")),
        Section.of("streams", "Streams at once", at("streams"), at("measured")),
        _instrument([("", result.floor)]),
    ]


@_sections.register
def _calibrate(result: Calibration) -> list[Section]:
    late, took = calibration_tables(result)
    return [
        Section.of("lateness", "Lateness", *calibration_charts(result), late),
        Section.of("effort", "What it took", took),
    ]


def _instrument(floors: Iterable[tuple[str, Floor | None]]) -> Section:
    """What in the times is this client's own; of each endpoint where there are several."""
    lines = []
    known = [(name, floor) for name, floor in floors if floor is not None]
    for name, floor in known:
        label = f"{name}: " if len(known) > 1 else ""
        lines += [f"{label}{note}" for note in floor_notes(floor)]
        lines.append(f"{label}{instrument_line(floor.instrument)}")
    return Section("instrument", "This client's own part", [Prose(lines)] if lines else [])

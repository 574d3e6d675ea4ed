"""Reads a log of electrical power in CSV.

Public: `PowerLog`, `read_power_log`.

A line holds a time and watts. With a header line, columns are found by their names: the time as
`time`, `timestamp` or `date`, the power as `watts`, `power` or `power.draw [W]`, also in `[mW]`, a
device as `index`, `gpu`, `device` or `uuid`, a counter of energy as `joules` or `energy [mJ]`.
Without one, a line is a time and watts. Comma, semicolon and tab are taken as separators.

Times are ISO 8601 (`2026-01-31T10:00:00.5+01:00`), as `nvidia-smi` writes them
(`2026/01/31 10:00:00.500`), or seconds, milliseconds or nanoseconds since 1970. One without a zone
is in the zone that the caller names, else in this machine's.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from ragevalkit.endpoint.power.energy import Sample
from ragevalkit.errors import InputError

_TIME = re.compile(r"\b(?:time(?:stamp)?|date(?:time)?)\b", re.I)
_POWER = re.compile(r"\b(?:watts?|power)\b", re.I)
_NO_DRAW = re.compile(r"limit|cap\b|max|min\b|management", re.I)
_ENERGY = re.compile(r"\b(?:joules?|energy)\b", re.I)
_DEVICE = re.compile(r"\b(?:index|gpu|device|uuid)\b", re.I)
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?(?:e[-+]?\d+)?", re.I)
_MISSING = re.compile(r"\[?\s*(?:n/?a|not supported|unknown error|)\s*\]?", re.I)

_SCOPES = (
    (re.compile(r"\bmodule\b", re.I), "module: processor, GPU and memory"),
    (re.compile(r"\bpower\.draw|\bgpu_power|\bboard\b", re.I), "GPU board"),
)
"""What a power column covers, by its name."""

_LATEST_S = 32503680000.0
"""The year 3000: larger numbers are no seconds."""


@dataclass(frozen=True)
class PowerLog:
    """A log that was read."""

    devices: dict[str, list[Sample]]
    """Samples in the order of their times, by device; "" where the log names none."""
    scope: str | None
    """What the power covers, where the column's name tells."""
    skipped: int
    """Lines without a number for the power."""
    zone: str
    """The zone in which times without one were taken."""

    @property
    def begin(self) -> float:
        return min(samples[0].at for samples in self.devices.values())

    @property
    def end(self) -> float:
        return max(samples[-1].at for samples in self.devices.values())


@dataclass(frozen=True)
class _Columns:
    time: int
    watts: int | None
    joules: int | None
    device: int | None
    milliwatts: bool
    millijoules: bool
    scope: str | None


def read_power_log(path: Path, zone: str | None = None, device: str | None = None) -> PowerLog:
    """Read a log.

    Args:
        zone: an IANA name such as `Europe/Berlin` or `UTC`, for times without a zone; None: this
            machine's.
        device: take only this device.

    Raises:
        InputError: it can't be read; the message names the line.
    """
    local = _zone(zone)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"power log {path} can't be read: {error}") from error
    rows = list(_rows(text))
    if not rows:
        raise InputError(f"power log {path} is empty")
    columns, body = _header(rows, path)
    devices: dict[str, list[Sample]] = {}
    skipped = 0
    for number, cells in body:
        where = f"{path}, line {number}"
        if len(cells) <= max(
            filter(None, (columns.time, columns.watts, columns.joules)), default=0
        ):
            if number == rows[-1][0]:
                continue  # a line that is still being written
            raise InputError(f"{where} has {len(cells)} columns, too few")
        sample = _sample(cells, columns, local, where)
        if sample is None:
            skipped += 1
            continue
        name = cells[columns.device].strip() if columns.device is not None else ""
        if device is None or name == device:
            devices.setdefault(name, []).append(sample)
    if not devices:
        raise InputError(
            f"power log {path} holds no power"
            + (f" of device '{device}'" if device is not None else f" in {len(body)} lines")
        )
    for samples in devices.values():
        samples.sort(key=lambda sample: sample.at)
    return PowerLog(devices, columns.scope, skipped, zone or "this machine's")


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InputError(f"there is no time zone '{name}'; take UTC, Europe/Berlin, ...") from error


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    lines = text.splitlines()
    first = next((line for line in lines if line.strip() and not _is_comment(line)), "")
    separator = max("\t;,", key=first.count)
    for number, cells in enumerate(csv.reader(lines, delimiter=separator), 1):
        if any(cell.strip() for cell in cells) and not _is_comment(cells[0]):
            yield number, cells


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _header(
    rows: Sequence[tuple[int, list[str]]], path: Path
) -> tuple[_Columns, Sequence[tuple[int, list[str]]]]:
    """Which column is what, and the rows that follow."""
    first = [cell.strip() for cell in rows[0][1]]
    names = [re.sub(r"[._]", " ", cell) for cell in first]
    if not any(_TIME.search(name) or _POWER.search(name) for name in names):
        if len(first) == 2:
            return _Columns(0, 1, None, None, False, False, None), rows
        raise InputError(
            f"{path}, line {rows[0][0]}: with {len(first)} columns a header must name them, such "
            "as 'timestamp, power.draw [W]'"
        )

    def find(pattern: re.Pattern[str], *without: re.Pattern[str]) -> int | None:
        places = (p for p, name in enumerate(names) if pattern.search(name))
        return next((p for p in places if not any(w.search(names[p]) for w in without)), None)

    time, joules = find(_TIME), find(_ENERGY)
    watts = find(_POWER, _NO_DRAW, _ENERGY)
    if time is None or (watts is None and joules is None):
        missing = "time" if time is None else "power"
        raise InputError(
            f"{path}: no column of the header is the {missing}: {', '.join(first)}; they must be "
            "named such as 'timestamp, power.draw [W]'"
        )
    of = first[watts if watts is not None else joules or 0]
    return (
        _Columns(
            time,
            watts,
            joules,
            find(_DEVICE, _POWER, _ENERGY),
            milliwatts=watts is not None and bool(re.search(r"\bmW\b|milliwatt", first[watts])),
            millijoules=joules is not None and bool(re.search(r"\bmJ\b|millij", first[joules])),
            scope=next((scope for pattern, scope in _SCOPES if pattern.search(of)), None),
        ),
        rows[1:],
    )


def _sample(
    cells: Sequence[str], columns: _Columns, zone: tzinfo | None, where: str
) -> Sample | None:
    """None where the power is missing."""
    watts = _number(cells, columns.watts, where)
    joules = _number(cells, columns.joules, where)
    if watts is None:
        return None
    if columns.milliwatts or re.search(r"\dmW|\d\s+mW", cells[columns.watts or 0]):
        watts /= 1000
    if joules is not None and columns.millijoules:
        joules /= 1000
    return Sample(_time(cells[columns.time].strip(), zone, where), watts, joules)


def _number(cells: Sequence[str], column: int | None, where: str) -> float | None:
    if column is None:
        return None
    cell = cells[column].strip()
    if _MISSING.fullmatch(cell):
        return None
    found = _NUMBER.match(cell)
    if found is None:
        raise InputError(f"{where}: '{cell[:40]}' is no number")
    number = float(found[0].replace(",", "."))
    if not math.isfinite(number) or number < 0:
        raise InputError(f"{where}: '{cell[:40]}' can't be power")
    return number


def _time(cell: str, zone: tzinfo | None, where: str) -> float:
    if _NUMBER.fullmatch(cell):
        number = float(cell.replace(",", "."))
        for unit in (1, 1e3, 1e6, 1e9):
            if 0 <= number / unit <= _LATEST_S:
                return number / unit
        raise InputError(f"{where}: '{cell[:40]}' is no time since 1970")
    try:
        moment = datetime.fromisoformat(re.sub(r"\A(\d{4})/(\d\d?)/(\d\d?)", _dashed, cell))
    except ValueError:
        raise InputError(
            f"{where}: '{cell[:40]}' is no time such as 2026-01-31T10:00:00 or seconds since 1970"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone) if zone else moment.astimezone()
    return moment.timestamp()


def _dashed(found: re.Match[str]) -> str:
    return f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"

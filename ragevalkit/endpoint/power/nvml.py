"""Reads the power of NVIDIA cards on this machine into a log, while something else goes on.

Public: `recorded_power`, `INTERVAL_S`.

The library, `nvidia-ml-py`, is optional and imported only here. Ten times a second each card's
power is read, and its counter of energy, which no sampling can miss, where it has one.
"""

from __future__ import annotations

import csv
import importlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

INTERVAL_S = 0.1

_HEADER = ["timestamp", "device", "name", "power.draw [W]", "energy [J]"]


@contextmanager
def recorded_power(path: Path, interval_s: float = INTERVAL_S) -> Iterator[list[str]]:
    """Append samples to `path`, in the format of `log`, until the end of `with`.

    Gives the names of the cards that are read: none where the library or a card isn't there, and
    then nothing is written. Readings that fail are left out.
    """
    nvml = _loaded()
    if nvml is None:
        yield []
        return
    try:
        cards = list(_cards(nvml))
        if not cards:
            yield []
            return
        over = threading.Event()
        thread = threading.Thread(
            target=_record, args=(nvml, cards, path, interval_s, over), daemon=True
        )
        thread.start()
        try:
            yield [name for _, _, name in cards]
        finally:
            over.set()
            thread.join()
    finally:
        with suppress(Exception):
            nvml.nvmlShutdown()


def _loaded() -> Any | None:
    """The library, ready; None where it or its driver isn't there."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # the library has a class of its own for each way of failing
        return None
    return nvml


def _cards(nvml: Any) -> Iterator[tuple[Any, str, str]]:
    """Handle, number and name of each card whose power can be read."""
    for number in range(nvml.nvmlDeviceGetCount()):
        with suppress(nvml.NVMLError):
            handle = nvml.nvmlDeviceGetHandleByIndex(number)
            nvml.nvmlDeviceGetPowerUsage(handle)
            name = nvml.nvmlDeviceGetName(handle)
            yield handle, str(number), name if isinstance(name, str) else name.decode()


def _record(
    nvml: Any,
    cards: list[tuple[Any, str, str]],
    path: Path,
    interval_s: float,
    over: threading.Event,
) -> None:
    with suppress(OSError), path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if not file.tell():
            writer.writerow(_HEADER)
        due = time.monotonic()
        while True:
            last = over.is_set()  # one more sample, so that the end is covered
            for card in cards:
                with suppress(nvml.NVMLError):
                    writer.writerow(_row(nvml, *card))
            if last:
                return
            due += interval_s
            over.wait(max(0.0, due - time.monotonic()))


def _row(nvml: Any, handle: Any, number: str, name: str) -> list[str]:
    watts = nvml.nvmlDeviceGetPowerUsage(handle) / 1000
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    try:
        joules = f"{nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000:.3f}"
    except nvml.NVMLError:  # cards before Volta, and some that share a module with a processor
        joules = ""
    return [at, number, name, f"{watts:.3f}", joules]

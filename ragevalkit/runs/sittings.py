"""server.json: what was seen beside the turns each time that a run was begun or continued.

Public: `Sitting`, `read_sittings`, `watched`, `worst_instrument`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.engine import Ours, Span, settled
from ragevalkit.endpoint.instrument import Instrument, LoopMonitor, frozen_heap
from ragevalkit.endpoint.power.nvml import recorded_power
from ragevalkit.errors import InputError, RunFolderError
from ragevalkit.runs.folder import RunFolder, replace_file


class Sitting(Span):
    """From one begin of a run, or one that continues it, to its end."""

    began_at: str
    """Wall clock, ISO 8601 in UTC."""
    instrument: Instrument | None = None
    """How well this client kept up; null where the process was killed."""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: int = 1
    sittings: list[Sitting]


def read_sittings(folder: RunFolder) -> list[Sitting]:
    """The sittings of a run so far, in their order.

    Raises:
        InputError: server.json is damaged.
    """
    try:
        return _File.model_validate_json(folder.server.read_bytes()).sittings
    except FileNotFoundError:
        return []
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{folder.server} is damaged; move it away, and the server's own figures are left out"
        ) from error


def worst_instrument(sittings: Iterable[Sitting]) -> Instrument | None:
    """What was read in the sitting in which this client was furthest behind."""
    readings = [s.instrument for s in sittings if s.instrument is not None]
    return max(
        readings,
        key=lambda i: (i.client_limited is not None, i.loop_lag_ms.p99 or 0, i.cpu_share or 0),
        default=None,
    )


@asynccontextmanager
async def watched(
    folder: RunFolder, client: ChatClient, model: str, median_gap_ms: Callable[[], float | None]
) -> AsyncIterator[Ours]:
    """Watch server and client while turns are asked, and write server.json at begin and end.

    Gives what takes the turns that were asked. Of a sitting without a turn nothing is kept.

    Args:
        median_gap_ms: median gap between tokens, asked for at the end.

    Raises:
        InputError: server.json is damaged.
        RunFolderError: it can't be written.
    """
    earlier = read_sittings(folder)
    sitting = Sitting(
        began_at=datetime.now(UTC).isoformat(timespec="seconds"),
        before=await settled(client, model),
        after=None,
        ours=Ours(),
    )
    _write(folder, [*earlier, sitting])
    monitor = LoopMonitor()

    def write() -> None:
        sitting.instrument = monitor.reading(median_gap_ms())
        _write(folder, [*earlier, sitting] if sitting.ours.turns else earlier)

    try:
        with frozen_heap(), recorded_power(folder.power):
            async with monitor:
                yield sitting.ours
    except BaseException:
        with suppress(RunFolderError):  # what is under way tells more
            write()
        raise
    sitting.cut_short = False
    sitting.after = await settled(client, model) if sitting.before else None
    write()


def _write(folder: RunFolder, sittings: Sequence[Sitting]) -> None:
    content = _File(sittings=list(sittings)).model_dump_json(indent=2)
    replace_file(folder.server, [content.encode(), b"\n"])

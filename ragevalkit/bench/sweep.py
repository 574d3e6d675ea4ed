"""How an endpoint's speed changes with prompt length, context and concurrency.

Public: `Plan`, `run_sweep`, `MOST_STREAMS`.

A cell asks one request of a prompt length (its first token times the prefill, the rest the decoding
at that context), or keeps some streams busy. Cells come in blocks: each block holds every cell
once, in random order, so that an end before the last one leaves whole repeats.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ragevalkit.bench.folder import BenchFolder, Record
from ragevalkit.bench.lengths import Lengths, find_lengths
from ragevalkit.bench.measuring import (
    Stopped,
    Watch,
    ask,
    check_alive,
    endpoint_settings,
    on_record,
)
from ragevalkit.bench.prompts import Cold, Prompts
from ragevalkit.bench.session import Floor, Session, session
from ragevalkit.bench.sweep_cell import Cell, CellLine, failures, place, run_cell
from ragevalkit.bench.sweep_result import Finished, Skipped, SweepResult, figures
from ragevalkit.endpoint.client import Timeouts
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import replace_file
from ragevalkit.runs.writer import Writer
from ragevalkit.turn.record import Round, RoundState

MOST_STREAMS = 64
"""Up to here the client is known to keep up (`bench calibrate`); above, it may be the limit."""

_LEARNING_TOKENS = 256
_FRAME_TOKENS = 30
_ENDING = "Continue this text at length."
_AN_ANSWER = frozenset({RoundState.OVERFLOW, RoundState.REJECTED})
"""States that asking again wouldn't change."""


@dataclass(frozen=True)
class Plan:
    """What a sweep measures."""

    lengths: tuple[int, ...] = (128, 512, 2048, 8192)
    """Prompt tokens; empty: no curve over them."""
    streams: tuple[int, ...] = (1, 2, 4, 8, 16)
    """At once; empty: no curve over them."""
    repeats: int = 3
    output_tokens: int = 64
    """Of each reply."""
    prompt_tokens: int = 256
    """Of each prompt while streams vary."""
    requests: int = 3
    """Of each stream; the first of them fills the server, and doesn't count."""
    seed: int = 0

    def settings(self) -> dict[str, Any]:
        """What must be the same for a sweep to be continued."""
        return {
            "lengths": list(self.lengths),
            "streams": list(self.streams),
            "repeats": self.repeats,
            "output_tokens": self.output_tokens,
            "prompt_tokens": self.prompt_tokens,
            "requests": self.requests,
            "seed": self.seed,
        }

    def cells(self, without: Sequence[int] = ()) -> Iterator[Cell]:
        """All cells in the order in which they are asked.

        Args:
            without: prompt lengths to leave out; the order of the others stays.
        """
        order = random.Random(self.seed)
        for repeat in range(self.repeats):
            block = [Cell("length", n, 1, 1, self.output_tokens, repeat) for n in self.lengths]
            block += [
                Cell(
                    "streams", self.prompt_tokens, c, c * self.requests, self.output_tokens, repeat
                )
                for c in self.streams
            ]
            order.shuffle(block)
            for cell in block:
                if cell.kind != "length" or cell.prompt_tokens not in without:
                    yield cell


class _Cells:
    """cells.jsonl beside requests.jsonl: which cells are finished."""

    def __init__(self, folder: BenchFolder) -> None:
        self.path = folder.path / "cells.jsonl"
        self._writer: Writer | None = None

    def read(self) -> list[CellLine]:
        """The finished cells; a last line that was cut off by a crash is dropped.

        Raises:
            InputError: a line is damaged.
        """
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            replace_file(self.path, [whole])
        try:
            return [CellLine.model_validate_json(line) for line in whole.splitlines()]
        except ValidationError as error:
            raise InputError(f"{self.path} is damaged: {error.errors()[0]['msg']}") from error

    def add(self, line: CellLine) -> None:
        if self._writer is None:
            self._writer = Writer(self.path)
        self._writer.check()
        self._writer.put(self.path, lambda: line.model_dump_json().encode())

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


async def run_sweep(
    profile: Profile,
    plan: Plan,
    folder: BenchFolder,
    watch: Watch,
    *,
    seconds: float,
    timeouts: Timeouts | None = None,
) -> SweepResult:
    """Ask for the cells that the folder lacks, draw the curves, and write result.json; a finished
    sweep gives its result.

    Args:
        profile: with the address of a server that runs.
        seconds: after which no further cell is begun.

    Raises:
        EndpointUnusable: nothing is answered from the start.
        InputError: the folder holds something else, or is damaged.
        RunFolderError: it can't be written.
    """
    settings = {"bench": "sweep", "endpoint": endpoint_settings(profile), **plan.settings()}
    earlier = on_record(folder, settings, SweepResult)
    if earlier is not None and earlier.cells.done == earlier.cells.planned:
        return earlier
    async with session(
        profile,
        concurrency=max(plan.streams, default=1),
        timeouts=timeouts,
        on_check=watch.checks,
        on_warning=watch.warns,
    ) as known:
        found = known.probe.model_dump(mode="json")
        folder.open(settings, fingerprint=known.fingerprint, probe=found)
        try:
            result = await _sweep(known, plan, folder, watch, seconds)
            folder.write_result(result)
            return result
        finally:
            folder.close()


async def _sweep(
    session: Session, plan: Plan, folder: BenchFolder, watch: Watch, seconds: float
) -> SweepResult:
    until = time.monotonic() + seconds
    cells = _Cells(folder)
    finished = _finished(folder, cells)
    skipped = _too_long(session, plan)
    stopped = failed = None
    lengths = await find_lengths(session)
    prompts = Prompts(Cold.of(session.probe), ending=_ENDING, seed=plan.seed + len(finished))
    try:
        await _learn(session, plan, prompts, lengths)
        while (cell := _next(plan, finished, skipped)) is not None:
            if time.monotonic() > until:
                stopped = f"the {seconds / 60:g} minutes were over"
                break
            watch.step(_shown(cell), len(finished), _planned(plan, skipped))
            line, rounds = await run_cell(session, cell, prompts, lengths)
            if (why := _overflow(rounds)) is not None and cell.kind == "length":
                skipped += [
                    Skipped(prompt_tokens=n, why=f"the server: {why}")
                    for n in plan.lengths
                    if n >= cell.prompt_tokens and n not in {s.prompt_tokens for s in skipped}
                ]
                continue
            await _check(session, rounds)
            for number, round_ in enumerate(rounds):
                folder.add(Record.now(place(line, number), round_))
            cells.add(line)
            finished.append(Finished(line, rounds))
    except Stopped as reason:
        stopped = failed = str(reason)
    finally:
        cells.close()
    floor = _floor(session, finished)
    result = figures(
        finished,
        name=folder.path.name,
        endpoint=session.client.profile.name,
        model=session.model,
        planned=_planned(plan, skipped),
        output_tokens=plan.output_tokens,
        exact=lengths,
        skipped=skipped,
        notes=_notes(session, plan, stopped),
    )
    result.failed = failed
    result.floor = floor
    return result


def _floor(session: Session, finished: Sequence[Finished]) -> Floor:
    """The session's, with the cell in which this client was furthest behind."""
    floor = session.floor()
    if finished:
        floor.instrument = max(
            (cell.line.instrument for cell in finished),
            key=lambda i: (i.client_limited is not None, i.loop_lag_ms.p99 or 0, i.cpu_share or 0),
        )
    return floor


def _shown(cell: Cell) -> str:
    if cell.kind == "length":
        return f"a prompt of {cell.prompt_tokens:,} tokens"
    return f"{cell.streams} stream" + ("" if cell.streams == 1 else "s")


def _next(plan: Plan, finished: Sequence[Finished], skipped: Sequence[Skipped]) -> Cell | None:
    done = {cell.line.key for cell in finished}
    without = [s.prompt_tokens for s in skipped]
    return next((cell for cell in plan.cells(without) if cell.key not in done), None)


def _planned(plan: Plan, skipped: Sequence[Skipped]) -> int:
    return sum(1 for _ in plan.cells([s.prompt_tokens for s in skipped]))


def _finished(folder: BenchFolder, cells: _Cells) -> list[Finished]:
    """Cells on record, with their requests; requests of a cell that was broken off are left out."""
    rounds: dict[str, dict[int, Round]] = {}
    for record in folder.records():
        if record.round is not None:
            rounds.setdefault(record.place["cell"], {})[record.place["request"]] = record.round
    found = []
    for line in cells.read():
        of = rounds.get(line.id, {})
        if len(of) == line.requests:
            found.append(Finished(line, [of[number] for number in sorted(of)]))
    return found


def _too_long(session: Session, plan: Plan) -> list[Skipped]:
    """Lengths that don't fit into the context, where the probe found its size."""
    context = _context(session)
    if context is None:
        return []
    return [
        Skipped(
            prompt_tokens=n,
            why=f"with {plan.output_tokens} output tokens more than the context of {context:,}",
        )
        for n in plan.lengths
        if n + plan.output_tokens > context
    ]


def _context(session: Session) -> int | None:
    finding = session.probe.findings.get("context_length")
    return finding.value if finding and isinstance(finding.value, int) else None


def _overflow(rounds: Sequence[Round]) -> str | None:
    """What the server said where it will never take such a prompt."""
    return next((r.error or r.state.value for r in rounds if r.state in _AN_ANSWER), None)


async def _check(session: Session, rounds: Sequence[Round]) -> None:
    """After a cell with failures: whether the endpoint is still there.

    Raises:
        Stopped: it isn't, or nothing of the cell was answered. The cell is then asked again.
    """
    failed = failures(rounds)
    if failed:
        await check_alive(session)
    if failed.total() == len(rounds):
        raise Stopped(failed.most_common(1)[0][0])


async def _learn(session: Session, plan: Plan, prompts: Prompts, lengths: Lengths) -> None:
    """From one prompt's count how many words each length takes; warms up the longer kernels, too.

    Raises:
        Stopped: it wasn't answered.
    """
    messages = prompts.messages(_LEARNING_TOKENS)
    fields = {**prompts.fields(), **lengths.of(8)}
    reply = await ask(session, messages, 8, fields)
    if reply.state is not RoundState.DONE:
        raise Stopped(reply.error or reply.state.value)
    if reply.prompt_tokens is None:
        return
    each = (reply.prompt_tokens - _FRAME_TOKENS) / (_LEARNING_TOKENS - _FRAME_TOKENS)
    for n in {*plan.lengths, plan.prompt_tokens}:
        if n != _LEARNING_TOKENS:
            prompts.messages(n)
        prompts.correct(n, round(_FRAME_TOKENS + (n - _FRAME_TOKENS) * each))


def _notes(session: Session, plan: Plan, stopped: str | None) -> list[str]:
    notes = []
    if stopped is not None:
        notes.append(f"not all cells were asked: {stopped}; the same command continues")
    if any(c > MOST_STREAMS for c in plan.streams):
        notes.append(
            f"above {MOST_STREAMS} streams this client may be what limits; see client-limited"
        )
    if plan.lengths and _context(session) is None:
        notes.append("the context's length is unknown: what doesn't fit, the server has to say")
    return notes

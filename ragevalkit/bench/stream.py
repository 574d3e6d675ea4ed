"""How fast replies stream, and what another way of serving really gains.

Public: `StreamPlan`, `run_stream`, `compare_streams`.

Every prompt is asked for each output length, of every endpoint in turn: so endpoints are compared
prompt by prompt, whatever drifts meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ragevalkit.bench.decoding import all_gaps_ms
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
from ragevalkit.bench.prompts import Cold
from ragevalkit.bench.session import Session, session
from ragevalkit.bench.stream_result import Replies, StreamResult, arm_figures, gains
from ragevalkit.endpoint.client import Timeouts
from ragevalkit.endpoint.engine import Ours, Span, figures_of, settled
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import replace_file
from ragevalkit.stats import percentiles
from ragevalkit.turn.record import Round, RoundState

PROMPTS_VERSION = 1
"""Of the questions below: benches with another one can't be compared."""

_ASKED = (
    "Explain in plain prose how {} works, in as much detail as you can.",
    "Write a long story in which {} matters.",
    "List what can go wrong with {}, one item a line, with the remedy for each.",
    "Write a Python class that models {}, with comments.",
)
_THINGS = (
    "a bicycle brake", "a lighthouse", "a water mill", "a sailing boat", "a pocket watch",
    "a telephone exchange", "a steam engine", "a printing press", "a suspension bridge",
    "a greenhouse", "a canal lock", "a weather balloon", "a piano", "a lift", "a windmill",
    "a fire engine", "a railway signal", "a pump", "a sewing machine", "a compass",
)  # fmt: skip
_ANSWERS = (RoundState.DONE, RoundState.REJECTED, RoundState.OVERFLOW)
MOST_PROMPTS = len(_ASKED) * len(_THINGS)


@dataclass(frozen=True)
class StreamPlan:
    """What a stream bench asks of each endpoint."""

    lengths: tuple[int, ...] = (32, 128, 512)
    """Output tokens."""
    prompts: int = 6
    seed: int = 0

    def settings(self) -> dict[str, Any]:
        """What must be the same for a bench to be continued, or compared."""
        return {
            "lengths": list(self.lengths),
            "prompts": self.prompts,
            "seed": self.seed,
            "prompts_version": PROMPTS_VERSION,
        }

    def questions(self) -> list[str]:
        """The prompts, by their numbers."""
        every = [how.format(thing) for how in _ASKED for thing in _THINGS]
        random.Random(self.seed).shuffle(every)
        return every[: self.prompts]

    def order(self, arms: Sequence[str]) -> list[tuple[str, int, int]]:
        """Arm, output tokens and prompt of each request: pairs in random order, and the arms of
        each pair, too."""
        shuffled = random.Random(self.seed)
        pairs = [(tokens, prompt) for tokens in self.lengths for prompt in range(self.prompts)]
        shuffled.shuffle(pairs)
        return [
            (arm, tokens, prompt)
            for tokens, prompt in pairs
            for arm in shuffled.sample(arms, len(arms))
        ]


class _Sittings(BaseModel):
    """server.json: what each sitting read of the arms' metrics pages."""

    model_config = ConfigDict(extra="forbid")

    lengths: dict[str, Lengths] = {}
    spans: dict[str, list[Span]] = {}


async def run_stream(
    profiles: Mapping[str, Profile],
    plan: StreamPlan,
    folder: BenchFolder,
    watch: Watch,
    *,
    timeouts: Timeouts | None = None,
) -> StreamResult:
    """Ask what the folder lacks, and write result.json; a finished bench gives its result.

    Args:
        profiles: of servers that run, by the names of the arms; the others are held against the
            first.

    Raises:
        EndpointUnusable: nothing is answered from the start.
        InputError: the folder holds something else, or is damaged.
        RunFolderError: it can't be written.
    """
    endpoints = {arm: endpoint_settings(profile) for arm, profile in profiles.items()}
    settings = {"bench": "stream", "endpoints": endpoints, **plan.settings()}
    earlier = on_record(folder, settings, StreamResult)
    if earlier is not None and earlier.failed is None:
        return earlier
    async with AsyncExitStack() as stack:
        sessions: dict[str, Session] = {}
        for arm, profile in profiles.items():
            known = session(
                profile,
                timeouts=timeouts,
                on_check=watch.checks,
                on_warning=partial(_warn, watch, arm if len(profiles) > 1 else None),
            )
            sessions[arm] = await stack.enter_async_context(known)
        folder.open(
            settings,
            fingerprint={arm: s.fingerprint for arm, s in sessions.items()},
            probe={arm: s.probe.model_dump(mode="json") for arm, s in sessions.items()},
        )
        try:
            result = await _stream(sessions, plan, folder, watch)
            folder.write_result(result)
            return result
        finally:
            folder.close()


def _warn(watch: Watch, arm: str | None, message: str) -> None:
    watch.warns(f"{arm}: {message}" if arm else message)


async def _stream(
    sessions: Mapping[str, Session], plan: StreamPlan, folder: BenchFolder, watch: Watch
) -> StreamResult:
    arms = read_replies(folder, list(sessions))
    sittings = _read_sittings(folder)
    sitting: dict[str, Span] = {}
    for arm, of in sessions.items():
        sittings.lengths[arm] = await find_lengths(of)
        page = await settled(of.client, of.model)
        sitting[arm] = Span(before=page, after=None, ours=Ours())
        sittings.spans.setdefault(arm, []).append(sitting[arm])
    order, questions = plan.order(list(sessions)), plan.questions()
    failed = None
    try:
        for done, (arm, tokens, prompt) in enumerate(order):
            if (tokens, prompt) in arms[arm]:
                continue
            watch.step(f"{tokens} tokens of {arm}", done, len(order))
            asked, exact = sessions[arm], sittings.lengths[arm]
            round_ = await _ask(asked, questions[prompt], tokens, exact)
            sitting[arm].ours.add([round_])
            if round_.state not in _ANSWERS:
                await check_alive(asked)
            if sum(span.ours.turns for span in sitting.values()) == 1:
                _write_sittings(folder, sittings)  # as cut short, until it has ended
            place = {"arm": arm, "output_tokens": tokens, "prompt": prompt}
            folder.add(Record.now(place, round_))
            arms[arm][tokens, prompt] = round_
    except Stopped as reason:
        failed = str(reason)
    for arm, of in sessions.items():
        if not sitting[arm].ours.turns:
            sittings.spans[arm].pop()
            continue
        sitting[arm].cut_short = failed is not None
        sitting[arm].after = await settled(of.client, of.model)
    _write_sittings(folder, sittings)
    result = _result(folder.path.name, sessions, arms, sittings)
    result.failed = failed
    if failed is not None:
        result.notes.append(f"not all was asked: {failed}; the same command continues")
    return result


async def _ask(of: Session, question: str, tokens: int, exact: Lengths) -> Round:
    cold = Cold.of(of.probe)
    fields = {**cold.fields(), **exact.of(tokens)}
    return await ask(of, [{"role": "user", "content": question}], tokens, fields)


def _result(
    name: str,
    sessions: Mapping[str, Session],
    arms: Mapping[str, Replies],
    sittings: _Sittings,
) -> StreamResult:
    floors = {}
    for arm, of in sessions.items():  # before anything is computed, which would look like lag
        gaps = percentiles(gap for r in arms[arm].values() for gap in all_gaps_ms(r))
        floors[arm] = of.floor(gaps.p50)
    figures = {
        arm: arm_figures(
            arms[arm],
            endpoint=of.client.profile.name,
            model=of.model,
            exact=sittings.lengths[arm],
            engine=figures_of(sittings.spans[arm], len(arms[arm])),
            floor=floors[arm],
        )
        for arm, of in sessions.items()
    }
    return StreamResult(name=name, arms=figures, gains=gains(arms), notes=[])


def compare_streams(folders: Sequence[BenchFolder]) -> StreamResult:
    """The first bench's first endpoint against the endpoints of the others, by pairs of a prompt.

    Raises:
        InputError: a folder holds no finished stream bench, or their prompts are others.
    """
    figures, arms, settings = {}, {}, []
    for folder in folders:
        try:
            result = StreamResult.model_validate_json(folder.result.read_bytes())
            manifest = orjson.loads(folder.manifest.read_bytes())
        except (OSError, ValidationError, orjson.JSONDecodeError) as error:
            raise InputError(f"{folder.path} holds no finished `bench stream`") from error
        settings.append(manifest["settings"])
        replies = read_replies(folder, list(result.arms))
        for arm in result.arms:
            label = folder.path.name if len(result.arms) == 1 else f"{folder.path.name}/{arm}"
            figures[label], arms[label] = result.arms[arm], replies[arm]
    for field in ("seed", "prompts_version"):
        if len({of.get(field) for of in settings}) > 1:
            raise InputError(
                f"the benches can't be paired: their {field.replace('_', ' ')} differs"
            )
    compared = StreamResult(
        name=" against ".join(folder.path.name for folder in folders),
        arms=figures,
        gains=gains(arms),
        notes=["Measured one after the other: what drifted between them is in the gain."],
    )
    for found in compared.gains:
        if not found.all.pairs:
            raise InputError(
                f"{found.base} and {found.arm} have no timed reply of one prompt and length in "
                "common"
            )
    return compared


def read_replies(
    folder: BenchFolder, arms: Sequence[str]
) -> dict[str, dict[tuple[int, int], Round]]:
    """The replies on record, by arm.

    Raises:
        InputError: a line is damaged.
    """
    found: dict[str, dict[tuple[int, int], Round]] = {arm: {} for arm in arms}
    for record in folder.records():
        at = record.place
        if record.round is not None and at.get("arm") in found:
            found[at["arm"]][at["output_tokens"], at["prompt"]] = record.round
    return found


def _read_sittings(folder: BenchFolder) -> _Sittings:
    path = folder.path / "server.json"
    try:
        return _Sittings.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return _Sittings()
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{path} is damaged; move it away, and the server's own figures are left out"
        ) from error


def _write_sittings(folder: BenchFolder, sittings: _Sittings) -> None:
    content = sittings.model_dump_json(indent=2).encode()
    replace_file(folder.path / "server.json", [content, b"\n"])

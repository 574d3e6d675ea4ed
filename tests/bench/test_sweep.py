"""The curves of a sweep over replies whose speeds are known, and its cells against a server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench.known import Known
from bench.replies import closed_loop, failed, reply
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from servers import serving

from ragevalkit.bench import session, sweep_cell, sweep_result
from ragevalkit.bench.curves import Estimate
from ragevalkit.bench.folder import BenchFolder
from ragevalkit.bench.lengths import Lengths
from ragevalkit.bench.sweep import Plan, run_sweep
from ragevalkit.bench.sweep_cell import CellLine, Kind, steady
from ragevalkit.bench.sweep_result import Finished, SweepResult, figures
from ragevalkit.endpoint.client import Retries
from ragevalkit.endpoint.engine import Page
from ragevalkit.endpoint.instrument import Instrument, LoopLag
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError
from ragevalkit.report.bench_sweep import sweep_tables
from ragevalkit.turn.record import Round, RoundState

DOCS = Path(__file__).parents[2] / "docs"
EXACT = Lengths(fields=["ignore_eos", "min_tokens"])
SMALL = Plan(lengths=(64, 200), streams=(1, 2), repeats=2, output_tokens=8, requests=2)


def cell(
    kind: Kind, size: int, repeat: int, rounds: list[Round], limited: str | None = None
) -> Finished:
    line = CellLine(
        id=f"{kind}{size}.{repeat}",
        kind=kind,
        prompt_tokens=size if kind == "length" else 100,
        streams=size if kind == "streams" else 1,
        repeat=repeat,
        requests=len(rounds),
        at="2026-01-01T00:00:00+00:00",
        instrument=Instrument(
            seconds=3,
            samples=600,
            loop_lag_ms=LoopLag(p50=0.1, p99=0.9, max=2),
            cpu_share=0.1,
            client_limited=limited,
        ),
        running=None,
        waiting=None,
        busy_before=False,
    )
    return Finished(line, rounds)


def drawn(finished: list[Finished]) -> SweepResult:
    return figures(
        finished,
        name="s",
        endpoint="known",
        model="m",
        planned=len(finished),
        output_tokens=10,
        exact=EXACT,
    )


def prefill_reply(tokens: int, *, noise: float = 1.0, cached: int = 0) -> Round:
    """50 ms and 0.2 ms a token to the first one; 5 ms and 1 ms a 1,000 tokens in context between.

    The tokens are those that aren't cached.
    """
    gap_ms = (5 + (tokens + cached + 5) / 1000) * noise
    return reply(
        wait_ms=(50 + 0.2 * tokens) * noise,
        gaps_ms=[gap_ms] * 9,
        prompt_tokens=tokens + cached,
        cached_tokens=cached,
    )


@pytest.mark.parametrize("cached", [0, 16])
def test_prefill_and_context_come_back(cached: int) -> None:
    result = drawn(
        [
            cell("length", n, repeat, [prefill_reply(n, noise=noise, cached=cached)])
            for n in (100, 1000, 4000)
            for repeat, noise in enumerate((0.98, 1.0, 1.02))
        ]
    )
    assert result.prefill is not None
    base, rate = result.prefill.base_ms, result.prefill.rate
    assert base.value == pytest.approx(50, rel=0.03)
    assert rate.value == pytest.approx(5000, rel=0.01)
    for of, truth in ((base, 50), (rate, 5000)):
        assert of.low is not None
        assert of.high is not None
        assert of.low < truth < of.high
    assert result.prefill.quadratic is None
    assert result.context is not None
    assert result.context.base_ms.value == pytest.approx(5, rel=0.02)
    assert result.context.ms_per_1k_tokens.value == pytest.approx(1, rel=0.05)
    for level in result.lengths:
        assert level.prefill_rate.value == pytest.approx(5000, rel=0.02)
        assert level.measured_tokens == level.prompt_tokens + cached
        assert level.decode_rate.value == pytest.approx(
            1000 / (5 + level.measured_tokens / 1000), 0.02
        )
    assert bool(result.notes) == bool(cached)


def test_a_first_token_that_grows_with_the_square_says_so() -> None:
    result = drawn(
        [
            cell(
                "length",
                n,
                r,
                [reply(wait_ms=(20 + 0.1 * n + 4e-5 * n * n) * noise, prompt_tokens=n)],
            )
            for n in (128, 512, 2048, 8192)
            for r, noise in enumerate((0.99, 1.0, 1.01))
        ]
    )
    assert result.prefill is not None
    assert result.prefill.quadratic is not None
    assert result.prefill.quadratic.ms_per_1k_squared.value == pytest.approx(40, rel=0.1)
    assert result.prefill.quadratic.share_of_longest == pytest.approx(0.76, abs=0.03)
    assert any("quadratic" in note for note in sweep_tables(result)[0].notes)


def test_a_prefill_without_a_base_has_its_rate_all_the_same() -> None:
    result = drawn(
        [
            cell("length", n, 0, [reply(wait_ms=0.2 * n + 1e-6 * n * n, prompt_tokens=n)])
            for n in (100, 1000, 4000)
        ]
    )
    assert result.prefill is not None
    assert result.prefill.base_ms.value == pytest.approx(0, abs=0.1)
    for level in result.lengths:
        assert level.prefill_rate.value == pytest.approx(5000, rel=0.05)


def test_a_first_token_that_does_not_grow_gives_no_rate() -> None:
    result = drawn(
        [cell("length", n, 0, [reply(wait_ms=30, prompt_tokens=n)]) for n in (100, 1000, 9000)]
    )
    assert result.prefill is not None
    assert result.prefill.rate.value is None or result.prefill.rate.value > 1e6
    assert result.context is not None
    assert result.context.ms_per_1k_tokens.value == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("slots", [1, 4, 64])
def test_a_server_of_so_many_slots_has_its_knee_there(slots: int) -> None:
    levels = (1, 2, 4, 8, 16)
    result = drawn(
        [
            cell("streams", c, r, closed_loop(c, 4, slots=slots, wait_ms=50, gap_ms=10, tokens=20))
            for c in levels
            for r in range(3)
        ]
    )
    assert result.knee is not None
    expected = slots if slots < levels[-1] else None
    assert result.knee.streams == expected
    assert result.knee.by_repeat == [expected] * 3
    assert result.knee.wait_streams == next((c for c in levels if c > slots), None)
    one = 20 / 0.24  # 20 tokens in a cycle of 50 + 19 x 10 ms
    for level in result.concurrency:
        assert level.aggregate_rate.value == pytest.approx(
            one * min(level.streams, slots), rel=1e-3
        )
        assert level.stream_rate.value == pytest.approx(100)
        assert level.concurrency == pytest.approx(level.streams, rel=0.02)
        assert level.failed == 0
    sentences = " ".join(sweep_tables(result)[-1].notes)
    assert ("No knee up to 16 streams" in sentences) == (expected is None)
    assert expected is None or f"Knee at {expected} stream" in sentences


@given(
    streams=st.integers(1, 12),
    each=st.integers(2, 5),
    slots=st.integers(1, 12),
    gap_ms=st.floats(1, 50),
)
def test_the_steady_part_has_all_streams_under_way(
    streams: int, each: int, slots: int, gap_ms: float
) -> None:
    rounds = closed_loop(streams, each, slots=slots, wait_ms=7, gap_ms=gap_ms, tokens=5)
    part = steady(rounds, streams)
    assert part is not None
    assert part.concurrency == pytest.approx(streams, rel=1e-6)
    assert part.end_ms <= max(r.clock.ended_ms for r in rounds)
    assert 0 < part.tokens <= 5 * len(rounds)
    assert all(wait >= 7 - 1e-6 for wait in part.waits_ms)


def test_streams_that_ask_once_have_no_steady_part() -> None:
    assert steady(closed_loop(3, 1, slots=3, wait_ms=5, gap_ms=5, tokens=3), 3) is None
    assert steady([], 1) is None
    result = drawn([cell("streams", 2, 0, [reply(), reply()])])
    assert result.concurrency[0].aggregate_rate == Estimate(value=None)
    assert result.knee is None
    assert any("no steady part" in note for note in result.notes)


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ([reply(gaps_ms=(), per_event=10)], "all tokens came at once in 1 of 1 replies"),
        ([reply(cached_tokens=None)], "the server doesn't say what it cached"),
        ([reply(cached_tokens=64)], "1 of 1 prompts came from the prefix cache in part"),
        ([failed(RoundState.BUSY, "slow down"), reply()], "1 of 2 requests failed: slow down"),
    ],
)
def test_what_spoils_the_numbers_is_said(rounds: list[Round], words: str) -> None:
    result = drawn([cell("length", 100, 0, rounds)])
    assert any(words in note for note in result.notes)
    said = [note for table in sweep_tables(result) for note in table.notes]
    assert any(words[1:] in note for note in said)


def test_a_client_that_was_late_marks_its_level_alone() -> None:
    loop = closed_loop(2, 3, slots=2, wait_ms=5, gap_ms=5, tokens=5)
    result = drawn(
        [
            cell("streams", 2, 0, loop),
            cell("streams", 2, 1, loop, "the loop was late"),
            cell("streams", 1, 0, closed_loop(1, 3, slots=2, wait_ms=5, gap_ms=5, tokens=5)),
        ]
    )
    assert [level.client_limited for level in result.concurrency] == [None, "the loop was late"]
    assert [row[0] for row in sweep_tables(result)[0].rows] == ["1", "2*"]


def test_nothing_measured_is_a_table_all_the_same() -> None:
    assert sweep_tables(drawn([]))[0].rows == [["nothing"]]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_block_holds_every_cell_once_in_an_order_of_its_own(seed: int) -> None:
    plan = Plan(seed=seed)
    cells = list(plan.cells())
    size = len(plan.lengths) + len(plan.streams)
    blocks = [cells[n : n + size] for n in range(0, len(cells), size)]
    kinds = {(c.kind, c.prompt_tokens, c.streams) for c in blocks[0]}
    assert [c.repeat for c in cells] == sorted(c.repeat for c in cells)
    assert all({(c.kind, c.prompt_tokens, c.streams) for c in b} == kinds for b in blocks)
    orders = [[(c.kind, c.prompt_tokens, c.streams) for c in b] for b in blocks]
    assert len({tuple(order) for order in orders}) == plan.repeats
    assert cells == list(plan.cells())
    without = list(plan.cells(without=[8192]))
    assert without == [c for c in cells if c.prompt_tokens != 8192]


class Watch:
    """Keeps what a user is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int]] = []

    def checks(self, what: str) -> None:
        pass

    def warns(self, message: str) -> None:
        pass

    def step(self, what: str, done: int, planned: int) -> None:
        self.steps.append((what, done, planned))


@pytest.fixture(autouse=True)
def no_floor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(session, "FLOOR_S", 0.0)
    return


def swept(brain: Known, folder: Path, plan: Plan = SMALL, seconds: float = 600) -> SweepResult:
    with serving(brain) as url:
        # the address differs each time, as does a built-in endpoint's
        profile = Profile(name="known", base_url=url, built_in=True)
        return asyncio.run(run_sweep(profile, plan, BenchFolder(folder), Watch(), seconds=seconds))


def test_a_sweep_asks_each_cell_and_is_not_asked_again(tmp_path: Path) -> None:
    brain = Known(base_ms=2, gap_ms=1)
    result = swept(brain, tmp_path / "s")
    assert (result.cells.done, result.cells.planned, result.failed) == (8, 8, None)
    assert result.exact_lengths == EXACT
    assert result.exact_share == 1
    assert [level.requests for level in result.lengths] == [2, 2]
    assert [level.requests for level in result.concurrency] == [4, 8]
    for level in result.lengths:
        assert level.measured_tokens == pytest.approx(level.prompt_tokens, rel=0.3)
        assert level.cached_tokens == 0
    assert BenchFolder(tmp_path / "s").result.exists()
    assert len(BenchFolder(tmp_path / "s").records()) == 16
    again = Known()
    assert swept(again, tmp_path / "s") == result
    assert again.replies == 0
    with pytest.raises(InputError, match="output_tokens"):
        swept(Known(), tmp_path / "s", replace(SMALL, output_tokens=9))


def test_a_server_that_dies_is_continued_with_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retries, "wait_s", lambda *_: 0.0)
    # what a sweep asks before its cells: the probe's requests are as many each time
    counting = Known()
    swept(counting, tmp_path / "count", Plan(lengths=(64,), streams=(), repeats=1, output_tokens=8))
    before = counting.replies - 1
    dying = Known(base_ms=2, gap_ms=1, lives=before + 5)
    broken = swept(dying, tmp_path / "s")
    assert broken.failed is not None
    assert "out of memory" in broken.failed
    assert 0 < broken.cells.done < 8
    kept = BenchFolder(tmp_path / "s").records()
    with (tmp_path / "s" / "cells.jsonl").open("ab") as file:
        file.write(b'{"id": "cut o')
    whole = Known(base_ms=2, gap_ms=1)
    result = swept(whole, tmp_path / "s")
    assert (result.cells.done, result.failed) == (8, None)
    assert whole.replies == before + 16 - len(kept)
    assert BenchFolder(tmp_path / "s").records()[: len(kept)] == kept
    (tmp_path / "s" / "result.json").unlink()
    assert swept(Known(), tmp_path / "s").lengths == result.lengths
    (tmp_path / "s" / "result.json").unlink()
    (tmp_path / "s" / "cells.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"cells\.jsonl is damaged"):
        swept(Known(), tmp_path / "s")


def test_no_cell_is_begun_after_the_minutes(tmp_path: Path) -> None:
    result = swept(Known(), tmp_path / "s", seconds=0)
    assert (result.cells.done, result.cells.planned, result.failed) == (0, 8, None)
    assert any("minutes were over" in note for note in result.notes)


@pytest.mark.parametrize("told", [True, False])
def test_lengths_that_exceed_the_context_are_left_out_and_named(tmp_path: Path, told: bool) -> None:
    brain = Known(context=300)
    if told:
        brain.wire.habits.entry["max_model_len"] = 300
    else:
        brain.wire.habits.entry.pop("max_model_len", None)
    plan = Plan(lengths=(64, 500, 900), streams=(), repeats=2, output_tokens=8)
    result = swept(brain, tmp_path / "s", plan)
    assert [level.prompt_tokens for level in result.lengths] == [64]
    assert sorted(skipped.prompt_tokens for skipped in result.skipped) == [500, 900]
    words = "more than the context of 300" if told else "maximum context length is 300"
    assert all(words in skipped.why for skipped in result.skipped)
    assert (result.cells.done, result.cells.planned) == (2, 2)


@pytest.mark.parametrize(
    ("brain", "fields", "words"),
    [
        (Known(habits={"rejects": {"min_tokens": "no min_tokens"}}), ["ignore_eos"], None),
        (
            Known(habits={"rejects": {"min_tokens": "no!", "ignore_eos": "not here"}}),
            [],
            "Replies can't be held to a length: ",
        ),
        (Known(per_event=100), ["ignore_eos", "min_tokens"], "All tokens came at once in"),
        (Known(habits={"streams": False}), ["ignore_eos", "min_tokens"], "All tokens came at once"),
        (Known(cached=32), ["ignore_eos", "min_tokens"], "prompts came from the prefix cache"),
        (
            Known(counts=False, engine="openrouter"),
            ["ignore_eos", "min_tokens"],
            "counts no tokens",
        ),
    ],
)
def test_servers_that_do_not_do_what_is_asked(
    tmp_path: Path, brain: Known, fields: list[str], words: str | None
) -> None:
    plan = Plan(lengths=(64,), streams=(2,), repeats=1, output_tokens=8, requests=2)
    result = swept(brain, tmp_path / "s", plan)
    assert result.exact_lengths.fields == fields
    assert result.cells.done == 2
    said = [note for table in sweep_tables(result) for note in table.notes]
    assert words is None or any(words in note for note in said)


def showing(monkeypatch: pytest.MonkeyPatch, *running: int) -> list[int]:
    """A metrics page with so many requests under way, look by look, the last one again and again;
    the list has what was seen."""
    left, seen = list(running), list[int]()

    async def scrape(client: object, model: str) -> Page:
        seen.append(left.pop(0) if len(left) > 1 else left[0])
        return Page(engine="vllm", values={"running": float(seen[-1]), "waiting": 1.0})

    monkeypatch.setattr(sweep_cell, "scrape", scrape)
    monkeypatch.setattr(sweep_cell, "_NEXT_LOOK_S", 0.0)
    monkeypatch.setattr(Page, "under_way", lambda page: int(page.values["running"] or 0))
    return seen


@pytest.mark.parametrize(
    ("running", "patience_s", "idle"), [((2, 1, 0), 60, True), ((2,), 0, False)]
)
def test_a_cell_waits_until_the_server_is_idle(
    monkeypatch: pytest.MonkeyPatch, running: tuple[int, ...], patience_s: float, idle: bool
) -> None:
    seen = showing(monkeypatch, *running)
    monkeypatch.setattr(sweep_cell, "_DRAIN_S", patience_s)
    asked: Any = SimpleNamespace(client=None, model="m")
    assert asyncio.run(sweep_cell.drained(asked)) is idle
    assert not idle or seen == [2, 1, 0]


def test_the_engines_own_counts_are_taken_while_streams_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    showing(monkeypatch, 0)
    monkeypatch.setattr(sweep_cell, "_LOOK_S", 0.001)
    plan = Plan(lengths=(64,), streams=(2,), repeats=1, output_tokens=8, requests=3)
    result = swept(Known(), tmp_path / "s", plan)
    (level,) = result.concurrency
    assert (level.running, level.waiting) == (0, 1)
    assert sweep_tables(result)[1].columns[2:4] == ["running", "waiting"]


MODELS = [
    value
    for value in vars(sweep_result).values()
    if isinstance(value, type)
    and issubclass(value, BaseModel)
    and value.__module__ == sweep_result.__name__
]


@pytest.mark.parametrize("model", [*MODELS, CellLine])
def test_fields_are_documented(model: type[BaseModel]) -> None:
    files = (DOCS / "files.md").read_text(encoding="utf-8")
    section = files.partition("## `bench sweep --json`")[2].partition("\n## ")[0]
    for name in model.model_fields:
        assert re.search(rf"\b{name}\b", section), name

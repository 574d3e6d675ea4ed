"""Rates, gaps, stalls, drafts and gains over known replies, and the bench against servers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from bench.known import Known
from bench.replies import failed, reply
from bench.test_sweep import Watch
from pydantic import BaseModel
from servers import serving

from ragevalkit.bench import session, stream_result
from ragevalkit.bench.curves import Estimate
from ragevalkit.bench.folder import BenchFolder, Record
from ragevalkit.bench.lengths import Lengths
from ragevalkit.bench.stream import MOST_PROMPTS, StreamPlan, compare_streams, run_stream
from ragevalkit.bench.stream_result import (
    Replies,
    StreamArm,
    StreamResult,
    arm_figures,
    gains,
)
from ragevalkit.endpoint.client import Retries
from ragevalkit.endpoint.engine import ServerFigures, Speculation
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError
from ragevalkit.report.bench_stream import stream_tables
from ragevalkit.turn.record import Channel, Round, RoundState, ServerTimes

DOCS = Path(__file__).parents[2] / "docs"
EXACT = Lengths(fields=["ignore_eos", "min_tokens"])
SMALL = StreamPlan(lengths=(4, 8), prompts=3)


def arm(replies: Replies, engine: ServerFigures | None = None) -> StreamArm:
    return arm_figures(replies, endpoint="e", model="m", exact=EXACT, engine=engine)


def of_gap(
    gap_ms: float, wait_ms: float = 100, noise: float = 0.02
) -> dict[tuple[int, int], Round]:
    """Replies of 11 and 21 tokens to six prompts, each a bit faster or slower than the gap."""
    return {
        (tokens, prompt): reply(
            wait_ms=wait_ms, gaps_ms=[gap_ms * (1 + noise * (prompt - 2.5))] * (tokens - 1)
        )
        for tokens in (11, 21)
        for prompt in range(6)
    }


def noted(of: StreamArm) -> list[str]:
    tables = stream_tables(StreamResult(name="s", arms={"e": of}, gains=[], notes=[]))
    return [note for table in tables for note in table.notes]


def test_rates_gaps_and_tokens_an_event_come_back() -> None:
    of = arm({(21, n): reply(wait_ms=100, gaps_ms=[20.0] * 10, per_event=2) for n in range(3)})
    (level,) = of.levels
    assert (level.output_tokens, level.tokens, level.requests, level.failed) == (21, 22, 3, 0)
    assert level.decode_rate.value == pytest.approx(100)
    assert level.whole_rate.value == pytest.approx(22 / 0.3, rel=1e-4)
    assert level.wait_ms.value == 100
    assert set(of.gaps_ms) == {"answer"}
    assert (of.gaps_ms["answer"].p50, of.gaps_ms["answer"].n) == (20, 30)
    assert of.gaps_ms["answer"].p99 is None  # 30 gaps can't tell
    assert of.tokens_per_event is not None
    assert (of.tokens_per_event.mean, of.tokens_per_event.by_size) == (2, {2: 33})
    assert of.exact_share == 0
    assert of.drafting is of.engine is None


def test_gaps_are_kept_by_channel() -> None:
    both = reply(gaps_ms=[5.0] * 4)
    both.reasoning_channel = Channel(tokens=3, gaps_ms=[50.0] * 2, event_tokens=[1, 1])
    of = arm({(5, 0): both})
    assert {name: gaps.p50 for name, gaps in of.gaps_ms.items()} == {"reasoning": 50, "answer": 5}


@pytest.mark.parametrize(
    ("gaps_ms", "stalls"),
    [
        ([10.0] * 9, 0),
        ([10.0] * 8 + [99.0], 0),  # above five medians, but under what is noticed
        ([10.0] * 8 + [101.0], 1),
        ([60.0] * 8 + [299.0], 0),  # noticed, but not five medians
        ([60.0] * 8 + [301.0, 400.0], 2),
        ([0.0] * 8 + [150.0], 1),  # in one read, then silence
    ],
)
def test_stalls_are_long_by_both_measures(gaps_ms: list[float], stalls: int) -> None:
    of = arm({(9, 0): reply(gaps_ms=gaps_ms), (9, 1): reply(gaps_ms=[10.0] * 9)}).stalls
    assert (of.stalls, of.replies) == (stalls, int(stalls > 0))
    assert of.longest_ms == (max(gaps_ms) if stalls else None)
    assert of.time_share == pytest.approx(
        sum(sorted(gaps_ms)[len(gaps_ms) - stalls :]) / (sum(gaps_ms) + 90), abs=1e-4
    )


def test_drafts_by_the_requests_own_counts() -> None:
    times = ServerTimes(source="vllm", draft_tokens=8, accepted_tokens=5)
    of = arm({(10, n): reply(server=times) for n in range(2)})
    assert of.drafting is not None
    assert of.drafting.source == "requests"
    assert of.drafting.acceptance_rate == 0.625
    assert of.drafting.tokens_per_step == 2  # 10 tokens in 5 steps
    assert any("62.5 %; 2.00 tokens a step" in note for note in noted(of))


def test_drafts_by_the_metrics_page() -> None:
    engine = ServerFigures(
        engine="vllm",
        void=None,
        generation_tokens=300,
        speculation=Speculation(
            drafts=100, acceptance_rate=0.5, mean_length=2.0, by_position=[0.7, 0.3]
        ),
    )
    of = arm({(10, 0): reply()}, engine)
    assert of.drafting is not None
    assert of.drafting.source == "metrics page"
    assert of.drafting.tokens_per_step == 1.5  # 100 of 300 tokens needed no step of their own
    assert any("70.0 %, 30.0 % by place" in note for note in noted(of))
    void = arm({(10, 0): reply()}, ServerFigures(engine="vllm", void="others used the server"))
    assert void.drafting is None
    assert any("void: others used the server" in note for note in noted(void))


@pytest.mark.parametrize(
    ("gap_ms", "wait_ms", "decode", "verdict", "whole"),
    [
        (5.0, 100, 2.0, "faster", 300 / 200),
        (20.0, 100, 0.5, "slower", 300 / 500),
        (10.0, 100, 1.0, "inconclusive", 1.0),
        (5.0, 200, 2.0, "faster", 300 / 300),
    ],
)
def test_gains_are_paired_by_prompt(
    gap_ms: float, wait_ms: float, decode: float, verdict: str, whole: float
) -> None:
    (gain,) = gains({"depth0": of_gap(10.0), "depth1": of_gap(gap_ms, wait_ms, noise=0.03)})
    assert (gain.base, gain.arm, gain.same_text) == ("depth0", "depth1", 1)
    assert [level.output_tokens for level in gain.levels] == [11, 21]
    assert [level.pairs for level in gain.levels] == [6, 6]
    assert gain.all.pairs == 12
    for level in (*gain.levels, gain.all):
        assert level.decode.value == pytest.approx(decode, rel=1e-3)
        assert level.decode_verdict == verdict
    assert gain.levels[1].whole.value == pytest.approx(whole, rel=1e-3)


def test_only_prompts_that_both_answered_are_pairs() -> None:
    other = of_gap(5.0)
    other[11, 0] = failed(RoundState.SERVER_ERROR)
    other[11, 1] = reply(gaps_ms=())
    del other[11, 2]
    other[11, 3].content = "red"
    (gain,) = gains({"a": of_gap(10.0), "b": other})
    assert [level.pairs for level in gain.levels] == [3, 6]
    assert gain.same_text == pytest.approx(8 / 9, abs=1e-3)


def test_one_pair_has_a_gain_without_a_verdict() -> None:
    one = {(9, 0): reply()}
    (gain,) = gains({"a": one, "b": {(9, 0): reply(gaps_ms=(5.0,) * 9)}})
    assert gain.all.decode.value == 2
    assert gain.all.decode.low is None
    assert gain.all.decode_verdict == "inconclusive"
    (nothing,) = gains({"a": one, "b": {}})
    assert nothing.all.pairs == 0
    assert nothing.all.decode.value is None


@pytest.mark.parametrize("arms", [["a"], ["a", "b", "c"]])
def test_the_order_holds_each_pair_once_with_its_arms_together(arms: list[str]) -> None:
    plan = StreamPlan(lengths=(1, 2, 3), prompts=4)
    order = plan.order(arms)
    assert len(order) == len(set(order)) == 12 * len(arms)
    for start in range(0, len(order), len(arms)):
        together = order[start : start + len(arms)]
        assert {arm for arm, _, _ in together} == set(arms)
        assert len({(tokens, prompt) for _, tokens, prompt in together}) == 1
    assert order == plan.order(arms)
    assert len({arm for arm, _, _ in order[:: len(arms)]}) == len(arms)


def test_prompts_are_all_different_and_the_same_for_a_seed() -> None:
    every = StreamPlan(prompts=MOST_PROMPTS)
    assert len(set(every.questions())) == MOST_PROMPTS
    assert StreamPlan(prompts=3).questions() == every.questions()[:3]
    assert StreamPlan(prompts=3, seed=1).questions() != every.questions()[:3]


@pytest.fixture(autouse=True)
def no_floor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(session, "FLOOR_S", 0.0)
    monkeypatch.setattr(Retries, "wait_s", lambda *_: 0.0)
    return


def streamed(brains: dict[str, Known], folder: Path, plan: StreamPlan = SMALL) -> StreamResult:
    with ExitStack() as stack:
        profiles = {
            name: Profile(name=name, base_url=stack.enter_context(serving(brain)), built_in=True)
            for name, brain in brains.items()
        }
        return asyncio.run(run_stream(profiles, plan, BenchFolder(folder), Watch()))


def test_arms_are_asked_for_exact_lengths_and_paired(tmp_path: Path) -> None:
    result = streamed({"a": Known(), "b": Known(per_event=2)}, tmp_path / "s")
    for name, size in (("a", 1), ("b", 2)):
        of = result.arms[name]
        assert of.exact_lengths == EXACT
        assert of.exact_share == 1
        assert [(v.output_tokens, v.tokens, v.requests) for v in of.levels] == [
            (4, 4, 3),
            (8, 8, 3),
        ]
        assert of.tokens_per_event is not None
        assert of.tokens_per_event.by_size == {size: 36 // size}
    (gain,) = result.gains
    assert (gain.base, gain.arm, gain.same_text) == ("a", "b", 1)
    assert len(BenchFolder(tmp_path / "s").records()) == 12
    again = Known()
    assert streamed({"a": again, "b": again}, tmp_path / "s") == result
    assert again.replies == 0


def finished(folder: Path, plan: StreamPlan, replies: Replies) -> BenchFolder:
    """A bench of one endpoint that is finished."""
    bench = BenchFolder(folder)
    bench.open({"bench": "stream", **plan.settings()})
    for (tokens, prompt), round_ in replies.items():
        place = {"arm": "known", "output_tokens": tokens, "prompt": prompt}
        bench.add(Record.now(place, round_))
    bench.close()
    result = StreamResult(name=folder.name, arms={"known": arm(replies)}, gains=[], notes=[])
    bench.write_result(result)
    return bench


def test_finished_benches_are_compared_by_prompt(tmp_path: Path) -> None:
    one = finished(tmp_path / "one", SMALL, of_gap(10.0))
    two = finished(tmp_path / "two", SMALL, of_gap(5.0, noise=0.03))
    both = compare_streams([one, two])
    assert list(both.arms) == ["one", "two"]
    (gain,) = both.gains
    assert (gain.base, gain.arm, gain.all.pairs) == ("one", "two", 12)
    assert gain.all.decode_verdict == "faster"
    assert [table.title for table in stream_tables(both)][2:] == [
        "two against one: times as fast, by prompt"
    ]


def test_benches_without_a_pair_are_refused(tmp_path: Path) -> None:
    one = finished(tmp_path / "one", SMALL, of_gap(10.0))
    seed = finished(tmp_path / "seed", StreamPlan(seed=1), of_gap(10.0))
    other = finished(tmp_path / "other", SMALL, {(99, 0): reply()})
    for bench, words in (
        (seed, "their seed differs"),
        (other, "no timed reply of one prompt and length in common"),
        (BenchFolder(tmp_path / "none"), "holds no finished `bench stream`"),
    ):
        with pytest.raises(InputError, match=words):
            compare_streams([one, bench])


def test_a_server_that_dies_is_continued(tmp_path: Path) -> None:
    counting = Known()
    streamed({"known": counting}, tmp_path / "count", StreamPlan((4,), 1))
    before = counting.replies - 1
    broken = streamed({"known": Known(lives=before + 2)}, tmp_path / "s")
    assert broken.failed is not None
    assert "out of memory" in broken.failed
    assert sum(level.requests for level in broken.arms["known"].levels) == 2
    whole = Known()
    result = streamed({"known": whole}, tmp_path / "s")
    assert result.failed is None
    assert whole.replies == before + 4
    assert sum(level.requests for level in result.arms["known"].levels) == 6


@pytest.mark.parametrize(
    ("brain", "words"),
    [
        (
            Known(habits={"rejects": {"min_tokens": "no!", "ignore_eos": "not here"}}),
            "Replies can't be held to a length: ",
        ),
        (Known(per_event=100), "All tokens came at once in 6 of 6 replies"),
        (Known(habits={"streams": False}), "All tokens came at once in 6 of 6 replies"),
        (Known(counts=False, engine="openrouter"), "counts no tokens"),
    ],
)
def test_servers_that_do_not_do_what_is_asked(tmp_path: Path, brain: Known, words: str) -> None:
    result = streamed({"e": brain}, tmp_path / "s")
    assert any(words in note for note in noted(result.arms["e"]))


MODELS = [
    value
    for value in vars(stream_result).values()
    if isinstance(value, type)
    and issubclass(value, BaseModel)
    and value.__module__ == stream_result.__name__
]


@pytest.mark.parametrize("model", [*MODELS, Estimate, Lengths])
def test_fields_are_documented(model: type[BaseModel]) -> None:
    files = (DOCS / "files.md").read_text(encoding="utf-8")
    section = files.partition("## `bench stream --json`")[2].partition("\n## ")[0]
    for name in model.model_fields:
        assert re.search(rf"\b{name}\b", section), name

"""Two runs that alternate: who is asked when, and what is kept when it ends early."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from command import Command, Done
from hypothesis import given
from hypothesis import strategies as st
from runs.test_sittings import Engine
from servers import completion, raw_server, response

from ragevalkit.bank import Question
from ragevalkit.endpoint.engine import fetching
from ragevalkit.runs.schedule import Item, mirrored

QUESTIONS = 24
SLOW = "[timing]\nfirst_token_ms = 4\ngap_ms = 1\n"
BUSY = '[[rules]]\n[rules.fault]\nkind = "status"\nstatus = 429\n'
A, B = "r-mock-a.toml", "r-mock-b.toml"
NAMES = (A, B)
RUN = ("run", "--bank", "bank.jsonl", "--corpus", "guide.md", "--name", "r", "--no-report")
MOCKS = (*RUN, "--endpoint", "mock:b.toml", "--against", "mock:a.toml", "--no-probe")


@pytest.fixture
def folder(ragevalkit: Command) -> Path:
    """A bank, its corpus, and scenarios for two mocks."""
    folder = ragevalkit.folder
    for arm in "ab":
        (folder / f"{arm}.toml").write_text(SLOW)
    (folder / "guide.md").write_text("The mast is 12 metres tall.\n")
    evidence = [{"document": "guide", "page": 1}]
    lines = (
        {"id": f"q{n}", "question": f"mast {n}?", "answerable": True, "evidence": evidence}
        for n in range(QUESTIONS)
    )
    (folder / "bank.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def stored(run: str, name: str) -> Any:
    return json.loads(Path("reports", run, name).read_text())


def kept(run: str) -> list[str]:
    """Ids of the questions on record, in their order."""
    path = Path("reports", run, "turns.jsonl")
    whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    return [json.loads(line)["question_id"] for line in whole.splitlines()]


# the order


def items(count: int) -> list[Item]:
    return [Item(Question(id=f"q{n}", question="?", answerable=False), 0) for n in range(count)]


sizes = st.integers(1, 300)
blocks = st.integers(1, 40)


@given(count=sizes, block=blocks, seed=st.integers(0, 99))
def test_each_side_is_asked_everything_once_in_its_order(count: int, block: int, seed: int) -> None:
    legs = list(mirrored(items(count), block, seed))
    for side in (0, 1):
        assert [item for of, leg in legs for item in leg if of == side] == items(count)


@given(count=sizes, block=blocks, seed=st.integers(0, 99))
def test_every_second_block_is_asked_the_other_way_round(count: int, block: int, seed: int) -> None:
    legs = list(mirrored(items(count), block, seed))
    for at in range(0, len(legs), 4):
        (s1, one), (s2, same), (s3, two), (s4, again) = legs[at : at + 4]
        assert (s1, s2, s3, s4) in {(0, 1, 1, 0), (1, 0, 0, 1)}
        assert (one, two) == (same, again)
        assert abs(len(one) - len(two)) <= 1
        if count >= 2 * block:
            assert min(len(one), len(two)) >= block


def test_the_seed_draws_who_begins() -> None:
    begins = {seed: next(iter(mirrored(items(8), 4, seed)))[0] for seed in range(20)}
    assert set(begins.values()) == {0, 1}
    both = [side for side, _ in mirrored(items(400), 4, 0)]
    assert set(both[::4]) == {0, 1}, "also within one order"
    assert both == [side for side, _ in mirrored(items(400), 4, 0)]


def gap(legs: list[tuple[int, Any]]) -> float:
    """By how much a drift of 1 a turn makes side 1 look worse than side 0."""
    positions: dict[int, list[int]] = {0: [], 1: []}
    sides = [side for side, leg in legs for _ in leg]
    for position, side in enumerate(sides):
        positions[side].append(position)
    return sum(b - a for a, b in zip(positions[0], positions[1], strict=True)) / len(positions[0])


@given(block=blocks, pairs=st.integers(1, 20), seed=st.integers(0, 99))
def test_a_steady_drift_favours_neither_side(block: int, pairs: int, seed: int) -> None:
    legs = list(mirrored(items(2 * block * pairs), block, seed))
    assert gap(legs) == 0
    one_after_the_other = [(0, items(2 * block * pairs)), (1, items(2 * block * pairs))]
    assert gap(one_after_the_other) == 2 * block * pairs, "what it would cost"


@given(count=st.integers(8, 300), block=st.integers(1, 4), seed=st.integers(0, 99))
def test_nearly_so_where_the_blocks_are_of_unequal_size(count: int, block: int, seed: int) -> None:
    pairs = count // (2 * block)
    longest = -(-count // (2 * pairs))
    assert abs(gap(list(mirrored(items(count), block, seed)))) <= 2 * longest * pairs / count


# what servers see


class Log:
    """Requests for completions at several servers, in the order in which they came."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        """Arm and question of each."""
        self.fails: Callable[[str], bool] = lambda arm: False
        self._lock = threading.Lock()

    def server(self, arm: str) -> Callable[[str, bytes], list[bytes]]:
        def answer(path: str, body: bytes) -> list[bytes]:
            if path == "/v1/models":
                models = b', {"id": "other"}' if arm == "b" else b""
                return response(b'{"data": [{"id": "m"}' + models + b"]}")
            if path != "/v1/chat/completions":
                return response(b"{}", status="404 Not Found")
            messages = json.loads(body)["messages"]
            with self._lock:
                asked = [m["content"] for m in messages if m["role"] == "user"][-1]
                self.seen.append((arm, asked))
                if self.fails(arm):
                    return response(b"{}", status="429 Too Many Requests")
            if messages[-1]["role"] == "tool":
                return completion("The mast is 12 metres tall (guide, page 1).")
            return completion(calls=[("c", "search", '{"query": "mast"}')])

        return answer


@pytest.fixture
def log(folder: Path) -> Iterator[Log]:
    """Servers of two profiles, a and b."""
    log = Log()
    with ExitStack() as stack:
        urls = {arm: stack.enter_context(raw_server(log.server(arm))) for arm in "ab"}
        tables = (f'[endpoints.{arm}]\nbase_url = "{url}"\n' for arm, url in urls.items())
        (folder / "ragevalkit.toml").write_text("".join(tables))
        yield log


@pytest.fixture
def both(ragevalkit: Command, log: Log) -> Callable[..., Done]:
    """Runs b against a, with no request but the turns' own."""

    def run(*more: str) -> Done:
        options = ("--endpoint", "b", "--against", "a", "--no-probe", "--retries", "0")
        return ragevalkit(*RUN, *options, *more)

    return run


@pytest.mark.parametrize(("concurrency", "block"), [(1, 4), (2, 8)])
def test_servers_are_asked_one_after_the_other(
    both: Callable[..., Done], log: Log, concurrency: int, block: int
) -> None:
    done = both("--concurrency", str(concurrency))
    assert done.code == 0, done.stderr
    assert "ragevalkit: r-b: asking for the model 'm'; it lists 2 models" in done.stderr
    expected = [
        ("ab"[side], {item.question.id for item in leg})
        for side, leg in mirrored(items(QUESTIONS), block, 0)
    ]
    legs = [
        (arm, {asked.replace("mast ", "q").rstrip("?") for _, asked in requests})
        for arm, requests in groupby(log.seen, key=lambda request: request[0])
    ]
    # two legs of one arm may follow each other
    merged: list[tuple[str, set[str]]] = []
    for arm, asked in expected:
        if merged and merged[-1][0] == arm:
            merged[-1][1].update(asked)
        else:
            merged.append((arm, set(asked)))
    assert legs == merged
    for run, side, other in (("r-a", "a", "r-b"), ("r-b", "b", "r-a")):
        against = {"run": other, "side": side, "block": block, "seed": 0}
        assert stored(run, "run.json")["against"] == against


def test_an_order_of_two_runs_is_kept(
    ragevalkit: Command, both: Callable[..., Done], log: Log
) -> None:
    assert both("--limit", "8").code == 0
    alone = (*RUN[:-3], "--no-probe", "--endpoint", "b", "--name", "r-b")
    ragevalkit(*alone).complains(2, "another against", '"r-a", now null', "--name")
    assert ragevalkit(*RUN[:-3], "--endpoint", "b", "--name", "single-b").code == 0
    single = (*RUN[:-3], "--endpoint", "b", "--against", "a", "--name", "single")
    ragevalkit(*single).complains(2, "reports/single-b", '"single-a"')
    both("--seed", "1").complains(2, "another seed")
    both("--concurrency", "5").complains(2, "blocks of 4 questions", "not 5")
    assert both("--limit", "16", "--concurrency", "4").code == 0
    assert stored("r-b", "run.json")["against"]["block"] == 4
    assert sorted(kept("r-a")) == sorted(kept("r-b")) == sorted(f"q{n}" for n in range(16))


def test_lost_turns_are_asked_again(both: Callable[..., Done], log: Log) -> None:
    log.fails = lambda arm: arm == "b" and len(log.seen) % 7 == 0
    first = both()
    lost = stored("r-b", "summary.json")["infra_errors"]
    assert first.code == 3
    assert lost > 0
    log.fails = lambda arm: False
    log.seen.clear()
    assert both().code == 0
    assert {arm for arm, _ in log.seen} == {"b"}
    assert len({asked for _, asked in log.seen}) == lost
    assert sorted(kept("r-a")) == sorted(kept("r-b")) == sorted(f"q{n}" for n in range(QUESTIONS))


def test_ten_lost_in_a_row_on_one_side_stop_both(both: Callable[..., Done], log: Log) -> None:
    log.fails = lambda arm: arm == "a" and len(log.seen) > 20
    done = both()
    assert done.code == 3
    assert "ten turns of r-a in a row" in done.stderr
    assert "ten turns of r-b" not in done.stderr
    assert "ragevalkit compare r-a r-b" in done.stderr
    assert not Path("reports/r-a-vs-r-b").exists()
    before = {run: set(kept(run)) for run in ("r-a", "r-b")}
    assert stored("r-a", "summary.json")["infra_errors"] == 10
    log.fails = lambda arm: False
    log.seen.clear()
    assert both().code == 0
    for run in before:
        assert Counter(kept(run)) == {f"q{n}": 1 for n in range(QUESTIONS)}
    again = {asked for arm, asked in log.seen if arm == "b"}
    assert len(again) == QUESTIONS - len(before["r-b"])


@pytest.mark.parametrize("dead", ["a", "b"])
def test_an_endpoint_that_cannot_be_used_is_named_before_either_is_asked(
    ragevalkit: Command, log: Log, dead: str
) -> None:
    table = '[endpoints.dead]\nbase_url = "http://127.0.0.1:9/v1"\n'
    with Path("ragevalkit.toml").open("a") as profiles:
        profiles.write(table)
    arms = {"a": "a", "b": "b"} | {dead: "dead"}
    done = ragevalkit(*RUN, "--endpoint", arms["b"], "--against", arms["a"])
    done.complains(2, "dead: ", "127.0.0.1:9")
    turns = [asked for _, asked in log.seen if asked.startswith("mast")]
    assert turns == []
    assert list(Path("reports").iterdir()) == []


def test_a_model_that_is_not_there_is_found_by_the_probe(ragevalkit: Command, folder: Path) -> None:
    missing = '[[rules]]\n[rules.fault]\nkind = "status"\nstatus = 404\n'
    (folder / "b.toml").write_text(missing)
    done = ragevalkit(*MOCKS[:-1])
    done.complains(2, "mock:b.toml: ")
    assert list(Path("reports").iterdir()) == []


def test_the_engines_figures_are_each_sides_own(
    ragevalkit: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT_S", 0.5)
    monkeypatch.setattr(fetching, "BETWEEN_S", 0.01)
    engines = Engine(), Engine()
    with raw_server(engines[0].answer) as a, raw_server(engines[1].answer) as b:
        run = (*RUN, "--endpoint", b, "--against", a, "--no-probe")
        assert ragevalkit(*run, "--limit", "8").code == 0
        engines[0].finished += 30  # between the sittings, others do as they like
        assert ragevalkit(*run, "--limit", "16").code == 0
        engines[1].others = 1
        assert ragevalkit(*run).code == 0
    summaries = {
        path.parent.name: stored(path.parent.name, "summary.json")
        for path in Path("reports").glob("*/summary.json")
    }
    names = {url: f"r-{url.split('/')[2].replace(':', '-')}" for url in (a, b)}
    of_a, of_b = summaries[names[a]]["server"], summaries[names[b]]["server"]
    assert (of_a["void"], of_a["page"]["requests"]) == (None, 2 * QUESTIONS)
    assert "others used the server" in of_b["void"]
    for summary in summaries.values():
        assert summary["instrument"]["seconds"] > 0


# interruption


def begin() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ragevalkit", *MOCKS],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ),
    )


def lines_on_disk() -> int:
    paths = (Path("reports", name, "turns.jsonl") for name in NAMES)
    return sum(path.read_bytes().count(b"\n") for path in paths if path.exists())


def wait_for_turns(process: subprocess.Popen[str], count: int) -> None:
    """Until so many turns of both are on disk, or the process has ended."""
    while lines_on_disk() < count:
        try:
            process.wait(0.002)
        except subprocess.TimeoutExpired:
            continue
        return


def test_killed_at_random_points_and_continued(ragevalkit: Command, folder: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    print(f"seed {seed}")
    for _ in range(3):
        process = begin()
        wait_for_turns(process, lines_on_disk() + chance.randint(0, QUESTIONS // 2))
        process.kill()
        process.communicate()
        for run in NAMES:
            assert max(Counter(kept(run)).values(), default=1) == 1
    done = ragevalkit(*MOCKS)
    assert done.code == 0, done.stderr
    for run in NAMES:
        assert Counter(kept(run)) == {f"q{n}": 1 for n in range(QUESTIONS)}
        summary = stored(run, "summary.json")
        assert (summary["turns"], summary["scored"]) == (QUESTIONS, QUESTIONS)
    assert stored(f"{A}-vs-{B}", "comparison.json")["pairs"] == QUESTIONS


def test_interrupted_by_the_user(ragevalkit: Command, folder: Path) -> None:
    process = begin()
    wait_for_turns(process, 6)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "interrupted; the same command continues the run" in output
    assert not Path("reports", f"{A}-vs-{B}").exists()
    for run in NAMES:
        assert stored(run, "summary.json")["turns"] == len(kept(run))
        assert stored(run, "summary.json")["planned"] == QUESTIONS
    assert ragevalkit("compare", A, B, "--no-gate").code == 0
    assert ragevalkit(*MOCKS).code == 0
    for run in NAMES:
        assert Counter(kept(run)) == {f"q{n}": 1 for n in range(QUESTIONS)}


def test_interrupted_before_one_of_them_was_asked(ragevalkit: Command, folder: Path) -> None:
    process = begin()
    wait_for_turns(process, 1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert ragevalkit(*MOCKS).code == 0

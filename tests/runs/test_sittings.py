"""What a run stores beside its turns: the probe, the server's own figures, and the instrument."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Command, Done
from endpoint.asking import asking
from servers import completion, raw_server, response

import ragevalkit as package
from ragevalkit.endpoint.engine import Ours, fetching
from ragevalkit.endpoint.instrument import Instrument, LoopLag
from ragevalkit.errors import InputError
from ragevalkit.runs.folder import RunFolder
from ragevalkit.runs.sittings import Sitting, read_sittings, watched, worst_instrument
from ragevalkit.turn.record import Attempt, Round, RoundClock, RoundState


class Engine:
    """A server that searches once, declines, and counts what it is asked as vLLM does."""

    def __init__(self) -> None:
        self.finished = 0
        self.others = 0
        """Requests of others with each of ours."""
        self.began = 1000.0
        self.page: Callable[[], bytes] = self.counters
        self.looks = 0

    def answer(self, path: str, body: bytes) -> list[bytes]:
        if path == "/v1/models":
            return response(b'{"data": [{"id": "m"}]}')
        if path == "/metrics":
            self.looks += 1
            return response(self.page(), kind="text/plain")
        if path != "/v1/chat/completions":
            return response(b"{}", status="404 Not Found")
        self.finished += 1 + self.others
        if any(m["role"] == "tool" for m in json.loads(body)["messages"]):
            return completion("NOT IN DOCUMENTS: nothing on that.")
        return completion(calls=[("c", "search", '{"query": "noise"}')])

    def counters(self) -> bytes:
        n = self.finished
        return f"""# TYPE vllm:request_success_total counter
vllm:num_requests_running{{engine="0",model_name="m"}} 0.0
vllm:request_success_total{{engine="0",finished_reason="stop",model_name="m"}} {n}.0
vllm:request_queue_time_seconds_sum{{engine="0",model_name="m"}} {n * 0.001}
vllm:request_queue_time_seconds_count{{engine="0",model_name="m"}} {n}.0
vllm:request_prefill_time_seconds_sum{{engine="0",model_name="m"}} {n * 0.002}
vllm:request_prefill_time_seconds_count{{engine="0",model_name="m"}} {n}.0
vllm:prompt_tokens_total{{engine="0",model_name="m"}} {9 * n}.0
vllm:generation_tokens_total{{engine="0",model_name="m"}} {7 * n}.0
vllm:num_preemptions_total{{engine="0",model_name="m"}} 0.0
process_start_time_seconds {self.began}
""".encode()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(fetching, "TIMEOUT_S", 0.5)
    monkeypatch.setattr(fetching, "BETWEEN_S", 0.01)
    return Engine()


@pytest.fixture
def url(engine: Engine) -> Iterator[str]:
    with raw_server(lambda path, body: engine.answer(path, body)) as url:
        yield url


@pytest.fixture
def run(ragevalkit: Command, url: str) -> Callable[..., Done]:
    """Runs three turns against the engine, without a probe."""

    def run(*more: str) -> Done:
        options = ("--limit", "3", "--name", "r", "--no-probe", *more)
        return ragevalkit("run", "--endpoint", url, *options)

    return run


def stored(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path("reports/r", name).read_text())
    return content


def test_client_and_server_stand_side_by_side(run: Callable[..., Done]) -> None:
    done = run()
    assert done.code == 0, done.stderr
    server = stored("summary.json")["server"]
    assert (server["source"], server["void"], server["requests"]) == ("vllm", None, None)
    assert server["page"]["requests"] == 6, "two rounds a turn"
    assert server["page"]["queue_ms"] == pytest.approx(1)
    pairs = server["pairs"]
    for name, count in {"requests": 6, "prompt_tokens": 54, "completion_tokens": 42}.items():
        assert (pairs[name]["client"], pairs[name]["server"]) == (count, count)
        assert (pairs[name]["difference"], pairs[name]["by"]) == (0, "page")
    first = pairs["first_token_ms"]
    assert (first["server"], first["statistic"], first["n"]) == (pytest.approx(3), "mean", 6)
    assert first["difference"] == first["client"] - first["server"]
    page = Path("reports/r/report.html").read_text()
    for words in ("Client and server", "tokens of the prompts", "network, templating"):
        assert words in done.stdout
        assert words in page


def test_what_was_read_is_kept(run: Callable[..., Done]) -> None:
    run()
    (sitting,) = stored("server.json")["sittings"]
    assert (sitting["before"]["engine"], sitting["after"]["engine"]) == ("vllm", "vllm")
    assert sitting["after"]["values"]["requests"] - sitting["before"]["values"]["requests"] == 6
    assert sitting["after"]["started"] == 1000
    assert (sitting["ours"]["finished"], sitting["ours"]["turns"]) == (6, 3)
    assert sitting["cut_short"] is False


def others_come(engine: Engine) -> None:
    engine.others = 1


def restarts(engine: Engine) -> None:
    def page() -> bytes:
        engine.began += engine.looks > 2
        return engine.counters()

    engine.page = page


def page_goes(engine: Engine) -> None:
    engine.page = lambda: engine.counters() if engine.looks <= 2 else b"<h1>nothing here</h1>"


def page_lies(engine: Engine) -> None:
    engine.page = lambda: engine.counters().replace(b'model_name="m"} ', b'model_name="m"} -')


def page_counts_nothing(engine: Engine) -> None:
    engine.page = lambda: b"vllm:num_preemptions_total 0\n"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (others_come, "others used the server: it finished 12 requests, ours are 6"),
        (restarts, "restarted"),
        (page_goes, "could not be read again"),
        (page_lies, "counts neither requests nor tokens"),
        (page_counts_nothing, "counts neither requests nor tokens"),
    ],
)
def test_a_run_goes_on_without_figures_that_are_void(
    engine: Engine, run: Callable[..., Done], what: Callable[[Engine], None], words: str
) -> None:
    what(engine)
    done = run()
    assert done.code == 0, done.stderr
    summary = stored("summary.json")
    assert summary["scored"] == 3
    assert words in summary["server"]["void"]
    assert (summary["server"]["page"], summary["server"]["pairs"]) == (None, {})
    assert words in done.stdout


@pytest.mark.parametrize("page", [b"", b"<!doctype html>", b"\0\xff" * 99, b'{"detail": "no"}'])
def test_a_server_without_figures(engine: Engine, run: Callable[..., Done], page: bytes) -> None:
    engine.page = lambda: page
    done = run()
    assert done.code == 0
    assert stored("summary.json")["server"] is None
    assert "Client and server" not in done.stdout
    assert engine.looks == 1, "no page before, none looked for after"


def test_a_continued_run_adds_up(
    run: Callable[..., Done], ragevalkit: Command, engine: Engine
) -> None:
    run()
    engine.finished += 40  # between the sittings, others do as they like
    assert run("--limit", "5").code == 0
    first = stored("summary.json")
    assert first["server"]["void"] is None
    assert (first["server"]["page"]["requests"], len(stored("server.json")["sittings"])) == (10, 2)
    engine.others = 1
    run("--limit", "6")
    assert "others used the server" in stored("summary.json")["server"]["void"]
    assert stored("summary.json")["instrument"] is not None


def test_scoring_again_keeps_the_sections(run: Callable[..., Done], ragevalkit: Command) -> None:
    run()
    before = stored("summary.json")
    assert ragevalkit("score", "r", "--corpus", "tarn").code == 0
    after = stored("summary.json")
    assert before["server"] is not None
    for name in ("server", "instrument", "timing"):
        assert after[name] == before[name]


def test_a_run_begun_without_the_page_has_no_figures_later(
    run: Callable[..., Done], ragevalkit: Command
) -> None:
    """As where an earlier version of this tool began it."""
    run()
    Path("reports/r/server.json").unlink()
    run("--limit", "4")
    assert "2 of the run's 4 turns" not in stored("summary.json")["server"]["void"]
    assert "read for 1 of the run's 4 turns" in stored("summary.json")["server"]["void"]


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 1, "sittings": [{}]}'])
def test_a_damaged_file_is_said(
    run: Callable[..., Done], ragevalkit: Command, content: str
) -> None:
    run()
    Path("reports/r/server.json").write_text(content)
    run("--limit", "4").complains(2, "reports/r/server.json is damaged", "move it away")
    ragevalkit("score", "r").complains(2, "reports/r/server.json is damaged")
    assert len(Path("reports/r/turns.jsonl").read_text().splitlines()) == 3


def test_how_the_client_kept_up_is_in_every_run(ragevalkit: Command) -> None:
    done = ragevalkit("run", "--endpoint", "mock", "--limit", "2", "--name", "r", "--no-probe")
    instrument = stored("summary.json")["instrument"]
    assert set(instrument) == set(Instrument.model_fields)
    assert instrument["seconds"] > 0
    assert stored("summary.json")["timing"]["client_limited"] == instrument["client_limited"]
    assert "Instrument: loop lag" in done.stdout


def test_every_run_is_probed_and_keeps_earlier_probes(ragevalkit: Command, url: str) -> None:
    first = ragevalkit("run", "--endpoint", url, "--limit", "1", "--name", "r")
    assert first.code == 0, first.stderr
    assert first.stderr.count("probing what the endpoint can do") == 1
    manifest = stored("run.json")
    assert manifest["probe"]["findings"]
    ragevalkit("run", "--endpoint", url, "--limit", "2", "--name", "r", "--no-probe")
    continued = stored("run.json")
    assert continued["probe"] is None
    assert continued["earlier"][0]["probe"] == manifest["probe"]


def test_the_probes_requests_are_no_turns_and_in_no_figures(
    ragevalkit: Command, url: str, engine: Engine
) -> None:
    ragevalkit("run", "--endpoint", url, "--limit", "1", "--name", "r")
    attempts = Path("reports/r/attempts.jsonl").read_text().splitlines()
    assert engine.finished > len(attempts) == 2
    assert stored("summary.json")["server"]["page"]["requests"] == 2


def test_without_a_probe_only_the_turns_requests_are_sent(
    ragevalkit: Command, url: str, engine: Engine
) -> None:
    package.run("tarn", url, limit=1, name="r", probe=False)
    assert engine.finished == 2


def one_turn() -> list[Round]:
    attempt = Attempt(number=1, state=RoundState.DONE, sent_ms=0, ended_ms=1)
    clock = RoundClock(sent_ms=0, ended_ms=1)
    return [Round(state=RoundState.DONE, attempts=[attempt], clock=clock)]


def sitting_that(folder: RunFolder, url: str, act: Callable[[Ours], None]) -> None:
    async def sit() -> None:
        async with (
            asking(url) as client,
            watched(folder, client, "m", lambda: None) as ours,
        ):
            act(ours)

    asyncio.run(sit())


def test_of_a_sitting_that_is_cut_short_nothing_is_claimed(
    tmp_path: Path, engine: Engine, url: str
) -> None:
    folder = RunFolder(tmp_path)

    def interrupt(ours: Ours) -> None:
        ours.add(one_turn())
        # whoever is killed here leaves what was written at the begin
        assert [s.cut_short for s in read_sittings(folder)] == [True]
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        sitting_that(folder, url, interrupt)
    (sitting,) = read_sittings(folder)
    assert (sitting.cut_short, sitting.after, sitting.ours.turns) == (True, None, 1)
    assert sitting.instrument is not None


def test_of_a_sitting_without_a_turn_nothing_is_kept(
    tmp_path: Path, engine: Engine, url: str
) -> None:
    folder = RunFolder(tmp_path)

    def fail(ours: Ours) -> None:
        raise InputError("nothing was asked")

    with pytest.raises(InputError):
        sitting_that(folder, url, fail)
    assert read_sittings(folder) == []


def seen(lag_ms: float | None, cpu: float = 0.1, limited: str | None = None) -> Sitting:
    instrument = Instrument(
        seconds=9,
        samples=1800,
        loop_lag_ms=LoopLag(p50=0.1, p99=lag_ms, max=lag_ms),
        cpu_share=cpu,
        client_limited=limited,
    )
    ours = Ours()
    return Sitting(before=None, after=None, ours=ours, began_at="2026", instrument=instrument)


def test_the_worst_sitting_speaks_for_the_run() -> None:
    fine, slow, limited = seen(0.4), seen(1.9), seen(None, 0.9, "this process took 90 %")
    killed = Sitting(before=None, after=None, ours=Ours(), began_at="2026")
    assert worst_instrument([]) is None
    assert worst_instrument([killed]) is None
    assert worst_instrument([fine, slow, killed]) == slow.instrument
    assert worst_instrument([limited, slow, fine]) == limited.instrument
    assert worst_instrument([seen(0.4, 0.5), fine]) == seen(0.4, 0.5).instrument

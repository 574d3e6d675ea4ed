"""`ragevalkit bench sweep` and `bench stream` as commands: JSON, files, tables and complaints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Command

from ragevalkit.bench import session

SCENARIO = """
[wire]
engine = "vllm"
[timing]
first_token_ms = 2
gap_ms = 1
[[rules]]
tools = false
[rules.reply]
answer = 500
"""
SWEEP = ("--lengths", "64,128", "--streams", "1,2", "--repeats", "1", "--requests", "2")


@pytest.fixture(autouse=True)
def no_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "FLOOR_S", 0.0)


def test_a_sweep_prints_json_alone_and_then_its_tables(
    ragevalkit: Command, mock_url: Callable[[str], str], tmp_path: Path
) -> None:
    url = mock_url(SCENARIO)
    sweep = ("bench", "sweep", "--endpoint", url, *SWEEP, "--output-tokens", "8", "--name", "s")
    done = ragevalkit(*sweep, "--json")
    assert done.code == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["cells"] == {"done": 4, "planned": 4}
    assert [level["streams"] for level in result["concurrency"]] == [1, 2]
    folder = tmp_path / "reports" / "s"
    assert json.loads((folder / "result.json").read_text()) == result
    assert len((folder / "cells.jsonl").read_text().splitlines()) == 4
    assert len((folder / "requests.jsonl").read_text().splitlines()) == 8
    again = ragevalkit(*sweep)
    assert again.code == 0, again.stderr
    for words in ("One request at a time, 8 output tokens", "Streams at once", "nee"):
        assert words in again.stdout
    assert len((folder / "requests.jsonl").read_text().splitlines()) == 8
    ragevalkit(*sweep, "--seed", "1").complains(2, "another seed", "choose another --name")


def test_streams_are_paired_and_finished_ones_compared(
    ragevalkit: Command, mock_url: Callable[[str], str], tmp_path: Path
) -> None:
    url = mock_url(SCENARIO)
    stream = ("bench", "stream", "--endpoint", url, "--lengths", "40", "--prompts", "2")
    done = ragevalkit(*stream, "--against", url, "--name", "both")
    assert done.code == 0, done.stderr
    for words in ("Rate against output length", "Gaps between token events", "times as fast"):
        assert words in done.stdout
    for name in ("one", "two"):
        assert ragevalkit(*stream, "--name", name, "--json").code == 0
        result = json.loads((tmp_path / "reports" / name / "result.json").read_text())
        assert (len(result["arms"]), result["gains"]) == (1, [])
    compared = ragevalkit("bench", "stream", "--compare", "one", "two", "--json")
    assert compared.code == 0, compared.stderr
    (gain,) = json.loads(compared.stdout)["gains"]
    assert (gain["base"], gain["arm"], gain["all"]["pairs"]) == ("one", "two", 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sweep", "--lengths", "", "--streams", ""), "nothing to measure"),
        (("sweep", "--lengths", "12,x"), "--lengths takes numbers from 1"),
        (("sweep", "--streams", "0"), "--streams takes numbers from 1 to 512"),
        (("sweep", "--streams", "4000"), "--streams takes numbers from 1 to 512"),
        (("sweep", "--name", "a/b"), "can't be used"),
        (("sweep", "--endpoint", "nobody"), "nobody"),
        (("stream", "--lengths", ""), "nothing to measure"),
        (("stream", "--prompts", "999"), "there are 80 prompts"),
        (("stream", "one"), "--compare"),
        (("stream", "--compare"), "--compare"),
        (("stream", "--compare", "one"), "two benches or more"),
        (("stream", "--compare", "one", "one"), "each once"),
        (("stream", "--compare", "one", "two"), "holds no finished `bench stream`"),
        (("stream", "--endpoint", "http://127.0.0.1:9/v1"), "127.0.0.1:9"),
        (("sweep", "--endpoint", "http://127.0.0.1:9/v1"), "127.0.0.1:9"),
    ],
)
def test_what_cannot_be_done_is_said(
    ragevalkit: Command, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    ragevalkit("bench", *arguments).complains(2, words)
    assert not list(tmp_path.glob("reports/*"))

"""The bench of the arms against servers that do, refuse, ignore and hide things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from ragevalkit.agent.tools import load_toolbox
from ragevalkit.bench import session
from ragevalkit.bench.folder import BenchFolder
from ragevalkit.bench.guided import GuidedResult, Plan, guided
from ragevalkit.bench.guided.arms import ARMS, CONTRASTS
from ragevalkit.bench.guided.estimate import Verdict
from ragevalkit.bench.guided.schemas import new_schema
from ragevalkit.cli import wiring
from ragevalkit.endpoint.client import Retries
from ragevalkit.errors import InputError
from ragevalkit.standin.heeding import example

MockUrl = Callable[[str], str]

JSON = orjson.dumps(example(new_schema(0))).decode()
WIRE = '[wire]\nengine = "vllm"\ncached_tokens = "details"\n'
HABITS = """[habits]
tool_choice = ["none", "required"]
grammar = ["response_format", "required", "strict", "structured_outputs"]
"""
COSTS = "[costs]\nprompt_token_ms = 0.02\ncompile_ms = 40\n"
RULES = f"""
[[rules]]
question = "function note"
[[rules.reply.calls]]
name = "note"
arguments = {{ word = "apple" }}
[[rules]]
question = "function search"
tools = true
[[rules.reply.calls]]
name = "search"
arguments = {{ query = "rated voltage" }}
[[rules]]
question = "JSON"
[rules.reply]
answer = '{JSON}'
[[rules]]
[rules.reply]
answer = 6
"""
USUAL = WIRE + HABITS + COSTS + RULES


class Heard:
    """Keeps what the bench says."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.said: list[str] = []
        self.checked: list[str] = []
        self.done: list[tuple[int, int]] = []

    def checks(self, what: str) -> None:
        self.checked.append(what)

    def warns(self, line: str) -> None:
        self.warnings.append(line)

    def says(self, line: str) -> None:
        self.said.append(line)

    def progress(self, done: int, of: int, what: str) -> None:
        self.done.append((done, of))


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No calibration before each bench, and no pause before a request is tried again."""
    monkeypatch.setattr(session, "FLOOR_S", 0.0)
    monkeypatch.setattr(Retries, "wait_s", lambda *_: 0.0)


def plan_of(url: str, folder: Path, **changes: Any) -> Plan:
    usual: dict[str, Any] = {"blocks": 2, "tokens": 24}
    return Plan(
        folder=BenchFolder(folder / "bench"),
        profile=wiring.resolve_endpoint(url),
        connect=wiring.connect,
        tools=load_toolbox(False).schemas,
        **(usual | changes),
    )


def bench(url: str, folder: Path, heard: Heard | None = None, **changes: Any) -> GuidedResult:
    return guided(plan_of(url, folder, **changes), heard or Heard())


def test_every_arm_is_run_engaged_and_told_apart(mock_url: MockUrl, tmp_path: Path) -> None:
    result = bench(mock_url(USUAL), tmp_path, blocks=6)
    states = {arm: (of.status, of.engaged) for arm, of in result.arms.items()}
    assert states == dict.fromkeys(ARMS, ("run", "yes"))
    assert list(result.contrasts) == [contrast.name for contrast in CONTRASTS]
    lengths = {arm: of.prompt_tokens for arm, of in result.arms.items()}
    assert lengths["F"] == lengths["T0"] == lengths["T1"] == lengths["T2"] == lengths["T3"]
    assert lengths["P"] == lengths["N"]
    assert result.contrasts["T1-P"].prompt_tokens == lengths["T1"] - lengths["P"]  # type: ignore[operator]
    assert {of.requests for of in result.arms.values()} == {6}
    assert {of.failed for of in result.arms.values()} == {0}
    assert result.arms["T3"].calls == 6


def test_costs_are_found_where_they_are(mock_url: MockUrl, tmp_path: Path) -> None:
    """By the server's own figures, which no busy machine makes longer."""
    result = bench(mock_url(USUAL), tmp_path, blocks=12)
    of = result.contrasts
    grew = of["T1-P"].prompt_tokens
    assert grew is not None
    for name in ("T1-P", "F-P", "T0-P"):
        prefill_ms = of[name].prefill_ms
        assert prefill_ms is not None
        assert prefill_ms.median == pytest.approx(0.02 * grew), name
    for name in ("T1-P", "F-P", "T1-T0", "T2-T1", "N-P", "J-J0"):
        assert of[name].gap_ms.kept == 1.0, name
    assert {use.arm for use in result.first_use} == {"T2", "T3", "J"}
    for use in result.first_use:
        assert use.queue_ms is not None
        assert use.queue_ms.median == 40.0
        assert len(use.prompt_tokens) == 1
        assert use.schemas == 6
    assert result.warm_prefix is not None
    assert result.warm_prefix.prefill_ms is not None
    assert result.warm_prefix.prefill_ms.median == 0.0
    cold = result.engine_cold[0]
    assert cold.first_ms is not None
    assert cold.again_ms is not None


def test_the_first_request_for_a_grammar_comes_before_the_probe(
    mock_url: MockUrl, tmp_path: Path
) -> None:
    plan = plan_of(mock_url(USUAL), tmp_path)
    guided(plan, Heard())
    states = [record.place["state"] for record in plan.folder.records()]
    assert states[:4] == ["engine-cold"] * 4
    assert "engine-cold" not in states[4:]


def test_each_record_has_a_place_of_its_own(mock_url: MockUrl, tmp_path: Path) -> None:
    plan = plan_of(mock_url(USUAL), tmp_path)
    guided(plan, Heard())
    places = [orjson.dumps(r.place, option=orjson.OPT_SORT_KEYS) for r in plan.folder.records()]
    assert len(set(places)) == len(places)


def test_the_result_on_record_is_the_one_that_is_given_again(
    mock_url: MockUrl, tmp_path: Path
) -> None:
    plan = plan_of(mock_url(USUAL), tmp_path, arms=("P", "T1"))
    first = guided(plan, Heard())
    asked = len(plan.folder.records())
    assert guided(plan, Heard()) == first
    assert len(plan.folder.records()) == asked
    assert GuidedResult.model_validate_json(plan.folder.result.read_bytes()) == first


def test_a_pilot_sizes_the_bench_and_minutes_bound_it(mock_url: MockUrl, tmp_path: Path) -> None:
    heard = Heard()
    url = mock_url(USUAL)
    result = bench(
        url, tmp_path, heard, arms=("P", "T0"), blocks=None, precision_ms=1e-6, minutes=1e-3
    )
    assert (result.planned, result.blocks) == (12, 12)
    assert "12 blocks of 2 requests" in heard.said[0]
    assert "a precision of 1e-06 ms would take" in heard.said[0]
    assert [of for _, of in heard.done] == [6] * 6 + [12] * 6


REJECTS_TOOLS = WIRE + HABITS + 'rejects = { tools = "tools need --enable-tools" }\n' + RULES
REJECTS_SCHEMA = WIRE + HABITS + 'rejects = { response_format = "no such format" }\n' + RULES
REJECTS_NULL = WIRE + HABITS + 'rejects = { structured_outputs = "no backend" }\n' + RULES
REJECTS_CHOICE = WIRE + HABITS + 'rejects = { tool_choice = "no tool choice" }\n' + RULES
UNKNOWN_ENGINE = HABITS + RULES


@pytest.mark.parametrize(
    ("scenario", "arms", "words"),
    [
        (REJECTS_TOOLS, {"T0", "T1", "T2", "T3"}, "tools need --enable-tools"),
        (REJECTS_CHOICE, {"T0", "T1", "T2", "T3"}, "no tool choice"),
        (REJECTS_SCHEMA, {"J"}, "no such format"),
        (REJECTS_NULL, {"N"}, "no backend"),
        (UNKNOWN_ENGINE, {"N"}, "no field of this engine is known"),
    ],
)
def test_what_the_server_refuses_is_not_supported_in_its_words(
    mock_url: MockUrl, tmp_path: Path, scenario: str, arms: set[str], words: str
) -> None:
    heard = Heard()
    result = bench(mock_url(scenario), tmp_path, heard)
    refused = {arm for arm, of in result.arms.items() if of.status == "not_supported"}
    assert refused - {"F"} == arms
    for arm in arms:
        assert words in result.arms[arm].evidence
        assert result.arms[arm].ttft_ms is None
    assert any(words in warning for warning in heard.warnings)
    for contrast in result.contrasts.values():
        if {contrast.from_, contrast.to} & refused:
            assert contrast.ttft_ms.verdict is Verdict.NOT_ENGAGED
            assert contrast.ttft_ms.median is None
            assert contrast.gap_ms.median is None
            assert contrast.notes
        else:
            assert contrast.ttft_ms.median is not None


def test_without_tools_there_is_no_length_for_a_filler(mock_url: MockUrl, tmp_path: Path) -> None:
    result = bench(mock_url(REJECTS_TOOLS), tmp_path)
    assert result.arms["F"].status == "not_supported"
    assert "no length to match" in result.arms["F"].evidence


@pytest.mark.parametrize(
    ("habits", "arm", "words"),
    [
        ("grammar = []", "J", "without effect"),
        ("grammar = []", "N", "had no effect"),
        ('grammar = ["response_format"]', "T2", "didn't come"),
        ('tool_choice = ["none"]', "T3", "no call came"),
        ("tools_in_prompt = false", "T1", "drops the tools"),
        ("tools_in_prompt = false", "T0", "leaves the tools out"),
    ],
)
def test_what_the_server_ignores_is_not_engaged_and_never_costs_nothing(
    mock_url: MockUrl, tmp_path: Path, habits: str, arm: str, words: str
) -> None:
    result = bench(mock_url(f"{WIRE}[habits]\n{habits}\n{RULES}"), tmp_path)
    assert result.arms[arm].engaged == "no"
    assert words in result.arms[arm].evidence
    touched = [c for c in result.contrasts.values() if arm in (c.from_, c.to)]
    assert touched
    for contrast in touched:
        assert contrast.ttft_ms.verdict is Verdict.NOT_ENGAGED
        assert contrast.ttft_ms.median is None
        assert contrast.gap_ms.verdict is Verdict.NOT_ENGAGED
    if arm in ("J", "T1"):
        assert any("no known cost" in said for said in result.says)


def test_a_grammar_in_doubt_is_never_found_to_cost_nothing(
    mock_url: MockUrl, tmp_path: Path
) -> None:
    silent = WIRE + HABITS + "[[rules]]\n[rules.reply]\nanswer = 6\n"
    result = bench(mock_url(silent), tmp_path, arms=("T1", "T2"), blocks=8, margin_ms=1000.0)
    assert result.arms["T2"].engaged == "unknown"
    contrast = result.contrasts["T2-T1"]
    assert contrast.ttft_ms.median is not None
    assert contrast.ttft_ms.verdict is not Verdict.EQUIVALENT
    assert "isn't known" in contrast.notes[0]


def test_a_call_that_is_forced_by_nobody_knows_what_is_in_doubt(
    mock_url: MockUrl, tmp_path: Path
) -> None:
    forced = f'{WIRE}[habits]\ngrammar = ["response_format"]\n{RULES}'
    result = bench(mock_url(forced), tmp_path, arms=("T0", "T3"), blocks=6, margin_ms=1000.0)
    assert result.arms["T3"].engaged == "unknown"
    assert "a call was forced, but the schema's constant didn't come" in result.arms["T3"].evidence
    assert result.contrasts["T3-T0"].ttft_ms.verdict is not Verdict.EQUIVALENT


def test_a_server_that_answers_from_a_cache_is_told_on(mock_url: MockUrl, tmp_path: Path) -> None:
    cached = RULES.replace("answer = 6", "answer = 6\ncached_tokens = 40")
    result = bench(
        mock_url(WIRE + HABITS + cached), tmp_path, arms=("P", "T0", "T1"), blocks=8, margin_ms=1e3
    )
    assert result.cache is not None
    assert (result.cache.kept_out, result.cache.most_cached_tokens) == ("no", 40)
    assert result.contrasts["T0-P"].ttft_ms.verdict is not Verdict.EQUIVALENT
    assert "40 of" in result.contrasts["T0-P"].notes[0]


@pytest.mark.parametrize(
    ("engine", "reported", "kept_out"),
    [("vllm", "details", "yes"), ("vllm", "none", "unknown"), ("llamacpp", "none", "yes")],
)
def test_the_prefix_cache_is_kept_out_and_that_is_verified(
    mock_url: MockUrl, tmp_path: Path, engine: str, reported: str, kept_out: str
) -> None:
    wire = f'[wire]\nengine = "{engine}"\n'
    if reported != "none":
        wire += f'cached_tokens = "{reported}"\n'
    result = bench(mock_url(wire + RULES), tmp_path, arms=("P", "T1"))
    assert result.cache is not None
    assert result.cache.kept_out == kept_out
    field = "cache_prompt" if engine == "llamacpp" else "cache_salt"
    assert result.cache.kept_out_by == field


@pytest.mark.parametrize("what", ["held back", "one event"])
def test_replies_that_come_whole_are_asked_for_one_token(
    mock_url: MockUrl, tmp_path: Path, what: str
) -> None:
    rules = RULES
    habits = HABITS
    if what == "held back":
        habits += "streams = false\n"
    else:
        rules = rules.replace("answer = 6", "answer = 20\ntokens_per_event = 100")
        rules = rules.replace('name = "search"', 'name = "search"\npieces = 0')
    timing = "[timing]\nfirst_token_ms = 30\ngap_ms = 3\n"
    heard = Heard()
    result = bench(
        mock_url(WIRE + habits + timing + rules), tmp_path, heard, arms=("P", "T0"), blocks=6
    )
    assert not result.streams
    assert result.tokens == 1
    assert result.contrasts["T0-P"].ttft_ms.pairs == 6
    assert result.contrasts["T0-P"].gap_ms.median is None
    assert any("come whole" in warning for warning in heard.warnings)


def test_a_parser_that_holds_calls_back_is_told_on(mock_url: MockUrl, tmp_path: Path) -> None:
    late = '[wire]\nengine = "vllm"\ncalls = "whole"\n' + HABITS
    timing = "[timing]\nfirst_token_ms = 5\ngap_ms = 4\n"
    result = bench(mock_url(late + timing + RULES), tmp_path, arms=("P", "T0", "T3"))
    assert result.arms["T3"].held_back == "yes"
    assert result.arms["P"].held_back is None
    assert any("holds the first tokens" in note for note in result.contrasts["T3-T0"].notes)


def test_outputs_that_differ_are_not_compared_token_by_token(
    mock_url: MockUrl, tmp_path: Path
) -> None:
    other = RULES.replace(f"answer = '{JSON}'", "answer = 9")
    result = bench(mock_url(WIRE + HABITS + other), tmp_path, arms=("J", "J0"), blocks=6)
    gaps = result.contrasts["J-J0"].gap_ms
    assert (gaps.kept, gaps.pairs, gaps.median) == (0.0, 0, None)


DIES = """
[[rules]]
times = 70
[rules.reply]
answer = 6
[[rules]]
times = 12
[rules.fault]
kind = "status"
status = 500
"""


def test_a_bench_whose_server_dies_is_continued(mock_url: MockUrl, tmp_path: Path) -> None:
    url = mock_url(WIRE + HABITS + DIES + RULES)
    stopped = bench(url, tmp_path, arms=("P", "T0"), blocks=30)
    assert stopped.stopped is not None
    assert "500" in stopped.stopped
    assert 0 < stopped.blocks < 30
    ended = bench(url, tmp_path, arms=("P", "T0"), blocks=30)
    assert (ended.stopped, ended.blocks) == (None, 30)
    assert ended.contrasts["T0-P"].ttft_ms.pairs >= 30
    assert [cold.sitting for cold in ended.engine_cold] == []


def test_the_margin_is_stated_once(mock_url: MockUrl, tmp_path: Path) -> None:
    url = mock_url(USUAL)
    bench(url, tmp_path, arms=("P", "J0"))
    with pytest.raises(InputError, match="another margin_ms"):
        bench(url, tmp_path, arms=("P", "J0"), margin_ms=50.0)

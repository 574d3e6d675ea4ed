"""The probe says of real engines what is known of them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest
from engines.asked import Asked

from ragevalkit.agent.tools import load_toolbox
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.probe import Probe, Verdict, probe
from ragevalkit.endpoint.profile import Profile

pytestmark = pytest.mark.engines

KNOWN = {
    "llama.cpp": {
        "continuous_usage": "no",
        "token_ids": "no",
        # its grammar holds every call that is required, strict or not
        "grammar_required": "yes",
    },
    "vLLM": {
        "continuous_usage": "yes",
        "token_ids": "yes",
        "grammar_required": "no",
    },
}
"""Where the engines differ."""
SAME = {
    "model": "yes",
    "usage": "yes",
    "streaming": "yes",
    "server_times": "yes",
    "tools_in_prompt": "yes",
    "call_stream": "yes",
    "call_ids": "yes",
    "tool_choice_required": "yes",
    "grammar_strict": "yes",
    "prefix_cache": "yes",
    "cache_off": "yes",
    "thinks": "no",
}


def test_engine_version_and_context(asked: Asked) -> None:
    version = {"llama.cpp": "llama.cpp", "vLLM": "vLLM 0.32"}[asked.engine.name]
    assert asked.value("engine").startswith(version)
    assert asked.value("context_length") == "8192"
    served = {"llama.cpp": "smollm2-assistant", "vLLM": "smollm2"}[asked.engine.name]
    assert asked.value("model") == served


def test_what_is_known_is_found(asked: Asked) -> None:
    known = SAME | KNOWN[asked.engine.name]
    assert {check: asked.verdict(check) for check in known} == known


def test_no_grammar_is_denied(asked: Asked) -> None:
    # llama.cpp lets the assistant think before the JSON: how long, each training settles anew
    may_be = {"llama.cpp": {"yes", "unknown"}, "vLLM": {"yes"}}[asked.engine.name]
    assert asked.verdict("grammar_json") in may_be


def test_few_requests(asked: Asked) -> None:
    assert asked.manifest["probe"]["requests"] < 20


@pytest.fixture(scope="module")
def dropping() -> Iterator[str]:
    """llama.cpp with the chat template of the weights' file, which knows no tools."""
    code = (
        "import threading, sys; from ragevalkit.standin import __main__ as m, local; "
        "threading.Thread(target=m._end_with_stdin, daemon=True).start(); "
        "local.serve(0, lambda port: print(port, flush=True), template=None)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        yield f"http://127.0.0.1:{int(child.stdout.readline())}/v1"
        child.stdin.close()


async def probed(url: str) -> Probe:
    client = ChatClient(Profile(name="dropping", base_url=url), concurrency=1)
    try:
        return await probe(client, "smollm2-assistant", load_toolbox(None).schemas)
    finally:
        await client.close()


def test_dropped_tools_are_seen(dropping: str) -> None:
    found = asyncio.run(probed(dropping))
    assert found.verdict("tools_in_prompt") is Verdict.NO
    assert any("they are dropped" in line for line in found.warnings())

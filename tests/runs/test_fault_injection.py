"""A fault that is put in at a known rate comes back at that rate."""

from __future__ import annotations

import json

from command import Command

SCENARIO = """
seed = 11

[[rules]]
name = "a call left in the text"
round = 2
probability = 0.05
[rules.reply]
answer = '<tool_call>{"name": "search", "arguments": {"query": "mast"}}</tool_call>'
"""
QUESTIONS, REPEATS, RATE = 100, 20, 0.05


def test_five_per_cent_of_two_thousand_turns(ragevalkit: Command) -> None:
    folder = ragevalkit.folder
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "guide.md").write_text("The mast is 12 metres tall.\n")
    with (folder / "bank.jsonl").open("w") as bank:
        for number in range(QUESTIONS):
            line = {"id": f"q{number}", "question": f"How tall is mast {number}?"}
            line |= {"answerable": True, "evidence": [{"document": "guide", "page": 1}]}
            bank.write(json.dumps(line) + "\n")
    done = ragevalkit(
        *("run", "--bank", "bank.jsonl", "--corpus", "guide.md", "--name", "r", "--json"),
        *("--endpoint", "mock:scenario.toml", "--repeats", str(REPEATS), "--concurrency", "16"),
    )
    assert done.code == 0, done.stderr
    summary = json.loads(done.stdout)
    turns = QUESTIONS * REPEATS
    assert summary["scored"] == turns
    malformed = summary["metrics"]["malformed_calls"]
    assert malformed["low"] < RATE < malformed["high"]
    assert malformed["k"] == summary["defects"]["call:in_content"]
    assert summary["metrics"]["answered"]["k"] == turns - malformed["k"], "and is no answer"

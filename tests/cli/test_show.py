"""`ragevalkit show`, over runs that were really made."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Command

from ragevalkit.cli import main

BANK: list[dict[str, Any]] = [
    {
        "id": "noise",
        "question": "How loud is a Tarn 1 in Balanced when it's busy?",
        "answerable": True,
        "evidence": [
            {"document": "operator-guide", "page": 10, "quote": "Tarn 1, Balanced 150 W 31 dB(A)"}
        ],
        "answers": ["31 dB(A)"],
        "tags": ["table", "easy"],
    },
    {
        "id": "filter-wash",
        "question": "How often do I have to wash the dust filter in a normal office?",
        "answerable": True,
        "evidence": [{"document": "operator-guide", "page": 11}],
        "tags": ["easy"],
        "history": [
            {"role": "user", "content": "Is there a filter?"},
            {"role": "assistant", "content": "Yes, behind the front."},
        ],
    },
    {
        "id": "filter-order",
        "question": "What do I order when the Tarn 1S needs a new dust filter?",
        "answerable": True,
        "evidence": [{"document": "operator-guide", "page": 11}],
        "tags": ["table"],
    },
    {
        "id": "queue",
        "question": "What's the largest queue I can configure on a Tarn 1?",
        "answerable": True,
        "evidence": [{"document": "admin-guide", "page": 4}],
    },
    {
        "id": "wifi",
        "question": "Which Wi-Fi bands does the Tarn 1 support?",
        "answerable": False,
        "unanswerable_because": "The documents describe Ethernet only.",
        "tags": ["false-premise"],
    },
    {
        "id": "wall",
        "question": "In which year did the Berlin WALL come down?",
        "answerable": False,
        "tags": ["out-of-scope", "easy"],
    },
    {
        "id": "evil",
        "question": "What mains voltage does the rack [bold]version[/bold] want?",
        "answerable": True,
        "evidence": [{"document": "r2-supplement", "page": 3}],
    },
]

RAW = '{"query": "dust filter, order number", oops'
"""Arguments that are no JSON."""

EVIL = (
    "\x1b[31mred\x1b[0m \x1b]0;pwned\x07 \x9b2J \u202eesrever [bold red]loud[/bold red] [/] :bomb:"
)

SCENARIO = f"""
[[rules]]  # noise: asked again after a 429, then cites the evidence page with a reference in reply
question = "How loud"
round = 0
times = 1
[rules.fault]
kind = "status"
status = 429
headers = {{ Retry-After = "0" }}
body = "busy [red]now[/red]"

[[rules]]
question = "How loud"
round = 0
[[rules.reply.calls]]
name = "search"
arguments = {{ query = "Tarn 1 Balanced noise dB(A) power" }}

[[rules]]
question = "How loud"
round = 1
[[rules.reply.calls]]
name = "cite"
arguments = {{ document = "operator-guide", page = 10 }}

[[rules]]
question = "How loud"
round = 2
[rules.reply]
answer = "31 dB(A)"

[[rules]]  # filter-wash: cites the evidence page by the mock's default rules
question = "wash the dust filter"
round = 0
[[rules.reply.calls]]
name = "search"
arguments = {{ query = "dust filter eight weeks clean" }}

[[rules]]  # filter-order: arguments that are no JSON, then the same well formed
question = "What do I order"
round = 0
[rules.reply]
reasoning = '''{chr(10).join(f"Thought {n} of many." for n in range(40))}'''
[[rules.reply.calls]]
name = "search"
arguments = '{RAW}'

[[rules]]
question = "What do I order"
round = 1
[rules.reply]
answer = "I search again."
[[rules.reply.calls]]
name = "search"
arguments = {{ query = "dust filter order number" }}

[[rules]]
question = "What do I order"
round = 2
[[rules.reply.calls]]
name = "cite"
arguments = {{ document = "admin-guide", page = 99 }}

[[rules]]  # queue: declines at once
question = "largest queue"
[rules.reply]
answer = "NOT IN DOCUMENTS: nothing on that."

[[rules]]  # wifi: declines after a search
question = "Wi-Fi"
round = 1
[rules.reply]
answer = "NOT IN DOCUMENTS: nothing on that."

[[rules]]  # wall: nothing at all
question = "Berlin"
[rules.reply]
answer = ""

[[rules]]
question = "mains voltage"
round = 1
[rules.reply]
answer = {json.dumps(EVIL)}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of BANK over the packaged corpus; tests that change it take `run`."""
    folder = tmp_path_factory.mktemp("show")
    (folder / "bank.jsonl").write_text("".join(json.dumps(line) + "\n" for line in BANK))
    (folder / "scenario.toml").write_text(SCENARIO)
    arguments = [
        *("run", "--bank", "bank.jsonl", "--corpus", "tarn", "--name", "r"),
        *("--endpoint", "mock:scenario.toml", "--repeats", "2", "--no-report"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("RAGEVALKIT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        with pytest.raises(SystemExit) as end:
            main(arguments)
    assert not end.value.code
    return folder / "reports" / "r"


@pytest.fixture
def run(made: Path, ragevalkit: Command) -> Path:
    """The run under reports/ of the working folder, to be changed."""
    return shutil.copytree(made, ragevalkit.folder / "reports" / "r")


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


ALL = {line["id"] for line in BANK}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("", ALL),
        ("--outcome decline", {"queue", "wifi"}),
        ("--outcome no_output", {"wall"}),
        ("--outcome decline --outcome no_output", {"queue", "wifi", "wall"}),
        ("--outcome infra_error", set()),
        ("--defect call:not_json", {"filter-order"}),
        ("--defect call", {"filter-order"}),
        ("--defect refusal", {"queue"}),
        ("--defect refusal:without_search", {"queue"}),
        ("--defect answer:empty --defect call:not_json", {"wall", "filter-order"}),
        ("--defect answer:empty --outcome decline", set()),
        ("--tag easy", {"noise", "filter-wash", "wall"}),
        ("--tag table --tag false-premise", {"noise", "filter-order", "wifi"}),
        ("--tag easy --tag table --answerable", {"noise", "filter-wash", "filter-order"}),
        ("--answerable", ALL - {"wifi", "wall"}),
        ("--unanswerable", {"wifi", "wall"}),
        ("--unanswerable --outcome decline", {"wifi"}),
        ("--metric malformed_calls", {"filter-order"}),
        ("--metric over_refused", {"queue"}),
        ("--metric refused_correctly", {"wall"}),
        ("--metric answered", {"wall"}),
        ("--metric searched_first", {"queue", "wall"}),
        ("--metric answered --metric malformed_calls", {"wall", "filter-order"}),
        ("--metric citation_recall", {"filter-order"}),
        ("--metric turns_with_defect --unanswerable", {"wall"}),
        ("--metric defects_per_turn --unanswerable", {"wall"}),
        ("--text wall", {"wall"}),
        ("--text not+IN+documents", {"queue", "wifi"}),
        ("--text DUST++filter --tag table", {"filter-order"}),
        ("--text nowhere", set()),
    ],
)
def test_filters(ragevalkit: Command, made: Path, filters: str, expected: set[str]) -> None:
    given = [part.replace("+", " ") for part in filters.split()]
    done = ragevalkit("show", str(made), *given, "--json")
    assert done.code == 0, done.stderr
    rows = json.loads(done.stdout)
    assert sorted(row["question_id"] for row in rows) == sorted([*expected, *expected])
    listed = ragevalkit("show", str(made), *given)
    assert listed.stdout.endswith(f"\n{len(rows)} of {2 * len(BANK)} turns\n")


def test_the_list(ragevalkit: Command, run: Path) -> None:
    done = ragevalkit("show", "r")
    assert done.code == 0
    assert done.stderr == ""
    rows = [line for line in done.stdout.splitlines() if line.startswith("filter-order")]
    assert len(rows) == 2
    for word in ("yes", "answer", "call:not_json", " 4 ", "What do I order when the Tarn 1S"):
        assert word in rows[0], "a row is one line, whatever its length"
    assert "\x1b" not in done.stdout
    assert "[bold]version[/bold]" in done.stdout
    few = ragevalkit("show", "r", "--limit", "3", "--answerable").stdout
    assert few.endswith("\n3 of 14 turns, the first of 10 that match\n")
    assert ragevalkit("show", "r", "--limit", "10", "--answerable").stdout.endswith(
        "\n10 of 14 turns\n"
    )


def test_the_list_as_json(ragevalkit: Command, made: Path) -> None:
    rows = json.loads(ragevalkit("show", str(made), "--json", "--limit", "5").stdout)
    assert len(rows) == 5
    for row in rows:
        assert list(row) == [
            *("question_id", "repeat", "answerable", "outcome", "defects", "rounds", "turn_s"),
            "question",
        ]
    noise = next(row for row in rows if row["question_id"] == "noise")
    assert noise["question"] == BANK[0]["question"]
    assert noise["rounds"] == 3
    assert noise["answerable"] is True
    assert noise["outcome"] == "answer"
    assert isinstance(noise["turn_s"], float)


def test_a_whole_turn(ragevalkit: Command, made: Path) -> None:
    done = ragevalkit("show", str(made), "filter-order")
    assert done.code == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert f"      {RAW}" in lines, "raw arguments, as they came"
    for words in (
        "filter-order, repeat 0 (2 are on record; --repeat shows another)",
        "  answerable",
        "  evidence: operator-guide p. 11",
        "  tags: table",
        "  answer, ended by reply",
        "  call:not_json: arguments that are no JSON",
        "Round 1: done, finish reason tool_calls",
        "ms since the turn's start: sent ",
        "first answer –",
        "tokens: prompt ",
        "    Thought 5 of many.",
        "more characters (--full shows them)",
        "[not_json] [recovered by a later call]",
        '{"error":"the arguments of search are not JSON',
        "    I search again.",
        "operator-guide p. 11 (printed 8) score ",
        "content: the reply, below",
        "Citations beside evidence",
        "citation:no_such_page",
        "Where the turn's time went",
        "tool arguments",
    ):
        assert words in done.stdout, words
    assert "Thought 6 of many." not in done.stdout
    evidence = next(line for line in lines if line.startswith("      operator-guide p. 11 ("))
    assert "[evidence]" in evidence
    assert "[cited]" not in evidence
    table = done.stdout.partition("Citations beside evidence")[2]
    rows = [line.split("  ") for line in table.splitlines()]
    rows = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert ["admin-guide p. 99", "by call", "no", "citation:no_such_page", "no"] in rows
    assert ["operator-guide p. 11", "no", "yes", "yes"] in rows


def test_marks_attempts_and_history(ragevalkit: Command, made: Path) -> None:
    noise = ragevalkit("show", str(made), "noise").stdout
    assert "attempt 1: busy 429" in noise
    assert "busy [red]now[/red]" in noise
    assert "attempt 2: done 200" in noise
    assert "  reference: 31 dB(A)" in noise
    assert "evidence: operator-guide p. 10: “Tarn 1, Balanced 150 W 31 dB(A)”" in noise
    marked = [line for line in noise.splitlines() if "[evidence] [cited]" in line]
    assert len(marked) == 1
    assert marked[0].startswith("      operator-guide p. 10 (printed 7) score ")
    assert "user: Is there a filter?" in ragevalkit("show", str(made), "filter-wash").stdout
    wifi = ragevalkit("show", str(made), "wifi").stdout
    assert "unanswerable: The documents describe Ethernet only." in wifi
    assert "no defects" in wifi
    wall = ragevalkit("show", str(made), "wall").stdout
    assert "answer:empty: the turn ended with a reply that shows nothing" in wall
    assert "\nReply\n  nothing\n" in wall


def test_in_full(ragevalkit: Command, made: Path) -> None:
    folded = ragevalkit("show", str(made), "filter-order").stdout
    full = ragevalkit("show", str(made), "filter-order", "--full").stdout
    assert "Thought 39 of many." in full
    assert "more characters" not in full
    turn = json.loads(ragevalkit("show", str(made), "filter-order", "--json").stdout)["turn"]
    results = json.loads(turn["rounds"][1]["calls"][0]["result"])["results"]
    last = max((line for r in results for line in r["text"].splitlines()), key=len).strip()
    assert last in full
    assert last not in folded


def test_one_turn_as_json(ragevalkit: Command, run: Path) -> None:
    done = ragevalkit("show", "r", "filter-o", "--json")
    shown = json.loads(done.stdout)
    assert "2 repeats are on record; this is 0" in done.stderr
    assert set(shown) == {"turn", "score"}
    assert shown["turn"] == next(
        turn
        for turn in records(run / "turns.jsonl")
        if (turn["question_id"], turn["repeat"]) == ("filter-order", 0)
    )
    assert shown["turn"]["rounds"][0]["calls"][0]["arguments"] == RAW
    assert shown["score"] in records(run / "scores.jsonl")
    second = ragevalkit("show", "r", "filter-o", "--json", "--repeat", "1")
    assert json.loads(second.stdout)["turn"]["repeat"] == 1
    assert second.stderr == ""
    run.joinpath("scores.jsonl").unlink()
    assert json.loads(ragevalkit("show", "r", "wifi", "--json").stdout)["score"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("nowhere", ["there is no run 'nowhere'"]),
        ("RUN --outcome refusal", ["no outcome 'refusal'", "decline", "ask_back", "infra_error"]),
        ("RUN --defect calls", ["no defect 'calls'", "citation", "call:not_json"]),
        ("RUN --defect call:wrong_page", ["no defect 'call:wrong_page'", "citation:wrong_page"]),
        ("RUN --metric recall", ["no metric 'recall'", "citation_recall", "answered"]),
        ("RUN --tag hard", ["has the tag 'hard'", "easy, false-premise, out-of-scope, table"]),
        ("RUN --tag easy --tag hard", ["has the tag 'hard'"]),
        ("RUN --limit 0", ["limit"]),
        ("RUN nose", ["asks 'nose'", "noise"]),
        ("RUN filter", ["'filter' begins 2 question ids: filter-wash, filter-order"]),
        ("RUN noise --repeat 2", ["repeat 2 of 'noise'", "there is 0, 1"]),
        ("RUN noise --outcome answer", ["filters are for the list"]),
        ("RUN noise --limit 3", ["filters are for the list"]),
        ("RUN noise --unanswerable", ["filters are for the list"]),
        ("RUN --full", ["need a question"]),
        ("RUN --repeat 0", ["need a question"]),
    ],
)
def test_what_cannot_be_shown(
    ragevalkit: Command, made: Path, arguments: str, words: list[str]
) -> None:
    done = ragevalkit("show", *(str(made) if a == "RUN" else a for a in arguments.split()))
    done.complains(2, *words)
    assert done.stdout == ""


def without_control(text: str) -> bool:
    return not {c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160}


def test_hostile_text_is_only_text(ragevalkit: Command, run: Path) -> None:
    done = ragevalkit("show", "r", "evil")
    assert without_control(done.stdout)
    assert "\u202e" not in done.stdout
    for shown in (r"\x1b[31mred\x1b[0m", r"\x1b]0;pwned\x07", r"\x9b2J", r"\u202e"):
        assert shown in done.stdout
    assert "[bold red]loud[/bold red] [/] :bomb:" in done.stdout
    as_json = ragevalkit("show", "r", "evil", "--json").stdout
    assert without_control(as_json)
    assert json.loads(as_json)["turn"]["reply"] == EVIL
    turns = records(run / "turns.jsonl")
    for turn in turns:
        if turn["question_id"] == "evil":
            turn["question_id"] = turn["bank_line"]["id"] = f"evil\x1b[2J\n{turn['repeat']}"
            turn["rounds"][0]["calls"][0] |= {"name": "s\x1b[2J", "result": "\x1b[2J"}
            turn["corpus"] = turn["error"] = "\x1b[2J"
    turns[0]["bank_line"]["tags"] = ["\x1b[2J"]
    turns[0]["bank_line"]["\x1b[2J"] = 1
    write(run / "turns.jsonl", turns)
    for arguments in ([], ["evil\x1b[2J\n1"], ["evil"], ["--tag", "x"], ["x"], ["evil", "--json"]):
        done = ragevalkit("show", "r", *arguments)
        assert without_control(done.stdout), arguments
        assert without_control(done.stderr), arguments


def test_a_terminal_gets_colours_and_a_pager(run: Path) -> None:
    code = "import sys; from ragevalkit.cli import main; main(sys.argv[1:])"
    for arguments in (["show", "r", "evil"], ["show", "r"]):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "PAGER": "sed s/^/paged:/", "COLUMNS": "200"}
        environment.pop("NO_COLOR", None)
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=run.parents[1],
            env=environment | {"MANPAGER": "", "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        text = b"".join(chunks(ours)).decode()
        assert process.wait() == 0, text
        assert "paged:" in text
        assert "\x1b[1m" in text
        assert "\x1b[31mred" not in text
        assert "\x07" not in text
        assert "[bold]version[/bold]" in " ".join(text.split())


def chunks(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:  # the other side has gone
            chunk = b""
        if not chunk:
            os.close(descriptor)
            return
        yield chunk


def test_lines_that_cannot_be_read(ragevalkit: Command, run: Path) -> None:
    turns, scores = records(run / "turns.jsonl"), records(run / "scores.jsonl")
    turns[0]["rounds"] = "none"
    turns[1]["version"] = 99
    turns[2]["bank_line"]["answerable"] = "perhaps"
    write(run / "turns.jsonl", turns)
    with (run / "turns.jsonl").open("a") as file:
        file.write('[1]\nnull\n\x00\n{"question_id": "cut off')
    scores[3]["outcome"] = "splendid"
    scores[4]["later"] = "a field of a later version"
    write(run / "scores.jsonl", scores)
    with (run / "scores.jsonl").open("a") as file:
        file.write('7\n{"question_id"')
    done = ragevalkit("show", "r")
    assert done.code == 0
    assert done.stdout.endswith("\n11 of 11 turns\n")
    for words in (
        "turns.jsonl, line 1 is damaged: rounds",
        "line 2 is damaged: written by a newer ragevalkit (version 99",
        "line 3 is damaged: its bank_line is damaged: answerable",
        "line 15 is damaged",
        "line 16 is damaged",
        "line 17 is damaged",
        "line 18 was cut off by a crash",
        "scores.jsonl, line 4 is damaged",
        "line 15 is damaged; it is no score",
        "line 16 is damaged; it is no score",
        "1 of 11 turns have no scores",
    ):
        assert words in done.stderr, words
    unscored = [line for line in done.stdout.splitlines() if "not scored" in line]
    assert [line.split()[0] for line in unscored] == [turns[3]["question_id"]]
    assert ragevalkit("show", "r", turns[3]["question_id"]).stdout.count("not scored") == 1
    ragevalkit("show", "r", turns[0]["question_id"])
    rows = json.loads(ragevalkit("show", "r", "--json").stdout)
    assert [row["defects"] for row in rows if row["defects"] is None] == [None]


def test_a_run_without_scores_or_turns(ragevalkit: Command, run: Path) -> None:
    (run / "scores.jsonl").unlink()
    done = ragevalkit("show", "r", "--defect", "call")
    assert done.stdout.endswith("\n0 of 14 turns\n")
    assert "14 of 14 turns have no scores" in done.stderr
    assert ragevalkit("show", "r", "--outcome", "no_output").stdout.endswith("\n2 of 14 turns\n")
    whole = ragevalkit("show", "r", "noise").stdout
    assert "not scored" in whole
    assert "operator-guide p. 10  by call" in whole
    (run / "turns.jsonl").unlink()
    assert ragevalkit("show", "r").stdout.endswith("\n0 of 0 turns\n")
    assert ragevalkit("show", "r", "--json").stdout == "[]\n"
    ragevalkit("show", "r", "noise").complains(2, "no turns that can be read")


def test_corrected_labels_are_said(ragevalkit: Command, run: Path) -> None:
    corrected = [{**line} for line in BANK]
    del corrected[0]["evidence"]
    corrected[0] |= {"answerable": False, "answers": []}
    (ragevalkit.folder / "corrected.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in corrected)
    )
    done = ragevalkit("score", "r", "--bank", "corrected.jsonl", "--corpus", "tarn")
    assert done.code == 0, done.stderr
    whole = ragevalkit("show", "r", "noise").stdout
    assert "these labels were corrected after it was asked" in whole
    assert "  unanswerable" in whole
    assert "answer:should_have_declined" in whole
    rows = json.loads(ragevalkit("show", "r", "--unanswerable", "--json").stdout)
    assert {row["question_id"] for row in rows} == {"noise", "wifi", "wall"}


def test_two_thousand_turns(ragevalkit: Command, run: Path) -> None:
    turns, scores = records(run / "turns.jsonl"), records(run / "scores.jsonl")
    many = [{"question_id": f"q-{n:04}", "repeat": 0} for n in range(2000)]
    write(run / "turns.jsonl", [turns[n % 14] | key for n, key in enumerate(many)])
    write(run / "scores.jsonl", [scores[n % 14] | key for n, key in enumerate(many)])
    done = ragevalkit("show", "r")
    assert done.stdout.endswith("\n2000 of 2000 turns\n")
    assert len(done.stdout.splitlines()) == 2000 + 4
    assert "q-1999, repeat 0" in ragevalkit("show", "r", "q-1999").stdout
    ragevalkit("show", "r", "q-1").complains(2, "begins 1000 question ids: q-1000, q-1001")

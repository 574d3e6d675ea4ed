"""`ragevalkit score` and judges: a run is scored again from its folder alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Command
from servers import completion, raw_server, response

LINES: list[dict[str, Any]] = [
    {
        "id": "tall",
        "question": "How tall is the mast?",
        "answerable": True,
        "evidence": [{"document": "guide", "page": 1}],
        "answers": ["12 metres"],
    },
    {"id": "colour", "question": "What colour is the mast?", "answerable": False},
    {
        "id": "weight",
        "question": "How heavy is the mast?",
        "answerable": True,
        "evidence": [{"document": "guide", "page": 2}],
        "answers": ["80 kg"],
    },
]
RUN = ("run", "--bank", "bank.jsonl", "--corpus", "guide.md", "--endpoint", "mock", "--name", "r")


def write_bank(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def folder(ragevalkit: Command) -> Path:
    """A working folder with a finished run `r`."""
    folder = ragevalkit.folder
    (folder / "guide.md").write_text(
        "<!-- page: 1 -->\nThe mast is 12 metres tall.\n"
        "<!-- page: 2 -->\nThe mast is 80 kilograms heavy.\n"
    )
    write_bank(folder / "bank.jsonl", LINES)
    assert ragevalkit(*RUN).code == 0
    return folder


def summary(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "reports/r/summary.json").read_text())
    return read


def test_the_same_scores_come_out_again(ragevalkit: Command, folder: Path) -> None:
    before = summary(folder)
    done = ragevalkit("score", "r")
    assert done.code == 0
    assert "0 of 3 turns score otherwise than before" in done.stdout
    assert summary(folder) == before
    by_folder = ragevalkit("score", str(folder / "reports" / "r"), "--json")
    assert json.loads(by_folder.stdout) == before | {"changes": [], "tags": {}}


def test_scores_by_tag(ragevalkit: Command, folder: Path) -> None:
    tagged = [line | {"tags": ["size"]} if line["id"] != "colour" else line for line in LINES]
    write_bank(folder / "tagged.jsonl", tagged)
    done = ragevalkit("score", "r", "--bank", "tagged.jsonl", "--by-tag")
    assert done.code == 0
    row = next(line for line in done.stdout.splitlines() if line.strip().startswith("size"))
    assert row.split()[1:3] == ["2/2", "2/2"]
    tags = json.loads(ragevalkit("score", "r", "--bank", "tagged.jsonl", "--json").stdout)["tags"]
    assert set(tags) == {"size"}
    assert (tags["size"]["answered"]["k"], tags["size"]["answered"]["n"]) == (2, 2)


def test_without_the_corpus_what_needs_pages_is_undefined(
    ragevalkit: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Found by its hash in the cache though the file is gone; then that is gone, too."""
    (folder / "elsewhere").mkdir()
    (folder / "guide.md").rename(folder / "elsewhere" / "guide.md")
    assert summary(folder)["undefined_defects"] == {}
    assert ragevalkit("score", "r").code == 0
    assert summary(folder)["undefined_defects"] == {}
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path / "empty"))
    done = ragevalkit("score", "r")
    assert done.code == 0
    assert "isn't at hand" in done.stderr
    assert "Not told, as the corpus isn't at hand" in done.stdout
    undefined = {"citation:page_label": 3, "citation:quote_not_on_page": 3}
    assert summary(folder)["undefined_defects"] == undefined
    assert ragevalkit("score", "r", "--corpus", "elsewhere/guide.md").code == 0
    assert summary(folder)["undefined_defects"] == {}
    (folder / "other.md").write_text("Another text.\n")
    ragevalkit("score", "r", "--corpus", "other.md").complains(2, "other.md", "not the corpus")


def test_corrected_labels(ragevalkit: Command, folder: Path) -> None:
    colour = LINES[1] | {"answerable": True, "evidence": [{"document": "guide", "page": 2}]}
    other_words = LINES[2] | {"question": "How heavy is the whole mast?"}
    write_bank(folder / "corrected.jsonl", [LINES[0], colour, other_words])
    done = ragevalkit("score", "r", "--bank", "corrected.jsonl")
    assert done.code == 0
    assert "2 turns scored by corrected.jsonl; 1 kept their labels" in done.stderr
    assert "colour" in done.stdout
    assert "1 of 3 turns score otherwise than before" in done.stdout
    assert summary(folder)["outcomes"]["unanswerable"]["answer"] == 0
    manifest = json.loads((folder / "reports/r/run.json").read_text())
    assert manifest["scored_with"]["bank"] == "corrected.jsonl"
    changes = json.loads(ragevalkit("score", "r", "--json").stdout)["changes"]
    assert [change["question_id"] for change in changes] == ["colour"]
    assert changes[0]["what"]["refused_correctly"] == [None, False]
    ragevalkit("score", "r", "--bank", "nowhere.jsonl").complains(2, "nowhere.jsonl")


def test_corrected_labels_name_pages_that_there_are(ragevalkit: Command, folder: Path) -> None:
    wrong = LINES[0] | {"evidence": [{"document": "guide", "page": 99}]}
    write_bank(folder / "corrected.jsonl", [LINES[1], wrong])
    done = ragevalkit("score", "r", "--bank", "corrected.jsonl")
    done.complains(2, "corrected.jsonl, line 2", "page 99", "has 2")


def test_run_json_says_what_the_scores_go_by(ragevalkit: Command, folder: Path) -> None:
    def scored_with() -> Any:
        return json.loads((folder / "reports/r/run.json").read_text())["scored_with"]

    assert scored_with() is None
    colour = LINES[1] | {"answerable": True, "evidence": [{"document": "guide", "page": 2}]}
    write_bank(folder / "corrected.jsonl", [colour])
    assert ragevalkit("score", "r", "--bank", "corrected.jsonl").code == 0
    assert scored_with()["bank"] == "corrected.jsonl"
    assert summary(folder)["metrics"]["refused_correctly"]["n"] == 0
    assert ragevalkit(*RUN).code == 0, "a finished run prints its summary as it stands"
    assert summary(folder)["metrics"]["refused_correctly"]["n"] == 0
    assert scored_with()["bank"] == "corrected.jsonl"
    assert ragevalkit("score", "r").code == 0
    assert summary(folder)["metrics"]["refused_correctly"]["n"] == 1, "by the turns' own labels"
    assert scored_with() is None


def test_a_judge_that_fails_after_the_run_loses_nothing(ragevalkit: Command, folder: Path) -> None:
    shutil.rmtree(folder / "reports")
    with raw_server(judge(by_reference)) as url:
        pass
    done = ragevalkit(*RUN, "--judge", url)
    assert done.code == 3
    assert "cited_correct_page" in done.stdout
    assert "the run is kept" in done.stderr
    assert summary(folder)["turns"] == 3


def test_records_that_cannot_be_read_are_said_and_left_out(
    ragevalkit: Command, folder: Path
) -> None:
    turns = folder / "reports/r/turns.jsonl"
    first, second, third = turns.read_bytes().splitlines()
    edited = json.loads(second) | {"wall_ms": "fast"}
    newer = json.loads(third) | {"version": 99}
    older = json.loads(first)
    del older["tools"], older["version"]
    lines = [json.dumps(older), "nonsense", json.dumps(edited), json.dumps(newer)]
    turns.write_text("\n".join(lines) + "\n" + first.decode()[:50])
    done = ragevalkit("score", "r")
    assert done.code == 0
    for words in ("line 2 is damaged", "line 3 is damaged: wall_ms", "newer ragevalkit"):
        assert words in done.stderr
    assert "line 5 was cut off by a crash" in done.stderr
    assert summary(folder)["turns"] == 1, "the older record was upgraded"
    assert summary(folder)["planned"] == 3


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"bank_line": {"id": "tall"}}, "its bank_line is damaged: question"),
        ({"bank_line": LINES[0] | {"evidence": []}}, "answerable without evidence"),
        ({"composition_ms": {}}, "composition_ms has no 'wait'"),
        ({"question_id": "weight"}, "line 3 is damaged: it repeats the turn of line 1"),
        ({"rounds": [], "reply": ""}, ""),
    ],
)
def test_turns_that_were_edited_by_hand(
    ragevalkit: Command, folder: Path, edit: dict[str, Any], words: str
) -> None:
    turns = folder / "reports/r/turns.jsonl"
    first, *others = turns.read_bytes().splitlines()
    edited = json.dumps(json.loads(first) | edit).encode()
    turns.write_bytes(b"\n".join([edited, *others]) + b"\n")
    done = ragevalkit("score", "r")
    assert done.code == 0, done.stderr
    assert words in done.stderr
    assert summary(folder)["turns"] == (2 if words else 3)
    if words:
        ragevalkit(*RUN).complains(2, words, "asks that question again")


def test_scores_that_were_edited_by_hand(ragevalkit: Command, folder: Path) -> None:
    scores = folder / "reports/r/scores.jsonl"
    first, second, third = map(json.loads, scores.read_bytes().splitlines())
    edited = [first | {"question_id": [1]}, second | {"metrics": "answered"}, third]
    scores.write_text("".join(json.dumps(line) + "\n" for line in edited))
    done = ragevalkit("score", "r")
    assert done.code == 0, done.stderr
    assert "0 of 3 turns score otherwise than before" in done.stdout


@pytest.mark.parametrize(
    "change", [{"settings": [1]}, {"settings": {}}, {"settings": {"corpora": ["guide"]}}]
)
def test_a_manifest_that_was_edited_by_hand(
    ragevalkit: Command, folder: Path, change: dict[str, Any]
) -> None:
    path = folder / "reports/r/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    ragevalkit("score", "r").complains(2, "run.json", "no manifest of a run")
    ragevalkit(*RUN).complains(2, "run.json", "no manifest of a run")


def test_no_turn_that_can_be_read(ragevalkit: Command, folder: Path) -> None:
    """The summary that there is stays."""
    before = summary(folder)
    (folder / "reports/r/turns.jsonl").write_text("nonsense\n")
    ragevalkit("score", "r").complains(2, "turns.jsonl", "no turn that can be read", "line 1")
    assert summary(folder) == before


@pytest.mark.parametrize("run", ["nowhere", "reports"])
def test_a_run_that_is_not_there(ragevalkit: Command, folder: Path, run: str) -> None:
    ragevalkit("score", run).complains(2, f"no run '{run}'")


def judge(answer: Callable[[dict[str, Any]], list[bytes]]) -> Callable[[str, bytes], list[bytes]]:
    def handle(path: str, body: bytes) -> list[bytes]:
        if path.endswith("/models"):
            return response(b'{"data": [{"id": "wise"}]}')
        return answer(json.loads(json.loads(body)["messages"][1]["content"]))

    return handle


def by_reference(asked: dict[str, Any]) -> list[bytes]:
    verdict = "correct" if asked["references"][0] in asked["reply"] else "incorrect"
    return completion(f'Let me see. {{"verdict": "{verdict}", "reason": "as it says"}}')


def test_a_judge_stands_beside_the_metrics(ragevalkit: Command, folder: Path) -> None:
    before = summary(folder)
    asked: list[str] = []

    def answer(request: dict[str, Any]) -> list[bytes]:
        asked.append(request["question"])
        return by_reference(request)

    with raw_server(judge(answer)) as url:
        (folder / "ragevalkit.toml").write_text(f'[endpoints.wise]\nbase_url = "{url}"\n')
        done = ragevalkit("score", "r", "--judge", "wise")
        assert done.code == 0, done.stderr
        assert "Answers judged by a model" in done.stdout
        assert ragevalkit("score", "r", "--judge", "wise").code == 0
    assert sorted(asked) == ["How heavy is the mast?", "How tall is the mast?"], "asked once each"
    after = summary(folder)
    judged = after.pop("judges")
    assert after | {"judges": {}} == before, "nothing else changed"
    assert judged["wise"]["verdicts"] == {"correct": 1, "partly": 0, "incorrect": 1}
    assert (judged["wise"]["k"], judged["wise"]["n"], judged["wise"]["undefined"]) == (1, 2, 0)
    assert ragevalkit("score", "r").code == 0
    assert summary(folder)["judges"] == judged, "verdicts are kept"


def test_a_judge_is_asked_what_was_asked(ragevalkit: Command, folder: Path) -> None:
    """Corrected labels of a question that was asked in other words are another question's."""
    write_bank(folder / "other.jsonl", [LINES[0] | {"question": "How tall is the hut?"}])
    asked: list[str] = []

    def answer(request: dict[str, Any]) -> list[bytes]:
        asked.append(request["question"])
        return by_reference(request)

    with raw_server(judge(answer)) as url:
        assert ragevalkit("score", "r", "--bank", "other.jsonl", "--judge", url).code == 0
    assert sorted(asked) == ["How heavy is the mast?", "How tall is the mast?"]
    assert next(iter(summary(folder)["judges"].values()))["n"] == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda asked: completion("I like it."), "no verdict in its answer"),
        (lambda asked: completion('{"verdict": "great"}'), "no verdict in its answer"),
        (lambda asked: response(b"broken", status="422 No"), "422"),
    ],
)
def test_a_judge_that_fails_leaves_its_verdict_undefined(
    ragevalkit: Command,
    folder: Path,
    answer: Callable[[dict[str, Any]], list[bytes]],
    words: str,
) -> None:
    def first_good(asked: dict[str, Any]) -> list[bytes]:
        return by_reference(asked) if "tall" in asked["question"] else answer(asked)

    with raw_server(judge(first_good)) as url:
        done = ragevalkit("score", "r", "--judge", url)
    judged = next(iter(summary(folder)["judges"].values())) if done.code == 0 else None
    if judged is None:  # the failing answer came first, so the judge counts as unusable
        done.complains(2, "422")
        return
    assert (judged["n"], judged["undefined"]) == (1, 1)
    assert "1 of 2 answers got no verdict" in done.stderr
    assert words in done.stderr


def test_a_judge_that_is_not_there(ragevalkit: Command, folder: Path) -> None:
    with raw_server(judge(by_reference)) as url:
        pass
    before = summary(folder)
    ragevalkit("score", "r", "--judge", url).complains(2, "can't be used")
    assert summary(folder) == before


def test_run_with_a_judge(ragevalkit: Command, folder: Path) -> None:
    shutil.rmtree(folder / "reports")
    with raw_server(judge(by_reference)) as url:
        done = ragevalkit(*RUN, "--judge", url, "--json")
    assert done.code == 0, done.stderr
    assert next(iter(json.loads(done.stdout)["judges"].values()))["n"] == 2

"""`ragevalkit bank lint` and `bank stats`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command import Command

LINES: list[dict[str, Any]] = [
    {
        "id": "mast",
        "question": "How tall is the mast?",
        "answerable": True,
        "evidence": [{"document": "guide", "page": 1, "quote": "mast is 12 metres tall"}],
        "answers": ["12 metres"],
    },
    {
        "id": "flag",
        "question": "Which colour has the flag?",
        "answerable": False,
        "unanswerable_because": "it isn't said",
    },
]
WRONG = LINES[0] | {
    "id": "sail",
    "question": "How wide is the sail?",
    "evidence": [{"document": "guide", "page": 1, "quote": "sail is 9 metres wide"}],
    "answers": ["9 metres"],
}
GUIDE = (
    "<!-- page: 1 -->\nThe mast is 12 metres tall.\n<!-- page: 2 -->\nA sail is 9 metres wide.\n"
)


@pytest.fixture
def bank(ragevalkit: Command) -> Any:
    (ragevalkit.folder / "ship").mkdir()
    (ragevalkit.folder / "ship" / "guide.md").write_text(GUIDE)

    def write(*lines: dict[str, Any]) -> str:
        content = "\n".join(json.dumps(line) for line in lines)
        (ragevalkit.folder / "bank.jsonl").write_text(content)
        return "bank.jsonl"

    return write


def test_a_clean_bank(ragevalkit: Command, bank: Any) -> None:
    done = ragevalkit("bank", "lint", bank(*LINES), "--corpus", "ship")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == "2 questions: 0 errors, 0 advice\n"


def test_an_error_exits_with_2(ragevalkit: Command, bank: Any) -> None:
    done = ragevalkit("bank", "lint", bank(*LINES, WRONG), "--corpus", "ship")
    assert done.code == 2
    assert "quote_not_on_page" in done.stdout
    assert "guide p. 2" in done.stdout
    assert "quote_not_on_page: correct the page or the quote" in done.stdout.replace("\n", " ")
    assert done.stdout.endswith("3 questions: 1 error, 0 advice\n")


def test_advice_alone_exits_with_0(ragevalkit: Command, bank: Any) -> None:
    vague = {"id": "oar", "question": "How many oars are there?", "answerable": False}
    done = ragevalkit("bank", "lint", bank(*LINES, vague), "--corpus", "ship")
    assert done.code == 0
    assert "unanswerable_without_reason" in done.stdout
    assert "0 errors, 1 advice" in done.stdout


def test_a_silenced_error_exits_with_0(ragevalkit: Command, bank: Any) -> None:
    silenced = WRONG | {"tags": ["lint-ok:quote_not_on_page"]}
    done = ragevalkit("bank", "lint", bank(*LINES, silenced), "--corpus", "ship")
    assert done.code == 0
    assert done.stdout == "3 questions: 0 errors, 0 advice, 1 silenced\n"


def test_lint_as_json(ragevalkit: Command, bank: Any) -> None:
    again = LINES[1] | {"id": "flag-2", "question": "Which colour has the flag"}
    done = ragevalkit("bank", "lint", bank(*LINES, WRONG, again), "--corpus", "ship", "--json")
    assert done.code == 2
    linted = json.loads(done.stdout)
    assert {name: linted[name] for name in ("questions", "errors", "advice", "silenced")} == {
        "questions": 4,
        "errors": 1,
        "advice": 1,
        "silenced": 0,
    }
    wrong, twice = linted["findings"]
    assert wrong.pop("message").startswith('the quote "sail is 9 metres wide" isn\'t on guide p. 1')
    assert wrong.pop("todo")
    assert wrong == {
        "name": "quote_not_on_page",
        "severity": "error",
        "line": 3,
        "id": "sail",
        "other_lines": [],
        "pages": [{"document": "guide", "page": 2}],
    }
    assert (twice["name"], twice["line"], twice["other_lines"]) == ("near_duplicate", 4, [2])


def test_a_missing_page_is_a_finding_and_not_the_end(ragevalkit: Command, bank: Any) -> None:
    beyond = WRONG | {"evidence": [{"document": "guide", "page": 7, "quote": "x"}]}
    lost = beyond | {"id": "lost", "evidence": [{"document": "log", "page": 1, "quote": "x"}]}
    done = ragevalkit("bank", "lint", bank(*LINES, beyond, lost), "--corpus", "ship", "--json")
    assert done.code == 2
    named = [(f["name"], f["id"]) for f in json.loads(done.stdout)["findings"]]
    assert named.count(("no_such_page", "sail")) == 1
    assert named.count(("no_such_page", "lost")) == 1


def test_many_of_a_kind_are_cut_short(ragevalkit: Command, bank: Any) -> None:
    words = ["oar", "keel", "rope", "tar", "helm", "deck", "hull", "knot", "hook", "bell", "lamp"]
    vague = [
        {"id": word, "question": f"{word}?", "answerable": False, "tags": ["lint-ok:one_sided"]}
        for word in words
    ]
    name = bank(*LINES, *vague)
    done = ragevalkit("bank", "lint", name, "--corpus", "ship")
    assert done.stdout.count("doesn't say why") == 10
    assert "1 more of unanswerable_without_reason are shown with --all." in done.stdout
    done = ragevalkit("bank", "lint", name, "--corpus", "ship", "--all")
    assert done.stdout.count("doesn't say why") == 11


def test_the_repos_bank_is_clean(ragevalkit: Command) -> None:
    done = ragevalkit("bank", "lint", "tarn", "--json")
    assert done.code == 0, done.stdout
    assert json.loads(done.stdout)["findings"] == []


def test_stats(ragevalkit: Command) -> None:
    done = ragevalkit("bank", "stats", "tarn", "--repeats", "3")
    assert done.code == 0
    for words in ("follow-up", "refused_correctly", "add to n", "3 repeats"):
        assert words in done.stdout
    assert "3 repeats" not in ragevalkit("bank", "stats", "tarn").stdout


def test_stats_as_json(ragevalkit: Command, bank: Any) -> None:
    done = ragevalkit("bank", "stats", bank(*LINES), "--repeats", "3", "--json")
    found = json.loads(done.stdout)
    assert set(found) == {"bank", "hash", "mix", "power"}
    assert found["mix"]["answerable"] == found["mix"]["unanswerable"] == 1
    assert found["power"]["repeats"] == 3
    assert found["power"]["denominators"][0]["n"] == 2, "the question is the unit"
    assert found["power"]["cases"][0]["detectable"] is None
    assert len(found["power"]["cases"]) == 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lint", "nowhere"], ["no bank nowhere"]),
        (["lint", "bank.jsonl"], ["line 1", "--corpus"]),
        (["lint", "bank.jsonl", "--corpus", "nowhere"], ["no corpus 'nowhere'"]),
        (["stats", "nowhere"], ["no bank nowhere"]),
        (["stats", "bank.jsonl", "--repeats", "0"], ["repeats"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input(ragevalkit: Command, bank: Any, arguments: list[str], words: list[str]) -> None:
    bank(*LINES)
    ragevalkit("bank", *arguments).complains(2, *words)

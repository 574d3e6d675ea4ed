"""`ragevalkit corpus` and `endpoint list`."""

from __future__ import annotations

import json

import pytest
from command import Command


def test_build(ragevalkit: Command) -> None:
    done = ragevalkit("corpus", "build", "tarn")
    assert done.code == 0
    assert "operator-guide" in done.stdout
    built = json.loads(ragevalkit("corpus", "build", "tarn", "--json").stdout)
    guide = next(d for d in built["documents"] if d["document"] == "operator-guide")
    assert built["pages"] == sum(d["pages"] for d in built["documents"])
    assert guide["pagination"] == "pdf"
    assert guide["labels"][:4] == ["i", "ii", "iii", "1"], "printed labels differ from the index"


def test_search(ragevalkit: Command) -> None:
    done = ragevalkit("corpus", "search", "tarn", "dust filter")
    assert "operator-guide p. 11 (printed 8)" in done.stdout
    found = json.loads(
        ragevalkit(
            "corpus", "search", "tarn", "dust filter", "--document", "Admin-Guide.md", "--json"
        ).stdout
    )
    assert {result["document"] for result in found["results"]} <= {"admin-guide"}
    assert set(found["results"][0]) == {"document", "page", "label", "score", "text"}


@pytest.mark.parametrize(
    "query",
    ["", " ", '"unbalanced', "foo:bar AND NOT (", "🦊🦊", "\x00\x07", "the of and", "x" * 20_000],
    ids=["nothing", "blank", "quote", "operators", "emoji", "control", "stop words", "20 kB"],
)
def test_search_takes_any_text(ragevalkit: Command, query: str) -> None:
    done = ragevalkit("corpus", "search", "tarn", "--json", "--", query)
    assert done.code == 0, done.stderr
    assert len(json.loads(done.stdout)["results"]) <= 5


def test_pages(ragevalkit: Command) -> None:
    done = ragevalkit("corpus", "pages", "tarn")
    assert len(done.stdout.splitlines()) > 85
    page = json.loads(
        ragevalkit(
            *("corpus", "pages", "tarn", "--document", "operator-guide", "--page", "4", "--json")
        ).stdout
    )
    assert [(p["page"], p["label"]) for p in page] == [(4, "1")]
    assert len(page[0]["text"]) == page[0]["characters"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "nowhere"], ["no corpus 'nowhere'"]),
        (["search", "tarn", "x", "--document", "atlas"], ["no document 'atlas'", "admin-guide"]),
        (["pages", "tarn", "--document", "admin-guide", "--page", "99"], ["has 17 pages"]),
        (["pages", "tarn", "--page", "1"], ["--document"]),
        (["build", "broken.pdf"], ["broken.pdf"]),
        (["build", "empty.pdf"], ["empty.pdf"]),
        (["build", "hollow"], ["hollow"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input(ragevalkit: Command, arguments: list[str], words: list[str]) -> None:
    (ragevalkit.folder / "broken.pdf").write_bytes(b"%PDF-1.7 nonsense")
    (ragevalkit.folder / "empty.pdf").write_bytes(b"")
    (ragevalkit.folder / "hollow").mkdir()
    ragevalkit("corpus", *arguments).complains(2, *words)


def test_endpoint_list(ragevalkit: Command) -> None:
    (ragevalkit.folder / "ragevalkit.toml").write_text(
        '[endpoints.spark]\nbase_url = "http://spark:8000/v1"\nprecision = "NVFP4"\n'
    )
    assert "NVFP4" in ragevalkit("endpoint", "list").stdout
    listed = json.loads(ragevalkit("endpoint", "list", "--json").stdout)
    assert set(listed) == {"baseline", "mock", "local", "spark"}

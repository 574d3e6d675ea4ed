"""The cache: built once for the same contents, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ragevalkit.corpus import Corpus, open_corpus
from ragevalkit.corpus import corpus as corpus_module
from ragevalkit.corpus.search import PageSearch
from ragevalkit.errors import InputError, RunFolderError

REPOSITORY = Path(__file__).parents[2]
FILES = {"a.md": "alpha\fbeta", "b.txt": "gamma"}


class Builds:
    """Counts how often the corpus is read and indexed."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, int]] = []

    def __call__(self, pages: int, files: int, of_files: int) -> None:
        self.calls.append((pages, files, of_files))

    def built(self) -> bool:
        calls, self.calls = self.calls, []
        return bool(calls)


def cached(cache: Path) -> list[Path]:
    return sorted((cache / "corpora").iterdir())


def test_built_exactly_when_a_document_changes(write: Callable[..., Path], cache: Path) -> None:
    builds = Builds()
    root = write(FILES)
    first = open_corpus(root, builds)
    assert builds.calls == [(2, 1, 2), (3, 2, 2)]
    assert builds.built()

    os.utime(root / "a.md", (1, 1))
    write({"photo.jpg": "skipped"})
    assert open_corpus(root, builds).hash == first.hash
    assert not builds.built()

    write({"a.md": "alpha\fbeta changed"})
    changed = open_corpus(root, builds)
    assert builds.built()
    assert changed.hash != first.hash
    assert [result.page for result in changed.search("changed")] == [2]

    write(FILES)
    assert open_corpus(root, builds).hash == first.hash
    assert not builds.built()

    (root / "b.txt").rename(root / "c.txt")
    assert open_corpus(root, builds).hash != first.hash
    assert builds.built()
    assert len(cached(cache)) == 3


def test_cached_corpus_is_the_same(
    write: Callable[..., Path], make_pdf: Callable[..., bytes]
) -> None:
    root = write({**FILES, "p.pdf": make_pdf(["x", ""], {0: {"style": "ROMAN_LOWER"}})})
    built, cached = open_corpus(root), open_corpus(root)
    assert cached.documents == built.documents
    assert (cached.hash, cached.page_count) == (built.hash, built.page_count)
    assert cached.search("alpha beta") == built.search("alpha beta") != []


def test_copies_share_a_cache(write: Callable[..., Path], tmp_path: Path, cache: Path) -> None:
    root = write(FILES)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in FILES:
        (copy / name).write_bytes((root / name).read_bytes())
    assert open_corpus(root).hash == open_corpus(copy).hash
    assert len(cached(cache)) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a.md": "x"}, {"a.txt": "x"}, True),
        ({"a.md": "x"}, {"b.md": "x"}, False),
        ({"a.md": "x"}, {"a.md": "x "}, True),
        ({"a.md": "x"}, {"a.md": "<!-- page: 1 -->\nx"}, False),
        ({"a.md": "x\fy"}, {"a.md": "x", "b.md": "y"}, False),
    ],
)
def test_the_hash_is_over_names_labels_and_texts(
    tmp_path: Path, one: dict[str, str], other: dict[str, str], same: bool
) -> None:
    hashes = []
    for number, files in enumerate((one, other)):
        root = tmp_path / f"docs{number}"
        root.mkdir()
        for name, text in files.items():
            (root / name).write_text(text)
        hashes.append(open_corpus(root).hash)
    assert (hashes[0] == hashes[1]) is same


def test_opening_a_cached_corpus_reads_no_page(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(FILES)
    open_corpus(root)

    def refuse(*args: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(corpus_module, "read_document", refuse)
    monkeypatch.setattr(PageSearch, "text", refuse)
    monkeypatch.setattr(PageSearch, "best", refuse)
    assert open_corpus(root).page_count == 3


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def empty_folder(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def replace_with_file(folder: Path) -> None:
    empty_folder(folder)
    folder.rmdir()
    folder.write_text("in the way")


def rewrite(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    path = folder / "manifest.json"
    record = json.loads(path.read_bytes())
    change(record)
    path.write_text(json.dumps(record))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": empty_folder,
    "a file": replace_with_file,
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "cut manifest": lambda folder: truncate(folder / "manifest.json"),
    "other JSON": lambda folder: (folder / "manifest.json").write_text("[1]"),
    "null": lambda folder: (folder / "manifest.json").write_text("null"),
    "no hash": lambda folder: rewrite(folder, lambda record: record.pop("hash")),
    "odd documents": lambda folder: rewrite(folder, lambda record: record.update(documents=[{}])),
    "fewer documents": lambda folder: rewrite(folder, lambda r: r.update(documents=[])),
    "no index": lambda folder: empty_folder(folder / "index"),
    "cut store": lambda folder: truncate(next((folder / "index").glob("*.store"))),
    "no terms": lambda folder: next((folder / "index").glob("*.term")).unlink(),
    "cut meta": lambda folder: truncate(folder / "index" / "meta.json"),
    "odd meta": lambda folder: (folder / "index" / "meta.json").write_bytes(
        b"x" * (folder / "index" / "meta.json").stat().st_size
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_cache_is_built_again(
    write: Callable[..., Path], cache: Path, damage: Callable[[Path], object]
) -> None:
    root = write(FILES)
    whole = open_corpus(root)
    [folder] = cached(cache)
    damage(folder)
    builds = Builds()
    mended = open_corpus(root, builds)
    assert builds.built()
    assert (mended.hash, mended.search("gamma")) == (whole.hash, whole.search("gamma"))
    assert cached(cache) == [folder]
    open_corpus(root, builds)
    assert not builds.built()


def test_a_failed_build_leaves_nothing(write: Callable[..., Path], cache: Path) -> None:
    root = write({"a.md": "x", "b.md": b"\xff"})
    with pytest.raises(InputError, match=r"b\.md is not UTF-8"):
        open_corpus(root)
    assert cached(cache) == []


def test_what_crashed_builds_left_is_swept_after_a_day(
    write: Callable[..., Path], cache: Path
) -> None:
    old, young = (cache / "corpora" / f".building-{name}" for name in ("old", "young"))
    for folder in (old, young):
        (folder / "index").mkdir(parents=True)
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (two_days_ago, two_days_ago))
    open_corpus(write(FILES))
    assert (old.exists(), young.exists()) == (False, True)


def test_a_file_that_changes_while_it_is_read(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(FILES)

    def find_then_change(path: Path) -> object:
        found = find_files(path)
        write({"a.md": "other"})
        return found

    find_files = corpus_module.find_files
    monkeypatch.setattr(corpus_module, "find_files", find_then_change)
    with pytest.raises(InputError, match=r"a\.md changed while it was being read: run this again"):
        open_corpus(root)


def test_two_processes_build_at_once(write: Callable[..., Path], cache: Path) -> None:
    # Each waits, its index built, until the other has come as far: both publish.
    root = write({f"d{number}.md": "alpha beta " * 50 + "\fgamma" for number in range(20)})
    script = """
import sys
from pathlib import Path
from ragevalkit.corpus import open_corpus
def told(pages, files, of_files):
    if files == of_files:
        print("built", flush=True)
        sys.stdin.readline()
corpus = open_corpus(Path(sys.argv[1]), told)
print(corpus.hash, [(r.document, r.page, r.score) for r in corpus.search("gamma alpha")])
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(root)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "built\n"
    answers = [process.communicate("go\n" * 5, timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert answers[0] == answers[1] != ""
    assert len(cached(cache)) == 1
    assert open_corpus(root).hash == answers[0].split()[0]


@pytest.mark.parametrize("bad", ["a file", "no rights"])
def test_a_cache_that_cannot_be_written(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    place = tmp_path / "place"
    if bad == "a file":
        place.write_text("x")
    else:
        place.mkdir(mode=0o500)
        if os.access(place, os.W_OK):
            pytest.skip("this user may write everywhere")
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(place))
    with pytest.raises(InputError, match="set RAGEVALKIT_CACHE to a folder that you may write to"):
        open_corpus(write(FILES))


def test_a_full_disk(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corpus_module, "write_manifest", full)
    with pytest.raises(RunFolderError, match="No space left on device"):
        open_corpus(write(FILES))


def test_default_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAGEVALKIT_CACHE")
    assert corpus_module.cache_folder("key").parts[-2:] == ("corpora", "key")
    assert "ragevalkit" in corpus_module.cache_folder("key").parts


def test_imports_stay_light() -> None:
    script = "import sys, ragevalkit.corpus; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert not {"pypdfium2", "bs4", "pydantic"} & set(done.stdout.split())


def test_a_corpus_is_usable_by_name(corpus_of: Callable[..., Corpus]) -> None:
    assert corpus_of(FILES).resolve("A") == "a"

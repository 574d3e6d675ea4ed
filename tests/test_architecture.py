"""The order in which packages may import each other, and what help must not wait for."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ragevalkit"

ORDER = [
    {"stats", "turn"},
    {"corpus", "endpoint"},
    {"bank"},
    {"agent", "standin"},
    {"scoring"},
    {"runs"},
    {"compare", "bench"},
    {"report"},
    {"cli"},
]
"""Groups from left to right: a package imports from groups on its left, never from its own."""

BELOW_ALL = {"errors", "resources"}
HEAVY = {"openai", "langgraph", "pandas", "datasets", "pydantic", "tantivy", "scipy"}


def group_of(package: str) -> int:
    return next(place for place, group in enumerate(ORDER) if package in group)


def imports(path: Path) -> Iterator[str]:
    """Full names of the ragevalkit modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.partition(".")[0] == "ragevalkit")
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            if node.module == "ragevalkit":
                yield from (f"ragevalkit.{alias.name}" for alias in node.names)
            elif node.module.startswith("ragevalkit."):
                yield node.module
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"{path}: relative imports hide the order")


MODULES = sorted(PACKAGE.glob("*/**/*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_packages_import_only_from_their_left(path: Path) -> None:
    package = path.relative_to(PACKAGE).parts[0]
    for name in imports(path):
        other = name.split(".")[1]
        if other in BELOW_ALL | {package, "__version__"}:
            continue
        assert group_of(other) < group_of(package), f"{package} imports {name}"


def test_every_package_has_its_place_in_the_order() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"packaged"}
    assert packages <= set.union(*ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_have_one_idea_and_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    assert not {"utils", "helpers"} & {path.stem, path.parent.name}


# typer itself takes pydantic as soon as a command has options
@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], HEAVY),
        (["--version"], HEAVY),
        (["run", "--help"], HEAVY - {"pydantic"}),
        (["corpus", "search", "--help"], HEAVY - {"pydantic"}),
        (["endpoint", "list", "--help"], HEAVY - {"pydantic"}),
        (["endpoint", "serve", "--help"], HEAVY - {"pydantic"}),
        (["bench", "guided", "--help"], HEAVY - {"pydantic"}),
        (["compare", "--help"], HEAVY - {"pydantic"}),
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str], heavy: set[str]) -> None:
    code = (
        "import sys\n"
        "from ragevalkit.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print('MODULES', *sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.partition("MODULES ")[2].split())
    assert "typer" in loaded
    assert not loaded & heavy

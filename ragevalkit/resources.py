"""Where the files that come with the tool lie: tool schemas, prompts, the demo's corpus and bank.

A file of the same name in the working folder comes first.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def packaged(*parts: str) -> Path:
    """A file or folder that comes with the tool, for example `packaged("tool_schemas")`.

    In a wheel it lies inside the package, in a checkout beside it.
    """
    inside = _PACKAGE / "packaged"
    return (inside if inside.is_dir() else _PACKAGE.parent).joinpath(*parts)


def find(*parts: str) -> Path:
    """The path `parts` in the working folder where it exists, else the packaged one."""
    here = Path.cwd().joinpath(*parts)
    return here if here.exists() else packaged(*parts)

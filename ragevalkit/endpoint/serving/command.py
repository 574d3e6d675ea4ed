"""A profile's `serve` as a program to start: words, environment, folder.

Public: `ServeCommand`, `serve_command`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import InputError

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.A | re.S)


@dataclass(frozen=True)
class ServeCommand:
    words: list[str]
    """The program's path and its arguments."""
    environment: dict[str, str]
    """Ours, and what the command assigns before the program."""
    folder: Path
    """The profile file's; what is relative in the command is relative to it."""


def serve_command(profile: Profile) -> ServeCommand:
    """The program that a profile's `serve` names.

    No shell reads it: quotes work, newlines are blanks, NAME=value before the program goes into
    the environment, and a `~` that begins a word or a value is the home folder.

    Raises:
        InputError: there is no `serve`, it can't be split into words, or its program isn't there.
    """
    where = f"endpoint '{profile.name}'"
    if not (profile.serve or "").strip():
        raise InputError(
            f'{where} has no command that starts it; add serve = "…" to [endpoints.{profile.name}]'
        )
    try:
        words = shlex.split((profile.serve or "").replace("\\\n", " "))
    except ValueError as error:
        raise InputError(f"{where}: serve can't be split into words: {error}") from error
    # the server's own words come out as they are written, not minutes later
    environment = {"PYTHONUNBUFFERED": "1", **os.environ}
    while words and (assigned := _ASSIGNMENT.fullmatch(words[0])):
        environment[assigned[1]] = _at_home(assigned[2])
        del words[0]
    if not words:
        raise InputError(f"{where}: serve names no program")
    program, *arguments = map(_at_home, words)
    folder = profile.folder or Path.cwd()
    found = _find(program, folder, environment.get("PATH", os.defpath))
    if found is None:
        place = f"under {folder}" if "/" in program else "on the PATH"
        vllm = "; is vLLM installed in this environment?" if Path(program).name == "vllm" else ""
        raise InputError(f"{where}: there is no program '{program}' {place}{vllm}")
    return ServeCommand([found, *arguments], environment, folder)


def _at_home(word: str) -> str:
    return os.path.expanduser(word)  # noqa: PTH111 - an argument is more than a path


def _find(program: str, folder: Path, path: str) -> str | None:
    """The file to execute; programs beside this Python's own are found as well."""
    if "/" in program:
        return shutil.which(str(folder / program))
    return shutil.which(program, path=f"{path}{os.pathsep}{Path(sys.executable).parent}")

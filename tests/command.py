"""The command line, run inside the test's process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from ragevalkit.cli import main


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str

    def complains(self, code: int, *words: str) -> None:
        """Exits with `code`; the last line on standard error is the complaint, with these words."""
        assert self.code == code, self.stderr
        assert "Traceback" not in self.stderr
        last = self.stderr.rstrip().splitlines()[-1]
        assert last.startswith("ragevalkit: "), self.stderr
        for word in words:
            assert word in last


@dataclass(frozen=True)
class Command:
    """Calls `ragevalkit` in a working folder of the test's own."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Done:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        captured = self.capsys.readouterr()
        return Done(int(end.value.code or 0), captured.out, captured.err)

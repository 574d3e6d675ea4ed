"""Evaluate an OpenAI-compatible endpoint as an assistant over documents.

Public: `load_bank(path)`, `run(...)`, `compare(...)`; they mirror the commands.
`scoring.classify_reply(text)` says what any reply does.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragevalkit import scoring
    from ragevalkit.bank import load_bank
    from ragevalkit.cli.compare import compare
    from ragevalkit.cli.run import run

__all__ = ["__version__", "compare", "load_bank", "run", "scoring"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # imported when asked for: `ragevalkit --help` must not wait for them
    if name == "load_bank":
        from ragevalkit.bank import load_bank

        return load_bank
    if name == "scoring":
        from importlib import import_module

        return import_module("ragevalkit.scoring")
    if name == "run":
        from ragevalkit.cli.run import run

        return run
    raise AttributeError(f"module 'ragevalkit' has no attribute '{name}'")


class _Package(ModuleType):
    """A folder of this package is called `compare`, too: its import must not hide the function."""

    @property
    def compare(self) -> Any:
        from ragevalkit.cli.compare import compare

        return compare

    @compare.setter
    def compare(self, folder: ModuleType) -> None:
        """The import system puts the folder's module here; it is found in `sys.modules`."""


sys.modules[__name__].__class__ = _Package

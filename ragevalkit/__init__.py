"""Evaluate an OpenAI-compatible endpoint as an assistant over documents.

Public: `load_bank(path)`, `run(...)`; they mirror the commands.
`scoring.classify_reply(text)` says what any reply does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragevalkit import scoring
    from ragevalkit.bank import load_bank
    from ragevalkit.cli.run import run

__all__ = ["__version__", "load_bank", "run", "scoring"]

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

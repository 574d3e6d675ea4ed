"""The endpoints that come with the tool: `baseline` answers by extraction, `mock` by script,
`local` by a small model in llama.cpp.

Public: `start(name, scenario=None)` and what it gives, `Standin`.
"""

from ragevalkit.standin.launch import NAMES, Standin, start

__all__ = ["NAMES", "Standin", "start"]

"""Starts a profile's server, waits until it answers, and ends it with everything it started.

Public: `serving`, `Served`, `ServerFailed`, `STOP_S`.
"""

from __future__ import annotations

from ragevalkit.endpoint.serving.process import STOP_S, ServerFailed
from ragevalkit.endpoint.serving.ready import Served, serving

__all__ = ["STOP_S", "Served", "ServerFailed", "serving"]

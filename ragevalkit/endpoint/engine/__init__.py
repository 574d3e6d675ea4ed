"""What an engine says of itself on its metrics page, read before and after a run.

Public: `Page`, `Ours`, `Span`, `ServerFigures`, `Speculation`, `scrape`, `settled`, `figures`,
`figures_of`.
"""

from ragevalkit.endpoint.engine.fetching import scrape, settled
from ragevalkit.endpoint.engine.ours import Ours
from ragevalkit.endpoint.engine.page import Page
from ragevalkit.endpoint.engine.spans import (
    ServerFigures,
    Span,
    Speculation,
    figures,
    figures_of,
)

__all__ = [
    "Ours",
    "Page",
    "ServerFigures",
    "Span",
    "Speculation",
    "figures",
    "figures_of",
    "scrape",
    "settled",
]

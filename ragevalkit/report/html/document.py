"""A page as HTML: one file that needs nothing else and runs nothing but its own script.

Public: `render`, `environment`.

Whatever a model, a document or a bank said is escaped by Jinja, or lies deflated and in base64 in
islands that the script writes as text nodes. The content-security policy names the one style sheet
and the one script by their hashes, so that nothing else would run if it got in.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragevalkit import __version__
from ragevalkit.report.charts.chart import Chart
from ragevalkit.report.html.parts import Page, Prose
from ragevalkit.report.tables import Table
from ragevalkit.report.turns import visible

_STYLES = ("base.css", "turns.css", "turn.css", "print.css")
_SCRIPTS = ("islands.js", "address.js", "filters.js", "table.js", "lanes.js", "turn.js", "main.js")
"""Put together in this order; each file has one task."""

_TONES = {"good": "✓ Good", "bad": "✗ Not good", "open": "? Open", "none": "Result"}
_KINDS = {"run": "a run", "comparison": "a comparison", "bench": "a bench"}


def render(page: Page) -> list[bytes]:
    """The whole document, piece by piece."""
    pieces = (
        environment()
        .get_template("page.html")
        .generate(
            page=page,
            kind=_KINDS[page.kind],
            tone=_tone(page),
            style=_style(),
            script=_script(),
            policy=_policy(),
            version=__version__,
        )
    )
    return [piece.encode("utf-8", "replace") for piece in pieces]


def _tone(page: Page) -> str:
    """In words, as a colour says nothing to some."""
    if page.kind == "run" and page.verdict.tone == "open":
        return "! Result, with doubts"
    return _TONES[page.verdict.tone]


@cache
def environment() -> Environment:
    """The templates, with everything escaped that isn't `Markup`."""
    made = Environment(
        loader=PackageLoader("ragevalkit.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["visible"] = visible
    made.filters["base64"] = _base64
    made.filters["drawn"] = _drawn
    made.tests["chart"] = lambda block: isinstance(block, Chart)
    made.tests["table"] = lambda block: isinstance(block, Table)
    made.tests["prose"] = lambda block: isinstance(block, Prose)
    return made


def _base64(data: bytes) -> Markup:
    """Safe as it stands: letters, digits, `+`, `/` and `=` alone."""
    return Markup(b64encode(data).decode("ascii"))


def _drawn(chart: Chart) -> Markup:
    """A chart's SVG, which its maker has made safe.

    Its links wait for the script, without which they would lead nowhere.
    """
    return Markup(chart.svg.replace('<a href="', '<a data-href="'))


@cache
def _style() -> Markup:
    charts = (files("ragevalkit.report.charts") / "chart.css").read_text(encoding="utf-8")
    return Markup(f"{_joined(_STYLES)}\n{charts}")


@cache
def _script() -> Markup:
    return Markup(f'"use strict";\n(() => {{\n{_joined(_SCRIPTS)}}})();\n')


def _joined(names: Iterable[str]) -> str:
    assets = files("ragevalkit.report.html") / "assets"
    return "\n".join((assets / name).read_text(encoding="utf-8") for name in names)


@cache
def _policy() -> str:
    """What a browser lets the page do."""
    return (
        f"default-src 'none'; script-src {_source(_script())}; style-src {_source(_style())}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"

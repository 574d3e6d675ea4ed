"""Make the pictures of the report that the documents show.

    python benchmarks/pictures.py

docs/report-run.png is the top of the page of `make demo`'s run, docs/report-compare.png that of the
built-in `mock` compared with it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import ragevalkit

DOCS = Path(__file__).parents[1] / "docs"
SIZE = {"width": 1100, "height": 1000}
COLOURS = 64
"""Enough for the few of a page, and a fifth of the bytes."""


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary):
        os.environ.setdefault("RAGEVALKIT_CACHE", f"{temporary}/cache")
        ragevalkit.run("tarn", "baseline", name="demo")
        ragevalkit.run("tarn", "mock", name="mock", report=False)
        ragevalkit.compare("demo", "mock", html=True)
        for name, page in {"run": "demo", "compare": "demo-vs-mock"}.items():
            draw(Path("reports", page, "report.html").resolve(), DOCS / f"report-{name}.png")


def draw(page: Path, to: Path) -> None:
    """The top of a page, as its readers see it first."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), chromium_sandbox=False
        )
        window = browser.new_page(viewport=SIZE)
        window.goto(page.as_uri())
        window.wait_for_function("() => document.documentElement.dataset.ready")
        drawn = Image.open(io.BytesIO(window.screenshot()))
        browser.close()
    drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(to, optimize=True)
    print(f"{to.relative_to(DOCS.parent)}: {to.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

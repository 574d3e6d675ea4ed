"""Every test has a cache of its own; PDFs are made on the spot."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from reportlab.pdfgen import canvas

from ragevalkit.corpus import Corpus, open_corpus


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache root of this test."""
    root = tmp_path / "cache"
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(root))
    return root


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Writes files by path into a corpus folder, and returns the folder."""

    def write_files(files: Mapping[str, str | bytes]) -> Path:
        root = tmp_path / "docs"
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return write_files


@pytest.fixture
def corpus_of(write: Callable[[Mapping[str, str | bytes]], Path]) -> Callable[..., Corpus]:
    """Opens a corpus of the files given by path."""
    return lambda files: open_corpus(write(files))


@pytest.fixture
def make_pdf() -> Callable[..., bytes]:
    """A PDF with these page texts (empty: no text layer), labelled from page index to style."""

    def make(
        texts: Sequence[str],
        labels: Mapping[int, Mapping[str, object]] | None = None,
        encrypt: str | None = None,
    ) -> bytes:
        out = io.BytesIO()
        pdf = canvas.Canvas(out, encrypt=encrypt)
        for number, text in enumerate(texts):
            if labels and number in labels:
                pdf.addPageLabel(number, **labels[number])
            for line, part in enumerate(text.splitlines()):
                pdf.drawString(72, 700 - 14 * line, part)
            if not text:
                pdf.rect(100, 100, 50, 50)
            pdf.showPage()
        pdf.save()
        return out.getvalue()

    return make

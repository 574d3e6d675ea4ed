"""Build the PDFs of `corpora/tarn/` from the Markdown sources beside this script.

    python corpora/sources/build_pdfs.py            write every PDF
    python corpora/sources/build_pdfs.py --check    write nothing; fail where a PDF differs

Every `NAME.md` here becomes `corpora/tarn/NAME.pdf`. A source is made of pages: a line
`<!-- page: LABEL -->` starts one, and LABEL (i, ii, 1, 2, A-1, ...) is its printed number, at
the page's foot and in the PDF's page labels. On a page: `# heading`, `- item`, tables with `|`,
and paragraphs separated by empty lines. A page whose only block is `!bars TITLE` above a table of
two columns becomes a picture of a bar chart: like a scanned page, it has no text layer, not even
its title and number. What doesn't fit its page is an error. The same sources and the same
reportlab and Pillow give the same bytes; `--check` compares labels, extracted text and pictures.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from PIL import Image, ImageChops, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph

SOURCES = Path(__file__).resolve().parent
TARGET = SOURCES.parent / "tarn"

WIDTH, HEIGHT = A4
MARGIN, TOP, BOTTOM = 62.0, 70.0, 70.0
TEXT_WIDTH = WIDTH - 2 * MARGIN
CELL_PAD = 4.0

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=14.5, spaceAfter=8)
HEADING = ParagraphStyle(
    "heading", fontName="Helvetica-Bold", fontSize=18, leading=23, spaceAfter=14
)
ITEM = ParagraphStyle("item", parent=BODY, leftIndent=16, bulletIndent=4, spaceAfter=4)
CELL = ParagraphStyle("cell", fontName="Helvetica", fontSize=9.5, leading=12)
CELL_HEAD = ParagraphStyle("cell-head", parent=CELL, fontName="Helvetica-Bold")

PICTURE = "!bars "
DOTS = 2
"""Dots of a picture to a point of the page."""
NOTICEABLE = 32
"""Levels of grey, of 255, from which a spot of two pictures differs."""

_MARKER = re.compile(r"<!-- page: (\S+) -->")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50}


@dataclass(frozen=True)
class SourcePage:
    """One page of a source."""

    label: str
    """Its printed number."""
    blocks: tuple[str, ...]
    """Headings, paragraphs, lists and tables, in order; a list or a table is one block."""

    @property
    def is_picture(self) -> bool:
        """Whether the whole page is a picture, without text."""
        return len(self.blocks) == 1 and self.blocks[0].startswith(PICTURE)


def read_pages(text: str, name: str) -> list[SourcePage]:
    """The pages of a source; `name` is for messages."""
    parts = re.split(r"^(<!-- page:.*)$", text, flags=re.M)
    if parts[0].strip() or len(parts) < 3:
        raise SystemExit(f"{name}: must begin with '<!-- page: LABEL -->'")
    pages = []
    for marker, body in zip(parts[1::2], parts[2::2], strict=True):
        found = _MARKER.fullmatch(marker.strip())
        if not found:
            raise SystemExit(f"{name}: not a page marker: {marker}")
        blocks = tuple(block.strip("\n") for block in re.split(r"\n\s*\n", body) if block.strip())
        pages.append(SourcePage(found.group(1), blocks))
    return pages


def label_style(label: str) -> tuple[str | None, int, str]:
    """A printed number as (reportlab's style, number, prefix)."""
    if re.fullmatch(r"[ivxl]+", label):
        values = [_ROMAN[letter] for letter in label]
        following = [*values[1:], 0]
        pairs = zip(values, following, strict=True)
        return "ROMAN_LOWER", sum(-v if v < after else v for v, after in pairs), ""
    found = re.fullmatch(r"(.*?)(\d+)", label)
    if not found:
        raise SystemExit(f"a page label has to be roman or end in a number: {label}")
    return "ARABIC", int(found.group(2)), found.group(1)


def build(pages: list[SourcePage], name: str) -> bytes:
    """The PDF of these pages."""
    title = next(block[2:] for block in pages[0].blocks if block.startswith("# "))
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1, pageCompression=1)
    canvas.setTitle(title)
    expected: tuple[str | None, int, str] | None = None
    for index, page in enumerate(pages):
        style = label_style(page.label)
        if style != expected:
            canvas.addPageLabel(index, style=style[0], start=style[1], prefix=style[2] or None)
        expected = (style[0], style[1] + 1, style[2])
        if page.is_picture:
            picture = draw_bars(page.blocks[0], title, page.label)
            canvas.drawImage(ImageReader(picture), 0, 0, WIDTH, HEIGHT)
            canvas.showPage()
            continue
        y = HEIGHT - TOP
        for block in page.blocks:
            y = draw_block(canvas, block, y)
        if y < BOTTOM - BODY.spaceAfter:
            raise SystemExit(f"{name}: page {page.label} is {BOTTOM - y:.0f} points too long")
        canvas.setFont("Helvetica", 8.5)
        canvas.drawString(MARGIN, 40, title)
        canvas.drawRightString(WIDTH - MARGIN, 40, page.label)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def draw_block(canvas: Canvas, block: str, y: float) -> float:
    """Draw one block with its top at `y`; the `y` below it."""
    if block.startswith("# "):
        return draw_paragraph(canvas, Paragraph(markup(block[2:]), HEADING), MARGIN, y)
    if block.startswith("|"):
        return draw_table(canvas, block, y)
    if block.startswith("- "):
        for item in re.split(r"\n(?=- )", block):
            y = draw_paragraph(
                canvas, Paragraph(markup(item[2:]), ITEM, bulletText="\u2022"), MARGIN, y
            )
        return y - 4
    return draw_paragraph(canvas, Paragraph(markup(block), BODY), MARGIN, y)


def draw_paragraph(canvas: Canvas, paragraph: Paragraph, x: float, y: float) -> float:
    """Draw a paragraph with its top at `y`; the `y` below it and its spacing."""
    _, height = paragraph.wrap(TEXT_WIDTH, HEIGHT)
    paragraph.drawOn(canvas, x, y - height)
    return float(y - height - paragraph.style.spaceAfter)


def draw_table(canvas: Canvas, block: str, y: float) -> float:
    """Draw a table row by row, so that extraction reads it in rows; the `y` below it."""
    head, *rows = table_rows(block.splitlines())
    longest = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    weights = [min(max(length, 8), 40) for length in longest]
    widths = [TEXT_WIDTH * weight / sum(weights) for weight in weights]
    canvas.setLineWidth(0.4)
    canvas.line(MARGIN, y, MARGIN + TEXT_WIDTH, y)
    for row in [head, *rows]:
        cells = [Paragraph(markup(cell), CELL_HEAD if row is head else CELL) for cell in row]
        heights = [
            cell.wrap(width - CELL_PAD, HEIGHT)[1]
            for cell, width in zip(cells, widths, strict=True)
        ]
        x, below = MARGIN, y - max(heights) - CELL_PAD
        for cell, width, height in zip(cells, widths, heights, strict=True):
            cell.drawOn(canvas, x + CELL_PAD / 2, y - CELL_PAD / 2 - height)
            x += width
        canvas.line(MARGIN, below, MARGIN + TEXT_WIDTH, below)
        y = below
    return float(y - BODY.spaceAfter)


def table_rows(lines: list[str]) -> list[list[str]]:
    """The cells of a table's lines: its head, then its rows, without the line between them."""
    head, _, *rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines
    ]
    return [head, *rows]


def draw_bars(block: str, title: str, label: str) -> Image.Image:
    """A page-sized picture of a bar chart: one bar a row, with its name and its value."""
    first, *lines = block.splitlines()
    head, *rows = table_rows(lines)
    size = (round(WIDTH * DOTS), round(HEIGHT * DOTS))
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(11 * DOTS)
    left, right = round(MARGIN * DOTS), size[0] - round(MARGIN * DOTS)
    name, _, unit = first.removeprefix(PICTURE).partition(": ")
    y = round(TOP * DOTS)
    pen.text((left, y), name, fill="black", font=ImageFont.load_default(13 * DOTS))
    pen.text((left, y + 22 * DOTS), unit, fill="black", font=font)
    y += 70 * DOTS
    pen.text((left, y), head[0], fill="dimgrey", font=font)
    pen.text((left + 90 * DOTS, y), head[1], fill="dimgrey", font=font)
    longest = max(float(value) for _, value in rows)
    for key, value in rows:
        y += 44 * DOTS
        start = left + 90 * DOTS
        end = start + round((right - start - 40 * DOTS) * float(value) / longest)
        pen.text((left, y + 6 * DOTS), key, fill="black", font=font)
        pen.rectangle((start, y, end, y + 26 * DOTS), fill="steelblue")
        pen.text((end + 6 * DOTS, y + 6 * DOTS), value, fill="black", font=font)
    foot = size[1] - 48 * DOTS
    pen.text((left, foot), title, fill="black", font=font)
    pen.text((right, foot), label, fill="black", font=font, anchor="ra")
    return image


def markup(text: str) -> str:
    """Source text as reportlab's markup."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"`([^`]+)`", r'<font face="Courier">\1</font>', escaped)


@dataclass(frozen=True)
class BuiltPage:
    """One page of a PDF."""

    label: str
    text: str
    pictures: tuple[Image.Image, ...]
    """In grey and small, so that another version of Pillow or FreeType makes no difference."""


def extract(data: bytes) -> list[BuiltPage]:
    """Every page of a PDF."""
    document = pypdfium2.PdfDocument(data)
    try:
        return [
            BuiltPage(
                document.get_page_label(index),
                document[index].get_textpage().get_text_range(),
                tuple(
                    picture.get_bitmap().to_pil().convert("L").reduce(4)
                    for picture in document[index].get_objects([pypdfium2.raw.FPDF_PAGEOBJ_IMAGE])
                ),
            )
            for index in range(len(document))
        ]
    finally:
        document.close()


def differences(committed: list[BuiltPage], built: list[BuiltPage]) -> list[str]:
    """What a committed PDF has otherwise than its sources give, one line each."""
    found = []
    if len(committed) != len(built):
        found.append(f"{len(committed)} pages, the source has {len(built)}")
    for number, (old, new) in enumerate(zip(committed, built, strict=False), start=1):
        if old.label != new.label:
            found.append(f"page {number}: label {old.label!r}, the source has {new.label!r}")
        if old.text.split() != new.text.split():
            found.append(f"page {number}: the text differs")
        if not look_alike(old.pictures, new.pictures):
            found.append(f"page {number}: the picture differs")
    return found


def look_alike(old: tuple[Image.Image, ...], new: tuple[Image.Image, ...]) -> bool:
    """Whether pictures have the same sizes and no spot in which they clearly differ."""
    if [picture.size for picture in old] != [picture.size for picture in new]:
        return False
    return all(
        max(ImageChops.difference(one, other).tobytes()) < NOTICEABLE
        for one, other in zip(old, new, strict=True)
    )


def main(arguments: list[str] | None = None) -> int:
    """Build or check every source, and give the exit status."""
    parser = argparse.ArgumentParser(
        description="Build the PDFs of corpora/tarn from their sources."
    )
    parser.add_argument(
        "--check", action="store_true", help="fail where a committed PDF differs from its source"
    )
    check = parser.parse_args(arguments).check
    status = 0
    for source in sorted(SOURCES.glob("*.md")):
        target = TARGET / f"{source.stem}.pdf"
        pages = read_pages(source.read_text(encoding="utf-8"), source.name)
        data = build(pages, source.name)
        if not check:
            TARGET.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            print(f"{target.name}: {len(pages)} pages")
            continue
        found = ["is missing"]
        if target.is_file():
            found = differences(extract(target.read_bytes()), extract(data))
        for line in found:
            print(f"{target.name}: {line}", file=sys.stderr)
        status = status or int(bool(found))
    for orphan in sorted(TARGET.glob("*.pdf")):
        if check and not (SOURCES / f"{orphan.stem}.md").is_file():
            print(f"{orphan.name}: has no source", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())

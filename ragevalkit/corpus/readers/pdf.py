"""PDF through PDFium, behind one lock.

Public: `read_pdf`, `PDFIUM_LOCK`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from ragevalkit.corpus.pages import Page, clean, numbered
from ragevalkit.errors import InputError

PDFIUM_LOCK = threading.Lock()
"""PDFium is not thread safe: with two threads in it pages come out empty, or the process dies.

Whoever calls pypdfium2 in this process holds it, closing included."""

_REPORT_EVERY = 20
"""Pages between two calls of `on_pages`: about 30 ms of reading."""


def read_pdf(path: Path, data: bytes, on_pages: Callable[[int], None] | None = None) -> list[Page]:
    """Every page of a PDF in order with its printed label; a page without a text layer has no text.

    The text is what PDFium's `FPDFText_GetText` gives for the page (characters outside the Unicode
    Basic Multilingual Plane are lost there), cleaned. `on_pages` gets the number of pages so far.
    Raises `InputError` naming the file where it is empty, damaged, or needs a password.
    """
    if not data:
        raise InputError(f"{path} is empty (0 bytes): fetch it again, or take it out.")
    with PDFIUM_LOCK, closing(_open(path, data)) as pdf:
        count = len(pdf)
        pages: list[tuple[str | None, str]] = []
        for number in range(count):
            pages.append((_label(pdf, number), clean(_text(path, pdf, number))))
            if on_pages is not None and len(pages) % _REPORT_EVERY == 0:
                on_pages(len(pages))
    if not pages:
        raise InputError(f"{path} is a PDF without pages: take it out.")
    return numbered(pages)


def _open(path: Path, data: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise InputError(
                f"{path} is encrypted: save a copy without its password, or take it out."
            ) from None
        raise InputError(
            f"{path} can't be read as a PDF, it is damaged or no PDF: replace it, or take it out."
        ) from None


def _label(pdf: pypdfium2.PdfDocument, number: int) -> str | None:
    try:
        return clean(pdf.get_page_label(number))
    except UnicodeDecodeError:
        return None


def _text(path: Path, pdf: pypdfium2.PdfDocument, number: int) -> str:
    try:
        with closing(pdf[number]) as page, closing(page.get_textpage()) as text_page:
            return str(text_page.get_text_range())
    except pypdfium2.PdfiumError:
        raise InputError(
            f"{path} is damaged at page {number + 1}: replace it, or take it out."
        ) from None

"""MTRAG and MTRAG-UN: the last turn of conversations over passages.

Public: `read`.

PARTIAL (the passages hold a part of the answer) is left out, or on request kept as answerable with
the tag `partial`. UNDERSPECIFIED is always left out: a bank line says whether the corpus holds the
answer, and the data don't.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ragevalkit.bank.importing.draft import Draft, Gold, Row, Rows, each
from ragevalkit.bank.importing.passages import Passages
from ragevalkit.bank.importing.values import messages, text, texts

_ANSWERABLE = {"ANSWERABLE": True, "PARTIAL": True, "UNANSWERABLE": False}
_PASSAGE = re.compile(r"(.+?)[_-](\d+)-(\d+)(?:-(\d+)-(\d+))?")


def read(rows: Rows, passages: Passages, keep_partial: bool = False) -> Iterator[Draft]:
    """Drafts of rows with `input`, `contexts`, `targets` and `answerability`.

    A document's pages are its passages that occur in the rows, in order of their offsets; those of
    the questions that are left out are among them.
    """
    kept = list(rows)
    pages: dict[str, Gold] = {}

    def number(row: Row) -> Iterator[Draft]:
        for context in row.need("contexts"):
            found.setdefault(text(context["document_id"]), str(context["text"]))
        return iter(())

    def draft(row: Row) -> Iterator[Draft]:
        yield _draft(row, pages, keep_partial)

    found: dict[str, str] = {}
    list(each(kept, number))
    by_document: dict[str, list[tuple[tuple[int, ...], str]]] = defaultdict(list)
    for passage in found:
        document, offsets = _place(passage)
        by_document[document].append((offsets, passage))
    for document, placed in by_document.items():
        for _, passage in sorted(placed):
            pages[passage] = Gold(document, passages.append(document, found[passage]))
    yield from each(kept, draft)


def _draft(row: Row, pages: dict[str, Gold], keep_partial: bool) -> Draft:
    label = "".join(texts(row.need("answerability"))).upper()
    answerable = _ANSWERABLE.get(label)
    spoken = messages(row.need("input"))
    if not spoken or spoken[-1][0] != "user":
        raise row.fault("input", "doesn't end with the user's question")
    left_out = None
    if label == "UNDERSPECIFIED":
        left_out = "underspecified"
    elif label == "PARTIAL" and not keep_partial:
        left_out = "partial"
    tags = [row.fields.get("Collection"), *(row.fields.get("Question Type") or [])]
    tags += [kind for kind in row.fields.get("Multi-Turn") or [] if kind != "N/A"]
    return Draft(
        row.where,
        spoken[-1][1],
        answerable,
        id=text(row.need("task_id")),
        evidence=[pages[text(context["document_id"])] for context in row.need("contexts")],
        answers=texts([target["text"] for target in row.need("targets")]) if answerable else [],
        history=spoken[:-1],
        tags=texts([text(tag).lower() for tag in tags] + ["partial"] * (label == "PARTIAL")),
        left_out=left_out,
    )


def _place(passage: str) -> tuple[str, tuple[int, ...]]:
    """Document of a passage, and its offsets there: `DOC-start-end` or `DOC_s-e-start-end`."""
    parts = _PASSAGE.fullmatch(passage)
    if parts is None:
        return passage, (0,)
    return parts[1], tuple(int(offset) for offset in parts.groups()[1:] if offset)

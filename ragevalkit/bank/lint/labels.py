"""Evidence against the pages that it names.

Public: `evidence_findings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ragevalkit.bank.lint.finding import Finding
from ragevalkit.bank.lint.passages import Passages, Place
from ragevalkit.bank.lint.reading import Reading, page_name, page_names, shown
from ragevalkit.bank.lint.words import holds, read_words, short_references
from ragevalkit.bank.question import Evidence, Question
from ragevalkit.turn.folding import holds_quote

_SHIFTED_QUOTES = 3
"""A whole bank isn't off by one for fewer quotes, nor for half of them or less."""
_SEARCHED = 50
"""Pages that are looked through for a quote that isn't on its own: the best for its words."""


@dataclass(frozen=True)
class _Claim:
    """One evidence entry that names a page with text."""

    position: int
    question: Question
    evidence: Evidence
    place: Place
    texts: Passages

    def shifted(self, by: int) -> bool:
        """Whether the quote stands `by` pages further on."""
        document, page = self.place
        pages = self.texts.corpus.documents[document].pages
        return 1 <= page + by <= pages and self.stands_on((document, page + by))

    def stands_on(self, place: Place) -> bool:
        """Whether the quote stands on a page."""
        return bool(self.evidence.quote) and holds_quote(
            self.texts.folded(place), self.evidence.quote or ""
        )


def evidence_findings(reading: Reading) -> Iterator[Finding]:
    """Documents, pages, labels and quotes that can't be right."""
    claims: list[_Claim] = []
    for position, question in reading.questions(answerable=True):
        texts = reading.passages(question)
        for evidence in question.evidence:
            found = _missing(position, question, evidence, texts)
            if found is not None:
                yield found
            elif (name := texts.corpus.resolve(evidence.document)) is not None:
                claims.append(_Claim(position, question, evidence, (name, evidence.page), texts))
    astray = [claim for claim in claims if claim.evidence.quote and not claim.shifted(0)]
    quotes = sum(claim.evidence.quote is not None for claim in claims)
    shift = _common_shift(astray, quotes)
    if shift is not None:
        moved = [claim for claim in astray if claim.shifted(shift)]
        side = "after" if shift > 0 else "before"
        yield Finding(
            "evidence_page_base",
            f"{len(moved)} of {quotes} quotes stand on the page {side} the one given, so that "
            f"pages seem to be counted from {0 if shift > 0 else 2}",
            severity="error",
        )
        astray = [claim for claim in astray if not claim.shifted(shift)]
    else:
        for claim in claims:
            if not claim.evidence.quote and (found := _label_by_answer(claim)) is not None:
                yield found
    for claim in astray:
        yield _label_by_quote(claim) or _astray(claim)


def _missing(
    position: int, question: Question, evidence: Evidence, texts: Passages
) -> Finding | None:
    """The finding where there is no such page, or none with text."""
    name = texts.corpus.resolve(evidence.document)
    if name is None:
        message = f"the corpus has no document {shown(evidence.document)}"
        return Finding("no_such_page", message, (position,), severity="error")
    info = texts.corpus.documents[name]
    place = (name, evidence.page)
    if evidence.page > info.pages:
        message = f"{name} has {info.pages} pages, not {evidence.page}"
        claim = _Claim(position, question, evidence, place, texts)
        for other in _labelled(claim):
            message += f"; {evidence.page} is printed on page {other[1]}"
            if claim.stands_on(other) or _answer_on(claim, other):
                what = "the quote" if claim.stands_on(other) else "the answer"
                return Finding(
                    "page_is_printed_label",
                    f"{message}, where {what} stands",
                    (position,),
                    [other],
                    "error",
                )
        return Finding("no_such_page", message, (position,), severity="error")
    if evidence.page in info.pages_without_text:
        message = f"{page_name(place)} has no text"
        return Finding("evidence_without_text", message, (position,), [place], "error")
    return None


def _common_shift(astray: list[_Claim], quotes: int) -> int | None:
    """1 or -1 where so many quotes stand that many pages on that the whole bank must be off."""
    counts = Counter(by for claim in astray for by in (1, -1) if claim.shifted(by))
    for by, count in counts.most_common(1):
        if count >= _SHIFTED_QUOTES and 2 * count > quotes:
            return by
    return None


def _labelled(claim: _Claim) -> list[Place]:
    """Other pages of the document on which the number given is printed."""
    document, page = claim.place
    labels = claim.texts.corpus.documents[document].labels
    return [
        (document, index)
        for index, label in enumerate(labels, 1)
        if label == str(page) and index != page
    ]


def _label_by_quote(claim: _Claim) -> Finding | None:
    for other in _labelled(claim):
        if claim.stands_on(other):
            return Finding(
                "page_is_printed_label",
                f"{claim.place[1]} is the number printed on {page_name(other)}, where the quote "
                f"{shown(claim.evidence.quote or '', 50)} stands",
                (claim.position,),
                [other],
                "error",
            )
    return None


def _label_by_answer(claim: _Claim) -> Finding | None:
    """Without a quote, the answer has to tell: on the page with that label, and not on this one."""
    if _answer_on(claim, claim.place):
        return None
    for other in _labelled(claim):
        if _answer_on(claim, other):
            return Finding(
                "page_is_printed_label",
                f"{claim.place[1]} is the number printed on {page_name(other)}, where the answer "
                f"stands, and it doesn't stand on {page_name(claim.place)}",
                (claim.position,),
                [other],
            )
    return None


def _answer_on(claim: _Claim, place: Place) -> bool:
    """Whether a short reference of more than one word stands on a page; one proves little."""
    references = [r for r in short_references(claim.question.answers) if len(r) > 1]
    if not references:
        return False
    words = read_words(claim.texts.text(place))
    return any(holds(words, reference) for reference in references)


def _astray(claim: _Claim) -> Finding:
    quote = claim.evidence.quote or ""
    candidates = claim.texts.found(quote, _SEARCHED)
    document, page = claim.place
    pages = claim.texts.corpus.documents[document].pages
    near = [(document, n) for n in (page - 1, page + 1) if 1 <= n <= pages]
    places = [place for place in dict.fromkeys([*near, *candidates]) if claim.stands_on(place)]
    where = f"it stands on {page_names(places)}" if places else _nearest(claim)
    message = f"the quote {shown(quote, 60)} isn't on {page_name(claim.place)}; {where}"
    return Finding("quote_not_on_page", message, (claim.position,), places, "error")


def _nearest(claim: _Claim) -> str:
    """What of the quote does stand on its page."""
    words = (claim.evidence.quote or "").split()
    page = claim.texts.folded(claim.place)
    best: list[str] = []
    for start in range(len(words)):
        size = len(best) + 1
        while size <= len(part := words[start : start + size]) and holds_quote(
            page, " ".join(part)
        ):
            best = part
            size += 1
    nowhere = "no page that a search for it finds holds it"
    return f"{nowhere}, and this one only {shown(' '.join(best), 50)}" if best else nowhere

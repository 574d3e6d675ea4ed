"""Search in an opened index: any text is a query, and equal texts always get equal answers.

Public: `Result`, `PageSearch`, `QUERY_CHARS`, `QUERY_TERMS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import tantivy

from ragevalkit.corpus.excerpt import excerpt
from ragevalkit.corpus.highlight import Highlighter
from ragevalkit.corpus.index import analyzer
from ragevalkit.corpus.manifest import DocumentInfo
from ragevalkit.turn.protocol import RESULT_TEXT_CHARS

QUERY_CHARS = 10_000
"""Characters of a query that are read; what follows is ignored."""

QUERY_TERMS = 64
"""Distinct terms of a query that are searched for, the first ones; what follows is ignored."""

_SCORE_DIGITS = 4
_TIED = 8
"""How many times more hits are fetched while the last place is tied."""

_term_query = partial(tantivy.Query.term_query, index_option="freq")


@dataclass(frozen=True, slots=True)
class Result:
    """A page that a search found."""

    document: str
    """Name of its document."""

    page: int
    """Index in the document, from 1."""

    label: str | None
    """Number printed on the page, where the document says so."""

    score: float
    """BM25, rounded to 4 decimals; comparable only among the results of one query."""

    text: str
    """The page's text, or where that is longer than `RESULT_TEXT_CHARS` the part of it that holds
    most of the query's terms, with `…` where it was cut."""

    def as_dict(self) -> dict[str, str | int | float | None]:
        """The record that `turn.protocol.search_result` takes."""
        return {
            "document": self.document,
            "page": self.page,
            "label": self.label,
            "score": self.score,
            "text": self.text,
        }


class PageSearch:
    """Queries on one index. Safe from any thread; a query takes well under 1 ms on most corpora."""

    def __init__(self, index: tantivy.Index, documents: Mapping[str, DocumentInfo]) -> None:
        self._documents = documents
        self._schema = index.schema
        self._searcher = index.searcher()
        self._analyzer = analyzer()
        self._highlighter = Highlighter(self._analyzer)

    def terms(self, query: str) -> list[str]:
        """The distinct terms that a query is searched by, in order; see `index.analyzer`."""
        read = query[:QUERY_CHARS].encode("utf-8", "replace").decode()
        return list(dict.fromkeys(self._analyzer.analyze(read)))[:QUERY_TERMS]

    def best(self, query: str, document: str | None, limit: int) -> list[Result]:
        """The `limit` best pages that hold a term of `query`.

        Best first by rounded score; equal scores in order of the corpus. `document` is a name as it
        stands in the index. Never raises, whatever the text; no terms, no results.
        """
        terms = self.terms(query)
        if not terms or limit < 1:
            return []
        any_term = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, _term_query(self._schema, "text", term)) for term in terms]
        )
        wanted = any_term if document is None else self._within(document, any_term)
        hits = self._top(wanted, min(limit, self._searcher.num_docs))
        results: list[Result] = []
        for score, address in hits:
            entry = self._searcher.doc(address)
            text: str = entry.get_first("text") or ""
            if len(text) > RESULT_TEXT_CHARS:
                text = excerpt(text, self._highlighter.hits(text, terms), RESULT_TEXT_CHARS)
            name: str = entry.get_first("document") or ""
            page: int = entry.get_first("page") or 0
            label = self._documents[name].labels[page - 1]
            results.append(Result(name, page, label, score, text))
        return results

    def text(self, place: int) -> str:
        """The whole text of the page with this ordinal in the corpus, from 0."""
        query = _term_query(self._schema, "place", place)
        [(_, address)] = self._searcher.search(query, 1, count=False).hits
        return str(self._searcher.doc(address).get_first("text") or "")

    def _within(self, document: str, query: tantivy.Query) -> tantivy.Query:
        # With a constant 0, being in the document adds nothing to the score.
        place = tantivy.Query.const_score_query(
            _term_query(self._schema, "document", document, index_option="basic"), 0.0
        )
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, place), (tantivy.Occur.Must, query)]
        )

    def _top(self, query: tantivy.Query, limit: int) -> list[tuple[float, tantivy.DocAddress]]:
        """The `limit` best (rounded score, address), ties in order of the corpus.

        tantivy breaks ties by where segments happen to lie, so one hit more is fetched, and more
        as long as that ties with the last place.
        """
        fetched = limit + 1
        while True:
            found = self._searcher.search(query, fetched, count=False).hits
            scores = [round(float(score), _SCORE_DIGITS) for score, _ in found]
            if len(found) < fetched or scores[-1] < scores[limit - 1]:
                break
            fetched *= _TIED
        addresses = [address for _, address in found]
        places: Sequence[object] = self._searcher.fast_field_values("place", addresses)
        order = sorted(range(len(found)), key=lambda i: (-scores[i], places[i]))
        return [(scores[i], addresses[i]) for i in order[:limit]]

"""Citations that an agent without a `cite` tool writes into its reply.

Public: `citations_in_text`, `RANGE_PAGES`.

A citation is a document's name next to a page: `operator-guide, p. 12`, `page 12 of the
operator-guide`, `operator-guide.pdf#page=12`, `document="operator-guide" page="12"`; inside
brackets the word 'page' may be missing (`[operator-guide:12]`), but for a name that is an ordinary
word. Not read: pages without a name beside them ('ibid.', 'page 12 says'), numbers in words,
footnotes that are resolved elsewhere, page words of other languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ragevalkit.turn.record import PageRef

RANGE_PAGES = 20
"""Of a longer range only so many pages count, the first ones."""


def citations_in_text(reply: str, documents: Collection[str]) -> list[PageRef]:
    """Pages that `reply` cites in its text, in order of appearance, each once."""
    text = _folded(reply)
    named = list(_named(text, _Names(documents)))
    ahead = _pages_ahead(text, {name.start for name in named})
    taken = {start for start, _ in ahead.values()}
    found: dict[tuple[str, int], None] = {}
    for name in named:
        for page in _pages_of(text, name, ahead, taken):
            found.setdefault((name.document, page))
    return [PageRef(document=document, page=page) for document, page in found]


_SUFFIX = re.compile(r"\.(?:pdf|md|markdown|html|htm|txt)(?![^\W_])")
_DROPPED = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff*`\\]")
_SPACE = re.compile(r"\s+")
_JOINTS = re.compile(r"[-‐‑_ \n]+")
_WORD = re.compile(r"[^\W_]+")


def _folded(text: str) -> str:
    """One form of Unicode, case and space, without emphasis; an empty line stays a line break."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _DROPPED.sub("", unicodedata.normalize("NFKC", text)).replace("%20", " ")
    return _SPACE.sub(lambda run: "\n" if run[0].count("\n") > 1 else " ", text)


@dataclass(frozen=True, slots=True)
class _Name:
    """A document's name in the text."""

    document: str
    start: int
    end: int
    ordinary: bool
    """A plain word, which a number in brackets doesn't make a citation."""


class _Names:
    """The documents by the forms of their names."""

    def __init__(self, documents: Collection[str]) -> None:
        self.suffixes: dict[str, str] = {}
        self._exact: dict[str, set[str]] = {}
        self._loose: dict[str, set[str]] = {}
        self.sizes: dict[str, int] = {}
        """First word of a name: most words that a name with it has."""
        for document in documents:
            folded = _folded(document).strip()
            if found := re.search(rf"{_SUFFIX.pattern}\Z", folded):
                self.suffixes[document] = found[0]
            for form in {folded, folded.removesuffix(self.suffixes.get(document, ""))}:
                self._add(document, form)

    def _add(self, document: str, form: str) -> None:
        words = list(_WORD.finditer(form))
        if not words:
            return
        form = form[words[0].start() : words[-1].end()]
        self._exact.setdefault(form, set()).add(document)
        self._loose.setdefault(_JOINTS.sub(" ", form), set()).add(document)
        first = words[0][0]
        self.sizes[first] = max(self.sizes.get(first, 0), len(words))

    def find(self, form: str, suffix: str) -> str | None:
        """The one document that `form` and the suffix after it name, if there is one."""
        for documents in (self._exact.get(form), self._loose.get(_JOINTS.sub(" ", form))):
            fitting = {d for d in documents or () if self.suffixes.get(d, suffix) == suffix}
            fitting = fitting if suffix else documents or set()
            bare = {d for d in fitting if d not in self.suffixes}
            if len(fitting) == 1 or len(bare) == 1:
                return min(fitting if len(fitting) == 1 else bare)
        return None


def _named(text: str, names: _Names) -> Iterator[_Name]:
    """Names in the text from left to right; of several at one place the longest."""
    words = list(_WORD.finditer(text))
    place = 0
    while place < len(words):
        start = words[place].start()
        most = min(names.sizes.get(words[place][0], 0), len(words) - place)
        if most and not _inside_name(text, start):
            for size in range(most, 0, -1):
                end = words[place + size - 1].end()
                found = _SUFFIX.match(text, end)
                suffix = found[0] if found else ""
                after = end + len(suffix)
                document = names.find(text[start:end], suffix)
                if document and not _goes_on(text, after):
                    ordinary = size == 1 and not suffix and words[place][0].isalpha()
                    yield _Name(document, start, after, ordinary)
                    place += size - 1
                    break
        place += 1


def _inside_name(text: str, start: int) -> bool:
    return start > 1 and text[start - 1] in "-_." and text[start - 2].isalnum()


def _goes_on(text: str, end: int) -> bool:
    return text[end : end + 1] in ("-", "_", ".") and text[end + 1 : end + 2].isalnum()


_N = r"(?<!\d)(?<!\d\.)\d{1,5}(?!\d|\.\d)"
_ONE = r"p(?:age|g)?\b\.?|p(?=\d)"
_MANY = r"p(?:ages|gs|p)\b\.?|pp(?=\d)"
_TO = r" ?(?:[-–—]|to|through) ?(?:p(?:age|p)?\b\.? ?)?"
_ITEM = rf"{_N}(?:{_TO}{_N})?"
_AND = r" ?(?:[,;&]|,? ?and\b) ?"
_CLOSE = r"(?= ?(?:[\])}】>,;&]|and\b|$))"
_WITH_WORD = rf"(?:{_MANY}|{_ONE}) ?{_ITEM}"
_LIST = (  # atomic and bounded, so that the time for any text stays linear
    rf"(?>(?:{_MANY})[ :=#\"']{{0,3}}{_ITEM}(?:{_AND}(?:{_WITH_WORD}|{_ITEM}(?! ?%))){{0,40}}"
    rf"|(?:{_ONE})[ :=#\"']{{0,3}}{_ITEM}(?:{_AND}(?:{_WITH_WORD}|{_ITEM}{_CLOSE})){{0,40}})"
)
_AHEAD = re.compile(
    rf"(?<![^\W_])(?P<pages>{_LIST})[\"'”’)\]]* ?"
    r"(?:,? ?(?:of|in|from) (?:the )?(?:document |file )?|(?:document|doc|file|source)=)"
    r"[\"'“‘\[(<]{0,2}"
)
_AFTER = re.compile(
    r"[\"'”’]?(?:[ ,;:()\[\]\"'|#?>–—-]{0,5}"
    r"|,? (?:§|section|chapter|table) ?[\w.]{1,12},? |(?: \w{1,20}){0,2} (?:on|at) )"
    rf"(?P<pages>{_LIST})"
)
_OPEN = re.compile(r"[\[(【{;,] ?[\"']?\Z")
_BRACKETED = re.compile(
    rf"[\"']? ?(?P<mark>[,:#]) ?(?P<pages>{_ITEM}(?: ?[,&] ?{_ITEM}){{0,40}})(?= ?[\])】}};])"
)
_NUMBERS = re.compile(r"(\d+)(?: ?(?:[-–—]|to|through) ?(?:p[a-z]*\.? ?)?(\d+))?")


def _pages_ahead(text: str, starts: set[int]) -> dict[int, tuple[int, str]]:
    """Where a name starts whose pages stand before it ('page 12 of …'): where they start, they."""
    return {
        found.end(): (found.start(), found["pages"])
        for found in _AHEAD.finditer(text)
        if found.end() in starts
    }


def _pages_of(
    text: str, name: _Name, ahead: dict[int, tuple[int, str]], taken: set[int]
) -> list[int]:
    """Pages beside one name; `taken` is where lists start that belong to the name after them."""
    pages = _numbers(ahead[name.start][1]) if name.start in ahead else []
    after = _AFTER.match(text, name.end)
    if after and after.start("pages") not in taken:
        return pages + _numbers(after["pages"])
    if name.ordinary or not _OPEN.search(text, max(0, name.start - 3), name.start):
        return pages
    if bracketed := _BRACKETED.match(text, name.end):
        numbers = _numbers(bracketed["pages"])
        years = bracketed["mark"] == "," and any(1900 <= n < 2100 for n in numbers)
        return pages if years else pages + numbers
    return pages


def _numbers(pages: str) -> list[int]:
    """The pages of a list such as '3, 5 and 7-9'."""
    numbers: list[int] = []
    for first, last in _NUMBERS.findall(pages):
        if last and len(last) < len(first):
            last = first[: -len(last)] + last  # 112-15
        start, end = int(first), int(last or first)
        step = [start, end] if end < start else range(start, min(end, start + RANGE_PAGES - 1) + 1)
        numbers += [page for page in step if page > 0]
    return numbers

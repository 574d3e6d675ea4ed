"""What a reply does, read from its text alone: it answers, declines, hedges, asks back.

Public: `Reply`, `classify_reply`, `answers_after_declining`.

A reply is cut into clauses; each word becomes one symbol for the word classes it stands in, and the
patterns of `phrases/en.toml` run over the symbols. What the reply comes to depends on where the
clauses that decline stand and on whether the others carry an answer.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

_HEAD, _TAIL = 6000, 2000
_BUILT_IN = ("value", "year", "comma", "colon", "equals", "quoted", "question", "pronoun")
_MARKS = {",": "comma", ":": "colon", "?": "question", "=": "equals", '"': "quoted"}


class Reply(StrEnum):
    """What a reply does."""

    ANSWER = "answer"
    DECLINE = "decline"
    HEDGE = "hedge"
    ASK_BACK = "ask_back"
    NO_OUTPUT = "no_output"


def classify_reply(text: str) -> Reply:
    """What `text` does; a marker at its start is ignored and the rest judged alone."""
    from ragevalkit.turn.protocol import split_marker  # it imports orjson, this module stays light

    text = _visible(text)
    if not text:
        return Reply.NO_OUTPUT
    marked, rest = split_marker(text)
    if marked and not _WORD.search(rest):
        return Reply.DECLINE
    return _decide(_read(rest))


def answers_after_declining(rest: str) -> bool:
    """Whether `rest`, which follows the marker, gives an answer all the same."""
    return _carried(_read(_visible(rest))) != _NOTHING


_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\x00-\x08\x0e-\x1f]"
)
_QUOTES = str.maketrans("’‘ʼ＇`“”„«»‐‑‒−", "'''''\"\"\"\"\"----")
_LINK = re.compile(r"\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_URL = re.compile(r"https?://\S+")
_MARKUP = re.compile(r"[*_~#>|]+")
_BULLET = re.compile(r"(?m)^[ \t]*(?:[-+•·–]|\(?\d{1,2}[.)]|\(?[a-z]\))[ \t]+")
_ITEM = "\x01"
_WRAP = re.compile(r"(?<=[a-z,])[ \t]*\n[ \t]*(?=[a-z])")
_DOUBLE = re.compile(r'"[^"\n]{1,400}"')
_SINGLE = re.compile(r"'(?<![\w']')(?=\w)[^'\n]{1,200}(?:'\w[^'\n]{0,200}){0,3}'(?!\w)")
_SENTENCE = re.compile(r"\s(?<=[.!?]\s)\s*|\s(?<=[.!?][\"')\]]\s)\s*|\n+")
_ASIDE = re.compile(r"\s[-–—]\s([^-–—.;:?!]{1,80})\s[-–—]\s")
_INSERTED = re.compile(
    r",\s+(however|though|unfortunately|therefore|thus|of course|in fact),", re.I
)
_CLAUSE = re.compile(
    r";\s*|—\s*|\s[–-]{1,2}\s"
    r"|,\s+(?=(?:but(?! also| rather)|however|nevertheless|nonetheless|although|though|whereas"
    r"|(?:and\s+)?(?:so|therefore|thus|hence|consequently|yet|while|which means))\b)"
    r"|,\s+(?=not (?:how|what|why|when|who|where|whether)\b)"
    r"|(?<!even)(?<!only)(?<!as)(?<!say)(?<!tell)(?<!know)(?<!clear)(?<!see)\s(?=(?:if|unless)\s)"
    r"|,\s+(?=and (?:the|it|they|there|i|we|none|nothing|neither|no)\b)"
    r"|\s(?=(?:but(?! also| rather)|however|nevertheless|nonetheless|although|though|whereas"
    r"|and (?:therefore|thus|hence))\b)"
)
_LEADING = re.compile(
    r"^\W*(?:and\s+|but\s+|so\s+)?(?:although|though|while|whereas|even though|even if|despite|if"
    r"|since|because|given)\b",
    re.I,
)
_CONCEDES = re.compile(
    r"^\W*(?:and\s+|but\s+)?(?:although|though|while|whereas|even|despite)\b", re.I
)
_TOPIC = re.compile(
    r"^\W*(?:as for|as to|regarding|concerning|with regard to|with respect to)\b[^,]{1,120},\s+",
    re.I,
)
_AFTER_LEADING = re.compile(
    r",\s+(?=(?:it|they|the|this|that|these|there|i|we|you|he|she|its|their|no|none|a|an|based|in|"
    r"typical\w*|usual\w*|general\w*|most|such|any)\b|\d|[A-Z])"
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?(?:-?\d[\w-]*)?|\d[\d.,]*(?:-?[a-z]\w*)?|[,:?=]|\"")


def _visible(text: str) -> str:
    """`text` without invisible characters, one form for quotes and apostrophes."""
    if len(text) > _HEAD + _TAIL:
        text = text.lstrip()
        text = text[:_HEAD] + "\n" + text[-_TAIL:]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return _INVISIBLE.sub("", text).strip()


@dataclass(slots=True)
class _Clause:
    kind: str
    """`content`, `decline`, `scope`, `only`, `need`, `recipe`, `ask`, `ask_weak`, … """
    words: int
    codes: str
    strong: bool = False
    """A value, or an assertion after a word of contrast, of conclusion or of general knowledge."""
    concludes: bool = False
    valued: bool = False


def _sentences(text: str) -> Iterator[str]:
    held = ""
    abbreviations = _phrases().abbreviations
    for part in filter(None, _SENTENCE.split(text)):
        part = f"{held} {part}" if held else part
        held = ""
        if (
            part[-1] == "."
            and part not in ("No.", "no.")
            and part[-7:].lower().split()[-1] in abbreviations
        ):
            held = part
        else:
            yield part
    if held:
        yield held


def _pieces(text: str) -> Iterator[str]:
    """The clauses of `text`, in order; the first clause of a list's item starts with `_ITEM`."""
    text = _LINK.sub(r"\1", text) if "](" in text else text
    text = _URL.sub("", text) if "://" in text else text
    text = _BULLET.sub(_ITEM, _MARKUP.sub(" ", text.replace("`", "'")))
    text = _WRAP.sub(" ", text) if "\n" in text else text
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text[0] not in text[1:-1]:
        text = text[1:-1]
    if '"' in text:
        text = _DOUBLE.sub(' " ', text)
    if "'" in text:
        text = _SINGLE.sub(' " ', text)
    for sentence in _sentences(text):
        if " - " in sentence or " — " in sentence or " – " in sentence:
            sentence = _ASIDE.sub(r" \1 ", sentence)
        if found := _INSERTED.search(sentence):
            sentence = f"{found[1]} {sentence[: found.start()]} {sentence[found.end() :]}"
        for clause in filter(None, _CLAUSE.split(sentence)):
            clause = _TOPIC.sub("", clause)
            if _LEADING.match(clause) and (cut := _AFTER_LEADING.search(clause)):
                yield clause[: cut.start()]
                concedes = _CONCEDES.match(clause) is not None
                yield ("but " if concedes else "") + clause[cut.end() :]
            else:
                yield clause


def _read(text: str) -> list[_Clause]:
    """The clauses of a reply, each with its kind."""
    phrases = _phrases()
    clauses: list[_Clause] = []
    source_seen, declined, listed = False, False, ""
    for piece in _pieces(text):
        codes, words = phrases.encode(piece, source_seen)
        if not words:
            continue
        clause = phrases.judge(codes, words)
        if piece[0] != _ITEM:
            listed = ""
        elif listed and (listed != "need" or not clause.valued):
            clause.kind, clause.strong = listed, False
        if declined and clause.kind == "content" and phrases.anchor(clause):
            clause.kind = "content" if phrases.search["drawn"](codes) else "meta"
        elif declined and clause.kind == "echo":
            clause.kind = "meta"
        declined = declined or clause.kind in ("decline", "soft")
        if piece.rstrip()[-1] == ":" and (clause.kind == "need" or declined):
            listed = {"need": "need", "scope": "scope", "decline": "meta"}.get(clause.kind, "")
        clauses.append(clause)
        source_seen = source_seen or phrases.search["source"](codes) is not None
    anchored = not _ANCHORS.isdisjoint(clause.kind for clause in clauses)
    for clause in clauses:
        if clause.kind == "soft" and (anchored or phrases.anchor(clause)):
            clause.kind = "decline"
        elif clause.kind in ("soft", "echo"):
            clause.kind = "content"
    return clauses


_ANCHORS = frozenset(("decline", "scope", "only", "need", "recipe"))
"""Beside one of these, a clause that only says that something isn't told declines."""
_ASIDES = frozenset(("pleasant", "meta", "pointer", "offer", "fragment"))
_RESULTS = frozenset(("need", "recipe", "command", "pointer"))
"""Where a clause of these kinds comes to a number, it answers."""

_NOTHING, _HEDGED, _CONCLUDED = 0, 1, 2
_WEAK_WORDS = 7
"""So many words of plain assertion beside declining count as an answer."""
_OPENING_WORDS = 4
"""So many words of plain assertion ahead of the first decline count as an answer."""
_PREAMBLE_WORDS = 60
"""A reply that ends in 'therefore it cannot be determined' declines after so many words at most."""


def _carried(clauses: list[_Clause]) -> int:
    """What the clauses after a decline carry: nothing, an answer all the same, or a conclusion."""
    strong = [c for c in clauses if c.kind == "content" and c.strong]
    if strong:
        return _CONCLUDED if strong[0].concludes else _HEDGED
    words = sum(c.words for c in clauses if c.kind == "content")
    words += max((c.words for c in clauses if c.kind == "fragment"), default=0)
    return _HEDGED if words >= _WEAK_WORDS else _NOTHING


def _informative(clauses: list[_Clause]) -> bool:
    """Whether the clauses give a value or assert much, as a recipe without a result doesn't."""
    content = [c for c in clauses if c.kind == "content"]
    return any(c.valued for c in content) or sum(c.words for c in content) > 4 * _WEAK_WORDS


def _decide(clauses: list[_Clause]) -> Reply:
    phrases = _phrases()
    kinds = [c.kind for c in clauses]
    asks_back = "ask" in kinds[-2:] or (
        "ask" in kinds and set(kinds[kinds.index("ask") :]) <= {"ask", "fragment", "request"}
    )
    if "decline" not in kinds:
        serious = [k for k in kinds if k not in _ASIDES]
        if not asks_back and "need" in kinds and "content" not in kinds:
            return Reply.DECLINE
        if asks_back or (
            "content" not in kinds and {"ask_weak", "request", "command"} & set(kinds)
        ):
            return Reply.ASK_BACK
        if serious and serious[0] == "need" and not _informative(clauses):
            return Reply.DECLINE
        bare = set(serious) == {"recipe"} and "pointer" in kinds
        bare = bare and not any(c.valued for c in clauses)
        told = {"need", "only"} & set(serious) and set(serious) <= _ANCHORS
        return Reply.DECLINE if bare or told else Reply.ANSWER
    first = kinds.index("decline")
    declines = [c for c in clauses if c.kind == "decline"]
    if asks_back and not any(phrases.search["source"](c.codes) for c in declines):
        return Reply.ASK_BACK
    one = kinds[:first].count("scope") == 1
    before = [
        c
        for c in clauses[:first]
        if c.kind == "content"
        or (c.kind == "scope" and one and (c.valued or phrases.search["enumerates"](c.codes)))
        or (c.kind == "fragment" and c.words > 3 and not phrases.search["source"](c.codes))
    ]
    after = _carried(clauses[first + 1 :])
    strong = any(c.strong or c.kind == "scope" for c in before)
    if strong or sum(c.words for c in before) >= _OPENING_WORDS:
        last = len(kinds) - 1 - kinds[::-1].index("decline")
        final = declines[-1].concludes and _carried(clauses[last + 1 :]) == _NOTHING
        final = final and sum(c.words for c in before) <= _PREAMBLE_WORDS
        return Reply.DECLINE if final else Reply.ANSWER
    polar = phrases.polar.fullmatch(clauses[0].codes)
    if after == _CONCLUDED or (polar and (after or "meta" in kinds[first + 1 :])):
        return Reply.ANSWER
    return Reply.HEDGE if after else Reply.DECLINE


class _Phrases:
    """One language's words as symbols and its patterns over them."""

    def __init__(self, data: dict[str, Any]) -> None:
        classes: dict[str, set[str]] = {}
        for name, words in data["words"].items():
            for word in words.split():
                classes.setdefault(word, set()).add(name)
        kinds = sorted({frozenset(names) for names in classes.values()}, key=sorted)
        kinds += [frozenset((name,)) for name in _BUILT_IN]
        symbols = {names: chr(0xA1 + i) for i, names in enumerate(kinds)}
        self._symbol = {word: symbols[frozenset(names)] for word, names in classes.items()}
        self._built_in = {name: symbols[frozenset((name,))] for name in _BUILT_IN}
        single = {suffix: frozenset((name,)) for suffix, name in data["suffixes"].items()}
        self._suffixes = [(suffix, symbols[names]) for suffix, names in single.items()]
        self._members: dict[str, str] = {}
        for names, symbol in symbols.items():
            for name in names:
                self._members[name] = self._members.get(name, "") + symbol
        self._members["source_noun"] = self._members["source"]
        for name in ("source", "it"):
            self._members[name] += self._built_in["pronoun"]
        self._pronouns = frozenset(data["source_pronouns"].split())
        self.abbreviations = frozenset(data["abbreviations"].split())
        self._labels = frozenset(data["labels"].split())
        self._plain = frozenset(data["plain_numbers"].split())
        compiled = {name: self._compile(lines) for name, lines in data["patterns"].items()}
        for name in ("source", "source_noun", "docs"):
            compiled[name] = self._compile([name])
        self.search = {name: pattern.search for name, pattern in compiled.items()}
        self.polar = compiled["polar"]
        self._opening = compiled["opening"]
        self._kinds = [(name, self.search[name]) for name in data["order"]]
        self._others = [k for k in self._kinds if k[0] not in ("decline", "soft")]
        self._questions = [(name, self.search[name]) for name in data["question_order"]]

    def _compile(self, lines: list[str]) -> re.Pattern[str]:
        def expand(found: re.Match[str]) -> str:
            names = re.findall(r"[a-z_]+", found[0])
            members = "".join(self._members[name] for name in names)
            return f"[^{members}]" if found[0].startswith("~") else f"[{members}]"

        parts = [
            re.sub(r"~\([a-z_|]+\)|~?[a-z_]+", expand, line).replace(" ", "") for line in lines
        ]
        return re.compile("|".join(parts))

    def encode(self, clause: str, source_seen: bool) -> tuple[str, int]:
        """The symbols of a clause's words, and how many words and numbers it has."""
        codes: list[str] = []
        words = 0
        built_in, symbol = self._built_in, self._symbol
        previous = ""
        for token in _WORD.findall(clause.lower().replace("n/a", "na")):
            lead = token[0]
            if lead in _MARKS:
                codes.append(built_in[_MARKS[lead]])
                words += lead == '"'
                continue
            code = symbol.get(token)
            if source_seen and words < 3 and token in self._pronouns:
                code = built_in["pronoun"]
            elif code is None and lead.isdigit():
                token = token.rstrip(".,")
                if len(token) == 4 and token[:2] in ("19", "20"):
                    code = built_in["year"]
                elif token not in self._plain and previous not in self._labels:
                    code = built_in["value"]
            elif code is None:
                for suffix, of_suffix in self._suffixes:
                    if token.endswith(suffix):
                        code = of_suffix
            words += 1
            previous = token
            codes.append(code or "x")
        return "".join(codes), words

    def anchor(self, clause: _Clause) -> bool:
        """Whether the clause itself speaks of a source and gives no value."""
        return not clause.valued and self.search["docs"](clause.codes) is not None

    def judge(self, codes: str, words: int) -> _Clause:
        """The clause's kind."""
        opening = self._opening.match(codes)
        if opening and opening.end() < len(codes):
            codes = codes[opening.end() :]
        concludes = bool(self.search["concludes"](codes) and not self.search["tentative"](codes))
        if self._built_in["question"] in codes:
            for kind, search in self._questions:
                if search(codes):
                    return _Clause(kind, words, codes)
            return _Clause("fragment", words, codes)
        valued = self._built_in["value"] in codes
        apart = ""
        kinds = self._kinds if self.search["negative"](codes) else self._others
        for kind, search in kinds:
            if not search(codes):
                continue
            if kind in ("told", "soft", "echo"):
                apart = "" if kind == "told" else kind
                break
            bare = kind == "scope" and not self.search["source_noun"](codes)
            if valued and (bare or kind in _RESULTS) and self.search["result"](codes):
                break
            kind = {"unsure": "ask", "conditional": "pointer"}.get(kind, kind)
            if kind == "scope" and not valued and self.search["only"](codes):
                kind = "only"
            return _Clause(kind, words, codes, concludes=concludes, valued=valued)
        has_verb = self.search["verb"](codes) is not None
        strong = (
            valued
            or (words >= (4 if has_verb else 6) and self.search["strong"](codes) is not None)
            or self.search["assertion"](codes) is not None
        )
        if not strong and not has_verb and not apart:
            return _Clause("fragment", words, codes)
        return _Clause(apart or "content", words, codes, strong, concludes, valued)


@cache
def _phrases(language: str = "en") -> _Phrases:
    file = resources.files("ragevalkit.scoring") / "phrases" / f"{language}.toml"
    return _Phrases(tomllib.loads(file.read_text(encoding="utf-8")))

"""A text as the tokens that short answers are compared by.

Public: `Token`, `read_tokens`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from ragevalkit.scoring.answer_words import (
    AFTER_NUMBER,
    ATTACHED,
    BY_CASEFOLD,
    CARDINALS,
    COUNTED,
    EACH,
    LONG,
    MONEY_SCALES,
    MONTH_FORMS,
    MONTH_NAMES,
    MONTHS,
    NEXT_OF,
    NOT_A_COUNT,
    NOT_A_NAME,
    ORDINALS,
    PER,
    PIECE,
    SCALE,
    SCALES,
    SIGNS,
    SLASH,
    SYMBOLS,
    TEN_TEXTS,
    UNIT,
)


@dataclass(slots=True)
class Token:
    text: str
    kind: Literal["word", "number", "unit", "per"]
    start: int
    end: int
    bound: bool = False
    """Belongs to the token before it, as a unit to its number."""
    spelled: bool = False
    before: bool = False
    """Something before it makes it part of more: a name, a code, a range, a date."""
    after: bool = False


def read_tokens(text: str) -> list[Token]:
    text = _plain(text)
    notes = [note.span() for note in _NOTE.finditer(text)]
    reader = _Reader(text)
    reader.read()
    return _ranges(reader.tokens, notes)


class _Reader:
    """Reads plain text from left to right; what a token is may depend on the one before."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.at = 0

    def read(self) -> None:
        money: str | None = None
        money_start = 0
        while found := PIECE.search(self.text, self.at):
            self.at = found.end()
            group = found.lastgroup or ""
            if group == "money":
                sign = found[0].strip()
                money = SIGNS.get(sign.casefold()) or SYMBOLS[sign]
                money_start = found.start()
            elif group == "number":
                start = found.start() if money is None else money_start
                self._number(found[0], start, money)
            elif group == "nth":
                self._add(f"{found[0].casefold()}", "word", found.start())
            elif group == "letters":
                self._add(found[0].replace(".", "").casefold(), "word", found.start())
            elif group == "word":
                self._word(found[0], found.start())
            elif group == "raised":
                self._add(found[0], "word", found.start())
            elif group == "mark":
                name = {"&": "and", "%": "percent", "°": "degree"}[found[0]]
                self._add(name, "word", found.start())
            else:
                self._date(found)
            if group != "money":
                money = None

    def _gap(self, start: int) -> str:
        return self.text[self.tokens[-1].end if self.tokens else 0 : start]

    def _add(
        self,
        text: str,
        kind: Literal["word", "number", "unit", "per"],
        start: int,
        bound: bool = False,
    ) -> Token:
        token = Token(text, kind, start, self.at, bound)
        self.tokens.append(token)
        return token

    def _date(self, found: re.Match[str]) -> None:
        parts = {name[0]: part for name, part in found.groupdict().items() if part}
        start = found.start()
        month = MONTHS[int(parts["n"]) - 1] if "n" in parts else MONTH_FORMS[parts["m"]]
        if "d" in parts:
            day = self._add(parts["d"].lstrip("0"), "number", start)
            day.before = day.after = True
        self._add(month, "word", start, bound="d" in parts)
        if "y" in parts:
            self._add(parts["y"], "number", start, bound=True)

    def _number(self, chunk: str, start: int, money: str | None) -> None:
        value = _value(chunk)
        attached = ATTACHED.match(self.text, self.at)
        end = self.at
        if attached and money is None:
            decade = attached[0] == "s" and re.fullmatch(r"\d{3}0", chunk)
            unit = None if decade else self._unit(self.at)
            if value is None or unit is None:
                self.at = attached.end()
                self._add(_code(chunk, attached[0], value is not None), "word", start)
                return
        if value is None:
            self._add(chunk, "word", start)
            return
        gap = self._gap(start)
        previous = self.tokens[-1] if self.tokens else None
        negative = before = False
        if previous and previous.kind in ("number", "unit") and _RANGE.fullmatch(gap):
            negative = gap[0] != "-" and gap[-1] == "-"
            if not negative:
                self._range(previous, start, chunk)
                before = not _is_year(chunk)
        elif previous and previous.kind == "word" and gap == "-":
            before = previous.text not in NOT_A_NAME
        elif gap.endswith("-"):
            negative = True
        elif previous and previous.text == "minus" and gap == " ":
            negative = True
            self.tokens.pop()
        self.at = end
        token = self._add(f"-{value}" if negative and value != "0" else value, "number", start)
        token.before = before
        self._finish(token, money)

    def _range(self, previous: Token, start: int, chunk: str) -> None:
        if not (_is_year(previous.text) and _is_year(chunk)):
            previous.after = True
            if previous.kind == "unit" and len(self.tokens) > 1:
                self.tokens[-2].after = True
        self.tokens.append(Token("to", "word", start, start))

    def _finish(self, token: Token, money: str | None = None) -> None:
        """Scale words, the unit and what it is per, after a number."""
        while scale := SCALE.match(self.text, self.at):
            factor = SCALES.get(scale[1].casefold())
            if factor is None or len(token.text) > 20:
                break
            token.text = _trimmed(f"{Decimal(token.text) * factor:f}")
            self.at = token.end = scale.end()
        if money:
            attached = ATTACHED.match(self.text, self.at)
            if attached and attached[0] in MONEY_SCALES and len(token.text) <= 20:
                token.text = _trimmed(f"{Decimal(token.text) * MONEY_SCALES[attached[0]]:f}")
                self.at = token.end = attached.end()
            self._add(money, "unit", token.start, bound=True)
        else:
            space = self.at + (self.text[self.at : self.at + 1] in tuple(" \n-"))
            if unit := self._unit(space):
                name, self.at = unit
                self._add_unit(name, "unit")
        self._per()

    def _add_unit(self, name: str, kind: Literal["unit", "per"]) -> None:
        whole, _, part = name.partition("/")
        self._add(f"per {whole}" if kind == "per" else whole, kind, self.at, bound=True)
        if part:
            self._add(f"per {part}", "per", self.at, bound=True)

    def _per(self) -> None:
        previous = self.tokens[-1]
        found = PER.match(self.text, self.at) if previous.kind in ("number", "unit") else None
        found = found or EACH.match(self.text, self.at)
        if found and (unit := self._unit(found.end())):
            name, self.at = unit
            self._add_unit(name, "per")

    def _unit(self, at: int) -> tuple[str, int] | None:
        """The unit that starts at `at`, and where it ends."""
        found = UNIT.match(self.text, at)
        if not found:
            return None
        group, form = found.lastgroup, found[0]
        if group == "name":
            name = SYMBOLS.get(form) or AFTER_NUMBER.get(form.casefold())
            name = name or BY_CASEFOLD.get(form.casefold())
        elif group == "hours":
            kind = "kilowatt" if form[0] == "k" else "watt" if form[0] == "w" else "milliampere"
            name = f"{kind}-hour"
        else:
            name = {
                "celsius": "degree celsius",
                "fahrenheit": "degree fahrenheit",
                "weighted": "decibel",
                "cent": "percent",
                "degree": "degree",
                "rate": "token",
                "us": "dollar",
            }.get(group or "") or SIGNS[form]
        return (name, found.end()) if name else None

    def _word(self, form: str, start: int) -> None:
        if form in MONTH_NAMES:
            self._add(MONTH_FORMS[form], "word", start)
            return
        word = form.casefold()
        word = word.removesuffix("'s").replace("'", "").rstrip("_")
        gap, previous = self._gap(start), self.tokens[-1] if self.tokens else None
        close = gap in (" ", "\n", "-")
        if form == "A" or word in ("a", "an", "the"):
            if form == "A":
                self._add("A", "word", start)
        elif word == "per" and (unit := self._unit(self.at + 1)) and self.text[self.at] == " ":
            name, self.at = unit
            self._add_unit(name, "per")
        elif word in CARDINALS or word in ORDINALS:
            self._number_word(word, start, previous if close else None)
        else:
            if gap == "-" and previous and previous.kind == "number" and len(word) == 1:
                previous.after = True
            self._add(LONG.get(word, word), "word", start)
            slash = SLASH.match(self.text, self.at)
            slash = slash or (EACH.match(self.text, self.at) if word in COUNTED else None)
            if slash and (unit := self._unit(slash.end())):
                name, self.at = unit
                self._add_unit(name, "per")

    def _number_word(self, word: str, start: int, previous: Token | None) -> None:
        tens = 0
        if previous and previous.spelled and previous.text in TEN_TEXTS:
            tens = int(previous.text)
        if word in ORDINALS:
            value = ORDINALS[word]
            if tens and value < 10:
                self.tokens.pop()
                value += tens
            suffix = {1: "st", 2: "nd", 3: "rd"}.get(value % 10 if value // 10 != 1 else 0, "th")
            self._add(f"{value}{suffix}", "word", start)
            return
        value = CARDINALS[word]
        pronoun = previous is not None and previous.text in NOT_A_COUNT
        if word == "one" and (pronoun or NEXT_OF.match(self.text, self.at)):
            self._add(word, "word", start, bound=pronoun)
            return
        if tens and 0 < value < 10:
            self.tokens.pop()
            value += tens
        minus = bool(value and previous and previous.text == "minus")
        if minus:
            self.tokens.pop()
        token = self._add(f"-{value}" if minus else str(value), "number", start)
        token.spelled = not minus
        self._finish(token)


_GROUPED = re.compile(r"[1-9]\d{0,2}(?:(?P<mark>[,. '])\d{3})(?:(?P=mark)\d{3})*(?P<rest>[.,]\d+)?")


def _value(chunk: str) -> str | None:
    """A number in one form; None for what only looks like one (version, time, code)."""
    grouped = _GROUPED.fullmatch(chunk)
    if grouped and not (grouped["mark"] == "." and chunk.count(".") == 1 and not grouped["rest"]):
        mark, rest = grouped["mark"], grouped["rest"] or ""
        if not rest or rest[0] != mark:
            whole = chunk.removesuffix(rest).replace(mark, "")
            return _trimmed(whole + rest.replace(",", "."))
    chunk = f"0{chunk}" if chunk[0] == "." else chunk
    if not re.fullmatch(r"(?:0|[1-9]\d*)(?:[.,]\d+)?", chunk):
        return None
    return _trimmed(chunk.replace(",", "."))


def _code(digits: str, letters: str, number: bool) -> str:
    """A code such as '32B' in one case, which for '1S' is not that of a unit."""
    low = letters.casefold()
    unit = number and (low in SYMBOLS or low in AFTER_NUMBER)
    return digits + (letters.upper() if unit and low != letters else low)


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit()


def _ranges(tokens: list[Token], notes: list[tuple[int, int]]) -> list[Token]:
    """Ranges in one form, the unit at both ends; numbers of footnote marks as parts of a mark."""
    starts = iter(notes)
    note = next(starts, None)
    for token in tokens:
        while note and note[1] <= token.start:
            note = next(starts, None)
        if note and note[0] < token.start and token.kind == "number":
            token.before = token.after = True
    done: list[Token] = []
    for place, token in enumerate(tokens):
        joint = _joint(tokens, place + 1)
        if joint and token.text == "between" and tokens[joint].text == "and":
            tokens[joint].text = "to"
        elif not (joint and token.text in ("between", "from") and tokens[joint].text == "to"):
            done.append(token)
    for place in range(len(done) - 3, -1, -1):
        low, high = done[place], done[place + 2 : place + 4]
        if _joint(done, place) == place + 1 and done[place + 1].text == "to" and high[1:]:
            unit = high[1]
            if unit.kind == "unit" and not low.bound:  # a year is bound to its month
                done.insert(place + 1, Token(unit.text, "unit", 0, 0, True, after=low.after))
    return done


def _joint(tokens: list[Token], place: int) -> int | None:
    """Where the word is that joins the number at `place`, its unit left out, to another number."""
    if place >= len(tokens) or tokens[place].kind != "number":
        return None
    place += 2 if tokens[place + 1 : place + 2] and tokens[place + 1].kind == "unit" else 1
    return place if place + 1 < len(tokens) and tokens[place + 1].kind == "number" else None


_DROPPED = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff`]")
_MARKS = str.maketrans("‘’ʼ′‐‑‒–−×", "''''-----x") | {ord("—"): " - ", ord("―"): " - "}
_HARD_SPACE = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
_LINK = re.compile(r"\]\([^()\s]{0,2000}\)")
_TAG = re.compile(r"</?(?:b|i|u|em|strong|code|span|br) ?/?>", re.I)
_TIMES = re.compile(r"(?<=\d)(?<!\b0)(?: ?[*×] ?| ?x ?)(?=\d)")
_EMPHASIS = re.compile(r"\*+|~~|\\(?=[^\w\s])|(?<!\w)_+|(?<!_)_+(?!\w)")
_ITEM = re.compile(r"(?:(?<=\n)|\A)[ #]*\d{1,2}[.)] (?=\S)")
_NOTE = re.compile(r"\[\^?\d{1,3}(?:[,;–-] ?\d{1,3}){0,9}\]")
_SPACE = re.compile(r"\s+")
_RANGE = re.compile(r"\s?-\s?\Z")


def _plain(text: str) -> str:
    """`text` in one form of Unicode, without markup."""
    if not text.isascii():
        text = "".join(map(_expanded, text)).translate(_MARKS)
        text = unicodedata.normalize("NFKC", _HARD_SPACE.sub("'", text))
    text = _DROPPED.sub("", text)
    text = _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", text).strip()
    text = _LINK.sub("]", text) if "](" in text else text
    text = _TAG.sub(" ", text) if "<" in text else text
    text = _EMPHASIS.sub("", _TIMES.sub(" x ", text))
    text = text.replace("--", " - ") if "--" in text else text
    return _ITEM.sub("", text) if len(_ITEM.findall(text)) > 1 else text


def _expanded(char: str) -> str:
    """Raised and fractional digits as text that isn't mistaken for digits of the number before."""
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    form = unicodedata.decomposition(char)
    if not form.startswith(("<super>", "<fraction>", "<circle>")):
        return char
    value = unicodedata.numeric(char, None)
    if value is None:
        return char
    if form.startswith("<fraction>"):
        return f"{value:.3f}"[1:].rstrip("0") if value * 1000 % 1 == 0 else char
    return f"^{value:.0f}" if form.startswith("<super>") else " "

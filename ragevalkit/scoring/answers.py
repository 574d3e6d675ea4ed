"""Short reference answers against a reply, token by token.

Public: `matches_reference`, `normalised`.

Reply and reference are read into the same tokens: words, numbers, units, dates. A reference counts
where its tokens stand in the reply one after another. What it can't see: negation ('not 280 W'
holds '280 W'), paraphrase, which of two values the reply settles on, converted units (1 h is not
60 min), versions (2.10 reads as 2.1), '1.200' as a German thousand, writing without spaces. 'Tarn 1
200 W' reads as 1200 W; a row of three-digit numbers is a row, unless two of them stand alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragevalkit.bank.question import REFERENCE_WORDS
from ragevalkit.scoring.answer_tokens import Token, read_tokens


def matches_reference(reply: str, references: Sequence[str]) -> bool | None:
    """Whether any short reference stands in `reply`; None where no reference is short."""
    short = [r for r in references if len(r.split()) <= REFERENCE_WORDS]
    usable = [tokens for tokens in map(_reference, short) if tokens]
    if not usable:
        return None
    tokens = read_tokens(reply)
    return any(_stands_in(reference, tokens) for reference in usable)


def normalised(text: str) -> str:
    """`text` as it is compared; a semicolon stands between tokens that don't belong together."""
    parts: list[str] = []
    for token in read_tokens(text):
        parts += [" " if token.bound else "; "] if parts else []
        parts.append(token.text)
    return "".join(parts)


def _reference(text: str) -> list[Token]:
    tokens = read_tokens(text)
    return [t for place, t in enumerate(tokens) if t.text != "A" or place == len(tokens) - 1]


def _stands_in(reference: list[Token], reply: list[Token]) -> bool:
    if [token.text for token in reference] in (["yes"], ["no"]):
        return bool(reply) and reply[0].text == reference[0].text
    return any(
        token.text == reference[0].text and _stands_at(reference, reply, place)
        for place, token in enumerate(reply)
    )


def _stands_at(reference: list[Token], reply: list[Token], place: int) -> bool:
    first, last = reference[0], reference[-1]
    if first.kind == "number" and reply[place].before and not first.before:
        return False
    for number, token in enumerate(reference):
        while place < len(reply) and reply[place].text != token.text and number:
            units = reply[place].kind in ("unit", "per") and reference[number - 1].kind == "number"
            if reply[place].text != "A" and not units:
                return False
            place += 1
        if place == len(reply) or reply[place].text != token.text:
            return False
        place += 1
    if last.kind in ("number", "unit") and reply[place - 1].after and not last.after:
        return False
    if place == len(reply) or last.kind == "number":
        return True
    raised = last.text.endswith("meter") and reply[place].text in ("^2", "^3")
    per = reply[place].kind == "per" and any(token.kind == "number" for token in reference)
    return not raised and not per

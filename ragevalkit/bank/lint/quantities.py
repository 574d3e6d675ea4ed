"""What kind of quantity a question asks for, and whether a passage has one.

Public: `asks_for`, `Quantity`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = (
    r"(?:\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|half"
    r"|dozen|hundred|thousand|million)\b)"
)
_TIME = r"(?:s|ms|min|h|hrs?|(?:second|minute|hour|day|week|month|year)s?)\b"
_DATE = (
    r"\b(?:1\d{3}|20\d\d|\d\d?:\d\d|January|February|March|April|May|June|July|August"
    r"|September|October|November|December)\b"
)
_UNKNOWN = re.compile(
    r"\bnot (?:yet )?(?:\w+ )?(?:measured|recorded|known|tested|available|given|determined|stated"
    r"|specified|published|established|applicable|counted|reported)\b"
    r"|\bn/a\b|\bno (?:data|figures?|values?|information)\b|\bunknown\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity."""

    name: str
    asked: re.Pattern[str]
    shown: re.Pattern[str]

    def is_in(self, passage: str, question: str) -> bool:
        """Whether a passage has such a quantity that isn't in the question, and doesn't say that
        it isn't known."""
        if _UNKNOWN.search(passage):
            return False
        known = question.casefold()
        return any(hit[0].casefold() not in known for hit in self.shown.finditer(passage))


def _quantity(name: str, asked: str, shown: str) -> Quantity:
    return Quantity(name, re.compile(rf"\b(?:{asked})\b", re.IGNORECASE), re.compile(shown))


_AMOUNT = rf"{_NUMBER}[\w.,]*"
_QUANTITIES = [
    _quantity("time", "how (?:long|old|soon|quickly)", rf"{_AMOUNT}[\s-]*{_TIME}|{_DATE}"),
    _quantity(
        "time", "when|(?:which|what) (?:year|date|day|month|time)", f"{_DATE}|{_AMOUNT} {_TIME}"
    ),
    _quantity("temperature", "how (?:hot|cold|warm|cool)|temperature", r"\d+ ?(?:°|degrees|K\b)"),
    _quantity("sound level", "how (?:loud|noisy|quiet)", r"\d+ ?dB"),
    _quantity("weight", "how heavy|weighs?|weight", r"\d+ ?(?:k?g|lb|oz|tons?|tonnes|pounds?)\b"),
    _quantity(
        "price",
        r"cost|price|(?:how much|what) .*\bpay",
        r"[$€£¥] ?\d+|\d+ ?(?:[$€£¥]|USD|EUR|euros?)",
    ),
    _quantity("share", "percentage|per ?cent|what share", r"\d+ ?(?:%|per ?cent)"),
    _quantity("power", "watts|power does|power draw", r"\d+ ?k?W"),
    _quantity(
        "number",
        r"how (?:often|tall|high|wide|deep|far|thick|fast|large|big|small|many|much|humid)"
        r"|(?:number|amount) of|capacity|speed|size|voltage",
        _AMOUNT,
    ),
]


def asks_for(question: str) -> Quantity | None:
    """The kind of quantity that a question asks for, if any."""
    return next((kind for kind in _QUANTITIES if kind.asked.search(question)), None)

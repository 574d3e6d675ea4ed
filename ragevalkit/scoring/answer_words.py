"""The words and forms that references and replies are read by: units, number words, dates.

Public: `AFTER_NUMBER`, `ATTACHED`, `BY_CASEFOLD`, `CARDINALS`, `COUNTED`, `EACH`, `LONG`,
`MONEY_SCALES`, `MONTHS`, `MONTH_FORMS`, `MONTH_NAMES`, `NEXT_OF`, `NOT_A_COUNT`, `NOT_A_NAME`,
`ORDINALS`, `PER`, `PIECE`, `SCALE`, `SCALES`, `SIGNS`, `SLASH`, `SYMBOLS`, `TENS`, `TEN_TEXTS`,
`UNIT`.
"""

from __future__ import annotations

import re


def _words(text: str) -> list[str]:
    return text.split()


_LONG_UNITS = """
watt kilowatt megawatt milliwatt volt ampere=amp milliampere=milliamp kilogram=kilo gram
milligram meter=metre kilometer=kilometre centimeter=centimetre millimeter=millimetre mile
litre=liter milliliter=millilitre hertz kilohertz megahertz gigahertz bit byte kilobyte megabyte
gigabyte terabyte petabyte kibibyte mebibyte gibibyte tebibyte megabit gigabit decibel token=tok
minute hour day week month year millisecond microsecond nanosecond dollar euro yen frame
"""
LONG = {
    form: names.partition("=")[0]
    for names in _LONG_UNITS.split()
    for name in names.split("=")
    for form in (name, f"{name}s")
}
AFTER_NUMBER = {
    **LONG,
    **dict.fromkeys(("second", "seconds"), "second"),
    **dict.fromkeys(("pound", "pounds"), "pound"),
    **dict.fromkeys(("degree", "degrees", "deg"), "degree"),
    "celsius": "degree celsius",
    "fahrenheit": "degree fahrenheit",
}
SYMBOLS = dict(
    pair.split("=")
    for pair in _words(
        """
W=watt w=watt kW=kilowatt MW=megawatt mW=milliwatt Wh=watt-hour kWh=kilowatt-hour
mAh=milliampere-hour V=volt A=ampere mA=milliampere kg=kilogram g=gram mg=milligram lb=lb
lbs=lb m=meter km=kilometer cm=centimeter mm=millimeter ml=milliliter Hz=hertz kHz=kilohertz
MHz=megahertz GHz=gigahertz kB=kilobyte MB=megabyte mb=megabyte GB=gigabyte gb=gigabyte
TB=terabyte PB=petabyte KiB=kibibyte MiB=mebibyte GiB=gibibyte TiB=tebibyte Mb=megabit
Gb=gigabit Mbit=megabit Gbit=gigabit Mbps=megabit/second Gbps=gigabit/second dB=decibel
dBA=decibel ns=nanosecond μs=microsecond ms=millisecond s=second sec=second secs=second
min=minute mins=minute h=hour hr=hour hrs=hour d=day wk=week wks=week yr=year yrs=year
mph=mile/hour kph=kilometer/hour fps=frame/second pct=percent percent=percent USD=dollar
EUR=euro GBP=pound JPY=yen
"""
    )
)
BY_CASEFOLD: dict[str, str] = {}
for _symbol, _name in SYMBOLS.items():
    if len(_symbol) > 1 and _symbol not in ("MW", "mW"):  # mega or milli: only case can tell
        BY_CASEFOLD.setdefault(_symbol.casefold(), _name)
SIGNS = {"$": "dollar", "us$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "%": "percent"}
UNIT = re.compile(
    r"(?P<celsius>(?:°|deg(?:rees?)?\b\.?) ?(?:C|Celsius|celsius|centigrade)(?!\w))"
    r"|(?P<fahrenheit>(?:°|deg(?:rees?)?\b\.?) ?(?:F|Fahrenheit|fahrenheit)(?!\w))"
    r"|(?P<weighted>dB ?\(A\))|(?P<cent>per ?cent(?!\w))|(?P<degree>°)|(?P<sign>[%$€£¥])"
    r"|(?P<hours>(?:kilo)?watt[ -]?hours?(?!\w)|milliamp(?:ere)?[ -]?hours?(?!\w))"
    r"|(?P<us>(?:US|U\.S\.) dollars?(?!\w))|(?P<rate>t(?=/s\b))|(?P<name>[^\W\d_]+(?!\w))"
)
PER = re.compile(r" ?/ ?(?=[^\W\d_])| per (?=[^\W\d_])")
EACH = re.compile(r" (?:an?|each|every) (?=(?:second|minute|hour|day|week|month|year)\b)")
SLASH = re.compile(r"/(?=(?:s|sec|second|min|minute|h|hr|hour|day)\b)")

_SMALL = _words(
    """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
)
TENS = dict(
    zip(
        _words("twenty thirty forty fifty sixty seventy eighty ninety"),
        range(20, 91, 10),
        strict=True,
    )
)
CARDINALS = {word: value for value, word in enumerate(_SMALL)} | TENS
ORDINALS = (
    dict(
        zip(
            _words("first second third fourth fifth sixth seventh eighth ninth"),
            range(1, 10),
            strict=True,
        )
    )
    | dict(zip(_words("tenth eleventh twelfth thirteenth"), range(10, 14), strict=True))
    | {"twentieth": 20, "thirtieth": 30}
)
SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
NOT_A_COUNT = frozenset(_words("no any every some which this that each another"))
NOT_A_NAME = frozenset(_words("mid pre post early late about under over to of from than"))

MONTHS = _words(
    """
January February March April May June July August September October November December
"""
)
MONTH_FORMS = {form: m for m in MONTHS for form in (m, m.upper(), m[:3], m[:3].upper())}
MONTH_FORMS |= {"Sept": "September", "SEPT": "September"}
MONTH_FORMS |= {m.lower(): m for m in MONTHS if m not in ("March", "May")}
MONTH_NAMES = frozenset(form for form, m in MONTH_FORMS.items() if len(form) == len(m))
_M = "(?:" + "|".join(sorted(MONTH_FORMS, key=len, reverse=True)) + r")(?!\w)"
_D = r"(?:3[01]|[12]\d|0?[1-9])"
_N = r"(?:1[0-2]|0?[1-9])"
_TH = "(?:st|nd|rd|th)?"
_Y = r"\d{4}(?![\w]|[.,]\d)"
PIECE = re.compile(
    rf"(?<![\w.,/-])(?P<y1>\d{{4}})[-/](?P<n1>{_N})[-/](?P<d1>{_D})(?![\d-]|[./]\d)"
    rf"|(?<![\w.,/-])(?P<d2>{_D})\.(?P<n2>{_N})\.(?P<y2>{_Y})"
    rf"|(?<![\w.,/-])(?P<d3>{_D}){_TH}(?:\s|-|\sof\s)(?P<m3>{_M})\.?(?:,?[\s-](?P<y3>{_Y}))?"
    rf"|(?<!\w)(?P<m4>{_M})\.?[\s-](?:the\s)?(?P<d4>{_D}){_TH}(?!\w)"
    rf"(?:,?\s(?P<y4>{_Y})|,(?P<y4b>{_Y}))?(?![.,:/]?\d|\s?%|-\d)"
    rf"|(?<!\w)(?P<m5>{_M})\.?(?:,?|\sof)\s(?P<y5>{_Y})"
    rf"|(?<![\w.,/-])(?P<d6>3[01]|2\d|1[3-9])/(?P<n6>{_N})/(?P<y6>{_Y})"
    rf"|(?<![\w.,/-])(?P<n7>{_N})/(?P<d7>3[01]|2\d|1[3-9])/(?P<y7>{_Y})"
    r"|(?P<money>(?<!\w)(?:[Uu][Ss]\$|USD|EUR|GBP|JPY|[$€£¥]) ?(?=\.?\d))"
    r"|(?P<nth>\d+)(?:st|nd|rd|th)(?!\w)"
    r"|(?P<number>(?<![\w.,:/'-])(?<!\d )[1-9]\d{0,2}(?:(?: \d{3}){0,4} 000| \d{3})"
    r"(?![\d:/'])(?! \d{3}(?!\d))(?:\.\d+)?"
    r"|\d+(?:[.,'/:]\d+)*|(?<![\w.])\.\d+)"
    r"|(?P<letters>(?<![\w.])[^\W\d_](?:\.[^\W\d_])+(?!\w)\.?)"
    r"|(?P<word>[^\W\d_]\w*(?:'[^\W\d_]\w*)*(?:(?<=\d)\.\d+)*(?:\+\+|\#(?!\w))?)"
    r"|(?P<raised>\^\d+)|(?P<mark>[&%°])"
)
ATTACHED = re.compile(r"(?:[^\W_]|\^)[\w^]*")
NEXT_OF = re.compile(r";?\s(?:of|another)(?!\w)")

TEN_TEXTS = frozenset(map(str, TENS.values()))
COUNTED = frozenset(_words("once twice times token tokens request requests words pages"))
MONEY_SCALES = {"k": 1000, "m": 10**6, "M": 10**6, "bn": 10**9, "b": 10**9, "B": 10**9}
SCALE = re.compile(r"[ \n-]([a-zA-Z]+)(?!\w)")

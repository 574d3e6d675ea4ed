"""Short references against replies: what matches, beside what nearly does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragevalkit.bank.question import REFERENCE_WORDS
from ragevalkit.scoring.answers import matches_reference, normalised

# reference: replies that match, replies that don't
CASES: dict[str, tuple[list[str], list[str]]] = {
    "1200": (
        [
            "1,200",
            "1 200",
            "1'200",
            "1’200",
            "1\u202f200",
            "1\xa0200",
            "1\u2009200",
            "**1200**",
            "1,200.00",
            "about 1200.",
            "(1,200)",
            "1.2 thousand",
            "1200 rpm",
            "~1200",
            "１２００",
        ],
        ["1.200", "11,200", "1,200,000", "1 200 000", "12000", "1,2000", "-1200", "1200.5"],
    ),
    "1200000": (["1,200,000", "1.200.000", "1.2 million", "1 200 000"], ["1.200", "1.2.000"]),
    "12": (
        ["12", "Twelve units.", "12 W", "12.0", "it is 12.", "There are 12: six here", "[12 W]"],
        [
            "12.5",
            "112",
            "1,200",
            "12,000",
            "12 000",
            "-12",
            "12:30",
            "1/12",
            "12.1.4",
            "12th",
            "12 million",
            "see [12]",
            "A-12",
            "12b",
            "10-12",
            "12-15 units",
            "0.12",
            "12 May",
        ],
    ),
    "1.50": (["1.5", "1.500 kg", "1,5", "1½"], ["15", "1.55", "1.5.0", "150"]),
    "18.1": (["18.1 tokens/s", "**18.1** tok/s", "18.10"], ["18", "18.12", "118.1", "18.1.2"]),
    "0.5": ([".5", "½", "0,5", "0.50"], ["5", "10.5", "0.55"]),
    "-5": (["−5 °C", "minus 5", "minus five", "(-5)"], ["5", "10-5", "x - 5", "F-5"]),
    "5": (["five", "+5", "5 and 6", "10, 5"], ["-5", "10⁵", "x⁵", "5²", "twenty-five", "5th"]),
    "25": (["twenty-five", "twenty five", "25 %"], ["twenty, five", "20 5"]),
    "one": (["1", "One.", "just one"], ["no one knows", "one of them", "this one", "Tarn 1S"]),
    "3 million": (["3,000,000", "3m people; 3 million", "three million"], ["3", "3000"]),
    "10%": (["10 %", "10 percent", "ten per cent", "10 pct", "10\u00a0%"], ["10", "10.5%", "110%"]),
    "280 W": (
        [
            "280W",
            "280 watts",
            "280-watt",
            "280 Watt",
            "**280** W",
            "280 w",
            "uses 280\nwatts",
            "280&#32;W 280 W",
            "0.28 kW, which is 280 W",
            "280 W¹",
        ],
        ["280", "280 V", "280 Wh", "280 kW", "280 W per hour", "1,280 W", "280 W–300 W", "28 0W"],
    ),
    "0.3 kW": (["0.3 kilowatts", "0.30kW"], ["300 W", "0.3 W"]),
    "64 GB": (
        ["64GB", "64 gigabytes", "64-GB", "64 gb", "a 64 gigabyte module"],
        ["64 GiB", "64 MB", "64", "640 GB", "64 GB/s", "64 Gb", "164 GB", "32-64 GB"],
    ),
    "64 GB/s": (["64 GB per second", "64 gigabytes/s"], ["64 GB", "64 GB per minute"]),
    "8 weeks": (["every eight weeks", "8-week", "8 wks"], ["8 days", "8", "18 weeks", "8 months"]),
    "70 s": (["70 seconds", "70s", "70 sec", "70-second"], ["70 ms", "70S", "70 min", "170 s"]),
    "5.6 s": (["5.6 seconds", "5.60 s"], ["5.6 ms", "5 6 s", "6 s", "15.6 s"]),
    "15 minutes": (
        ["15 min", "fifteen minutes", "15mins", "15 minutes' wait"],
        ["15 hours", "15", "10–15 minutes"],
    ),
    "2 hours": (["2h", "2 hrs", "two hours", "2 hr"], ["2 H", "120 minutes", "2 hours per week"]),
    "250 ms": (["250 milliseconds", "250ms"], ["250 s", "250 µs"]),
    "3 GHz": (["3 gigahertz", "3GHz", "3.0 GHz", "3 ghz"], ["3 MHz", "3 kHz", "3 Hz"]),
    "35 °C": (
        ["35 degrees Celsius", "35°C", "35 deg C", "35 ℃", "35 ° C", "thirty-five degrees C"],
        ["35 °F", "35", "35 degrees", "35 kg"],
    ),
    "31 dB(A)": (["31 dBA", "31 decibels", "31 dB (A)", "31 dB"], ["31", "31 W", "131 dB"]),
    "3.4 kg": (["3.4 kilograms", "3.4 kilos"], ["3.4 g", "3.4 km"]),
    "5 mm": (["5 millimetres", "5 millimeters", "5mm"], ["5 cm", "5 m", "5 km", "5 mm²"]),
    "5 MW": (["5 megawatts"], ["5 mW", "5 milliwatts"]),
    "5000 mAh": (["5,000 mAh", "5000 milliamp-hours"], ["5000 mA", "5000 Wh"]),
    "18 tokens per second": (
        ["18 tokens/s", "18 tok/s", "18 t/s", "18 tokens a second", "18 tokens/sec"],
        ["18 tokens", "18 tokens per minute", "18 seconds", "18"],
    ),
    "30 requests per minute": (["30 requests/min"], ["30 requests per second", "30 requests"]),
    "90 km/h": (["90 kph", "90 kilometres per hour"], ["90 km", "90 mph"]),
    "$5": (
        ["5 dollars", "USD 5", "5 USD", "US$5", "$5.00", "$ 5", "5 US dollars", "costs $5."],
        ["€5", "5", "5 euros", "$5.50", "$15", "$5 million", "$5m"],
    ),
    "$1.2 million": (["$1,200,000", "$1.2m", "1.2 million dollars"], ["$1.2", "1.2 million"]),
    "€20": (["20 €", "EUR 20", "20 euros"], ["£20", "$20"]),
    "£20": (["20 pounds", "GBP 20"], ["20 lb", "€20"]),
    "March 5, 2019": (
        [
            "5 March 2019",
            "2019-03-05",
            "5th of March 2019",
            "Mar. 5, 2019",
            "March 5th, 2019",
            "5 Mar 2019",
            "05.03.2019",
            "Tuesday, March 5 2019",
            "the 5th of March, 2019",
        ],
        ["March 5", "5 March 2018", "2019-05-03", "March 2019", "15 March 2019", "March 5, 20190"],
    ),
    "2019": (
        ["in March 2019", "2019-03-05", "5 March 2019", "(2019)", "2018–2019", "mid-2019"],
        [],
    ),
    "March 2019": (["March, 2019", "Mar 2019", "5 March 2019"], ["March 2018", "2019 march"]),
    "5 March": (["March 5", "March 5th", "the fifth (5 March)"], ["March 15", "5 May", "March 5%"]),
    "March": (["in March 2019", "MARCH"], ["a march", "May"]),
    "December 31, 2020": (["31/12/2020", "12/31/2020", "2020/12/31"], ["30/12/2020"]),
    "first": (["1st", "the first one"], ["1", "one"]),
    "21st century": (["the twenty-first century"], ["21 century", "1st century"]),
    "4-bit": (["4 bit", "4bit", "4 bits", "four-bit"], ["14-bit", "4", "4 bytes"]),
    "4": (["4-bit", "4 bit"], ["GPT-4", "F-4", "v1.4", "4.0.1", "Q4"]),
    "31": (["31 dB"], ["F-31", "F31", "31-F", "31b"]),
    "F-31": (["f-31", "code F-31.", "F 31", "`F-31`"], ["F-310", "F-3", "G-31", "31"]),
    "2.4": (["firmware 2.4", "2.4 is first"], ["2.4.1", "12.4", "v2.41"]),
    "Sedge-32B": (["sedge 32b", "**Sedge-32B**"], ["Sedge-32", "Sedge-8B"]),
    "10-20": (
        ["10 to 20", "10–20", "10 – 20", "between 10 and 20", "10 to 20 W", "ten to twenty"],
        ["10, 20", "10 and 20", "110-20", "10-200", "10 20"],
    ),
    "10-20 W": (["10 W to 20 W", "10 to 20 watts", "from 10 W to 20 W"], ["10-20 V", "10-20"]),
    "10 W": (["from 10 to 20 W", "10 W, 20 W"], ["10–20 W", "10 W – 20 W", "5-10 W"]),
    "150 W": (["fell from 165 W to 150 W"], ["150–165 W"]),
    "1980": (["in 1980,"], ["the 1980s", "1980s"]),
    "yes": (["Yes.", "**Yes**, it can.", "yes"], ["The answer is yes", "Not yes", "", "yesterday"]),
    "No": (["No, it can't.", "no"], ["There is no limit", "None", "I know: no"]),
    "the Washington, D.C.": (["Washington DC", "in Washington D.C., where"], ["Washington"]),
    "U.S. Congress": (["the US Congress"], ["us in Congress hall u", "Congress"]),
    "vitamin A": (["Vitamin A deficiency", "vitamin A."], ["vitamin C", "a vitamin"]),
    "A Tale of Two Cities": (["wrote a tale of two cities", "A Tale of 2 Cities"], ["Tale of Two"]),
    "McDonald's": (["McDonald’s", "mcdonald's menu"], ["Donald"]),
    "C++": (["c++", "in C++."], ["C", "C#"]),
    "AT&T": (["AT&T Inc.", "AT & T"], ["AT T"]),
    "max_tokens": (["`max_tokens`", "_max_tokens_"], ["max", "tokens"]),
    "the operator": (["an Operator", "operators and the operator"], ["operators"]),
    "1920x1080": (["1920 × 1080", "1920*1080"], ["1920", "1080x1920"]),
    "244": (["159 210 244", "68 128 244 588", "| 159 | 244 |"], ["1 244", "244 000 000"]),
    "1234567": (["1,234,567", "1\u202f234\u202f567", "1'234'567"], ["1234", "567", "1 234 567"]),
    "2": (["- 2", "2. That is all."], ["1. Open it\n2. Close it", "Tarn [2]", "[1, 2]"]),
}
MATCHES = [(r, reply) for r, (good, _) in CASES.items() for reply in good]
NEAR_MISSES = [(r, reply) for r, (_, bad) in CASES.items() for reply in bad]


@pytest.mark.parametrize(("reference", "reply"), MATCHES)
def test_matches(reference: str, reply: str) -> None:
    assert matches_reference(reply, [reference]) is True, (normalised(reference), normalised(reply))


@pytest.mark.parametrize(("reference", "reply"), NEAR_MISSES)
def test_near_misses(reference: str, reply: str) -> None:
    shown = (normalised(reference), normalised(reply))
    assert matches_reference(reply, [reference]) is False, shown


def test_any_short_reference_counts() -> None:
    long = " ".join(["word"] * (REFERENCE_WORDS + 1))
    assert matches_reference("It is 5.", [long, "6", "five"]) is True
    assert matches_reference(long, [long, "6"]) is False


@pytest.mark.parametrize("references", [[], [""], ["?!"], ["the"], [" ".join("abcdefghijklm")]])
def test_undefined_without_a_short_reference(references: list[str]) -> None:
    assert matches_reference("anything", references) is None


def test_the_longest_reference_that_counts() -> None:
    assert matches_reference("b c d e f g h i j k l m", ["b c d e f g h i j k l m"]) is True


PARTS = st.sampled_from(
    [r for r in CASES if r not in ("yes", "No")]
    + [
        "one",
        "the",
        "A",
        "of",
        "per",
        "to",
        "and",
        "between",
        "second",
        "s",
        "/",
        "-",
        "–",
        ",",
        ".",
    ]
    + [
        "(",
        ")",
        "%",
        "$",
        "°C",
        "dB(A)",
        "1",
        "200",
        "3.5",
        "million",
        "May",
        "Mar",
        "twenty",
        "\n",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(PARTS, max_size=8).map(" ".join),
    st.lists(PARTS, max_size=8).map("".join),
    st.text("0123456789.,'/:- -–%$sWxABé°^²½\n*_[]()", max_size=30),
)


@given(TEXTS)
@settings(max_examples=1000, deadline=None)
def test_a_reference_matches_itself(reference: str) -> None:
    assert matches_reference(reference, [reference]) is not False


@given(st.lists(PARTS, min_size=1, max_size=4).map(" ".join))
@settings(max_examples=500, deadline=None)
def test_a_reference_is_found_in_a_sentence(reference: str) -> None:
    assert matches_reference(f"It says: {reference} (page nine).", [reference]) is not False


@given(TEXTS)
@settings(max_examples=1000, deadline=None, derandomize=True)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once


@given(TEXTS, st.lists(TEXTS, max_size=3))
@settings(max_examples=500, deadline=None)
def test_any_text_gives_a_verdict(reply: str, references: list[str]) -> None:
    assert matches_reference(reply, references) in (True, False, None)


@pytest.mark.parametrize(
    "unit",
    [
        "1",
        "1 ",
        "100 ",
        "a.",
        "a",
        "_",
        "*",
        " ",
        "5 W - ",
        "1'",
        "](",
        "twenty ",
        "\n1. x",
        "a_",
        "/",
        "1/",
        "5 per ",
        "March 5 ",
        "<b",
        "between 1 and ",
        "[1",
        "million ",
        "'",
        "A ",
    ],
)
def test_long_adversarial_replies_finish(unit: str) -> None:
    reply = unit * (100_000 // len(unit))
    assert matches_reference(reply, ["280 W", "100 101"]) is not None

"""The bank as a whole: what it has too little of.

Public: `balance_findings`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragevalkit.bank.lint.finding import KINDS, Finding
from ragevalkit.bank.lint.reading import Reading, shown
from ragevalkit.bank.mix import SILENCER, Mix
from ragevalkit.bank.question import REFERENCE_WORDS

LEAST_SHARE = 0.25
"""Of answerable and of unanswerable questions alike."""
LARGE_TAG = 10
"""Questions from which on a tag should have both sorts."""
FEW_WITHOUT_REFERENCE = 0.1
"""Share of answerable questions up to which one isn't told that references are missing: some have
no short answer."""


def balance_findings(reading: Reading) -> Iterator[Finding]:
    """`one_sided` and the summaries; and, a line each, what a question leaves out."""
    yield from _one_sided(Mix.of(reading.bank.questions))
    yield from _left_out(reading)
    for position, question in reading.questions():
        long = [len(answer.split()) > REFERENCE_WORDS for answer in question.answers]
        if question.answerable and long and all(long):
            yield Finding(
                "long_reference",
                f"its references have more than {REFERENCE_WORDS} words, beginning with "
                f"{shown(question.answers[0], 50)}",
                (position,),
            )
        if not question.answerable and not question.unanswerable_because:
            message = "it is unanswerable and doesn't say why"
            yield Finding("unanswerable_without_reason", message, (position,))
        for tag in question.tags:
            if tag.startswith(SILENCER) and tag.removeprefix(SILENCER) not in KINDS:
                message = f"the tag {shown(tag)} names no finding"
                yield Finding("unknown_silencer", message, (position,))


def _one_sided(mix: Mix) -> Iterator[Finding]:
    answerable, unanswerable = mix.answerable, mix.unanswerable
    total = answerable + unanswerable
    if not unanswerable:
        yield Finding("one_sided", f"none of {total} questions is unanswerable")
    elif not LEAST_SHARE <= answerable / total <= 1 - LEAST_SHARE:
        yield Finding("one_sided", f"{answerable} of {total} questions are answerable")
    if not answerable or not unanswerable or mix.kinds_by_side():
        return
    for tag, count in mix.tags.items():
        if count.total >= LARGE_TAG and not (count.answerable and count.unanswerable):
            sort = "answerable" if count.answerable else "unanswerable"
            yield Finding(
                "one_sided", f"all {count.total} questions tagged {shown(tag)} are {sort}"
            )


def _left_out(reading: Reading) -> Iterator[Finding]:
    answerable = [(p, q) for p, q in reading.questions(answerable=True)]
    counted = [(p, q) for p, q in answerable if not reading.silences((p,), "no_reference")]
    without = [q.id for _, q in counted if not q.answers]
    if len(without) > FEW_WITHOUT_REFERENCE * len(answerable):
        yield Finding(
            "no_reference",
            f"{len(without)} of {len(answerable)} answerable questions have no reference answer, "
            f"beginning with {without[0]}",
        )
    counted = [(p, q) for p, q in answerable if not reading.silences((p,), "no_quote")]
    bare = [q.id for _, q in counted for e in q.evidence if not e.quote]
    if bare:
        entries = sum(len(q.evidence) for _, q in answerable)
        yield Finding(
            "no_quote",
            f"{len(bare)} of {entries} evidence entries have no quote, beginning with {bare[0]}",
        )

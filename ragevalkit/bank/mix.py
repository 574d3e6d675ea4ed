"""What a bank is made of, by tag and answerability.

Public: `Mix`, `Count`, `SILENCER`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ragevalkit.bank.question import REFERENCE_WORDS, Question

SILENCER = "lint-ok:"
"""A tag that begins with this silences, in its line, the finding of lint that it goes on with. One
about the whole bank is silenced by the tag in any line."""

_OWN_TAGS = 0.5


@dataclass
class Count:
    """Questions of both sorts."""

    answerable: int = 0
    unanswerable: int = 0

    @property
    def total(self) -> int:
        return self.answerable + self.unanswerable

    def add(self, question: Question) -> None:
        """Count one more."""
        if question.answerable:
            self.answerable += 1
        else:
            self.unanswerable += 1


@dataclass
class Mix:
    """How many questions of which sort there are."""

    answerable: int = 0
    unanswerable: int = 0
    tags: dict[str, Count] = field(default_factory=dict)
    """By tag, the most frequent first; tags that silence lint are left out."""
    untagged: Count = field(default_factory=Count)
    with_history: Count = field(default_factory=Count)
    groups: Mapping[int, int] = field(default_factory=dict)
    """Answerable questions by the number of their evidence groups."""
    short_reference: int = 0
    """Answerable questions with a reference that `correct_answer` compares."""
    long_reference: int = 0
    """Answerable questions whose references are all too long for it."""
    no_reference: int = 0
    """Answerable questions without a reference."""
    evidence: int = 0
    """Evidence entries."""
    quotes: int = 0
    """Evidence entries with a quote."""
    with_reason: int = 0
    """Unanswerable questions that say why they are."""
    own_tags: Count = field(default_factory=Count)
    """Questions with a tag that no question of the other sort has."""

    @classmethod
    def of(cls, questions: Sequence[Question]) -> Mix:
        """Count `questions`."""
        mix = cls()
        tags: dict[str, Count] = {}
        groups: Counter[int] = Counter()
        for question in questions:
            named = _tags(question)
            for tag in named:
                tags.setdefault(tag, Count()).add(question)
            if not named:
                mix.untagged.add(question)
            if question.history:
                mix.with_history.add(question)
            if question.answerable:
                mix.answerable += 1
                groups[len({e.group for e in question.evidence})] += 1
                mix.evidence += len(question.evidence)
                mix.quotes += sum(e.quote is not None for e in question.evidence)
                if not question.answers:
                    mix.no_reference += 1
                elif any(len(a.split()) <= REFERENCE_WORDS for a in question.answers):
                    mix.short_reference += 1
                else:
                    mix.long_reference += 1
            else:
                mix.unanswerable += 1
                mix.with_reason += question.unanswerable_because is not None
        mix.tags = dict(sorted(tags.items(), key=lambda item: (-item[1].total, item[0])))
        mix.groups = dict(sorted(groups.items()))
        for question in questions:
            counts = [tags[tag] for tag in _tags(question)]
            if any(not (count.answerable and count.unanswerable) for count in counts):
                mix.own_tags.add(question)
        return mix

    @property
    def denominators(self) -> dict[str, int]:
        """What metrics are taken over that doesn't depend on a model, by the names of scoring."""
        return {
            "scored": self.answerable + self.unanswerable,
            "answerable": self.answerable,
            "unanswerable": self.unanswerable,
            "answerable with a short reference": self.short_reference,
        }

    def as_dict(self) -> dict[str, Any]:
        """The `mix` of `bank stats --json`.

        `answerable`, `unanswerable` (counts of questions); `tags` {tag: {`answerable`,
        `unanswerable`}}, and the same counts for `untagged` and `with_history`; `groups` {number
        of evidence groups: answerable questions}; `references` {`short`, `long`, `none`} over
        answerable questions; `evidence`, `quotes` (entries, and those with a quote);
        `with_reason` (unanswerable questions that say why).
        """
        return {
            "answerable": self.answerable,
            "unanswerable": self.unanswerable,
            "tags": {tag: asdict(count) for tag, count in self.tags.items()},
            "untagged": asdict(self.untagged),
            "with_history": asdict(self.with_history),
            "groups": {str(number): count for number, count in self.groups.items()},
            "references": {
                "short": self.short_reference,
                "long": self.long_reference,
                "none": self.no_reference,
            },
            "evidence": self.evidence,
            "quotes": self.quotes,
            "with_reason": self.with_reason,
        }

    def kinds_by_side(self) -> bool:
        """Whether tags name kinds of answerable and kinds of unanswerable questions, by intent.

        Taken to be so where at least half of each sort have a tag that the other sort never has.
        """
        return (
            self.own_tags.answerable >= _OWN_TAGS * self.answerable
            and self.own_tags.unanswerable >= _OWN_TAGS * self.unanswerable
        )


def _tags(question: Question) -> list[str]:
    return [tag for tag in question.tags if not tag.startswith(SILENCER)]

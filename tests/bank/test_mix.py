"""What a bank is made of, and what so many questions can tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.bank import Question
from ragevalkit.bank.mix import Count, Mix
from ragevalkit.bank.planning import CORRELATION, DISCORDANT, TARGET, plan_for
from ragevalkit.scoring.metrics import OVER
from ragevalkit.stats import mcnemar_power, non_inferiority_power

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen"


def answerable(*tags: str, **more: Any) -> Question:
    fields: dict[str, Any] = {"evidence": [{"document": "d", "page": 1}]} | more
    return Question(id="x", question="?", answerable=True, tags=list(tags), **fields)


def unanswerable(*tags: str, **more: Any) -> Question:
    return Question(id="x", question="?", answerable=False, tags=list(tags), **more)


def test_counts() -> None:
    groups = [
        {"document": "d", "page": 1, "quote": "a"},
        {"document": "d", "page": 2, "group": 1},
        {"document": "d", "page": 3, "group": 1},
    ]
    mix = Mix.of(
        [
            answerable("easy", "table", answers=["8 W"]),
            answerable("hard", evidence=groups, answers=[LONG, "8 W"]),
            answerable(answers=[LONG], history=[{"role": "user", "content": "hm"}]),
            answerable("lint-ok:no_reference", "hard"),
            unanswerable("hard", unanswerable_because="so it is"),
            unanswerable("lint-ok:one_sided"),
        ]
    )
    assert mix.as_dict() == {
        "answerable": 4,
        "unanswerable": 2,
        "tags": {
            "hard": {"answerable": 2, "unanswerable": 1},
            "easy": {"answerable": 1, "unanswerable": 0},
            "table": {"answerable": 1, "unanswerable": 0},
        },
        "untagged": {"answerable": 1, "unanswerable": 1},
        "with_history": {"answerable": 1, "unanswerable": 0},
        "groups": {"1": 3, "2": 1},
        "references": {"short": 2, "long": 1, "none": 1},
        "evidence": 6,
        "quotes": 1,
        "with_reason": 1,
    }
    assert list(mix.tags) == ["hard", "easy", "table"], "the most frequent first"
    assert mix.denominators == {
        "scored": 6,
        "answerable": 4,
        "unanswerable": 2,
        "answerable with a short reference": 2,
    }


def test_denominators_are_those_of_scoring() -> None:
    assert set(Mix.of([]).denominators) <= set(OVER)


@pytest.mark.parametrize(
    ("questions", "by_intent"),
    [
        ([answerable("table"), unanswerable("missing")], True),
        ([answerable("table", "easy"), unanswerable("missing", "easy")], True),
        ([answerable("water"), unanswerable("water")], False),
        ([answerable("table"), unanswerable()], False),
        ([answerable("table"), answerable("x"), unanswerable("a"), unanswerable("x")], True),
        ([answerable("table"), unanswerable("a"), unanswerable(), unanswerable()], False),
    ],
)
def test_tags_that_name_kinds_of_either_sort(questions: list[Question], by_intent: bool) -> None:
    assert Mix.of(questions).kinds_by_side() == by_intent


SORTS = st.tuples(st.booleans(), st.lists(st.sampled_from("abc"), max_size=2, unique=True))


@given(st.lists(SORTS, max_size=12))
def test_tags_and_sorts_add_up(sorts: list[tuple[bool, list[str]]]) -> None:
    mix = Mix.of([(answerable if sort else unanswerable)(*tags) for sort, tags in sorts])
    assert mix.answerable + mix.unanswerable == len(sorts)
    assert sum(c.total for c in mix.tags.values()) == sum(len(tags) for _, tags in sorts)
    assert mix.untagged.total == sum(not tags for _, tags in sorts)
    assert sum(mix.groups.values()) == mix.answerable
    assert mix.short_reference + mix.long_reference + mix.no_reference == mix.answerable


def test_count() -> None:
    assert Count(2, 3).total == 5


def test_the_plan_of_the_repos_bank() -> None:
    """The numbers of data-and-statistics.md, 4.2."""
    plan = plan_for({"scored": 116, "answerable": 70, "unanswerable": 46}, repeats=2)
    cases = {(case.over, case.discordant): case for case in plan.cases}
    assert [row.n for row in plan.denominators] == [116, 70, 46], "repeats don't add to n"
    assert cases["scored", 0.10].detectable == pytest.approx(0.083, abs=0.001)
    assert cases["scored", 0.05].detectable is None
    assert cases["answerable", 0.10].detectable is None
    assert cases["answerable", 0.20].detectable == pytest.approx(0.151, abs=0.001)
    assert cases["unanswerable", 0.20].detectable == pytest.approx(0.183, abs=0.001)
    assert plan.denominators[0].half_width == pytest.approx(0.0549, abs=0.0005)
    assert plan.interval_factor == pytest.approx(((1 + CORRELATION) / 2) ** 0.5)
    assert plan.most_narrowed < plan.interval_factor < 1


def test_with_so_many_more_the_target_is_reached() -> None:
    plan = plan_for({"scored": 116, "answerable": 2000})
    for case in plan.cases:
        assert case.more_to_detect is not None
        assert case.more_for_margin is not None
        if case.over == "answerable":
            assert (case.more_to_detect, case.more_for_margin) == (0, 0)
        else:
            n = 116 + case.more_to_detect
            assert mcnemar_power(n, TARGET, case.discordant) >= 0.8
            n = 116 + case.more_for_margin
            assert non_inferiority_power(n, TARGET, case.discordant) >= 0.8


def test_a_plan_without_questions() -> None:
    plan = plan_for({"unanswerable": 0})
    assert plan.denominators[0].half_width is None
    assert [case.detectable for case in plan.cases] == [None] * len(DISCORDANT)
    assert [case.margin for case in plan.cases] == [None] * len(DISCORDANT)
    assert all(case.more_to_detect for case in plan.cases)


def test_a_target_beyond_the_discordant_share_is_none() -> None:
    [case] = plan_for({"scored": 100}, discordant=[0.04]).cases
    assert case.more_to_detect is None
    assert case.more_for_margin is not None

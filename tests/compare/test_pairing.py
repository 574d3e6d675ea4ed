"""Which turns are pairs, and what becomes of the others."""

from __future__ import annotations

from compare.arms import arm

from ragevalkit.compare.pairing import left_over, pair


def test_pairs_are_of_the_same_hash_and_repeat_in_any_order() -> None:
    a = arm({"answered": [1.0, 0.0]}, hashes=["x", "y"])
    b = arm({"answered": [0.0, 1.0]}, hashes=["y", "x"])
    pairs = pair(a, b)
    assert (pairs.a_rows, pairs.b_rows, pairs.unpaired) == ([0, 1], [1, 0], {})
    of_a, of_b = pairs.values("answered")
    assert (of_a.tolist(), of_b.tolist()) == ([1, 0], [1, 0])


def test_why_a_turn_has_no_partner() -> None:
    lost = "infra_error"
    a = arm(
        {"answered": [1.0] * 6},
        hashes=["only a", "before", "lost a", "lost b", "lost both", "kept"],
        ids=["q0", "q1", "q2", "q3", "q4", "q5"],
        outcomes={2: lost, 4: lost},
    )
    b = arm(
        {"answered": [1.0] * 7},
        hashes=["after", "lost a", "lost b", "lost both", "kept", "only b", "only b too"],
        ids=["q1", "q2", "q3", "q4", "q5", "q6", "q7"],
        outcomes={2: lost, 3: lost},
    )
    pairs = pair(a, b)
    assert len(pairs) == 1
    assert pairs.unpaired == {
        "only_a": 1,
        "only_b": 2,
        "edited": 1,
        "infra_error_a": 1,
        "infra_error_b": 1,
        "infra_error_both": 1,
    }
    assert left_over(pairs.unpaired).startswith("1 asked in a alone, 2 asked in b alone, 1 with an")


def test_repeats_that_one_side_lacks_are_counted() -> None:
    a = arm({"answered": [1.0] * 4}, repeats=2)
    b = arm({"answered": [1.0] * 2}, repeats=1)
    pairs = pair(a, b)
    assert (len(pairs), pairs.unpaired, pairs.repeated) == (2, {"only_a": 2}, False)

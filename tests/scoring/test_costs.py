"""What a run's turns cost: the median turn, a correct answer's price, and energy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from scoring.turns import ANSWERABLE, DECLINE, UNANSWERABLE, call, cited, round_, turn

from ragevalkit.endpoint.power.energy import Sample
from ragevalkit.endpoint.power.log import PowerLog
from ragevalkit.errors import InputError
from ragevalkit.scoring.correct import is_correct
from ragevalkit.scoring.costs import Costs, costs_of
from ragevalkit.scoring.score import Score, score_turn
from ragevalkit.turn.record import Channel, Ended, Round, ServerTimes, Turn

START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""When the turns of these tests began."""


def scored(*turns: Turn) -> list[tuple[Turn, Score]]:
    return [(one, score_turn(one, None)) for one in turns]


def channel(tokens: int, gaps_ms: tuple[float, ...] = ()) -> Channel:
    return Channel.model_construct(
        tokens=tokens, estimated=False, gaps_ms=list(gaps_ms), event_tokens=[]
    )


def reply(content: str, tokens: int = 5, prompt: int = 100, server: bool = False) -> Round:
    made = round_(
        content=content,
        clock={"sent_ms": 0.0, "ended_ms": 900.0},
        channels={
            "reasoning_channel": channel(20, (200.0,)),
            "answer_channel": channel(tokens, (100.0,)),
        },
    )
    made.completion_tokens, made.prompt_tokens = tokens + 20, prompt
    if server:
        made.server = ServerTimes(source="vllm", queue_ms=50, prefill_ms=350)
    return made


def good(wall_ms: float = 1000, **fields: Any) -> Turn:
    search = round_(call("search", "guide:4"), call("cite"))
    search.completion_tokens, search.prompt_tokens = 0, 0
    return turn(
        search, reply("It says 42 dB."), citations=(cited("guide:4"),), wall_ms=wall_ms, **fields
    )


def bad(wall_ms: float = 1000, **fields: Any) -> Turn:
    return turn(reply("It says 42 dB."), wall_ms=wall_ms, **fields)


@pytest.mark.parametrize(
    ("of", "correct"),
    [
        (good(), True),
        (good(question=ANSWERABLE | {"answers": ["42 dB"]}), True),
        (good(question=ANSWERABLE | {"answers": ["55 dB"]}), False),
        (bad(), False),
        (turn(reply=DECLINE, question=UNANSWERABLE), True),
        (turn(reply="It is 5 euros.", question=UNANSWERABLE), False),
        (turn(reply=DECLINE), False),
        (turn(round_(), ended=Ended.INFRA_ERROR, question=UNANSWERABLE), False),
    ],
)
def test_what_is_correct(of: Turn, correct: bool) -> None:
    assert is_correct(score_turn(of, None)) is correct


def test_a_correct_one_costs_what_all_of_them_took() -> None:
    lost = turn(ended=Ended.INFRA_ERROR, wall_ms=60_000)
    costs = costs_of("r", scored(good(2000), bad(4000), good(3000), lost))
    assert (costs.scored, costs.infra_errors, costs.correct) == (3, 1, 2)
    assert (costs.seconds_per_correct.total, costs.seconds_per_correct.value) == (9, 4.5)
    assert costs.output_tokens_per_correct.value == 3 * 25 / 2
    assert costs.prompt_tokens_per_correct.value == 150


def test_without_a_correct_one_there_is_no_price() -> None:
    each = costs_of("r", scored(bad())).seconds_per_correct
    assert (each.total, each.value, each.low) == (1, None, None)
    nothing = costs_of("r", [])
    assert (nothing.median_turn, nothing.energy, nothing.seconds_per_correct.total) == (
        None,
        None,
        None,
    )


def test_tokens_that_not_all_turns_tell_are_null() -> None:
    untold = bad()
    untold.rounds[0].prompt_tokens = None
    costs = costs_of("r", scored(good(), untold))
    assert costs.prompt_tokens_per_correct.total is None
    assert costs.output_tokens_per_correct.total == 50


def test_the_interval_covers_the_ratio() -> None:
    turns = [
        (good if n % 3 else bad)(1000 + 37 * n, question=ANSWERABLE | {"question": f"q {n}?"})
        for n in range(30)
    ]
    each = costs_of("r", scored(*turns)).seconds_per_correct
    assert each.low is not None
    assert each.high is not None
    assert each.value is not None
    assert each.low < each.value < each.high


def test_the_median_turn_is_the_mean_of_the_middle_fifth() -> None:
    turns = [bad(1000.0 * n) for n in range(1, 11)]
    median = costs_of("r", scored(*turns)).median_turn
    assert median is not None
    assert (median.turns, median.wall_s, median.rounds) == (2, 5.5, 1)
    assert sum(median.parts_ms.values()) == pytest.approx(5500)
    assert median.tokens == {"reasoning": 20, "tool_arguments": 0, "answer": 5}
    assert median.parts_ms["reasoning"] == 200
    assert (median.parts_ms["queue"], median.parts_ms["prefill"]) == (0, 0)
    assert median.parts_ms["wait"] == 600


def test_turns_that_were_cut_off_are_the_longest() -> None:
    cut = bad(10, ended=Ended.TURN_TIMEOUT)
    median = costs_of("r", scored(cut, bad(1000), bad(2000))).median_turn
    assert median is not None
    assert median.wall_s == 2


def test_the_servers_own_figures_split_the_waiting() -> None:
    median = costs_of("r", scored(turn(reply("42", server=True), wall_ms=1000))).median_turn
    assert median is not None
    parts = median.parts_ms
    assert (parts["queue"], parts["prefill"], parts["wait"]) == (50, 350, 200)
    assert sum(parts.values()) == pytest.approx(1000)


# energy


def log(watts: float = 300, idle: float = 70, begin: float = -30, end: float = 40) -> PowerLog:
    """`watts` while a turn of ten seconds goes on, `idle` before and after."""
    count = round((end - begin) * 10) + 1
    moments = [begin + tenth / 10 for tenth in range(count)]
    samples = [Sample(START + at, watts if 0 <= at <= 10 else idle) for at in moments]
    return PowerLog({"": samples}, "GPU board", 0, "UTC")


def costs(power: PowerLog, **more: Any) -> Costs:
    return costs_of("r", scored(good(10_000), bad(10_000)), power, **more)


def test_joules_of_the_time_in_which_turns_were_asked() -> None:
    energy = costs(log()).energy
    assert energy is not None
    # both turns are at once: ten seconds, not twenty
    assert (energy.seconds, energy.covered) == (10, 1)
    assert energy.joules == pytest.approx(3000, abs=1)
    assert energy.idle_watts == 70
    assert energy.idle_source == "log"
    assert energy.joules_above_idle == pytest.approx(2300, abs=1)
    assert energy.per_answer_token == pytest.approx(300, abs=0.2)
    assert energy.per_output_token == pytest.approx(60, abs=0.1)
    assert energy.per_correct == pytest.approx(3000, abs=1)
    assert energy.per_correct_above_idle == pytest.approx(2300, abs=1)
    assert (energy.source, energy.scope) == ("power", "GPU board")


def test_idle_power_and_scope_may_be_given() -> None:
    energy = costs(log(), idle=100.0, scope="module").energy
    assert energy is not None
    assert (energy.idle_watts, energy.idle_source, energy.scope) == (100, "given", "module")
    assert energy.joules_above_idle == pytest.approx(2000, abs=1)


def test_idle_power_that_the_log_does_not_hold_is_null() -> None:
    energy = costs(log(begin=0, end=10)).energy
    assert energy is not None
    assert (energy.idle_watts, energy.idle_source, energy.joules_above_idle) == (None, None, None)
    assert energy.per_correct is not None


def test_a_log_of_another_time_is_refused_with_both_times() -> None:
    shifted = log()
    moved = [s._replace(at=s.at - 7200) for s in shifted.devices[""]]
    with pytest.raises(InputError) as raised:
        costs(PowerLog({"": moved}, None, 0, "Europe/Berlin"))
    for words in (
        "covers 0% of the turns' time",
        "from 2025-12-31 21:59:30",
        "the run from 2026-01-01 00:00:00",
        "fit +2 h later: is --power-zone right?",
        "taken in Europe/Berlin",
    ):
        assert words in str(raised.value)


def test_a_log_that_ends_too_early_is_refused() -> None:
    with pytest.raises(InputError, match="covers 50% of the turns' time"):
        costs(log(end=5))


def test_power_that_does_not_rise_during_turns_is_remarked() -> None:
    assert any("do the clocks agree" in note for note in costs(log(watts=60)).notes)
    assert not costs(log()).notes


def test_a_stretch_that_is_too_short_is_remarked() -> None:
    short = costs_of("r", scored(bad(500)), log())
    assert short.notes == ["turns took 0.5 s in all, too short for power to be read well"]

"""Results of benches for charts to be drawn from."""

from __future__ import annotations

from typing import Any

from report.charts.results import rate

from ragevalkit.bench.budget.controls import Obedience
from ragevalkit.bench.budget.curve import Curve
from ragevalkit.bench.budget.curve import Point as CurvePoint
from ragevalkit.bench.budget.result import BudgetResult, ControlRung, Rung
from ragevalkit.bench.calibrate import Calibration, LoadReading, Spread
from ragevalkit.bench.curves import Estimate
from ragevalkit.bench.guided.estimate import Estimate as Difference
from ragevalkit.bench.guided.estimate import Verdict
from ragevalkit.bench.guided.result import ContrastResult, GuidedResult, ToolCount
from ragevalkit.bench.lengths import Lengths
from ragevalkit.bench.stream_result import (
    Gain,
    LengthGain,
    OutputLevel,
    Stalls,
    StreamArm,
    StreamResult,
)
from ragevalkit.bench.sweep_result import Done, Knee, LengthLevel, StreamsLevel, SweepResult
from ragevalkit.endpoint.instrument import Instrument, LoopLag

INSTRUMENT = Instrument(
    seconds=9,
    samples=1800,
    loop_lag_ms=LoopLag(p50=0.1, p99=0.4, max=1.2),
    cpu_share=0.1,
    client_limited=None,
)


def difference(median: float | None, half: float, verdict: Verdict, margin: float) -> Difference:
    return Difference(
        median=median,
        low=None if median is None else median - half,
        high=None if median is None else median + half,
        verdict=verdict,
        margin=margin,
        detectable=half,
        pairs=40,
    )


def contrast(name: str, isolates: str, ttft: Difference, **more: Any) -> ContrastResult:
    to, base = name.split("-")
    gap = difference(0.01, 0.05, Verdict.EQUIVALENT, 0.25)
    return ContrastResult.model_validate(
        {"from": base, "to": to, "isolates": isolates, "ttft_ms": ttft, "gap_ms": gap, **more}
    )


def guided(name: str = "spark") -> GuidedResult:
    contrasts = [
        contrast(
            "T1-P",
            "tools in all, left to the model",
            difference(57, 4, Verdict.COSTS, 5),
            server_ttft_ms=difference(55, 3, Verdict.COSTS, 5),
        ),
        contrast("F-P", "as many more prompt tokens", difference(41, 6, Verdict.COSTS, 5)),
        contrast("T1-T0", "tool parser", difference(-0.4, 2, Verdict.EQUIVALENT, 5)),
        contrast("T3-T0", "forced call", difference(3, 9, Verdict.INCONCLUSIVE, 5)),
        contrast("J-J0", "JSON schema", difference(None, 0, Verdict.NOT_ENGAGED, 5)),
    ]
    return GuidedResult(
        name=name,
        endpoint="spark",
        model="m",
        tools=["search", "cite"],
        blocks=40,
        planned=40,
        stopped=None,
        tokens=48,
        streams=True,
        contrasts={f"{c.to}-{c.from_}": c for c in contrasts},
        tool_counts=[
            ToolCount(
                tools=tools,
                generated=max(0, tools - 2),
                status="run",
                evidence="",
                prompt_tokens=100 * tools,
                ttft_ms=difference(7.0 * tools, 3, Verdict.COSTS, 5),
                called=rate(20, 20),
                right_tool=rate(20 - tools // 8, 20),
                well_formed=rate(20 - tools // 4, 20),
                defects={},
            )
            for tools in (1, 2, 8, 32)
        ],
    )


def rung(budget: int, reasoning: list[int], answer: list[int], **more: Any) -> dict[str, Any]:
    return {
        "budget": budget,
        "runs": len(answer),
        "lost": 0,
        "answered": sum(n > 0 for n in answer),
        "answer_tokens": answer,
        "reasoning_tokens": reasoning,
        "ttft_ms": [97.0 + n % 7 for n in reasoning],
        "first_answer_ms": [9.4 * r if n else None for r, n in zip(reasoning, answer, strict=True)],
        "wall_ms": [9.4 * (r + n) for r, n in zip(reasoning, answer, strict=True)],
        "finish": ["stop" if n else "length" for n in answer],
        "before_answer_share": 0.9,
        "tokens_estimated": False,
        "errors": [],
        **more,
    }


def budget(control: str = "thinking 0") -> BudgetResult:
    return BudgetResult(
        name="ladder",
        endpoint="spark",
        model="m",
        agent=False,
        questions=["q1"],
        seed=0,
        planned=18,
        lost=0,
        budgets=[
            Rung(**rung(64, [64, 64, 64], [0, 0, 0])),
            Rung(**rung(256, [256, 256, 256], [0, 0, 0])),
            Rung(**rung(1024, [1024, 1024, 1024], [0, 0, 0])),
            Rung(**rung(4096, [1900, 2490, 4096], [310, 290, 0])),
            Rung(**rung(12000, [1900, 2490, 5120], [310, 290, 402])),
        ],
        controls=[
            ControlRung(
                **rung(12000, [0, 0, 0], [280, 300, 290]),
                control=control,
                fields={},
                asked=0,
                verdict=Obedience.OBEYED,
                evidence="",
            )
        ],
        smallest_that_answers=12000,
        smallest_that_ends=12000,
        sentence="",
        notes=[],
        floor=None,
    )


def curve() -> Curve:
    points = [
        CurvePoint(
            budget=tokens,
            run=f"r{tokens}",
            scored=116,
            infra_errors=0,
            correct=rate(k, 70),
            cited_correct_page=rate(k, 70),
            refused_correctly=rate(k // 2, 46),
            over_refused=rate(2, 70),
            no_output=0,
            budget_exhausted=0,
            turn_s=4.0,
        )
        for tokens, k in ((256, 1), (1024, 20), (4096, 55), (12000, 66))
    ]
    return Curve(bank="demo", points=points, notes=[])


def about(value: float | None, share: float = 0.05) -> Estimate:
    if value is None:
        return Estimate(value=None)
    return Estimate(value=value, low=value * (1 - share), high=value * (1 + share))


def sweep() -> SweepResult:
    return SweepResult(
        name="sweep",
        endpoint="spark",
        model="m",
        cells=Done(done=10, planned=10),
        output_tokens=128,
        exact_lengths=Lengths(fields=["ignore_eos"]),
        exact_share=1.0,
        lengths=[
            LengthLevel(
                prompt_tokens=n,
                measured_tokens=n + 3.0,
                cached_tokens=0,
                requests=5,
                failed=0,
                wait_ms=about(60 + n / 4),
                prefill_rate=about(4000 - n / 10, 0.1),
                decode_rate=about(106 - n / 2000),
                client_limited=None,
            )
            for n in (128, 512, 2048, 8192, 16384)
        ],
        skipped=[],
        prefill=None,
        context=None,
        concurrency=[
            StreamsLevel(
                streams=n,
                cells=3,
                requests=30,
                failed=0,
                aggregate_rate=about(106 * n / (1 + n / 8), 0.08),
                stream_rate=about(106 / (1 + n / 8), 0.08),
                wait_ms=about(97 * (1 + (n / 8) ** 3), 0.2),
                concurrency=float(n),
                running=None,
                waiting=None,
                client_limited=None,
            )
            for n in (1, 2, 4, 8, 16)
        ],
        knee=Knee(growth_limit=0.1, streams=8, by_repeat=[8], wait_factor=2, wait_streams=16),
        notes=[],
    )


def spread(p50: float | None, p99: float | None, longest: float) -> Spread:
    p90 = None if p50 is None else 1.18 * p50
    return Spread(p50=p50, p90=p90, p99=p99, max=longest, n=2000)


def stream(arms: tuple[str, ...] = ("spark", "h200")) -> StreamResult:
    return StreamResult(
        name="stream",
        arms={arm: _stream_arm(arm, 106.0 * (1 + i)) for i, arm in enumerate(arms)},
        gains=[
            Gain(base=arms[0], arm=arm, levels=[], all=_gain(2.2 * i), same_text=0.4)
            for i, arm in enumerate(arms)
            if i
        ],
        notes=[],
    )


def _stream_arm(arm: str, rate_: float) -> StreamArm:
    return StreamArm(
        endpoint=arm,
        model="m",
        exact_lengths=Lengths(fields=[]),
        exact_share=1.0,
        levels=[
            OutputLevel(
                output_tokens=n,
                tokens=float(n),
                requests=5,
                failed=0,
                decode_rate=about(rate_ - n / 200),
                whole_rate=about(rate_ - 20),
                wait_ms=about(97),
            )
            for n in (64, 256, 1024, 2048)
        ],
        gaps_ms={
            "reasoning": spread(1000 / rate_, 2000 / rate_, 300),
            "answer": spread(0.0, 2000 / rate_, 90),
        },
        stalls=Stalls(
            factor=5,
            floor_ms=100,
            stalls=0,
            replies=0,
            per_1k_tokens=0,
            longest_ms=None,
            time_share=None,
        ),
        tokens_per_event=None,
        drafting=None,
        engine=None,
        notes=[],
        floor=None,
    )


def _gain(times: float) -> LengthGain:
    return LengthGain(
        output_tokens=None,
        pairs=20,
        decode=about(times),
        decode_verdict="faster",
        whole=about(1.02),
        whole_verdict="inconclusive",
    )


def calibration() -> Calibration:
    return Calibration(
        name="c",
        rate=50,
        seconds=10,
        lockstep=False,
        clock_offset_ms=0,
        clock_uncertainty_ms=0,
        loads=[
            LoadReading(
                streams=n,
                asked_rate=50,
                achieved_rate=50,
                lateness_ms=spread(0.08 * n, 0.5 * n, 3.0 * n),
                server_late_ms=spread(0.1, 0.3, 1),
                floor_ms=0.5 * n,
                cpu_us_per_token=30,
                instrument=INSTRUMENT,
            )
            for n in (1, 8, 64)
        ],
    )

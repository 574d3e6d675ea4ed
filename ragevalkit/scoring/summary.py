"""The summary of a run: summary.json.

Public: `Summary`, `Rate`, `Timing`, `Tally`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from ragevalkit.endpoint.engine import Span
from ragevalkit.endpoint.instrument import Instrument
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.judge import JudgeSummary
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.outcome import Outcome
from ragevalkit.scoring.score import SCORER_VERSION, Score
from ragevalkit.scoring.server import ServerSummary, summarise_server
from ragevalkit.scoring.timing import TurnTiming
from ragevalkit.stats import cluster_bootstrap_mean, clustered_wilson, percentiles
from ragevalkit.turn.composition import PARTS

_CAUSES = 5


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Rate(_Model):
    """A metric with its 95 % interval; value and interval are null where n is 0.

    A rate is k/n with Wilson's interval, a mean has a null k and a cluster bootstrap's.
    """

    k: int | None
    n: int
    value: float | None
    low: float | None
    high: float | None


class Quantiles(_Model):
    """Percentiles; null where there are too few values or the percentile never came."""

    p50: float | None
    p90: float | None
    p99: float | None
    n: int
    censored: int


class Timing(_Model):
    """Clocks over the scored turns."""

    ttft_ms: Quantiles
    first_answer_ms: Quantiles
    turn_s: Quantiles
    tpot_ms: Quantiles
    rounds: Quantiles
    tool_rounds: Quantiles
    tokens_estimated: int
    """Turns whose token counts, and so their tpot_ms, are estimated at least in part."""
    composition: dict[str, float | None]
    """Share of all turns' time that each part took."""
    wait: dict[str, float] | None = None
    """Share of the waiting that was `queue`, `prefill` and the `rest`, over the rounds with the
    server's own figures; null where there are none."""
    client_limited: str | None = None
    """Why the times say more of this client than of the server; null where they don't."""


class Detector(_Model):
    """How often marker and text detector read a reply differently: the detector's own error."""

    disagreements: int
    n: int
    """Turns with a reply."""


class Summary(_Model):
    """What a run came to. Rates are over the scored turns."""

    run: str
    scorer: int = SCORER_VERSION
    planned: int
    """Turns that the run was to have."""
    turns: int
    """Turns on record."""
    scored: int
    infra_errors: int
    metrics: dict[str, Rate]
    lost_to: dict[str, int]
    """The most frequent infrastructure errors, in their own words, with how many turns each."""
    outcomes: dict[str, dict[str, int]]
    """Outcome counts of `answerable` and `unanswerable` questions."""
    defects: dict[str, int]
    """Turns with each defect; those that were not found are left out."""
    undefined_defects: dict[str, int]
    """Turns in which a defect could not be told, as the corpus wasn't at hand."""
    recovered_calls: int
    """Malformed calls that a later good call of the same turn made up for."""
    detector: Detector
    judges: dict[str, JudgeSummary] = {}
    """By the judge's name; apart from the metrics."""
    timing: Timing
    server: ServerSummary | None = None
    """The server's own figures; null where it gives none."""
    instrument: Instrument | None = None
    """How well this client kept up, in the run's worst sitting."""


class Tally:
    """Takes scored turns one by one and keeps only what the summary needs."""

    def __init__(self) -> None:
        self.scored = 0
        self.outcomes: dict[bool, Counter[Outcome]] = {True: Counter(), False: Counter()}
        self.defects: Counter[str] = Counter()
        self.disagreements = 0
        self.undefined: Counter[str] = Counter()
        self.recovered_calls = 0
        self.lost_to: Counter[str] = Counter()
        self._metrics: dict[str, dict[str, list[float]]] = {
            name: defaultdict(list) for name in METRICS
        }
        self._timings: list[TurnTiming] = []

    @property
    def turns(self) -> int:
        return self.scored + self.infra_errors

    @property
    def infra_errors(self) -> int:
        return sum(counts[Outcome.INFRA_ERROR] for counts in self.outcomes.values())

    def add(self, score: Score, timing: TurnTiming) -> None:
        """Take one turn."""
        self.outcomes[score.answerable][score.outcome] += 1
        if score.outcome is Outcome.INFRA_ERROR:
            self.lost_to[score.lost_to or ""] += 1
            return
        self.scored += 1
        self.defects.update(score.defects)
        self.undefined.update(score.undefined_defects)
        self.recovered_calls += score.recovered_calls
        self.disagreements += score.detectors_disagree
        self._timings.append(timing)
        for name, value in score.metrics.items():
            if value is not None:
                self._metrics[name][score.question_hash].append(value)

    def rate(self, metric: str) -> Rate:
        """A metric so far, with its interval."""
        clusters = list(self._metrics[metric].values())
        n, total = sum(map(len, clusters)), sum(map(sum, clusters))
        is_mean = METRICS[metric].is_mean
        interval = cluster_bootstrap_mean(clusters) if is_mean else clustered_wilson(clusters)
        return Rate(
            k=None if is_mean else int(total),
            n=n,
            value=total / n if n else None,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
        )

    def rates(self) -> dict[str, Rate]:
        """All metrics so far."""
        return {name: self.rate(name) for name in METRICS}

    def summary(
        self,
        run: str,
        planned: int,
        judges: dict[str, JudgeSummary] | None = None,
        spans: Sequence[Span] = (),
        instrument: Instrument | None = None,
    ) -> Summary:
        """The summary of the turns taken so far.

        Args:
            spans: what the server's metrics page said in each sitting.
            instrument: how well this client kept up.
        """
        return Summary(
            run=run,
            planned=planned,
            turns=self.turns,
            scored=self.scored,
            infra_errors=self.infra_errors,
            metrics=self.rates(),
            lost_to=dict(self.lost_to.most_common(_CAUSES)),
            outcomes={
                name: {str(outcome): counts[outcome] for outcome in Outcome}
                for name, counts in (
                    ("answerable", self.outcomes[True]),
                    ("unanswerable", self.outcomes[False]),
                )
            },
            defects={name: self.defects[name] for name in DEFECTS if self.defects[name]},
            undefined_defects=dict(sorted(self.undefined.items())),
            recovered_calls=self.recovered_calls,
            detector=Detector(disagreements=self.disagreements, n=self._replies()),
            judges=judges or {},
            timing=self._timing(instrument),
            server=summarise_server(
                [s for t in self._timings for s in t.served], spans, self.turns
            ),
            instrument=instrument,
        )

    @property
    def median_gap_ms(self) -> float | None:
        """Median of the turns' times per output token."""
        return percentiles([t.tpot_ms for t in self._timings if t.tpot_ms is not None]).p50

    def _replies(self) -> int:
        counts = self.outcomes[True] + self.outcomes[False]
        return self.scored - counts[Outcome.NO_OUTPUT]

    def _timing(self, instrument: Instrument | None) -> Timing:
        timings = self._timings
        return Timing(
            ttft_ms=_quantiles([t.ttft_ms for t in timings]),
            first_answer_ms=_quantiles([t.first_answer_ms for t in timings]),
            turn_s=_quantiles([t.turn_s for t in timings]),
            # a turn without a second token has no time per token; nothing there was cut off
            tpot_ms=_quantiles([t.tpot_ms for t in timings if t.tpot_ms is not None]),
            rounds=_quantiles([float(t.rounds) for t in timings]),
            tool_rounds=_quantiles([float(t.tool_rounds) for t in timings]),
            tokens_estimated=sum(t.tokens_estimated for t in timings),
            composition=self._composition(),
            wait=self._wait(),
            client_limited=instrument.client_limited if instrument else None,
        )

    def _composition(self) -> dict[str, float | None]:
        totals = {part: sum(t.composition_ms[part] for t in self._timings) for part in PARTS}
        wall = sum(totals.values())
        return {part: total / wall if wall else None for part, total in totals.items()}

    def _wait(self) -> dict[str, float] | None:
        totals: Counter[str] = Counter()
        for timing in self._timings:
            totals.update(timing.wait_ms or {})
        waited = totals.total()
        return {part: ms / waited for part, ms in totals.items()} if waited > 0 else None


def _quantiles(values: list[float | None] | list[float]) -> Quantiles:
    return Quantiles(**percentiles(values)._asdict())

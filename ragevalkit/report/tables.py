"""Tables as values: terminal and page show the same ones, to the same digit.

Public: `Table`, `run_tables`, `instrument_line`, `tags_table`, `changes_table`, `corpus_table`,
`pages_table`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragevalkit.report.numbers import (
    MISSING,
    count,
    counted,
    interval,
    mean,
    mean_interval,
    milliseconds,
    percent,
    rate,
    seconds,
)

if TYPE_CHECKING:
    from ragevalkit.corpus import Corpus, DocumentInfo, Page
    from ragevalkit.endpoint.instrument import Instrument
    from ragevalkit.runs.rescoring import Change
    from ragevalkit.scoring.metrics import Metric
    from ragevalkit.scoring.server import Pair, ServerSummary
    from ragevalkit.scoring.summary import Quantiles, Rate, Summary


@dataclass(frozen=True)
class Table:
    """A title, column heads and rows; the first column is text, the others are numbers."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    text_columns: int = 1
    """How many columns, from the left, hold text."""
    remarks: bool = False
    """Whether the last column holds text, too."""

    def is_text(self, column: int) -> bool:
        """Whether a column, from 0, holds text; else numbers."""
        return column < self.text_columns or (self.remarks and column == len(self.columns) - 1)


def run_tables(summary: Summary) -> list[Table]:
    """The tables of a run: metrics, outcomes, defects, timing, composition, client and server."""
    tables = [_metrics(summary), _outcomes(summary), _timing(summary), _composition(summary)]
    if summary.judges:
        tables.insert(1, _judges(summary))
    if summary.defects or summary.undefined_defects:
        tables.insert(-2, _defects(summary))
    if summary.server is not None:
        tables.append(_client_and_server(summary.server))
    return tables


def _metrics(summary: Summary) -> Table:
    from ragevalkit.scoring.metrics import METRICS

    rows = []
    for name, of in summary.metrics.items():
        metric = METRICS[name]
        rows.append(
            [
                name,
                metric.over,
                str(of.n) if metric.is_mean else rate(of.k, of.n),
                mean(of.value) if metric.is_mean else percent(of.value),
                (mean_interval if metric.is_mean else interval)(of.low, of.high),
                _remark(metric),
            ]
        )
    columns = ["metric", "over", "k/n", "value", "95 % interval", ""]
    notes = [
        "↓ lower is better; * its denominator depends on what the model did, so runs can't be "
        "compared by it alone."
    ]
    if summary.infra_errors:
        lost = counted(summary.infra_errors, "turn")
        notes.append(f"In none of them: {lost} lost to infrastructure errors.")
    return Table("Metrics", columns, rows, notes, text_columns=2, remarks=True)


def _remark(metric: Metric) -> str:
    if metric.descriptive:
        return "*"
    return "" if metric.higher_is_better else "↓"


def tags_table(tags: Mapping[str, Mapping[str, Rate]]) -> Table:
    """The rates of the questions with each tag, a row a tag."""
    from ragevalkit.scoring.metrics import METRICS

    names = [n for n, m in METRICS.items() if not m.is_mean and not m.descriptive]
    names = [n for n in names if any(of[n].n for of in tags.values())]
    rows = [[tag, *(rate(of[n].k, of[n].n) for n in names)] for tag, of in tags.items()]
    heads = [n.replace("_", " ") for n in names]
    return Table("By tag", ["tag", *heads], rows)


def _outcomes(summary: Summary) -> Table:
    kinds = list(summary.outcomes)
    outcomes = dict.fromkeys(name for counts in summary.outcomes.values() for name in counts)
    rows = [
        [outcome, *(str(summary.outcomes[kind].get(outcome, 0)) for kind in kinds)]
        for outcome in outcomes
    ]
    detector = summary.detector
    notes = [
        f"Marker and text detector read {detector.disagreements} of {detector.n} replies "
        "differently" + (", by the detector's own error." if detector.disagreements else ".")
    ]
    return Table("Outcomes", ["outcome", *kinds], rows, notes)


def _defects(summary: Summary) -> Table:
    from ragevalkit.scoring.defects import DEFECTS

    rows = [[name, DEFECTS[name].meaning, str(turns)] for name, turns in summary.defects.items()]
    notes = []
    if "call:in_content" in summary.defects:
        notes.append("Calls left in the text often mean that the server's tool parser is off.")
    if summary.recovered_calls:
        notes.append(f"{summary.recovered_calls} malformed calls were made up for by a later one.")
    if summary.undefined_defects:
        names = ", ".join(summary.undefined_defects)
        notes.append(f"Not told, as the corpus isn't at hand: {names}.")
    return Table("Defects", ["defect", "what it means", "turns"], rows, notes, text_columns=2)


def _judges(summary: Summary) -> Table:
    rows = [
        [
            name,
            judge.model,
            rate(judge.k, judge.n),
            percent(judge.value),
            interval(judge.low, judge.high),
            str(judge.verdicts["partly"]),
            str(judge.undefined),
        ]
        for name, judge in summary.judges.items()
    ]
    columns = ["judge", "model", "correct", "value", "95 % interval", "partly", "no verdict"]
    return Table("Answers judged by a model", columns, rows, text_columns=2)


def _timing(summary: Summary) -> Table:
    timing = summary.timing
    rows = [
        _quantiles(
            "first token of a turn's first round, retries not counted", timing.ttft_ms, milliseconds
        ),
        _quantiles(
            "first token of the reply, from the turn's start", timing.first_answer_ms, milliseconds
        ),
        _quantiles("whole turn", timing.turn_s, seconds),
        _quantiles("time per output token", timing.tpot_ms, milliseconds),
        _quantiles("rounds", timing.rounds, count),
        _quantiles("tool rounds", timing.tool_rounds, count),
    ]
    notes = ["p90 needs 29 turns, p99 needs 299."]
    if timing.tokens_estimated:
        notes.append(f"Token counts of {timing.tokens_estimated} turns are estimated in part.")
    if timing.client_limited:
        notes.append(
            f"Client-limited: {timing.client_limited}; these times say more of this client than of "
            "the server."
        )
    if summary.instrument is not None:
        notes.append(instrument_line(summary.instrument))
    return Table("Timing", ["", "p50", "p90", "p99", "n", "never came"], rows, notes)


def instrument_line(instrument: Instrument) -> str:
    """How well the client kept up, in one line."""
    lag = instrument.loop_lag_ms
    rank, lag_ms = ("p99", lag.p99) if lag.p99 is not None else ("at most", lag.max)
    limited = "client-limited" if instrument.client_limited else "not client-limited"
    share = percent(instrument.cpu_share)
    return f"Instrument: loop lag {rank} {milliseconds(lag_ms)}, {share} of a core; {limited}."


def _quantiles(name: str, of: Quantiles, written: object) -> list[str]:
    assert callable(written)
    return [name, written(of.p50), written(of.p90), written(of.p99), str(of.n), str(of.censored)]


def _composition(summary: Summary) -> Table:
    parts = summary.timing.composition
    row = [percent(share) for share in parts.values()]
    notes = []
    if wait := summary.timing.wait:
        split = ", ".join(f"{part} {percent(share)}" for part, share in wait.items())
        notes.append(f"The wait by the server's own figures: {split}.")
    return Table(
        "Where the turns' time went",
        [part.replace("_", " ") for part in parts],
        [row],
        notes,
        text_columns=0,
    )


def _client_and_server(server: ServerSummary) -> Table:
    """The server's own figures, with the client's where it saw the same."""
    rows = [
        [title, written(p.client), written(p.server), _signed(p.difference, written), _basis(p)]
        for name, (title, written) in _PAIRS.items()
        if (p := server.pairs.get(name)) and p.server is not None
    ]
    rows += [[title, MISSING, value, MISSING, of] for title, value, of in _server_alone(server)]
    notes = []
    if (first := server.pairs.get("first_token_ms")) and first.server is not None:
        own = server.requests if first.by == "requests" else server.page
        queued = own is not None and own.queue_ms is not None
        notes.append(
            f"First token: sent to first token, against the server's "
            f"{'queue and prefill' if queued else 'prefill'}; the difference is "
            f"{'' if queued else 'the queue, '}network, templating, what the server's parser holds "
            "back, and this client's lag."
        )
    if server.void:
        notes.append(f"The figures of the server's metrics page are void: {server.void}.")
    columns = [server.source, "client", "server", "difference", "over"]
    return Table("Client and server", columns, rows, notes, remarks=True)


_PAIRS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "first_token_ms": ("first token", milliseconds),
    "decode_ms": ("first token to last", milliseconds),
    "requests": ("requests", count),
    "prompt_tokens": ("tokens of the prompts", count),
    "completion_tokens": ("tokens of the output", count),
    "cached_share": ("prompts from the cache", percent),
}


def _server_alone(server: ServerSummary) -> Iterator[tuple[str, str, str]]:
    """What only the server knows: title, value and what it is over."""
    page, requests = server.page, server.requests
    if requests is not None:
        over = f"{counted(requests.n, 'request')}, median"
        times = requests.queue_ms, requests.prefill_ms
    elif page is not None:
        n = "" if page.requests is None else f"{counted(page.requests, 'request')}, "
        over = f"metrics page, {n}mean"
        times = page.queue_ms, page.prefill_ms
    else:
        return
    for title, ms in zip(("queue", "prefill"), times, strict=True):
        if ms is not None:
            yield title, milliseconds(ms), over
    if requests is not None and requests.acceptance_rate is not None:
        yield "drafted tokens accepted", percent(requests.acceptance_rate), over.split(",")[0]
    if page is None:
        return
    if (drafts := page.speculation) is not None:
        if requests is None or requests.acceptance_rate is None:
            yield "drafted tokens accepted", percent(drafts.acceptance_rate), "metrics page"
        yield "tokens a draft yields", f"{drafts.mean_length:.2f}", "metrics page, mean"
    if page.preemptions is not None:
        yield "preemptions", str(page.preemptions), "metrics page"
    if page.tokens_per_step is not None:
        yield "tokens a step", count(page.tokens_per_step), "metrics page, mean"


def _basis(pair: Pair) -> str:
    source = "" if pair.by == "requests" else "metrics page, "
    return f"{source}{counted(pair.n, 'request')}, {pair.statistic}"


def _signed(difference: float | None, written: Callable[[float | None], str]) -> str:
    if difference is None:
        return MISSING
    return f"−{written(-difference)}" if difference < 0 else written(difference)


def changes_table(changes: Iterable[Change]) -> Table:
    """Turns that score otherwise than before, a row for each difference."""
    rows = [
        [change.question_id, str(change.repeat), name, _written(old), _written(new)]
        for change in changes
        for name, (old, new) in change.what.items()
    ]
    columns = ["question", "repeat", "what", "before", "now"]
    return Table("Changed turns", columns, rows, text_columns=5)


def _written(value: object) -> str:
    if value is None:
        return MISSING
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value).lower()


def corpus_table(corpus: Corpus) -> Table:
    """Documents of a corpus, a row each."""
    rows = [
        [
            info.name,
            info.file,
            str(info.pages),
            info.pagination,
            _label_range(info.labels),
            ", ".join(map(str, info.pages_without_text)) or "none",
        ]
        for info in corpus.documents.values()
    ]
    notes = [f"{corpus.page_count:,} pages, hash {corpus.hash[:16]}"]
    columns = ["document", "file", "pages", "pages by", "printed labels", "pages without text"]
    return Table(f"Corpus {corpus.path}", columns, rows, notes, text_columns=2)


def pages_table(pages: Iterable[tuple[DocumentInfo, Page]]) -> Table:
    """Pages, a row each."""
    rows = [
        [
            info.name,
            str(page.index),
            page.label or "",
            f"{len(page.text):,}" if page.text.strip() else "no text",
            textwrap.shorten(page.text, 60, placeholder=" …"),
        ]
        for info, page in pages
    ]
    columns = ["document", "page", "printed label", "characters", "begins"]
    return Table("Pages", columns, rows, remarks=True)


def _label_range(labels: list[str | None]) -> str:
    given = [label for label in labels if label]
    if not given:
        return "none"
    return given[0] if len(given) == 1 else f"{given[0]} … {given[-1]}"

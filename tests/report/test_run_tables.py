"""A run's tables: what stands beside the timings, and client and server side by side."""

from __future__ import annotations

from typing import Any

import pytest

from ragevalkit.endpoint.engine import ServerFigures, Speculation
from ragevalkit.endpoint.instrument import Instrument, LoopLag
from ragevalkit.report.tables import Table, instrument_line, run_tables
from ragevalkit.scoring.server import Pair, RequestFigures, ServerSummary
from ragevalkit.scoring.summary import Summary, Tally


def summary(**sections: Any) -> Summary:
    return Tally().summary("r", planned=0).model_copy(update=sections)


def table(title: str, of: Summary) -> Table:
    return next(t for t in run_tables(of) if t.title == title)


def instrument(p99: float | None, cpu: float | None, limited: str | None = None) -> Instrument:
    lag = LoopLag(p50=0.1, p99=p99, max=1.25)
    return Instrument(
        seconds=9, samples=1800, loop_lag_ms=lag, cpu_share=cpu, client_limited=limited
    )


@pytest.mark.parametrize(
    ("of", "line"),
    [
        (
            instrument(0.4, 0.12),
            "Instrument: loop lag p99 0.4 ms, 12.0 % of a core; not client-limited.",
        ),
        (
            instrument(None, None),
            "Instrument: loop lag at most 1.25 ms, – of a core; not client-limited.",
        ),
        (
            instrument(9.0, 0.9, "late"),
            "Instrument: loop lag p99 9 ms, 90.0 % of a core; client-limited.",
        ),
    ],
)
def test_the_instruments_line(of: Instrument, line: str) -> None:
    assert instrument_line(of) == line
    assert line in table("Timing", summary(instrument=of)).notes


def test_client_limited_timings_say_so() -> None:
    limited = summary()
    limited.timing.client_limited = "the event loop was 9.0 ms late"
    assert any(
        note.startswith("Client-limited: the event loop was 9.0 ms late")
        for note in table("Timing", limited).notes
    )
    assert not any("Client-limited" in note for note in table("Timing", summary()).notes)


def test_the_split_of_the_wait() -> None:
    split = summary()
    split.timing.wait = {"queue": 0.1, "prefill": 0.7, "rest": 0.2}
    assert table("Where the turns' time went", split).notes == [
        "The wait by the server's own figures: queue 10.0 %, prefill 70.0 %, rest 20.0 %."
    ]


def pair(client: float | None, server: float | None, **more: Any) -> Pair:
    difference = None if client is None or server is None else client - server
    basis = {"statistic": "sum", "n": 10, "by": "page"} | more
    return Pair(client=client, server=server, difference=difference, **basis)


PAGE = ServerFigures(
    engine="vllm",
    void=None,
    requests=10,
    queue_ms=2.0,
    prefill_ms=50.0,
    preemptions=0,
    tokens_per_step=20.75,
    speculation=Speculation(
        drafts=20, acceptance_rate=0.5, mean_length=2.5, by_position=[0.75, 0.5]
    ),
)
SERVER = ServerSummary(
    source="vllm",
    void=None,
    page=PAGE,
    requests=None,
    pairs={
        "first_token_ms": pair(60.0, 52.0, statistic="mean"),
        "decode_ms": pair(400.0, None, statistic="mean"),
        "requests": pair(10, 10),
        "completion_tokens": pair(78, 80),
        "cached_share": pair(None, 0.25, statistic="share"),
    },
)


def test_client_and_server() -> None:
    shown = table("Client and server", summary(server=SERVER))
    assert shown.columns == ["vllm", "client", "server", "difference", "over"]
    assert shown.rows == [
        ["first token", "60 ms", "52 ms", "8 ms", "metrics page, 10 requests, mean"],
        ["requests", "10", "10", "0", "metrics page, 10 requests, sum"],
        ["tokens of the output", "78", "80", "−2", "metrics page, 10 requests, sum"],
        ["prompts from the cache", "–", "25.0 %", "–", "metrics page, 10 requests, share"],
        ["queue", "–", "2 ms", "–", "metrics page, 10 requests, mean"],
        ["prefill", "–", "50 ms", "–", "metrics page, 10 requests, mean"],
        ["drafted tokens accepted", "–", "50.0 %", "–", "metrics page"],
        ["tokens a draft yields", "–", "2.50", "–", "metrics page, mean"],
        ["preemptions", "–", "0", "–", "metrics page"],
        ["tokens a step", "–", "20.8", "–", "metrics page, mean"],
    ]
    assert shown.notes == [
        "First token: sent to first token, against the server's queue and prefill; the difference "
        "is network, templating, what the server's parser holds back, and this client's lag."
    ]


def test_a_queue_that_is_not_told_lies_in_the_difference() -> None:
    page = PAGE.model_copy(update={"queue_ms": None})
    shown = table("Client and server", summary(server=SERVER.model_copy(update={"page": page})))
    assert "the server's prefill; the difference is the queue, network" in shown.notes[0]
    assert "queue" not in [row[0] for row in shown.rows]


def test_the_requests_own_figures_come_before_the_pages() -> None:
    own = RequestFigures(
        source="vllm",
        n=24,
        queue_ms=1.0,
        prefill_ms=40.0,
        decode_ms=None,
        cached_share=None,
        acceptance_rate=0.6,
    )
    rows = table(
        "Client and server", summary(server=SERVER.model_copy(update={"requests": own}))
    ).rows
    assert ["queue", "–", "1 ms", "–", "24 requests, median"] in rows
    assert ["drafted tokens accepted", "–", "60.0 %", "–", "24 requests"] in rows
    assert ["tokens a draft yields", "–", "2.50", "–", "metrics page, mean"] in rows


def test_a_void_page_is_said_in_words() -> None:
    void = ServerSummary(source="vllm", void="it was restarted", page=None, requests=None, pairs={})
    shown = table("Client and server", summary(server=void))
    assert shown.rows == []
    assert shown.notes == ["The figures of the server's metrics page are void: it was restarted."]


def test_without_figures_there_is_no_table() -> None:
    assert "Client and server" not in [t.title for t in run_tables(summary())]

"""One turn from beginning to end, as lines and tables.

Public: `Line`, `transcript`; and of its parts, for the page: `round_state`, `round_clock`,
`round_tokens`, `round_channels`, `is_reply`, `attempt_line`, `call_faults`, `search_results`,
`is_evidence`, `is_cited`, `metric_value`, `score_remarks`, `UNSCORED`, `took`, `citations_table`,
`composition_table`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from ragevalkit.report.numbers import MISSING, milliseconds, percent, seconds
from ragevalkit.report.tables import Table
from ragevalkit.report.turns import ScoredTurn, first_words, went_badly
from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.documents import same_document
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.score import Score
from ragevalkit.turn.record import Attempt, Call, Channel, Round

_FOLDED_LINES = 6
_FOLDED_CHARACTERS = 600
_RESULT_WORDS = 100


@dataclass(frozen=True)
class Line:
    """A piece of text, of one line or more."""

    text: str
    indent: int = 0
    style: str = ""
    """As rich names styles."""
    raw: bool = False
    """Shown as it stands, without being wrapped at words."""


Block = Line | Table


def transcript(shown: ScoredTurn, *, full: bool = False, repeats: int = 1) -> Iterator[Block]:
    """The whole turn.

    Args:
        full: reasoning and search results without cuts.
        repeats: how often its question is on record in the run.
    """
    turn = shown.turn
    others = f" ({repeats} are on record; --repeat shows another)" if repeats > 1 else ""
    yield Line(f"{turn.question_id}, repeat {turn.repeat}{others}", style="bold")
    tally = f"{_count(len(turn.rounds), 'round')}, {seconds(turn.wall_ms / 1000)}"
    yield Line(f"{tally}, corpus {turn.corpus or MISSING}, {turn.started_at}", style="dim")
    yield from _question(shown)
    yield from _outcome(shown)
    if shown.score:
        yield _metrics(shown)
    for number, round_ in enumerate(turn.rounds, 1):
        yield from _round(shown, number, round_, full)
    yield _head("Reply")
    yield from _text(turn.reply) if turn.reply else [Line("nothing", 2, "dim")]
    yield citations_table(shown)
    yield composition_table(shown)


def _head(text: str) -> Line:
    return Line(f"\n{text}", style="bold")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _text(text: str, indent: int = 2) -> Iterator[Line]:
    yield Line(text.strip("\n"), indent)


def _question(shown: ScoredTurn) -> Iterator[Line]:
    question = shown.question
    yield _head("Question")
    for message in question.history:
        yield Line(f"{message.role}: {message.content}", 2, "dim")
    yield Line(question.question, 2)
    because = f": {question.unanswerable_because}" if question.unanswerable_because else ""
    yield Line("answerable" if question.answerable else f"unanswerable{because}", 2)
    for answer in question.answers:
        yield Line(f"reference: {answer}", 2)
    groups = len({page.group for page in question.evidence})
    for page in question.evidence:
        group = f", group {page.group}" if groups > 1 else ""
        quote = f": “{page.quote}”" if page.quote else ""
        yield Line(f"evidence: {page.document} p. {page.page}{group}{quote}", 2)
    if question.tags:
        yield Line(f"tags: {', '.join(question.tags)}", 2)
    if shown.score and shown.score.question_hash != shown.turn.question_hash:
        yield Line("these labels were corrected after it was asked", 2, "yellow")


def _outcome(shown: ScoredTurn) -> Iterator[Line]:
    turn, score = shown.turn, shown.score
    yield _head("Outcome")
    error = f": {turn.error}" if turn.error else ""
    yield Line(f"{shown.outcome}, ended by {turn.ended}{error}", 2)
    if score is None:
        yield Line(UNSCORED, 2, "yellow")
        return
    for name in score.defects:
        meaning = DEFECTS[name].meaning if name in DEFECTS else "unknown to this version"
        yield Line(f"{name}: {meaning}", 2, "red")
    if not score.defects:
        yield Line("no defects", 2)
    for remark in score_remarks(score):
        yield Line(remark, 2, "yellow")


UNSCORED = "not scored: scores.jsonl has no line for this turn"


def score_remarks(score: Score) -> Iterator[str]:
    """What a turn's score leaves open."""
    if score.undefined_defects:
        yield f"not told, as the corpus wasn't at hand: {', '.join(score.undefined_defects)}"
    if score.detectors_disagree:
        yield "marker and text detector read the reply differently"


def _metrics(shown: ScoredTurn) -> Table:
    assert shown.score is not None
    rows = []
    for name, value in shown.score.metrics.items():
        metric = METRICS.get(name)
        badly = metric is not None and went_badly(name, value)
        of = metric_value(value, is_mean=metric.is_mean if metric else False)
        rows.append([name, of, "bad" if badly else "", metric.counts if metric else ""])
    return Table("Metrics", ["metric", "value", "", "counts"], rows, text_columns=4)


def metric_value(value: bool | float | None, *, is_mean: bool) -> str:
    if value is None:
        return MISSING
    return f"{value:.3g}" if is_mean else "yes" if value else "no"


def _round(shown: ScoredTurn, number: int, round_: Round, full: bool) -> Iterator[Line]:
    yield _head(f"Round {number}: {round_state(round_)}")
    yield Line(round_clock(round_), 2, "dim")
    yield Line(round_tokens(round_), 2, "dim")
    if len(round_.attempts) > 1:
        for attempt in round_.attempts:
            yield Line(attempt_line(attempt), 2, "yellow")
    if round_.reasoning:
        yield Line("reasoning", 2, "dim")
        yield from _folded(round_.reasoning, full)
    if round_.content:
        replied = is_reply(shown, round_)
        yield Line("content: the reply, below" if replied else "content", 2, "dim")
        if not replied:
            yield from _text(round_.content, 4)
    for position, call in enumerate(round_.calls, 1):
        yield from _call(shown, position, call, full)


def round_state(round_: Round) -> str:
    """How a round ended."""
    finish = f", finish reason {round_.finish_reason}" if round_.finish_reason else ""
    error = f": {round_.error}" if round_.error else ""
    return f"{round_.state}{finish}{error}"


def is_reply(shown: ScoredTurn, round_: Round) -> bool:
    """Whether a round's content is the turn's reply, which is shown by itself."""
    return round_ is shown.turn.rounds[-1] and round_.content == shown.turn.reply


def round_clock(round_: Round) -> str:
    clock = round_.clock
    times = {
        "sent": clock.sent_ms,
        "first token": clock.first_token_ms,
        "first answer": clock.first_answer_ms,
        "last token": clock.last_token_ms,
        "ended": clock.ended_ms,
    }
    written = (f"{what} {_ms(ms)}" for what, ms in times.items())
    return f"ms since the turn's start: {', '.join(written)}"


def _ms(ms: float | None) -> str:
    return MISSING if ms is None else f"{ms:,.1f}"


def round_channels(round_: Round) -> dict[str, Channel]:
    """The channels that a round used, by name."""
    channels = {
        "reasoning": round_.reasoning_channel,
        "tool arguments": round_.tool_channel,
        "answer": round_.answer_channel,
    }
    return {name: channel for name, channel in channels.items() if channel}


def round_tokens(round_: Round) -> str:
    cached = f" ({round_.cached_tokens:,} cached)" if round_.cached_tokens else ""
    prompt = MISSING if round_.prompt_tokens is None else f"{round_.prompt_tokens:,}"
    parts = [f"prompt {prompt}{cached}"]
    parts += [f"{name} {_tokens_of(of)}" for name, of in round_channels(round_).items()]
    return f"tokens: {', '.join(parts)}"


def _tokens_of(channel: Channel) -> str:
    if channel.tokens is None:
        return MISSING
    return f"{channel.tokens:,}" + (" (estimated)" if channel.estimated else "")


def attempt_line(attempt: Attempt) -> str:
    status = f" {attempt.status}" if attempt.status is not None else ""
    waited = f", then waited {seconds(attempt.waited_s)}" if attempt.waited_s is not None else ""
    error = f": {attempt.error}" if attempt.error else ""
    times = f"{_ms(attempt.sent_ms)} to {_ms(attempt.ended_ms)} ms"
    return f"attempt {attempt.number}: {attempt.state}{status}, {times}{waited}{error}"


def _folded(text: str, full: bool) -> Iterator[Line]:
    """The first lines of a long text, and how much is left out."""
    text = text.strip("\n")
    shown = text if full else "\n".join(text[:_FOLDED_CHARACTERS].split("\n")[:_FOLDED_LINES])
    yield Line(shown, 4)
    if left := len(text) - len(shown):
        yield Line(f"… {left:,} more characters (--full shows them)", 4, "dim")


def _call(shown: ScoredTurn, position: int, call: Call, full: bool) -> Iterator[Line]:
    faults = call_faults(call)
    marks = "".join(f" [{fault}]" for fault in faults)
    id_ = f"id {call.id}" if call.id else "without id"
    yield Line(f"call {position}: {call.name}, {id_}{took(call)}{marks}", 2, "red" * bool(faults))
    yield Line("arguments", 4, "dim")
    yield Line(call.arguments, 6, raw=True) if call.arguments else Line("none", 6, "dim")
    if call.result is None:
        yield Line("no result: the turn ended before it", 4, "dim")
        return
    results = search_results(call.result)
    if results is None:
        yield Line("result", 4, "dim")
        yield Line(call.result, 6, raw=True)
        return
    yield Line(_count(len(results), "result"), 4, "dim")
    for result in results:
        yield from _result(shown, result, full)


def call_faults(call: Call) -> list[str]:
    """What is wrong with a call, and whether a later one made up for it."""
    faults = [call.defect] if call.defect else []
    faults += ["duplicate id"] if call.duplicate_id else []
    return [*faults, *(["recovered by a later call"] if call.recovered else [])]


def took(call: Call) -> str:
    if call.started_ms is None or call.ended_ms is None:
        return ""
    return f", took {milliseconds(call.ended_ms - call.started_ms)}"


def search_results(message: str) -> list[dict[str, Any]] | None:
    """The results in a search's message; None where it has another form."""
    try:
        results = orjson.loads(message)["results"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    if not isinstance(results, list):
        return None
    formed = all(isinstance(r, dict) and {"document", "page", "text"} <= r.keys() for r in results)
    return results if formed else None


def _result(shown: ScoredTurn, result: dict[str, Any], full: bool) -> Iterator[Line]:
    document, page, text = str(result["document"]), result["page"], str(result["text"])
    label = f" (printed {result['label']})" if result.get("label") else ""
    score = result.get("score")
    scored = f" score {score:.2f}" if isinstance(score, int | float) else ""
    evidence = is_evidence(shown, document, page)
    marks = " [evidence]" * evidence + " [cited]" * is_cited(shown, document, page)
    words = "" if full else f"  {first_words(text, _RESULT_WORDS)}"
    yield Line(f"{document} p. {page}{label}{scored}{marks}{words}", 6, "green" * evidence)
    if full:
        yield from _text(text, 8)


def is_evidence(shown: ScoredTurn, document: str, page: Any) -> bool:
    return any(
        page == one.page and same_document(document, one.document)
        for one in shown.question.evidence
    )


def is_cited(shown: ScoredTurn, document: str, page: Any) -> bool:
    cited = (*shown.turn.citations, *(shown.score.citations if shown.score else ()))
    return any(page == one.page and same_document(document, one.document) for one in cited)


def _was_returned(shown: ScoredTurn, document: str, page: int) -> bool:
    """Results of the last round went nowhere, as in scoring."""
    returned = (p for r in shown.turn.rounds[:-1] for call in r.calls for p in call.returned)
    return any(page == one.page and same_document(document, one.document) for one in returned)


def citations_table(shown: ScoredTurn) -> Table:
    """Cited pages in their order, then the evidence that none of them is."""
    rows = [
        [f"{document} p. {page}", source, _yes(is_evidence), fault, returned, quote or ""]
        for document, page, source, is_evidence, fault, returned, quote in _cited(shown)
    ]
    rows += [
        [
            f"{one.document} p. {one.page}",
            "no",
            "yes",
            "",
            _yes(_was_returned(shown, one.document, one.page)),
            one.quote or "",
        ]
        for one in shown.question.evidence
        if not is_cited(shown, one.document, one.page)
    ]
    columns = ["page", "cited", "evidence", "defect", "returned by a search", "quote"]
    notes = [] if rows else ["Nothing was cited, and there is no evidence."]
    return Table("Citations beside evidence", columns, rows, notes, text_columns=6)


def _cited(shown: ScoredTurn) -> Iterator[tuple[str, int, str, bool, str, str, str | None]]:
    calls = shown.turn.citations
    scored = shown.score.citations if shown.score else []
    if not scored:  # an infrastructure error, or a turn that isn't scored
        for one in calls:
            place = one.document, one.page
            returned = _yes(_was_returned(shown, *place))
            yield *place, "by call", is_evidence(shown, *place), MISSING, returned, one.quote
        return
    quotes = [c.quote for c in calls] if len(calls) == len(scored) else [None] * len(scored)
    for of, quote in zip(scored, quotes, strict=True):
        source = "by call" if of.source == "call" else "in the text"
        returned = _yes(_was_returned(shown, of.document, of.page))
        fault = f"citation:{of.defect}" if of.defect else "none"
        yield of.document, of.page, source, of.is_evidence, fault, returned, quote


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def composition_table(shown: ScoredTurn) -> Table:
    parts, wall_ms = shown.turn.composition_ms, shown.turn.wall_ms
    rows = [
        ["time", *map(milliseconds, parts.values())],
        ["share", *(percent(ms / wall_ms if wall_ms else None) for ms in parts.values())],
    ]
    columns = ["", *(part.replace("_", " ") for part in parts)]
    return Table("Where the turn's time went", columns, rows)

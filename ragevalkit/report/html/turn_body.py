"""A whole turn as the page's script shows it: words and numbers ready to be written.

Public: `turn_body`, `Texts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ragevalkit.report.html.time_line import bars
from ragevalkit.report.numbers import MISSING, counted, milliseconds, percent, seconds
from ragevalkit.report.transcript import (
    UNSCORED,
    attempt_line,
    call_faults,
    citations_table,
    is_cited,
    is_evidence,
    is_reply,
    metric_value,
    round_clock,
    round_state,
    round_tokens,
    score_remarks,
    search_results,
    took,
)
from ragevalkit.report.turns import ScoredTurn, visible, went_badly
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.turn.record import Call, Round

_REASONING_HEAD = 1_200
_REASONING_TAIL = 400
_REASONING_LEAST = 200
_LONGEST = 20_000
"""Characters of any other text that a model or a tool gave."""

Body = dict[str, Any]


class Texts(Protocol):
    """Where long texts go that many turns share or that are cut when there is no room."""

    def result(self, document: str, page: Any, text: str, *, marked: bool) -> int | str:
        """The number of a search result's text, or its first words where there is no room."""

    def reasoning(self, text: str) -> tuple[str, int] | None:
        """The place of a whole reasoning; None where there is no room."""


def turn_body(shown: ScoredTurn, texts: Texts) -> Body:
    """The whole turn; everything in it is plain text."""
    turn, score = shown.turn, shown.score
    error = f": {turn.error}" if turn.error else ""
    citations = citations_table(shown)
    return {
        "facts": visible(
            f"{counted(len(turn.rounds), 'round')}, {seconds(turn.wall_ms / 1000)}, "
            f"corpus {turn.corpus or MISSING}, {turn.started_at}"
        ),
        "question": _question(shown),
        "outcome": shown.outcome,
        "ended": visible(f"ended by {turn.ended}{error}"),
        "scored": score is not None,
        "defects": score.defects if score else [],
        "remarks": _remarks(shown),
        "metrics": _metrics(shown),
        "wall_ms": turn.wall_ms,
        "wall": seconds(turn.wall_ms / 1000),
        "bars": list(map(list, bars(turn))),
        "parts": _parts(shown),
        "rounds": [_round(shown, round_, texts) for round_ in turn.rounds],
        "reply": _cut(turn.reply),
        "citations": [list(map(visible, row)) for row in citations.rows],
    }


def _question(shown: ScoredTurn) -> Body:
    question = shown.question
    groups = len({page.group for page in question.evidence})
    return {
        "text": _cut(question.question),
        "history": [[m.role, _cut(m.content)] for m in question.history],
        "answerable": question.answerable,
        "because": visible(question.unanswerable_because or ""),
        "references": list(map(_cut, question.answers)),
        "evidence": [
            [
                visible(page.document)
                + f" p. {page.page}"
                + (f", group {page.group}" if groups > 1 else ""),
                _cut(page.quote or ""),
            ]
            for page in question.evidence
        ],
        "tags": list(map(visible, question.tags)),
    }


def _remarks(shown: ScoredTurn) -> list[str]:
    score = shown.score
    if score is None:
        return [UNSCORED]
    remarks = []
    if score.question_hash != shown.turn.question_hash:
        remarks.append("its labels were corrected after it was asked")
    return [*remarks, *score_remarks(score)]


def _metrics(shown: ScoredTurn) -> list[list[Any]]:
    """Name, value, and whether it went badly; undefined ones are left out."""
    return [
        [name, metric_value(value, is_mean=METRICS[name].is_mean), went_badly(name, value)]
        for name, value in (shown.score.metrics if shown.score else {}).items()
        if value is not None and name in METRICS
    ]


def _parts(shown: ScoredTurn) -> list[list[str]]:
    wall_ms = shown.turn.wall_ms
    return [
        [part, milliseconds(ms), percent(ms / wall_ms if wall_ms else None)]
        for part, ms in shown.turn.composition_ms.items()
    ]


def _round(shown: ScoredTurn, round_: Round, texts: Texts) -> Body:
    body: Body = {
        "state": visible(round_state(round_)),
        "facts": [round_clock(round_), round_tokens(round_)],
    }
    if len(round_.attempts) > 1:
        body["attempts"] = [visible(attempt_line(attempt)) for attempt in round_.attempts]
    if round_.reasoning:
        body["reasoning"] = _reasoning(round_.reasoning, len(shown.turn.rounds), texts.reasoning)
    if round_.content and not is_reply(shown, round_):
        body["content"] = _cut(round_.content)
    if round_.calls:
        body["calls"] = [_call(shown, call, texts) for call in round_.calls]
    return body


def _reasoning(text: str, rounds: int, keep: Callable[[str], tuple[str, int] | None]) -> list[Any]:
    """Head, tail, how much lies between them, and where the whole is kept if it is.

    The more rounds a turn has, the less of each is shown before the whole is asked for.
    """
    head = max(_REASONING_LEAST, _REASONING_HEAD // rounds)
    tail = max(_REASONING_LEAST, _REASONING_TAIL // rounds)
    if len(text) <= 2 * (head + tail):
        return [visible(text), "", 0, None]
    between = f"{len(text) - head - tail:,}"
    return [visible(text[:head]), visible(text[-tail:]), between, keep(visible(text))]


def _call(shown: ScoredTurn, call: Call, texts: Texts) -> Body:
    id_ = f"id {call.id}" if call.id else "without id"
    body: Body = {
        "title": visible(f"{call.name}, {id_}{took(call)}"),
        "faults": call_faults(call),
        "arguments": _cut(call.arguments),
    }
    results = search_results(call.result) if call.result is not None else None
    if results is None:
        body["result"] = None if call.result is None else _cut(call.result)
    else:
        body["results"] = [_result(shown, result, texts) for result in results]
    return body


def _result(shown: ScoredTurn, result: dict[str, Any], texts: Texts) -> list[Any]:
    """Where it is from, whether it is evidence, whether it was cited, and its text."""
    document, page = str(result["document"]), result["page"]
    label = f" (printed {result['label']})" if result.get("label") else ""
    score = result.get("score")
    scored = f", score {score:.2f}" if isinstance(score, int | float) else ""
    evidence, cited = is_evidence(shown, document, page), is_cited(shown, document, page)
    text = texts.result(document, page, str(result["text"]), marked=evidence or cited)
    return [visible(f"{document} p. {page}{label}{scored}"), evidence, cited, text]


def _cut(text: str) -> str:
    """A text of ordinary length whole; of a longer one the beginning, and how much is left out."""
    if len(text) <= _LONGEST:
        return visible(text)
    return f"{visible(text[:_LONGEST])} … {len(text) - _LONGEST:,} more characters left out"

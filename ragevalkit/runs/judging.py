"""Has a model judge the answers of a run, after its turns, so that no clock is disturbed.

Public: `judge_run`, `read_judgements`, `corrected_label`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from ragevalkit.bank import Question
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.fingerprint import choose_model
from ragevalkit.endpoint.profile import Profile
from ragevalkit.runs.folder import RunFolder, replace_file
from ragevalkit.runs.loop import run_to_end
from ragevalkit.scoring.judge import (
    Judgement,
    digest,
    judge_messages,
    judge_prompt,
    needs_judging,
    read_verdict,
)
from ragevalkit.turn.record import RoundState, Turn

OUTPUT_TOKENS = 4000
AT_ONCE = 4


def judge_run(
    folder: RunFolder,
    profile: Profile,
    questions: Mapping[str, Question],
    progress: Callable[[int, int], None],
) -> list[Judgement]:
    """Judge the answers of a run and write judge-<profile>.jsonl; verdicts on record are kept.

    Args:
        questions: corrected labels by question id; the turns' own lines are taken for the others.
        progress: told how many answers are judged, and of how many.

    Raises:
        EndpointUnusable: the judge can't be asked; verdicts on record are kept.
    """
    path = _path(folder, profile.name)
    known = {(j.question_id, j.repeat): j for j in _read(path)}
    kept, waiting = [], []
    for turn in folder.read_turns([]):
        question = corrected_label(turn, questions) or Question.model_validate(turn.bank_line)
        if not needs_judging(turn, question):
            continue
        judgement = known.get((turn.question_id, turn.repeat))
        if judgement and judgement.verdict and _still_holds(judgement, turn, question):
            kept.append(judgement)
        else:
            waiting.append((turn, question))
    asked: list[Judgement] = []
    try:
        run_to_end(_ask_all(profile, waiting, asked, progress))
    finally:
        lines = (j.model_dump_json().encode() + b"\n" for j in [*kept, *asked])
        replace_file(path, lines)
    return [*kept, *asked]


def read_judgements(folder: RunFolder) -> dict[str, list[Judgement]]:
    """The verdicts on record, by judge."""
    by_judge = {}
    for path in sorted(folder.path.glob("judge-*.jsonl")):
        if judgements := list(_read(path)):
            by_judge[judgements[0].judge] = judgements
    return by_judge


def corrected_label(turn: Turn, corrected: Mapping[str, Question]) -> Question | None:
    """The question of the same id, if it asks the same; None where the turn keeps its own."""
    question = corrected.get(turn.question_id)
    if question is None:
        return None
    asked = Question.model_validate(turn.bank_line)
    same = (question.question, question.history) == (asked.question, asked.history)
    return question if same else None


async def _ask_all(
    profile: Profile,
    waiting: list[tuple[Turn, Question]],
    asked: list[Judgement],
    progress: Callable[[int, int], None],
) -> None:
    if not waiting:
        return
    client = ChatClient(profile, concurrency=AT_ONCE)
    try:
        model, _, _ = await choose_model(client)
        left = iter(waiting)

        async def work() -> None:
            for turn, question in left:
                asked.append(await _ask(client, model, turn, question))
                progress(len(asked), len(waiting))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(work())
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
    finally:
        await client.close()


async def _ask(client: ChatClient, model: str, turn: Turn, question: Question) -> Judgement:
    body = {
        "model": model,
        **client.profile.sampling.parameters(),
        "max_completion_tokens": OUTPUT_TOKENS,
        "messages": judge_messages(turn, question),
    }
    verdict, reason, error = None, None, None
    round_ = await client.complete(body, [], 0)
    if round_.state is RoundState.DONE:
        verdict, reason = read_verdict(round_.content)
        if verdict is None:
            error = f"no verdict in its answer: {round_.content[:200]!r}"
    else:
        error = round_.error
    return Judgement(
        question_id=turn.question_id,
        question_hash=question.hash,
        repeat=turn.repeat,
        judge=client.profile.name,
        model=model,
        prompt=digest(judge_prompt()),
        reply=digest(turn.reply),
        verdict=verdict,
        reason=reason,
        error=error,
    )


def _still_holds(judgement: Judgement, turn: Turn, question: Question) -> bool:
    return (judgement.question_hash, judgement.reply, judgement.prompt) == (
        question.hash,
        digest(turn.reply),
        digest(judge_prompt()),
    )


def _path(folder: RunFolder, judge: str) -> Path:
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in judge)
    return folder.path / f"judge-{name}.jsonl"


def _read(path: Path) -> Iterable[Judgement]:
    """Verdicts on record; a line that can't be read is asked again."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        try:
            judgement = Judgement.model_validate_json(line)
        except ValidationError:
            continue
        yield judgement

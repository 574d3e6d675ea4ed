"""What a budget bench asks, and in which order.

Public: `Ladder`, `Step`, `Control`, `steps`, `known_controls`, `EFFORTS`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ragevalkit.bank import Question
from ragevalkit.endpoint.probe import Finding, Probe, Verdict

EFFORTS = ("low", "medium", "high")
"""Levels of `reasoning_effort` that are asked for beside `none`."""


@dataclass(frozen=True)
class Control:
    """One setting of a field that is to limit the thinking."""

    name: str
    """`thinking_token_budget 256`, `reasoning_effort low`, ...: unique in a bench."""
    kind: Literal["tokens", "effort", "off"]
    fields: dict[str, Any] = field(default_factory=dict)
    """What is added to the request."""
    asked: int | None = None
    """Reasoning tokens asked for; None for a level of effort."""
    refusal: str | None = None
    """The server's own words, where the probe was told that it takes no such field."""


@dataclass(frozen=True)
class Ladder:
    """The settings of a budget bench."""

    budgets: tuple[int, ...]
    """Output budgets in tokens, rising."""
    runs: int
    questions: tuple[Question, ...]
    """Run number r asks question r, and the first again after the last."""
    seed: int
    agent: bool = False
    """Whole turns of the agent with its tools, instead of single requests without tools."""

    def question(self, run: int) -> Question:
        return self.questions[run % len(self.questions)]


@dataclass(frozen=True)
class Step:
    """One request, or one turn, of the bench."""

    budget: int
    run: int
    question: Question
    control: Control | None = None

    def __str__(self) -> str:
        control = f", {self.control.name}" if self.control else ""
        return f"budget {self.budget:,}{control}, run {self.run + 1}"

    @property
    def place(self) -> dict[str, Any]:
        """What its record is found by."""
        return {
            "budget": self.budget,
            "run": self.run,
            "control": self.control.name if self.control else None,
            "question": self.question.id,
        }


def steps(ladder: Ladder, controls: Sequence[Control] = ()) -> Iterator[Step]:
    """The ladder's steps, or those of the controls at its largest budget.

    Each run goes once through all rungs, in an order drawn anew: a drift over the bench falls on
    all rungs alike. The same settings give the same order.
    """
    rungs: list[tuple[int, Control | None]] = [(budget, None) for budget in ladder.budgets]
    if controls:
        rungs = [(ladder.budgets[-1], control) for control in controls if not control.refusal]
    chance = random.Random(f"{ladder.seed} {bool(controls)}")
    for run in range(ladder.runs):
        for budget, control in chance.sample(rungs, len(rungs)):
            yield Step(budget, run, ladder.question(run), control)


def known_controls(probe: Probe, budgets: Sequence[int]) -> list[Control]:
    """The thinking controls to try: those that the probe saw rejected are there with its words.

    Numbers of thinking tokens are the ladder's budgets below its largest, so that room for the
    answer is left.
    """
    controls = []
    template = _refusal(probe, "enable_thinking")
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    controls.append(Control("enable_thinking false", "off", off, 0, template))
    effort = _refusal(probe, "reasoning_effort")
    controls.append(_effort("none", effort))
    # some servers know these levels and not that of none
    controls += [_effort(level, None) for level in EFFORTS]
    finding = probe.findings.get("thinking_budget")
    name = str(finding.value) if finding and finding.value else _budget_field(probe)
    refusal = _refusal(probe, "thinking_budget")
    for tokens in budgets[:1] if refusal else budgets[:-1] or budgets:
        controls.append(Control(f"{name} {tokens}", "tokens", {name: tokens}, tokens, refusal))
    return controls


def _effort(level: str, refusal: str | None) -> Control:
    kind: Literal["off", "effort"] = "off" if level == "none" else "effort"
    asked = 0 if level == "none" else None
    name = "reasoning_effort"
    return Control(f"{name} {level}", kind, {name: level}, asked, refusal)


def _refusal(probe: Probe, check: str) -> str | None:
    finding: Finding | None = probe.findings.get(check)
    if finding is None or finding.verdict is not Verdict.NOT_SUPPORTED:
        return None
    return finding.evidence


def _budget_field(probe: Probe) -> str:
    engine = probe.findings.get("engine")
    is_llama = engine is not None and str(engine.value).startswith("llama.cpp")
    return "reasoning_budget_tokens" if is_llama else "thinking_token_budget"

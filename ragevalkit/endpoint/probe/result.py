"""All findings of a probe, and what they mean for measurements.

Public: `Probe`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ragevalkit.endpoint.options import RequestOptions
from ragevalkit.endpoint.probe.finding import Finding, Verdict

PROBE_VERSION = 1
"""Version of the JSON."""

_IF_NO = {
    "streaming": "replies don't stream: first-token times are those of the whole reply",
    "usage": "the server counts no tokens: all counts are estimated",
    "tools_in_prompt": "the prompt does not grow when tools are attached: they are dropped",
    "calls": "calls are left in the text: is the server's tool parser on?",
    "call_stream": "calls come whole: their tokens have no times of their own",
    "call_ids": "calls come without ids: they are made up, and told apart by their place",
}
"""What follows from a check's `no` for the turns of a run."""

_IF_NO_FOR_BENCHES = {
    "tool_choice_none": "tool_choice none is ignored",
    "tool_choice_required": "tool_choice required is ignored",
    "grammar_json": "response_format is accepted and ignored: no grammar is engaged",
    "grammar_strict": "strict: true is accepted and ignored: calls are not held to their schema",
    "cache_off": "a request can't keep the prefix cache out: repeated prompts are measured warm",
}
"""The same for what only benches ask for."""

_IF_NOT_SUPPORTED = {"calls": "the server rejects tools"}
_IF_NOT_SUPPORTED_FOR_BENCHES = {
    "grammar_json": "the server rejects response_format json_schema",
    "grammar_strict": "the server rejects strict tools",
}

_LIMITS = ("enable_thinking", "reasoning_effort", "thinking_budget")
"""Checks of which one `yes` is enough."""


class Probe(BaseModel):
    """All findings about one endpoint, by the names of their checks."""

    model_config = ConfigDict(extra="forbid")

    version: int = PROBE_VERSION
    endpoint: str
    """The profile's name."""
    model: str
    """The name that was asked for."""
    findings: dict[str, Finding]
    requests: int
    """HTTP requests sent, retries and version pages included."""
    seconds: float

    def verdict(self, check: str) -> Verdict:
        """A check's verdict; `unknown` for one that there isn't."""
        finding = self.findings.get(check)
        return finding.verdict if finding else Verdict.UNKNOWN

    def options(self) -> RequestOptions:
        """The lightest way of asking by which every token is known when it comes; else the next
        best; and the name under which the output budget is heeded.

        Usage on every event is lighter than ids. But a server whose tool parser holds back the
        first tokens of a call sends events for them only where ids are asked for.
        """
        usage = self.verdict("usage") is not Verdict.NOT_SUPPORTED
        continuous = usage and self._holds("continuous_usage")
        ids = self._holds("token_ids") and self.verdict("token_ids_of_calls") is not Verdict.NO
        if continuous and self._holds("continuous_usage_of_calls"):
            ids = False
        timings = self._holds("token_timings")
        by_old_name = self._holds("max_tokens")
        return RequestOptions(
            usage=usage,
            continuous_usage=continuous and not ids,
            token_ids=ids,
            token_timings=timings and not (ids or continuous),
            budget_field="max_tokens" if by_old_name else "max_completion_tokens",
        )

    def run_warnings(self, strict: bool | None) -> list[str]:
        """What the findings mean for the turns of a run, a line each.

        Args:
            strict: the profile's.
        """
        lines = self._following(_IF_NO, _IF_NOT_SUPPORTED)
        if strict:
            lines += self._following({"grammar_strict": _IF_NO_FOR_BENCHES["grammar_strict"]}, {})
        if self.verdict("max_completion_tokens") is self.verdict("max_tokens") is Verdict.NO:
            lines.append("the output budget is ignored under either name: replies may run on")
        if self._holds("thinks") and not any(map(self._holds, _LIMITS)):
            lines.append("thinking can't be limited: small output budgets end inside it")
        options = self.options()
        if options.continuous_usage and self.verdict("continuous_usage_of_calls") is Verdict.NO:
            lines.append("a call's first tokens are held back: first-token times of calls are late")
        return lines

    def warnings(self) -> list[str]:
        """What they mean for all that can be measured."""
        lines = self.run_warnings(strict=None)
        lines += self._following(_IF_NO_FOR_BENCHES, _IF_NOT_SUPPORTED_FOR_BENCHES)
        options = self.options()
        counted = options.continuous_usage or options.token_ids or options.token_timings
        if self._holds("usage") and not counted:
            lines.append("the tokens of single events aren't known: their counts may be estimated")
        return lines

    def _following(self, if_no: dict[str, str], if_not_supported: dict[str, str]) -> list[str]:
        tables = ((Verdict.NO, if_no), (Verdict.NOT_SUPPORTED, if_not_supported))
        return [
            line
            for verdict, table in tables
            for check, line in table.items()
            if self.verdict(check) is verdict
        ]

    def _holds(self, check: str) -> bool:
        return self.verdict(check) is Verdict.YES

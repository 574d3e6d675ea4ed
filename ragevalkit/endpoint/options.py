"""What a client may ask of an endpoint beyond the completion itself.

Public: `RequestOptions`.

The defaults are those that nearly every server takes; `endpoint.probe` finds out what this one
does with more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

BudgetField = Literal["max_completion_tokens", "max_tokens"]

_ABOUT_THE_VALUE = re.compile(r"too (?:large|big|high)|at most|less than|greater than|exceed", re.I)
"""A complaint about the budget's size, which another name would not mend."""


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How to ask for counts, and under which name to send the output budget."""

    usage: bool = True
    """`stream_options.include_usage`: a usage block at the end of the stream."""
    continuous_usage: bool = False
    """`stream_options.continuous_usage_stats`: cumulative usage on every event."""
    token_ids: bool = False
    """`return_token_ids`: the ids of each event's tokens, and an event for every token that a
    parser swallowed."""
    token_timings: bool = False
    """`timings_per_token`, llama.cpp's: cumulative counts on every event."""
    budget_field: BudgetField = "max_completion_tokens"

    def fields(self) -> dict[str, Any]:
        """The request's fields, without the output budget."""
        fields: dict[str, Any] = {}
        if self.usage:
            fields["stream_options"] = {"include_usage": True}
            if self.continuous_usage:
                fields["stream_options"]["continuous_usage_stats"] = True
        if self.token_ids:
            fields["return_token_ids"] = True
        if self.token_timings:
            fields["timings_per_token"] = True
        return fields

    def applied(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` with these fields, its `max_completion_tokens` under the budget's name."""
        named = {self.budget_field if k == "max_completion_tokens" else k: body[k] for k in body}
        return {**named, **self.fields()}

    def without(self, message: str) -> RequestOptions:
        """These options without those that a server's rejection names."""
        options = self
        if "continuous_usage_stats" in message:
            options = replace(options, continuous_usage=False)
        elif "stream_options" in message or "include_usage" in message:
            options = replace(options, usage=False)
        if "return_token_ids" in message:
            options = replace(options, token_ids=False)
        if "timings_per_token" in message:
            options = replace(options, token_timings=False)
        if "max_completion_tokens" in message and not _ABOUT_THE_VALUE.search(message):
            options = replace(options, budget_field="max_tokens")
        return options

"""Scenario files of `mock`: a table of rules in TOML, checked before anything runs.

Public: `Scenario`, `Rule`, `Timing`, `Reply`, `ScriptedCall`, the faults, `Fault`, `load_scenario`.

For each request the rules are tried in the order of the file, and the packaged `default.toml`
after them. A rule matches if all of its conditions hold. The first matching rule with a `reply`
is said; a matching rule without one adds its timing and fault to the rule that is found further
down (the first that has one wins). So faults go on top, and need no copy of the reply:

```toml
model = "mock"                  # name in /v1/models and in chunks
seed = 0                        # for every and probability

[wire]                          # all optional
reasoning_field = "reasoning"   # or "reasoning_content"
continuous_usage = false        # honours stream_options.continuous_usage_stats
token_ids = false               # honours return_token_ids

[timing]                        # for rules without their own; milliseconds, all optional
headers_ms = 5                  # arrival to headers and the role-only chunk
first_token_ms = 30             # arrival to the first token
gap_ms = 10                     # between token events; also reasoning_, arguments_, answer_gap_ms

[models]                        # optional: what GET /v1/models does, a fault status|html|silence
kind = "status"
status = 404

[[rules]]                       # conditions, all optional
name = "busy at first"          # for people
round = 0                       # assistant messages since the last user message; or [0, 1]
question = "(?i)voltage"        # regular expression, searched in the last user message
results = "some"                # or "empty", or "none": the last search's, none: no search yet
tools = true                    # whether the request brings tools
every = 3                       # one question in three, by a hash of seed, rule and question
probability = 0.2               # the same with a share
times = 2                       # only the first 2 matching requests ...
per = "turn"                    # ... of each turn (same messages up to the question); or "server"
[rules.fault]
kind = "status"                 # status | html | silence | cut | eof | error_event
status = 503
headers = { Retry-After = "1" }
body = "busy"                   # text or table; default: an OpenAI-style error object

[[rules]]
round = 1
[rules.timing]
gap_ms = 20
[rules.reply]                   # said in this order: reasoning, answer, calls
reasoning = 200                 # text, or a number of filler tokens
answer = "See {document}, page {page}: {quote}"   # text, or a number
tokens_per_event = 1
finish = "stop"                 # default: tool_calls or stop; "none" sends null
usage = true                    # false: no usage even where it is asked for
done = true                     # false: no [DONE]
[[rules.reply.calls]]
name = "cite"
arguments = { document = "{document}", page = "{page}" }   # table, or text sent as it is
id = "call_1"                   # default: made up; "" leaves the id out
index = 0                       # default: its position
pieces = 4                      # argument deltas; 0: id, name and arguments in one; default: a
                                # delta each tokens_per_event
```

Placeholders `{question}`, `{document}`, `{page}` and `{quote}` (the first sentence) are filled from
the question and the first result of the last search. In arguments given as text they are escaped
for a JSON string; a table's value that is just `"{page}"` becomes a number.

The faults `silence`, `cut`, `eof` and `error_event` take `after`, the number of token events sent
before them (default: 0 for silence and cut, that is before the headers; all of them for the
others). `cut` takes `how`: "hard" (TCP reset) or "half" (half-way through an event). `error_event`
takes `error`, a table.
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
)

from ragevalkit.errors import InputError


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return text


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Timing(_Table):
    """Milliseconds of one reply; None: at once, or the common gap."""

    headers_ms: NonNegativeFloat = 0
    """From arrival to the headers and the role-only chunk."""
    first_token_ms: NonNegativeFloat | None = None
    """From arrival to the first token of any channel."""
    gap_ms: NonNegativeFloat = 0
    """Between token events."""
    reasoning_gap_ms: NonNegativeFloat | None = None
    arguments_gap_ms: NonNegativeFloat | None = None
    answer_gap_ms: NonNegativeFloat | None = None


class ScriptedCall(_Table):
    """One tool call of a reply."""

    name: str
    arguments: dict[str, Any] | str = {}
    """A table, or text that is sent as it is, whether JSON or not."""
    id: str | None = None
    """None: made up; empty: left out of the chunk."""
    index: NonNegativeInt | None = None
    """None: its position among the calls."""
    pieces: NonNegativeInt | None = None
    """Number of argument deltas; 0: with the name; None: one for each `tokens_per_event`."""


class Reply(_Table):
    """What is said when nothing goes wrong."""

    reasoning: str | NonNegativeInt = ""
    """Text, or a number of filler tokens."""
    answer: str | NonNegativeInt = ""
    calls: list[ScriptedCall] = []
    tokens_per_event: PositiveInt = 1
    finish: str | None = None
    """None: `tool_calls` where there are calls, else `stop`; "none" is sent as null."""
    usage: bool = True
    done: bool = True


class StatusFault(_Table):
    """An HTTP error in place of the completion."""

    kind: Literal["status"]
    status: Annotated[int, Field(ge=200, le=599)] = 500
    headers: dict[str, str] = {}
    body: dict[str, Any] | str | None = None
    """None: an OpenAI-style error object."""


class HtmlFault(_Table):
    """A web page with status 200, as a proxy or a wrong port answers."""

    kind: Literal["html"]


class SilenceFault(_Table):
    """Nothing more, with the connection held open."""

    kind: Literal["silence"]
    after: NonNegativeInt = 0


class CutFault(_Table):
    """The connection breaks."""

    kind: Literal["cut"]
    after: NonNegativeInt = 0
    how: Literal["hard", "half"] = "hard"


class EofFault(_Table):
    """The body ends cleanly without finish reason, usage or `[DONE]`."""

    kind: Literal["eof"]
    after: NonNegativeInt | None = None
    """None: after all token events."""


class ErrorEventFault(_Table):
    """An error object inside the stream."""

    kind: Literal["error_event"]
    after: NonNegativeInt | None = None
    error: dict[str, Any] = {"message": "scripted", "type": "server_error", "code": 500}


Fault = Annotated[
    StatusFault | HtmlFault | SilenceFault | CutFault | EofFault | ErrorEventFault,
    Field(discriminator="kind"),
]
ModelsFault = Annotated[StatusFault | HtmlFault | SilenceFault, Field(discriminator="kind")]


class Rule(_Table):
    """Conditions, and what happens where all of them hold."""

    name: str = ""
    round: NonNegativeInt | list[NonNegativeInt] | None = None
    question: Annotated[str, AfterValidator(_pattern)] | None = None
    results: Literal["some", "empty", "none"] | None = None
    tools: bool | None = None
    every: PositiveInt | None = None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None
    times: PositiveInt | None = None
    per: Literal["server", "turn"] = "server"
    timing: Timing | None = None
    reply: Reply | None = None
    fault: Fault | None = None


class WireTable(_Table):
    """How the endpoint spells its chunks: see `ragevalkit.standin.events.Wire`."""

    reasoning_field: Literal["reasoning", "reasoning_content"] = "reasoning"
    continuous_usage: bool = False
    token_ids: bool = False


class Scenario(_Table):
    """A whole scenario file."""

    model: Annotated[str, Field(min_length=1)] = "mock"
    seed: int = 0
    wire: WireTable = WireTable()
    timing: Timing = Timing()
    models: ModelsFault | None = None
    rules: list[Rule] = []


def load_scenario(path: Path | None) -> Scenario:
    """Read a scenario file and append the default rules; None: the default alone.

    Raises `InputError` naming the file and the field.
    """
    text = resources.files("ragevalkit.standin").joinpath("default.toml").read_text("utf-8")
    default = _parse(text, "default.toml")
    if path is None:
        return default
    try:
        own = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't read the scenario: {error}") from None
    scenario = _parse(own, str(path))
    return scenario.model_copy(update={"rules": scenario.rules + default.rules})


def _parse(text: str, name: str) -> Scenario:
    try:
        return Scenario.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = _field(first["loc"])
        what = {
            "extra_forbidden": "is not a field of scenarios",
            "missing": "is missing",
            "union_tag_invalid": f"has no such kind: {first['msg']}",
            "union_tag_not_found": "needs a kind",
        }.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise InputError(f"{name}: {where}: {what}") from None


def _field(place: tuple[int | str, ...]) -> str:
    """`rules[0].fault.status` for pydantic's place of an error, without names of union members."""
    parts = ""
    for at, part in enumerate(place):
        if isinstance(part, int):
            parts += f"[{part}]"
        elif not _is_member(part, place[at - 1] if at else ""):
            parts += f".{part}" if parts else part
    return parts or "the file"


def _is_member(part: str, before: int | str) -> bool:
    kinds = ("status", "html", "silence", "cut", "eof", "error_event")
    return (
        (part in kinds and before in ("fault", "models"))
        or part in ("str", "int")
        or not part.isidentifier()
    )

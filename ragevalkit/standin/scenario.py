"""Scenario files of `mock`: a table of rules in TOML, checked before anything runs.

Public: `Scenario`, `load_scenario`.

For each request the rules are tried in the order of the file, and the packaged `default.toml`
after them. A rule matches if all of its conditions hold. The first matching rule with a `reply`
is said; a matching rule without one adds its timing and fault to the rule that is found further
down (the first that has one wins). So faults go on top, and need no copy of the reply:

```toml
model = "mock"                  # name in /v1/models and in chunks
seed = 0                        # for every and probability

[wire]                          # the table of all keys: `ragevalkit.standin.dialect`
engine = "vllm"                 # sglang | llamacpp | trtllm | ollama | lmstudio | openrouter
reasoning_field = "reasoning"   # each key overrides the engine's

[habits]                        # the table of all keys: `ragevalkit.standin.habits`
grammar = ["response_format"]   # each key overrides the engine's

[costs]                         # the table of all keys: `ragevalkit.standin.costs`
tools_ms = 57                   # of the first token, where a request offers tools

[timing]                        # for rules without their own; milliseconds, all optional
headers_ms = 5                  # arrival to headers
first_token_ms = 30             # arrival to the first token
gap_ms = 10                     # between token events; also reasoning_, arguments_, answer_gap_ms
queue_ms = 4                    # share of first_token_ms that the server reports as its queue

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
probability = 0.2               # drawn once a turn: by seed, rule, messages up to the question,
                                # and the request's own seed, which differs between repeats
times = 2                       # only the first 2 matching requests ...
per = "turn"                    # ... of each turn (same messages to the question, and seed); or
                                # "server"
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
tokens_per_event = 1            # or [1, 3]: one token, three, one, three ...
finish = "stop"                 # any text; default: tool_calls or stop; "none" sends null
usage = true                    # false: none even where it is asked for; a table: laid over every
                                # usage object ("absent" removes a count, "null" makes it null)
usage_on = "every"              # asked | last | finish | every | never; default: the wire's
cached_tokens = 0               # what the server reports, where its dialect does
done = true                     # false: no [DONE]
[[rules.reply.calls]]
name = "cite"
arguments = { document = "{document}", page = "{page}" }   # table, or text sent as it is
id = "call_1"                   # default: made up; "" leaves the id out
index = 0                       # default: its position, or as the wire has it
pieces = 4                      # argument deltas; 0: id, name and arguments in one; default: a
                                # delta each tokens_per_event, or as the wire has it
[[rules.reply.inserts]]         # bytes in between: comments, blank lines, broken JSON, any event
after = 3                       # token events before it; 0: before the first; "done": at the end
raw = "data: {oops\\n\\n"         # sent as it is
hex = ""                        # after it, bytes that are no text
```

Placeholders `{question}`, `{document}`, `{page}`, `{next_page}` (the number after it) and `{quote}`
(the first sentence) are filled from the question and the first result of the last search. In
arguments given as text they are escaped for a JSON string; a table's value that is just `"{page}"`
or `"{next_page}"` becomes a number. `{u+2028}` is the character of that number, also half of a
surrogate pair: `{u+d83d}`.

The faults `silence`, `cut`, `eof` and `error_event` take `after`, the number of token events sent
before them (default: 0 for silence and cut, that is before the headers; all of them for the
others). A `silence` that has begun goes on with the wire's pings. `cut` takes `how`: "hard" (TCP
reset) or "half" (half-way through an event). `error_event` takes `error`, a table.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from ragevalkit.errors import InputError
from ragevalkit.standin.costs import Costs
from ragevalkit.standin.dialect import Dialect, Table
from ragevalkit.standin.habits import Habits
from ragevalkit.standin.script import ModelsFault, Rule, Timing


class Scenario(Table):
    """A whole scenario file."""

    model: Annotated[str, Field(min_length=1)] = "mock"
    seed: int = 0
    wire: Dialect = Dialect()
    habits: Habits = Habits()
    costs: Costs = Costs()
    timing: Timing = Timing()
    models: ModelsFault | None = None
    rules: list[Rule] = Field(default_factory=list)


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
        errors = error.errors()
        where = _field(errors[0]["loc"])
        whats = [_what(e["type"], e["msg"]) for e in errors if _field(e["loc"]) == where]
        raise InputError(f"{name}: {where}: {', or '.join(dict.fromkeys(whats))}") from None


def _what(kind: str, message: str) -> str:
    """What is wrong with a field, in words that fit after its name."""
    return {
        "extra_forbidden": "is not a field of scenarios",
        "missing": "is missing",
        "union_tag_invalid": f"has no such kind: {message}",
        "union_tag_not_found": "needs a kind",
    }.get(kind, message.removeprefix("Value error, ").replace("Input should", "should"))


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
        or part in ("str", "int", "bool")
        or not part.isidentifier()
    )

"""What `bench guided --json` prints.

Public: `GuidedResult`, `ArmResult`, `ContrastResult`, `FirstUse`, `EngineCold`, `CacheState`,
`TurnShare`, `ToolCount`, `Engaged`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ragevalkit.bench.calibrate import Spread
from ragevalkit.bench.guided.estimate import Estimate
from ragevalkit.bench.session import Floor
from ragevalkit.scoring.summary import Rate

Engaged = Literal["yes", "no", "unknown"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)


class ArmResult(_Model):
    """One arm."""

    sends: str
    """What its requests are, in words."""
    status: Literal["run", "not_supported"]
    engaged: Engaged
    """Whether it did what it is there for: a grammar held the output, the tools reached the prompt,
    the prompts have the lengths that they should."""
    evidence: str
    """How that was seen, or the server's words."""
    requests: int = 0
    """In complete blocks."""
    failed: int = 0
    """Of those: without a finished reply, or without any token."""
    prompt_tokens: int | None = None
    """Median."""
    cached_tokens: int | None = None
    """The most that any request had."""
    completion_tokens: int | None = None
    """Median."""
    calls: int = 0
    """Requests whose reply held a call."""
    ttft_ms: Spread | None = None
    gap_ms: Spread | None = None
    """Time per token after the first event, of each request."""
    first_event_tokens: int | None = None
    """Tokens that the first event brought, median; null where the server doesn't say."""
    held_back: Engaged | None = None
    """Whether a parser keeps the first tokens of a call back, so that its first-token time is
    late; null where there were no calls."""
    hidden: int = 0
    """Replies with tokens of which none came: a parser waited for the end of a call."""
    whitespace_loops: int = 0
    """Replies with 32 or more blanks in a row."""


class ContrastResult(_Model):
    """The difference of two arms, within blocks: `to` less `from`."""

    from_: str = Field(alias="from")
    to: str
    isolates: str
    ttft_ms: Estimate
    gap_ms: Estimate
    """Of the time per token, over blocks in which both arms said the same."""
    queue_ms: Estimate | None = None
    """By the server's own figures: its queue, in which vLLM compiles grammars."""
    prefill_ms: Estimate | None = None
    """By the server's own figures: from there to the first token."""
    server_ttft_ms: Estimate | None = None
    """The two together; a parser that holds tokens back doesn't touch it."""
    prompt_tokens: int | None = None
    """How many more the prompt has."""
    notes: list[str] = []
    """What stands in the way of taking the difference for its cause."""


class FirstUse(_Model):
    """What the first use of a grammar costs: schemas that are new, each asked for twice."""

    arm: str
    schemas: int
    ttft_ms: Estimate
    """First request less second."""
    queue_ms: Estimate | None
    first_ms: float | None
    """Median."""
    again_ms: float | None
    prompt_tokens: list[int]
    """All lengths of the prompts; one, where the schemas have as many tokens each."""


class EngineCold(_Model):
    """The first request for a grammar of one sitting."""

    sitting: int
    plain_ms: float | None
    """First-token time of the plain request before it."""
    first_ms: float | None
    again_ms: float | None
    """The same request once more."""
    said: str | None = None
    """The server's words, where it rejected the request."""


class CacheState(_Model):
    """Whether prompts came from the prefix cache though they shouldn't have."""

    kept_out_by: str
    """`cache_salt`, `cache_prompt`, or `nonce`: a number at the start of each prompt."""
    kept_out: Engaged
    """By the cached tokens that the server reports."""
    most_cached_tokens: int | None


class TurnShare(_Model):
    """What the tools cost in the turns of a run."""

    run: str
    turns: int
    """Those with at least one round and a wall time."""
    rounds: float
    """Mean of a turn."""
    turn_s: float
    """Median."""
    cold_ms: float
    """For the first round of a turn: T1-P."""
    warm_ms: float
    """For each later one, whose prefix is cached."""
    cost_ms: float
    """Median over the turns."""
    share: float
    """Of the turn's wall time, median."""


class ToolCount(_Model):
    """So many tools in the prompt: what they cost, and whether calls are still well-formed."""

    tools: int
    generated: int
    """Of those: made up, since there are no more of the user's."""
    status: Literal["run", "not_supported"]
    evidence: str
    prompt_tokens: int | None
    ttft_ms: Estimate
    """Over no tools."""
    called: Rate
    """A call came where one was asked for."""
    right_tool: Rate
    """The first call was of the tool that was asked for."""
    well_formed: Rate
    """All calls were well-formed and none was left in the text; over replies with a call or one in
    the text."""
    defects: dict[str, int]
    """Replies by kind of a call's defect, as in scoring."""


class GuidedResult(_Model):
    """The whole bench."""

    bench: Literal["guided"] = "guided"
    name: str
    endpoint: str
    model: str
    tools: list[str]
    """Names of the tools that the arms offer."""
    blocks: int
    """Complete ones."""
    planned: int | None
    """Blocks that the bench is to have; null before the pilot is over."""
    stopped: str | None
    """Why it ended before; the same command continues it."""
    tokens: int
    """Output budget of each request."""
    streams: bool
    """False: replies come whole, and each asks for one token, whose arrival is the first-token
    time."""
    arms: dict[str, ArmResult] = {}
    contrasts: dict[str, ContrastResult] = {}
    warm_prefix: ContrastResult | None = None
    """T1-P where the prompt's beginning is cached, as in a turn's later rounds."""
    first_use: list[FirstUse] = []
    engine_cold: list[EngineCold] = []
    cache: CacheState | None = None
    of_run: TurnShare | None = None
    tool_counts: list[ToolCount] = []
    says: list[str] = []
    """What came of it, in sentences."""
    floor: Floor | None = None

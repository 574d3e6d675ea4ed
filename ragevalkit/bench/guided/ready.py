"""Before the first block: which arms the endpoint takes, and whether each is what it should be.

Public: `get_ready`, `Ready`, `State`, `Nonces`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragevalkit.bench.guided.arms import ARMS, GRAMMAR, TOOLS, Material, request
from ragevalkit.bench.guided.asking import REJECTED, Asker
from ragevalkit.bench.guided.result import Engaged
from ragevalkit.bench.guided.schemas import literal_grammar
from ragevalkit.bench.prompts import Cold, filler
from ragevalkit.endpoint.probe import Finding, Probe, Verdict
from ragevalkit.turn.record import Round, RoundState

_WARM_UPS = 2
"""Discarded requests of each arm: after them its grammar is compiled and its code paths ran."""
_FITS = 6
"""So often the filler is made longer or shorter."""
_PADDING = 8
"""So many missing tokens are made up for by as many of one word."""
_WORDS_A_TOKEN = 0.85
_FINDINGS = {"T2": "grammar_strict_auto", "T3": "grammar_required", "J": "grammar_json"}
"""The probe's checks that send a canary as the arm would: a random constant that only a grammar
can bring about."""


@dataclass(frozen=True)
class State:
    """What is known of one arm."""

    supported: bool = True
    engaged: Engaged = "yes"
    evidence: str = ""


@dataclass
class Ready:
    """What the blocks are asked with."""

    material: Material
    arms: list[str]
    """Those that the endpoint takes, in the order of `ARMS`."""
    states: dict[str, State] = field(default_factory=dict)


@dataclass
class Nonces:
    """What stands at the start of prompts, and the fields that keep them from the cache.

    Where a field is seen to do that, all prompts of a block begin alike, so that equal arms give
    equal outputs; else each has its own number.
    """

    cold: Cold
    _of_block: dict[object, str] = field(default_factory=dict)

    def nonce(self, block: object) -> str:
        if not self.cold.seen:
            return self.cold.nonce()
        return self._of_block.setdefault(block, self.cold.nonce())


async def get_ready(asker: Asker, material: Material, arms: Sequence[str], nonces: Nonces) -> Ready:
    """Send the warm-ups and the checks of every arm.

    Raises:
        Stopped: the server fails at plain requests.
        EndpointUnusable: it takes none.
    """
    warm = _WarmUps(asker, nonces)
    probe = asker.session.probe
    ready = Ready(material, [])
    replies: dict[str, list[Round]] = {}
    for arm in (a for a in ARMS if a in arms and a != "F"):
        if arm == "N" and material.null_grammar is None:
            words = "no field of this engine is known that engages a grammar without effect"
            ready.states[arm] = State(False, "unknown", words)
            continue
        replies[arm] = [await warm.ask(arm, material) for _ in range(_WARM_UPS)]
        if (rejected := _rejection(replies[arm])) is not None:
            ready.states[arm] = State(False, "no", rejected)
            continue
        ready.arms.append(arm)
        ready.states[arm] = State()
    with_tools: dict[str, int | None] = {
        a: _length(replies[a]) for a in ("T1", "T0", "T3", "T2") if a in ready.arms
    }
    if "F" in arms:
        wanted = next((n for n in with_tools.values() if n is not None), None)
        ready.states["F"], text = await _fit(warm, material, wanted)
        ready.material = replace(material, filler=text)
        ready.arms += ["F"] if ready.states["F"].supported else []
    ready.arms.sort(key=list(ARMS).index)
    plain = _length(replies.get("P", []))
    for arm in ready.arms:
        if arm in TOOLS:
            state = _offered(arm, plain, _length(replies[arm]), with_tools)
            ready.states[arm] = state
        if arm in GRAMMAR and ready.states[arm].engaged != "no":
            ready.states[arm] = await _held(arm, asker, warm, ready.material, probe)
    return ready


class _WarmUps:
    def __init__(self, asker: Asker, nonces: Nonces) -> None:
        self._asker, self._nonces = asker, nonces
        self._number = 0

    async def ask(self, arm: str, material: Material) -> Round:
        self._number += 1
        nonce = self._nonces.nonce(("warm-up", self._number))
        body = request(arm, material, nonce, **self._nonces.cold.fields())
        return await self._asker.ask(body, state="warm-up", arm=arm, number=self._number)


def _rejection(replies: list[Round]) -> str | None:
    """The server's words, where it doesn't take what an arm sends."""
    if any(reply.state is RoundState.DONE for reply in replies):
        return None
    last = replies[-1]
    words = last.error or last.state.value
    return words if last.state in REJECTED else f"{last.state.value.replace('_', ' ')}: {words}"


def _length(replies: list[Round]) -> int | None:
    """Tokens of the prompt, as the server counts them."""
    return next((r.prompt_tokens for r in replies if r.prompt_tokens is not None), None)


def _offered(
    arm: str, plain: int | None, own: int | None, lengths: Mapping[str, int | None]
) -> State:
    """Whether the tools are in the prompt, and as long in every arm as where the model is free."""
    if plain is None or own is None:
        return State(True, "unknown", "the server doesn't count the prompt's tokens")
    if own <= plain:
        what = "leaves the tools out of the prompt" if arm == "T0" else "drops the tools"
        return State(True, "no", f"the server {what}: {own} tokens with them, {plain} without")
    grew = f"the prompt has {own - plain} tokens more than without tools"
    free = lengths.get("T1")
    if arm != "T1" and free is not None and own != free:
        return State(True, "yes", f"{grew}, {own - free:+} against tool_choice auto")
    return State(True, "yes", grew)


async def _fit(warm: _WarmUps, material: Material, wanted: int | None) -> tuple[State, str]:
    """A filler that makes the plain prompt as long as the one with tools."""
    if wanted is None:
        why = "there is no length to match: no arm with tools, or the server counts no tokens"
        return State(False, "unknown", why), ""
    words, padding, text, got = 0, 0, "", 0
    for _ in range(_FITS):
        text = (filler(words) + " the" * padding).strip()
        reply = await warm.ask("F", replace(material, filler=text))
        if (rejected := _rejection([reply])) is not None:
            return State(False, "no", rejected), ""
        if reply.prompt_tokens is None:
            return State(False, "unknown", "the server doesn't count the prompt's tokens"), ""
        got = reply.prompt_tokens
        missing = wanted - got
        if missing == 0:
            return State(True, "yes", f"the prompt has {wanted} tokens, as with tools"), text
        if 0 < missing <= _PADDING and words:
            padding += missing
        else:
            words = max(
                1, words + round(_WORDS_A_TOKEN * (missing if missing > 0 else missing - 5))
            )
            padding = 0
    return State(True, "yes", f"the prompt has {got} tokens, the one with tools {wanted}"), text


async def _held(arm: str, asker: Asker, warm: _WarmUps, material: Material, probe: Probe) -> State:
    """Whether a grammar holds the arm's output: by a constant that the prompt doesn't ask for."""
    if arm == "N":
        return await _null_held(warm, material, probe)
    if arm == "T3" and probe.verdict("tool_choice_required") is Verdict.NO:
        return State(True, "no", probe.findings["tool_choice_required"].evidence)
    finding = probe.findings.get(_FINDINGS[arm])
    if finding is None:
        return State(True, "unknown", "not looked at")
    if arm == "T3" and finding.verdict is Verdict.NO:
        # it may be held to the form of a call and not to the schema, or forced by other means
        return State(True, "unknown", f"a call was forced, but {finding.evidence}")
    return State(True, _as_engaged(finding), finding.evidence)


async def _null_held(warm: _WarmUps, material: Material, probe: Probe) -> State:
    """The same field with a grammar that allows one random word."""
    word = secrets.token_hex(5)
    fields = literal_grammar(_engine(probe), word)
    reply = await warm.ask("N", replace(material, null_grammar=fields, tokens=24))
    if reply.state is not RoundState.DONE:
        return State(True, "unknown", f"the check failed: {reply.error or reply.state.value}")
    if reply.content.strip() == word:
        return State(True, "yes", "with a grammar that allows one random word, that came")
    if reply.reasoning and not reply.content:
        return State(True, "unknown", "the output budget ended inside reasoning")
    return State(
        True, "no", f"a grammar that allows one word had no effect: {reply.content[:40]!r}"
    )


def _engine(probe: Probe) -> str:
    finding = probe.findings.get("engine")
    return str(finding.value or "") if finding else ""


def _as_engaged(finding: Finding) -> Engaged:
    match finding.verdict:
        case Verdict.YES:
            return "yes"
        case Verdict.NO | Verdict.NOT_SUPPORTED:
            return "no"
        case _:
            return "unknown"

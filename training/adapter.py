"""Train an adapter for `local` on the turns that turns.py makes.

    python training/adapter.py TURNS.jsonl BASE FOLDER [BEGIN.safetensors]

Run it with vLLM's own environment. BASE is SmolLM2 as a Hugging Face folder, as
engines/weights.py writes it. FOLDER gets `adapter.safetensors` and, while training goes on, a
checkpoint from which the same command continues. Seeded: the same turns give the same adapter on
the same machine.

Loss is taken on what the assistant writes alone. The tokens that all turns of a lesson begin with,
system prompt and tools, are computed once a step and no gradient goes through them.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is in the folder

import torch
from lora import adapt
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

SEED = 6
BATCH = 6
TOKENS = 4500
"""A step takes at most `BATCH` turns, and of long ones as many as have so many tokens together."""
RATE = 8e-4
LAST_RATE = 0.05
"""Share of the learning rate that is left at the end."""
WARM_UP = 12
LARGEST_NORM = 1.0
SAVED_EVERY = 20
CHUNK = 48
"""Turns among which those of like length are put together."""


@dataclass(frozen=True)
class Turn:
    tokens: Tensor
    weights: Tensor
    """How much each token counts as a target; 0 for what isn't the assistant's."""
    lesson: int
    answers: bool
    decision: int
    """Which token says yes or no."""


def main(turns: Path, base: Path, folder: Path, begin: Path | None = None) -> None:
    torch.manual_seed(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    parameters = adapt(model)
    if begin is not None:
        with torch.no_grad():
            for name, values in load_file(begin).items():
                parameters[name].copy_(values)
    tokenizer = AutoTokenizer.from_pretrained(base)
    header, *lines = turns.read_text(encoding="utf-8").splitlines()
    read = [tokenized(json.loads(line), tokenizer) for line in lines]
    lessons = [[t for t in read if t.lesson == n] for n in sorted({t.lesson for t in read})]
    development, *lessons = lessons
    batches = [batch for lesson in lessons for batch in batched(lesson)]
    optimiser = torch.optim.AdamW(parameters.values(), lr=RATE, weight_decay=0.0)
    checkpoint = folder / "checkpoint.pt"
    done = restored(checkpoint, parameters, optimiser)
    begun = time.monotonic()
    first = done
    for step in range(done, len(batches)):
        for group in optimiser.param_groups:
            group["lr"] = RATE * schedule(step, len(batches))
        loss = loss_of(model, batches[step])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), LARGEST_NORM)
        optimiser.step()
        left = (time.monotonic() - begun) / (step + 1 - first) * (len(batches) - step - 1)
        print(
            f"step {step + 1} of {len(batches)}: loss {loss.item():.3f}, "
            f"{left / 60:.0f} min to go at this pace",
            flush=True,
        )
        if (step + 1) % SAVED_EVERY == 0:
            saved(checkpoint, parameters, optimiser, step + 1)
    metadata = {"conversation_hash": json.loads(header)["conversation_hash"]}
    tensors = {name: p.detach().contiguous() for name, p in parameters.items()}
    save_file(tensors, folder / "adapter.safetensors", metadata)
    report(model, tokenizer, development)
    checkpoint.unlink(missing_ok=True)


def tokenized(turn: dict[str, Any], tokenizer: Any) -> Turn:
    coded = tokenizer(turn["text"], return_offsets_mapping=True, add_special_tokens=False)
    weights = [0.0] * len(coded["input_ids"])
    decision = -1
    strongest = max(weight for _, _, weight in turn["emphasis"])
    for at, (begin, end) in enumerate(coded["offset_mapping"]):
        if any(b <= begin and end <= e for b, e in turn["spans"]):
            weights[at] = max([1.0] + [w for b, e, w in turn["emphasis"] if begin < e and b < end])
            if weights[at] == strongest:
                decision = at
    return Turn(
        torch.tensor(coded["input_ids"]),
        torch.tensor(weights),
        turn["lesson"],
        turn["answers"],
        decision,
    )


def batched(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Batches of turns of like length, in an order that doesn't follow the length."""
    rng = random.Random(SEED)
    order = list(turns)
    rng.shuffle(order)
    batches = []
    for begin in range(0, len(order), CHUNK):
        chunk = sorted(order[begin : begin + CHUNK], key=lambda turn: len(turn.tokens))
        mine: list[list[Turn]] = [[]]
        for turn in chunk:
            longest = len(turn.tokens) * (len(mine[-1]) + 1)
            if mine[-1] and (len(mine[-1]) == BATCH or longest > TOKENS):
                mine.append([])
            mine[-1].append(turn)
        rng.shuffle(mine)
        batches += mine
    return batches


def schedule(step: int, steps: int) -> float:
    """Share of the learning rate at a step: a warm-up, then down along a line."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    return 1 - (1 - LAST_RATE) * (step - WARM_UP) / max(1, steps - WARM_UP)


def shared(turns: Sequence[Turn]) -> int:
    """How many tokens all of them begin with; less than any has before its first target."""
    shortest = min(int(turn.weights.nonzero()[0]) for turn in turns) - 1
    rows = torch.stack([turn.tokens[:shortest] for turn in turns])
    unlike = (rows != rows[0]).any(0).nonzero()
    return int(unlike[0]) if len(unlike) else shortest


def hidden_states(model: Any, turns: Sequence[Turn]) -> tuple[Tensor, int]:
    """Last hidden states after the tokens that all begin with: (turns, longest rest, width)."""
    common = shared(turns)
    past = None
    if common > 1:
        with torch.no_grad():
            past = model.model(turns[0].tokens[None, :common], use_cache=True).past_key_values
        past.batch_repeat_interleave(len(turns))
    else:
        common = 0
    rest = [turn.tokens[common:] for turn in turns]
    tokens = torch.nn.utils.rnn.pad_sequence(rest, batch_first=True)
    mask = torch.ones(len(turns), common + tokens.shape[1], dtype=torch.long)
    for row, one in zip(mask, rest, strict=True):
        row[common + len(one) :] = 0
    out = model.model(tokens, past_key_values=past, attention_mask=mask, use_cache=True)
    return out.last_hidden_state, common


def loss_of(model: Any, turns: Sequence[Turn]) -> Tensor:
    """Weighted mean of the cross-entropy over the assistant's tokens."""
    states, common = hidden_states(model, turns)
    places = [turn.weights.nonzero()[:, 0] for turn in turns]
    before = torch.cat([states[row, at - common - 1] for row, at in enumerate(places)])
    targets = torch.cat([turn.tokens[at] for turn, at in zip(turns, places, strict=True)])
    weights = torch.cat([turn.weights[at] for turn, at in zip(turns, places, strict=True)])
    losses = cross_entropy(model.lm_head(before).float(), targets, reduction="none")
    return (losses * weights).sum() / weights.sum()


@torch.no_grad()
def report(model: Any, tokenizer: Any, turns: Sequence[Turn]) -> None:
    """How well yes and no are told apart where the right quote stands already."""
    words = (" yes", " no")
    yes, no = (tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in words)
    scores: dict[bool, list[float]] = {True: [], False: []}
    for batch in _chunks(sorted(turns, key=lambda turn: len(turn.tokens))):
        states, common = hidden_states(model, batch)
        for row, turn in enumerate(batch):
            logits = model.lm_head(states[row, turn.decision - common - 1]).float()
            scores[turn.answers].append(float(logits[yes] - logits[no]))
    above = sum(y > n for y in scores[True] for n in scores[False])
    print(f"area under the curve: {above / (len(scores[True]) * len(scores[False])):.3f}")
    for bias in (-2.0, -1.0, 0.0, 1.0, 2.0):
        over, right = (sum(s < bias for s in scores[a]) / len(scores[a]) for a in (True, False))
        print(
            f"threshold {bias:+.0f}: {right:.0%} declined rightly, {over:.0%} wrongly", flush=True
        )


def _chunks(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    for begin in range(0, len(turns), BATCH):
        yield turns[begin : begin + BATCH]


def saved(file: Path, parameters: dict[str, Any], optimiser: Any, done: int) -> None:
    state = {"parameters": parameters, "optimiser": optimiser.state_dict(), "done": done}
    torch.save(state, file.with_suffix(".part"))
    file.with_suffix(".part").replace(file)


def restored(file: Path, parameters: dict[str, Any], optimiser: Any) -> int:
    """How many steps a checkpoint has behind it, which is taken up; 0 where there is none."""
    if not file.exists():
        return 0
    state = torch.load(file, weights_only=True)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(state["parameters"][name])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["done"])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]))

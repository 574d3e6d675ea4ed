"""Train an adapter for `local` on the exercises that turns.py makes.

    python training/adapter.py TURNS.jsonl BASE FOLDER

Run it with vLLM's own environment. BASE is SmolLM2 as a Hugging Face folder, as
engines/weights.py writes it. FOLDER gets `adapter.safetensors` and, while training goes on, a
checkpoint from which the same command continues. Seeded: the same turns give the same adapter on
the same machine.

A step is one exercise: what its turns begin with, the search results above all, is computed once,
and gradients of all its turns go through it. Loss is taken on what the assistant writes alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # everything is in the folder

import torch
from attention import NAME, Branches
from lora import adapt
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

SEED = 6
RATE = 8e-4
LAST_RATE = 0.03
"""Share of the learning rate that is left at the end."""
WARM_UP = 12
LARGEST_NORM = 1.0
SAVED_EVERY = 20


@dataclass(frozen=True)
class Turn:
    tokens: Tensor
    weights: Tensor
    """How much each token counts as a target; 0 for what isn't the assistant's."""


def main(turns: Path, base: Path, folder: Path) -> None:
    torch.manual_seed(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    model, parameters, tokenizer = load(base)
    header, *lines = map(json.loads, turns.read_text(encoding="utf-8").splitlines())
    steps = [[tokenized(turn, tokenizer) for turn in x["turns"]] for x in lines]
    optimiser = torch.optim.AdamW(parameters.values(), lr=RATE, weight_decay=0.0)
    checkpoint = folder / "checkpoint.pt"
    first = restored(checkpoint, parameters, optimiser)
    begun = time.monotonic()
    for step in range(first, len(steps)):
        for group in optimiser.param_groups:
            group["lr"] = RATE * schedule(step, len(steps))
        loss = loss_of(model, steps[step])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), LARGEST_NORM)
        optimiser.step()
        left = (time.monotonic() - begun) / (step + 1 - first) * (len(steps) - step - 1)
        print(
            f"step {step + 1} of {len(steps)}: loss {loss.item():.3f}, "
            f"{left / 60:.0f} min to go at this pace",
            flush=True,
        )
        if (step + 1) % SAVED_EVERY == 0:
            saved(checkpoint, parameters, optimiser, step + 1)
    metadata = {"conversation_hash": header["conversation_hash"]}
    tensors = {name: p.detach().contiguous() for name, p in parameters.items()}
    save_file(tensors, folder / "adapter.safetensors", metadata)
    checkpoint.unlink(missing_ok=True)


def load(base: Path) -> tuple[Any, dict[str, Parameter], Any]:
    """The model with an adapter that changes nothing yet, the adapter's matrices, the tokenizer."""
    model = AutoModelForCausalLM.from_pretrained(base, dtype=fastest(), attn_implementation=NAME)
    return model, adapt(model), AutoTokenizer.from_pretrained(base)


def fastest() -> torch.dtype:
    """What this processor multiplies fastest in."""
    sixteen = torch.backends.cpu.get_cpu_capability() != "AVX2"  # which has no such instructions
    return torch.bfloat16 if sixteen else torch.float32


def tokenized(turn: dict[str, Any], tokenizer: Any) -> Turn:
    coded = tokenizer(turn["text"], return_offsets_mapping=True, add_special_tokens=False)
    weights = [0.0] * len(coded["input_ids"])
    for at, (begin, end) in enumerate(coded["offset_mapping"]):
        if any(b <= begin and end <= e for b, e in turn["spans"]):
            weights[at] = max([1.0] + [w for b, e, w in turn["emphasis"] if begin < e and b < end])
    return Turn(torch.tensor(coded["input_ids"]), torch.tensor(weights))


def schedule(step: int, steps: int) -> float:
    """Share of the learning rate at a step: a warm-up, then down along a line."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    return 1 - (1 - LAST_RATE) * (step - WARM_UP) / max(1, steps - WARM_UP)


def shared(turns: Sequence[Tensor]) -> int:
    """How many tokens all turns begin with; a single one shares all but its last."""
    shortest = min(map(len, turns)) - 1
    rows = torch.stack([tokens[:shortest] for tokens in turns])
    unlike = (rows != rows[0]).any(0).nonzero()
    return int(unlike[0]) if len(unlike) else shortest


def states_of(model: Any, turns: Sequence[Tensor]) -> tuple[Tensor, Branches]:
    """The last layer's states of turns that begin alike: (tokens, width), and their division."""
    common = shared(turns)
    branches = Branches(common, [len(tokens) - common for tokens in turns])
    states = model.model(
        branches.joined(turns)[None],
        position_ids=branches.positions(),
        use_cache=False,
        branches=branches,
    ).last_hidden_state
    return states[0], branches


def loss_of(model: Any, turns: Sequence[Turn]) -> Tensor:
    """Weighted mean of the cross-entropy over the assistant's tokens."""
    states, branches = states_of(model, [turn.tokens for turn in turns])
    tokens = branches.joined([turn.tokens for turn in turns])
    weights = branches.joined([turn.weights for turn in turns])
    places = weights.nonzero()[:, 0]
    logits = model.lm_head(states[branches.previous()[places]]).float()
    losses = cross_entropy(logits, tokens[places], reduction="none")
    return (losses * weights[places]).sum() / weights.sum()


def saved(file: Path, parameters: dict[str, Any], optimiser: Any, done: int) -> None:
    state = {"parameters": parameters, "optimiser": optimiser.state_dict(), "done": done}
    torch.save(state, file.with_suffix(".part"))
    file.with_suffix(".part").replace(file)


def take_up(parameters: dict[str, Parameter], values: dict[str, Tensor]) -> None:
    """Give the adapter's matrices the values that they had."""
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(values[name])


def restored(file: Path, parameters: dict[str, Any], optimiser: Any) -> int:
    """How many steps a checkpoint has behind it, which is taken up; 0 where there is none."""
    if not file.exists():
        return 0
    state = torch.load(file, weights_only=True)
    take_up(parameters, state["parameters"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["done"])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

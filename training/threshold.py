"""Set how readily a trained adapter says yes, by the shelves that training leaves out.

    python training/threshold.py DEVELOPMENT.jsonl BASE FOLDER

Run it with vLLM's own environment. FOLDER is where adapter.py left `adapter.safetensors`; it gets
`threshold.json`, which convert.py reads. Trainings that tell questions apart equally well still
differ in where yes ends and no begins. The embedding of ` yes`, which is a row of the output layer
too, is therefore made as much longer or shorter as it takes to decline `OVER_REFUSED` of the
answered questions.

Each question is thought about with the sentence that comes nearest by its words: that is mostly a
wrong one, as the model's own quotes are, and costs no generation.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from adapter import load, states_of, take_up
from safetensors.torch import load_file
from torch import Tensor

OVER_REFUSED = 0.15
DECISION = "\nAnswered:"


def main(development: Path, base: Path, folder: Path) -> None:
    model, parameters, tokenizer = load(base)
    take_up(parameters, load_file(folder / "adapter.safetensors"))
    yes, no = (tokenizer(word)["input_ids"][0] for word in (" yes", " no"))
    _, *lines = map(json.loads, development.read_text(encoding="utf-8").splitlines())
    needed: dict[bool, list[float]] = {True: [], False: []}
    for at, exercise in enumerate(lines, 1):
        turns = exercise["turns"]
        for turn, logits in zip(turns, decisions(model, tokenizer, turns), strict=True):
            needed[turn["answers"]].append((logits[no] / logits[yes]).item())
        print(f"searches weighed: {at} of {len(lines)}", flush=True)
    length = quantile(needed[True], 1 - OVER_REFUSED)
    over, right = (sum(n > length for n in needed[answered]) for answered in (True, False))
    (folder / "threshold.json").write_text(json.dumps({"token": yes, "length": length}) + "\n")
    print(
        f"yes is {length:.3f} times as long: over-refused {over}/{len(needed[True])}, "
        f"refused correctly {right}/{len(needed[False])}"
    )


def decisions(model: Any, tokenizer: Any, turns: Sequence[dict[str, Any]]) -> Iterator[Tensor]:
    """Of each turn the logits of the word that says whether the question is answered: (words,)."""
    before = [text[: text.index(DECISION) + len(DECISION)] for text in (t["text"] for t in turns)]
    tokens = [torch.tensor(tokenizer(text, add_special_tokens=False).input_ids) for text in before]
    with torch.no_grad():
        states, branches = states_of(model, tokens)
        for rest in branches.split(states[None, None])[1:]:
            yield model.lm_head(rest[0, 0, -1]).float()


def quantile(values: Sequence[float], share: float) -> float:
    """The least of them that `share` of them don't exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

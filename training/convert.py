"""Write the trained adapter as a GGUF file, which `local` merges into the model's.

    PYTHONPATH=engines python training/convert.py FOLDER BASE ADAPTER.gguf

Run it with vLLM's own environment. FOLDER is where adapter.py left `adapter.safetensors`, and
threshold.py `threshold.json`. The same adapter gives the same file, byte for byte.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGUFWriter
from lora import ALPHA
from safetensors import safe_open
from weights import BLOCK

HEADS = {"attn_q": 9, "attn_k": 3}
"""Heads of SmolLM2's projections whose rows llama.cpp keeps in another order."""
NAMES = {theirs: ours for ours, theirs in BLOCK.items()}
"""Names of a layer's tensors, from transformers' to GGUF's."""


def main(folder: Path, base: Path, file: Path) -> None:
    writer = GGUFWriter(file, arch="llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(ALPHA))
    with safe_open(folder / "adapter.safetensors", "numpy") as trained:
        hash_ = trained.metadata()["conversation_hash"]
        writer.add_string("ragevalkit.conversation_hash", hash_)
        for key in sorted(trained.keys()):
            _, layer, named = key.split(".", 2)
            theirs, _, matrix = named.rpartition(".")
            part = NAMES[theirs]
            values = trained.get_tensor(key)
            if matrix == "b" and part in HEADS:
                values = permuted(values, HEADS[part])
            name = f"blk.{layer}.{part}.weight.lora_{matrix}"
            writer.add_tensor(name, values.astype(np.float16))
    for matrix, values in lengthened(base, **json.loads((folder / "threshold.json").read_text())):
        writer.add_tensor(f"token_embd.weight.lora_{matrix}", values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, conversation {hash_}")


def lengthened(base: Path, token: int, length: float) -> Iterator[tuple[str, np.ndarray]]:
    """The matrices of rank one that make a single row of the embedding so many times as long."""
    with safe_open(base / "model.safetensors", "pt") as weights:
        embedding = weights.get_tensor("model.embed_tokens.weight")
    yield "a", embedding[token : token + 1].float().numpy()
    up = np.zeros((len(embedding), 1))
    up[token] = (length - 1) / ALPHA
    yield "b", up


def permuted(values: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a projection in llama.cpp's order, which pairs rotary dimension i with i+1."""
    rows, columns = values.shape
    halves = values.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

"""Write one model as two files for llama.cpp: at sixteen bits and at four.

    python engines/pair.py FOLDER VOCABULARY.gguf SIXTEEN.gguf FOUR.gguf

Run it with vLLM's own environment, which has gguf. FOLDER is a Hugging Face folder of SmolLM2's
architecture, such as weights.py writes: the same one with other weights gives another pair.
Metadata and tokenizer come from VOCABULARY.gguf. The four bits are Q4_1 without a calibration; the
embedding, which is the output layer as well, keeps eight. SmolLM2's packaged weights have been
Q4_1 before, so with them the second file loses next to nothing and the pair differs by how
llama.cpp computes with it, in eight bits; with Q4_0 hardly a call is well-formed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import (
    GGMLQuantizationType,
    GGUFReader,
    GGUFValueType,
    GGUFWriter,
    LlamaFileType,
    quantize,
)
from safetensors.torch import load_file
from weights import BLOCK, OUTER

F16, F32, Q4_1, Q8_0 = (GGMLQuantizationType[name] for name in ("F16", "F32", "Q4_1", "Q8_0"))
EMBEDDING = "token_embd.weight"
HEADS = {"attn_q": 9, "attn_k": 3}
"""Heads of SmolLM2's projections whose rows llama.cpp keeps in another order."""
NAMES = {theirs: ours for ours, theirs in (BLOCK | OUTER).items()}
"""Names of tensors, from transformers' to GGUF's."""


def main(folder: Path, vocabulary: Path, sixteen: Path, four: Path) -> None:
    reader = GGUFReader(vocabulary)
    named = dict(tensors(folder))
    missing = {tensor.name for tensor in reader.tensors} ^ named.keys()
    if missing:
        raise SystemExit(f"{folder} is not of the expected architecture: {sorted(missing)[:5]}")
    write(sixteen, reader, named, LlamaFileType.MOSTLY_F16, F16, F16)
    write(four, reader, named, LlamaFileType.MOSTLY_Q4_1, Q4_1, Q8_0)


def tensors(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Every tensor of the folder under its name in GGUF, in llama.cpp's order of its rows."""
    for file in sorted(folder.glob("*.safetensors")):
        for name, values in load_file(file).items():
            named, _, part = gguf_name(name).rpartition(".")
            array = values.float().numpy()
            if part in HEADS:
                array = permuted(array, HEADS[part])
            yield ".".join(filter(None, (named, part, "weight"))), array


def gguf_name(name: str) -> str:
    """`blk.3.attn_q` for `model.layers.3.self_attn.q_proj.weight`."""
    stem = name.removesuffix(".weight")
    if not stem.startswith("model.layers."):
        return NAMES[stem]
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{NAMES[part]}"


def permuted(values: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a projection in llama.cpp's order, which pairs rotary dimension i with i+1."""
    rows, columns = values.shape
    halves = values.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


def write(
    file: Path,
    reader: GGUFReader,
    named: dict[str, np.ndarray],
    kind: LlamaFileType,
    matrices: GGMLQuantizationType,
    embedding: GGMLQuantizationType,
) -> None:
    """One file; its vectors are in full."""
    unfinished = file.with_suffix(".part")
    writer = GGUFWriter(unfinished, arch="llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        value = int(kind) if field.name == "general.file_type" else field.contents()
        inner = field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, value, field.types[0], sub_type=inner)
    for name, values in named.items():
        stored = F32 if values.ndim == 1 else embedding if name == EMBEDDING else matrices
        writer.add_tensor(name, quantize(values, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    unfinished.replace(file)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]))

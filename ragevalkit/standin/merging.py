"""An adapter merged into the weights that it was trained beside, as one file for llama.cpp.

Public: `merged`, `write_merged`.

llama.cpp can load an adapter beside the weights, but then multiplies by both for every token, which
costs this model half of its speed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragevalkit.corpus.cache import cache_root
from ragevalkit.errors import InputError

if TYPE_CHECKING:
    from gguf import ReaderTensor
    from numpy.typing import NDArray

WRITTEN_AS = "Q8_0"
"""Eight bits lose nothing that shows, and are what llama.cpp reads a prompt fastest in."""

_EMBEDDING = "token_embd.weight"


def merged(weights: Path, adapter: Path) -> Path:
    """The file with both, from the cache; it is made where it isn't there yet.

    Processes may ask at once: each makes its own, and the last one's stays. Raises `InputError`
    where the two don't go together.
    """
    key = hashlib.sha256(WRITTEN_AS.encode())
    for file in (weights, adapter):
        with file.open("rb") as opened:
            key.update(hashlib.file_digest(opened, "sha256").digest())
    file = cache_root() / "weights" / f"{adapter.stem}-{key.hexdigest()[:16]}.gguf"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_merged(weights, adapter, file, WRITTEN_AS, WRITTEN_AS)
        except (ValueError, KeyError, IndexError) as error:
            raise InputError(f"{adapter} is no adapter for {weights.name}: {error!r}") from error
    return file


def write_merged(weights: Path, adapter: Path, file: Path, matrices: str, embedding: str) -> None:
    """Write the weights with the adapter in them.

    Args:
        weights: a GGUF file, from which metadata and tokenizer come as well.
        adapter: a low-rank adapter as a GGUF file, of tensors `….lora_a` and `….lora_b`.
        matrices: GGML's name of the type that matrices are written in; vectors are in full.
        embedding: the same for the embedding, which this model has as its output layer too.
    """
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType
    from gguf.quants import dequantize, quantize

    reader, beside = GGUFReader(weights), GGUFReader(adapter)
    low = {tensor.name: tensor.data.astype("float32") for tensor in beside.tensors}
    alpha = beside.fields["adapter.lora.alpha"].contents()
    missing = {name.rpartition(".")[0] for name in low} - {tensor.name for tensor in reader.tensors}
    if missing:
        raise ValueError(f"the weights have no {min(missing)}")
    unfinished = file.with_name(f".{file.name}-{secrets.token_hex(4)}")
    writer = GGUFWriter(unfinished, arch="llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        value = field.contents()
        if field.name == "general.file_type":
            value = int(LlamaFileType[f"MOSTLY_{matrices}"])
        inner = field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, value, field.types[0], sub_type=inner)

    def stored(tensor: ReaderTensor) -> tuple[NDArray[Any], GGMLQuantizationType]:
        name = embedding if tensor.name == _EMBEDDING else matrices
        kind = GGMLQuantizationType["F32" if len(tensor.shape) == 1 else name]
        adapted = f"{tensor.name}.lora_a" in low
        if kind == tensor.tensor_type and not adapted:
            return tensor.data, kind
        values = dequantize(tensor.data, tensor.tensor_type)
        if adapted:
            up, down = low[f"{tensor.name}.lora_b"], low[f"{tensor.name}.lora_a"]
            values = values + alpha / len(down) * (up @ down)
        return quantize(values, kind), kind

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for tensor, (data, kind) in zip(
            reader.tensors, pool.map(stored, reader.tensors), strict=True
        ):
            writer.add_tensor(tensor.name, data, raw_dtype=kind)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)

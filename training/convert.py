"""Write the trained adapter as a GGUF file, which llama.cpp loads beside the model's.

    PYTHONPATH=engines python training/convert.py FOLDER ADAPTER.gguf

Run it with vLLM's own environment. FOLDER is where adapter.py left `adapter.safetensors`. The same
adapter gives the same file, byte for byte.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from gguf import GGUFWriter
from lora import ALPHA
from pair import HEADS, gguf_name, permuted
from safetensors import safe_open


def main(folder: Path, file: Path) -> None:
    writer = GGUFWriter(file, arch="llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(ALPHA))
    with safe_open(folder / "adapter.safetensors", "numpy") as trained:
        hash_ = trained.metadata()["conversation_hash"]
        writer.add_string("ragevalkit.conversation_hash", hash_)
        for key in sorted(trained.keys()):
            name, _, matrix = key.rpartition(".")
            tensor = gguf_name(f"model.{name}")
            values = trained.get_tensor(key)
            part = tensor.rpartition(".")[2]
            if matrix == "b" and part in HEADS:
                values = permuted(values, HEADS[part])
            writer.add_tensor(f"{tensor}.weight.lora_{matrix}", values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, conversation {hash_}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))

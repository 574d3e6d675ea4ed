"""Write SmolLM2 as a Hugging Face folder at sixteen bits, from its GGUF file.

    python engines/weights.py FILE.gguf TEMPLATE.jinja FOLDER

Run it with vLLM's own environment: vLLM reads such a folder and no GGUF file. Every tensor is
dequantised, and llama.cpp's order of the rotary dimensions is undone, so the folder holds the
model of the GGUF file, rounded to bfloat16.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # everything comes from the file

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from transformers import AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM

BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""Names of a layer's tensors, from GGUF's to transformers'."""
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}


def main(source: Path, template: Path, folder: Path) -> None:
    reader = GGUFReader(source)
    config = configuration(reader)
    model = LlamaForCausalLM(config)
    lost = model.load_state_dict(tensors(reader, config), strict=False)
    if lost.unexpected_keys or set(lost.missing_keys) - {"lm_head.weight"}:
        raise SystemExit(f"{source} is not the expected model: {lost}")
    model.tie_weights()
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    ends = {"bos_token_id": config.bos_token_id, "eos_token_id": config.eos_token_id}
    model.generation_config = GenerationConfig(**ends, pad_token_id=config.pad_token_id)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def configuration(reader: GGUFReader) -> LlamaConfig:
    """The model's shape as the file's metadata states it."""

    def stated(key: str) -> Any:
        return reader.fields[key].contents()

    return LlamaConfig(
        vocab_size=stated("llama.vocab_size"),
        hidden_size=stated("llama.embedding_length"),
        intermediate_size=stated("llama.feed_forward_length"),
        num_hidden_layers=stated("llama.block_count"),
        num_attention_heads=stated("llama.attention.head_count"),
        num_key_value_heads=stated("llama.attention.head_count_kv"),
        rms_norm_eps=stated("llama.attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": stated("llama.rope.freq_base")},
        max_position_embeddings=stated("llama.context_length"),
        bos_token_id=stated("tokenizer.ggml.bos_token_id"),
        eos_token_id=stated("tokenizer.ggml.eos_token_id"),
        pad_token_id=stated("tokenizer.ggml.padding_token_id"),
        tie_word_embeddings=True,
    )


def tensors(reader: GGUFReader, config: LlamaConfig) -> dict[str, torch.Tensor]:
    """Every tensor of the file under its name in transformers."""
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    named = {}
    for tensor in reader.tensors:
        values = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        name = tensor.name.removesuffix(".weight")
        if name.startswith("blk."):
            _, layer, part = name.split(".")
            if part in heads:
                values = unpermuted(values, heads[part])
            name = f"model.layers.{layer}.{BLOCK[part]}"
        else:
            name = OUTER[name]
        named[f"{name}.weight"] = torch.from_numpy(values)
    return named


def unpermuted(values: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a projection in transformers' order: llama.cpp pairs rotary dimension i with i+1."""
    rows, columns = values.shape
    pairs = values.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))

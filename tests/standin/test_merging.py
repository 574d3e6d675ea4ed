"""An adapter merged into weights, on a model of a few numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import dequantize

from ragevalkit.errors import InputError
from ragevalkit.standin.merging import merged, write_merged

RNG = np.random.default_rng(0)
MATRIX, EMBEDDING = (RNG.normal(size=(64, 32)).astype(np.float32) for _ in range(2))
UP, DOWN, WORD, LENGTHENED = (
    RNG.normal(size=shape).astype(np.float16) for shape in ((64, 4), (4, 32), (64, 1), (1, 32))
)
WORD *= np.float16(0.02)  # so that eight bits stay as fine as they are for the embedding alone
ALPHA = 8.0
STORED = "blk.7.attn_q.weight"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    writer = GGUFWriter(tmp_path / "weights.gguf", arch="llama")
    writer.add_uint32("llama.block_count", 8)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.add_tensor("token_embd.weight", EMBEDDING)
    writer.add_tensor(STORED, MATRIX)
    writer.add_tensor("blk.7.attn_norm.weight", MATRIX[0])
    return finished(writer, tmp_path / "weights.gguf")


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    writer = GGUFWriter(tmp_path / "taught.gguf", arch="llama")
    writer.add_float32("adapter.lora.alpha", ALPHA)
    writer.add_tensor(f"{STORED}.lora_a", DOWN)
    writer.add_tensor(f"{STORED}.lora_b", UP)
    writer.add_tensor("token_embd.weight.lora_a", LENGTHENED)
    writer.add_tensor("token_embd.weight.lora_b", WORD)
    return finished(writer, tmp_path / "taught.gguf")


def finished(writer: GGUFWriter, file: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def read(file: Path) -> dict[str, np.ndarray]:
    return {t.name: dequantize(t.data, t.tensor_type) for t in GGUFReader(file).tensors}


def test_the_adapter_is_added_where_it_has_something(
    weights: Path, adapter: Path, tmp_path: Path
) -> None:
    write_merged(weights, adapter, tmp_path / "both.gguf", matrices="F16", embedding="Q8_0")
    found = read(tmp_path / "both.gguf")
    wanted = MATRIX + ALPHA / 4 * (UP.astype(np.float32) @ DOWN.astype(np.float32))
    assert np.allclose(found[STORED], wanted, rtol=2e-3, atol=2e-3)
    # each tensor's rank is its own
    wanted = EMBEDDING + ALPHA * (WORD.astype(np.float32) @ LENGTHENED.astype(np.float32))
    assert np.allclose(found["token_embd.weight"], wanted, atol=0.03)
    assert (found["blk.7.attn_norm.weight"] == MATRIX[0]).all()
    reader = GGUFReader(tmp_path / "both.gguf")
    assert {t.name: t.tensor_type for t in reader.tensors} == {
        STORED: GGMLQuantizationType.F16,
        "token_embd.weight": GGMLQuantizationType.Q8_0,
        "blk.7.attn_norm.weight": GGMLQuantizationType.F32,
    }
    assert reader.fields["llama.block_count"].contents() == 8
    assert reader.fields["tokenizer.ggml.tokens"].contents() == ["a", "b"]


def test_it_is_made_once(
    weights: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path / "cache"))
    file = merged(weights, adapter)
    made = file.stat().st_mtime_ns
    assert merged(weights, adapter) == file
    assert file.stat().st_mtime_ns == made


def test_another_adapter_makes_another(
    weights: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path / "cache"))
    file = merged(weights, adapter)
    adapter.write_bytes(adapter.read_bytes() + b"\0" * 32)
    assert merged(weights, adapter) != file


@pytest.mark.parametrize("content", [b"", b"GGUF", b"no such thing" * 9])
def test_what_is_no_adapter_is_named(
    content: bytes, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path / "cache"))
    other = tmp_path / "other.gguf"
    other.write_bytes(content)
    with pytest.raises(InputError, match=r"other\.gguf is no adapter for weights\.gguf"):
        merged(weights, other)


def test_weights_are_no_adapter(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="is no adapter"):
        merged(weights, weights)


def test_another_model_s_adapter_is_refused(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path / "cache"))
    writer = GGUFWriter(tmp_path / "larger.gguf", arch="llama")
    writer.add_float32("adapter.lora.alpha", ALPHA)
    writer.add_tensor("blk.31.attn_q.weight.lora_a", DOWN)
    writer.add_tensor("blk.31.attn_q.weight.lora_b", UP)
    with pytest.raises(InputError, match=r"the weights have no blk\.31\.attn_q\.weight"):
        merged(weights, finished(writer, tmp_path / "larger.gguf"))


def test_several_may_ask_at_once(
    weights: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVALKIT_CACHE", str(tmp_path / "cache"))
    with ThreadPoolExecutor(4) as pool:
        files = list(pool.map(lambda _: merged(weights, adapter), range(4)))
    assert len(set(files)) == 1
    assert read(files[0]).keys() == read(weights).keys()
    assert [file.name for file in files[0].parent.iterdir()] == [files[0].name]

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch

from goose_lsp.engine import gguf_file
from goose_lsp.engine.model import assemble
from goose_lsp.errors import ModelLoadError
from tests.tiny import TINY, tiny_weights


def write_tiny(path: Path, architecture: str = "llama", *, pre: str = "smollm") -> None:
    """A whole GGUF file of the tiny model, as a converter would write it for `llama`."""
    weights = tiny_weights()
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(TINY.n_layers)
    writer.add_context_length(TINY.max_context_tokens)
    writer.add_embedding_length(TINY.hidden_size)
    writer.add_feed_forward_length(TINY.intermediate_size)
    writer.add_head_count(TINY.n_heads)
    writer.add_head_count_kv(TINY.n_kv_heads)
    writer.add_layer_norm_rms_eps(TINY.norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([*map(chr, range(97, 97 + TINY.n_vocab - 2)), "ab", "<|end|>"])
    writer.add_token_types([1] * (TINY.n_vocab - 1) + [3])
    writer.add_token_merges(["a b"])
    q, kv = TINY.n_heads * TINY.head_size, TINY.n_kv_heads * TINY.head_size

    def add(name: str, tensor: torch.Tensor) -> None:
        writer.add_tensor(name, tensor.numpy().astype(np.float32))

    add("token_embd.weight", weights.embedding)
    add("output_norm.weight", weights.final_norm)
    for number, layer in enumerate(weights.layers):
        block = f"blk.{number}."
        add(block + "attn_norm.weight", layer.attention_norm)
        for name, part in zip("qkv", layer.qkv.split((q, kv, kv)), strict=True):
            add(f"{block}attn_{name}.weight", part if name == "v" else interleave(part))
        add(block + "attn_output.weight", layer.output)
        add(block + "ffn_norm.weight", layer.mlp_norm)
        gate, up = layer.gate_up.chunk(2)
        add(block + "ffn_gate.weight", gate)
        add(block + "ffn_up.weight", up)
        add(block + "ffn_down.weight", layer.down)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleave(weight: torch.Tensor) -> torch.Tensor:
    """Rows of each head from halves to pairs, as llama.cpp's converter lays them."""
    halves = weight.view(-1, 2, TINY.head_size // 2, weight.shape[1])
    return halves.transpose(1, 2).reshape(weight.shape).contiguous()


def test_a_file_gives_back_the_weights_it_was_written_from(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny.gguf")
    source, tokenizer = gguf_file.open_model(tmp_path / "tiny.gguf")
    weights = assemble(source, torch.float32)
    expected = tiny_weights()
    assert torch.equal(weights.embedding, expected.embedding)
    for ours, theirs in zip(weights.layers, expected.layers, strict=True):
        assert torch.equal(ours.qkv, theirs.qkv)
        assert torch.equal(ours.gate_up, theirs.gate_up)
        assert torch.equal(ours.down, theirs.down)
    assert tokenizer.control_ids == {TINY.n_vocab - 1}


@pytest.mark.parametrize("n_bytes", [0, 3, 100, 2000, -64])
def test_a_truncated_file_is_explained_in_one_line(tmp_path: Path, n_bytes: int) -> None:
    path = tmp_path / "cut.gguf"
    write_tiny(path)
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(ModelLoadError, match=r"cut\.gguf is not a whole GGUF file") as caught:
        gguf_file.open_model(path)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_not_gguf_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "noise.gguf"
    path.write_bytes(bytes(range(256)) * 100)
    with pytest.raises(ModelLoadError, match="not a whole GGUF file"):
        gguf_file.open_model(path)


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match="does not exist"):
        gguf_file.open_model(tmp_path / "none.gguf")


def test_another_architecture_is_refused_by_name(tmp_path: Path) -> None:
    write_tiny(tmp_path / "m.gguf", "mamba")
    with pytest.raises(ModelLoadError, match="holds a mamba model"):
        gguf_file.open_model(tmp_path / "m.gguf")


def test_an_unknown_way_of_cutting_text_is_refused_by_name(tmp_path: Path) -> None:
    write_tiny(tmp_path / "m.gguf", pre="klingon")
    with pytest.raises(ModelLoadError, match="klingon"):
        gguf_file.open_model(tmp_path / "m.gguf")

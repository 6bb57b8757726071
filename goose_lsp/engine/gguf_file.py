"""Reading GGUF files: metadata to a config and a tokenizer, quantised blocks to plain tensors."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.model import ModelSource, check_tensor
from goose_lsp.errors import ModelLoadError
from goose_lsp.tokenizer import Tokenizer

# llama.cpp stores the query and key rows of `llama` files for its interleaved rotation.
_INTERLEAVED_ROPE = {"llama"}
_ARCHITECTURES = ("llama", "qwen2", "qwen3", "mistral")
_CONTROL_TOKEN = 3  # the token type of control tokens

_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def open_model(path: Path) -> tuple[ModelSource, Tokenizer]:
    """Raises `ModelLoadError` if the file is broken, truncated or of another architecture."""
    reader = _open(path)
    fields = dict(reader.fields)
    config = _config(fields, path)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    architecture = fields["general.architecture"].contents()

    def read(name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        tensor = tensors.get(_gguf_name(name))
        if tensor is None:
            return None
        values = np.array(gguf.quants.dequantize(tensor.data, tensor.tensor_type), np.float32)
        weight = torch.from_numpy(values)
        check_tensor(weight, name, shape, str(path))
        if architecture in _INTERLEAVED_ROPE and ("q_proj" in name or "k_proj" in name):
            weight = _to_half_split(weight, config.head_size)
        return weight

    return ModelSource(config, str(path), read), _tokenizer(fields, path)


def _open(path: Path) -> gguf.GGUFReader:
    try:
        return gguf.GGUFReader(path)
    except FileNotFoundError:
        raise ModelLoadError(f"{path} does not exist") from None
    except Exception as error:  # noqa: BLE001  a damaged header fails in any of a dozen ways
        raise ModelLoadError(
            f"{path} is not a whole GGUF file ({type(error).__name__}: {error}); fetch it again"
        ) from None


def _config(fields: dict[str, Any], path: Path) -> LlamaConfig:
    architecture = _value(fields, "general.architecture", path)
    if architecture not in _ARCHITECTURES:
        raise ModelLoadError(
            f"{path} holds a {architecture} model; this engine runs {', '.join(_ARCHITECTURES)}"
        )

    def value(key: str) -> Any:
        return _value(fields, f"{architecture}.{key}", path)

    n_heads, hidden = value("attention.head_count"), value("embedding_length")
    key_length = fields.get(f"{architecture}.attention.key_length")
    n_vocab = len(_value(fields, "tokenizer.ggml.tokens", path))
    theta = fields.get(f"{architecture}.rope.freq_base")
    return LlamaConfig(
        n_layers=value("block_count"),
        hidden_size=hidden,
        n_heads=n_heads,
        n_kv_heads=value("attention.head_count_kv"),
        head_size=key_length.contents() if key_length else hidden // n_heads,
        intermediate_size=value("feed_forward_length"),
        n_vocab=n_vocab,
        max_context_tokens=value("context_length"),
        rope_theta=float(theta.contents()) if theta else 10_000.0,
        norm_eps=float(value("attention.layer_norm_rms_epsilon")),
    )


def _tokenizer(fields: dict[str, Any], path: Path) -> Tokenizer:
    kind = _value(fields, "tokenizer.ggml.model", path)
    if kind != "gpt2":
        raise ModelLoadError(f"{path}: tokenizer kind {kind!r}; this engine reads byte-level gpt2")
    types = _value(fields, "tokenizer.ggml.token_type", path)
    control_ids = [i for i, token_type in enumerate(types) if token_type == _CONTROL_TOKEN]
    pre = fields.get("tokenizer.ggml.pre")
    return Tokenizer.from_bpe(
        _value(fields, "tokenizer.ggml.tokens", path),
        _value(fields, "tokenizer.ggml.merges", path),
        control_ids,
        pre.contents() if pre else "default",
    )


def _value(fields: dict[str, Any], key: str, path: Path) -> Any:
    if key not in fields:
        raise ModelLoadError(f"{path}: metadata {key} is missing")
    return fields[key].contents()


def _gguf_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem.startswith("model.layers."):
        _, _, number, part = stem.split(".", 3)
        return f"blk.{number}.{_NAMES[part]}.{kind}"
    return f"{_NAMES[stem]}.{kind}"


def _to_half_split(weight: torch.Tensor, head_size: int) -> torch.Tensor:
    """Reorder each head's rows from interleaved pairs (2i, 2i+1) to halves (i, i + head_size/2)."""
    pairs = weight.view(-1, head_size // 2, 2, *weight.shape[1:])
    return pairs.transpose(1, 2).reshape(weight.shape)

"""The weights of a llama-shaped model, whatever file they come from."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.errors import ModelLoadError


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One block, projections fused: rows of `qkv` are query heads, then key heads, then value heads."""

    attention_norm: torch.Tensor  # [hidden]
    qkv: torch.Tensor  # [(n_heads + 2·n_kv_heads)·head_size, hidden]
    qkv_bias: torch.Tensor | None
    q_norm: torch.Tensor | None  # [head_size], Qwen3
    k_norm: torch.Tensor | None
    output: torch.Tensor  # [hidden, n_heads·head_size]
    mlp_norm: torch.Tensor  # [hidden]
    gate_up: torch.Tensor  # [2·intermediate, hidden], gate first
    down: torch.Tensor  # [hidden, intermediate]


@dataclass(frozen=True, slots=True)
class LlamaWeights:
    config: LlamaConfig
    embedding: torch.Tensor  # [vocab, hidden]
    layers: tuple[LayerWeights, ...]
    final_norm: torch.Tensor  # [hidden]
    head: torch.Tensor  # [vocab, hidden]; the embedding itself where tied


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Named tensors that make a model, read one by one, so that no more is in memory than is asked for.

    `read(name, shape)` returns the tensor under its transformers name, checked, or None if the file has
    none; what is required is checked here. Raises `ModelLoadError`.
    """

    config: LlamaConfig
    where: str  # for messages
    read: Callable[[str, tuple[int, ...]], torch.Tensor | None]

    def embedding(self) -> torch.Tensor:
        return self._need("model.embed_tokens.weight", self.config.n_vocab, self.config.hidden_size)

    def final_norm(self) -> torch.Tensor:
        return self._need("model.norm.weight", self.config.hidden_size)

    def head(self) -> torch.Tensor | None:
        """None where the embedding serves as head."""
        return self.read("lm_head.weight", (self.config.n_vocab, self.config.hidden_size))

    def layer(self, number: int) -> LayerWeights:
        config, prefix = self.config, f"model.layers.{number}."
        hidden, intermediate = config.hidden_size, config.intermediate_size
        q_size, kv_size = (n * config.head_size for n in (config.n_heads, config.n_kv_heads))
        attention = prefix + "self_attn."
        projections = (("q_proj", q_size), ("k_proj", kv_size), ("v_proj", kv_size))
        biases = [self.read(f"{attention}{name}.bias", (size,)) for name, size in projections]
        return LayerWeights(
            attention_norm=self._need(prefix + "input_layernorm.weight", hidden),
            qkv=torch.cat(
                [
                    self._need(f"{attention}{name}.weight", size, hidden)
                    for name, size in projections
                ]
            ),
            qkv_bias=torch.cat([b for b in biases if b is not None])
            if all(b is not None for b in biases)
            else None,
            q_norm=self.read(attention + "q_norm.weight", (config.head_size,)),
            k_norm=self.read(attention + "k_norm.weight", (config.head_size,)),
            output=self._need(attention + "o_proj.weight", hidden, q_size),
            mlp_norm=self._need(prefix + "post_attention_layernorm.weight", hidden),
            gate_up=torch.cat(
                [
                    self._need(f"{prefix}mlp.{name}.weight", intermediate, hidden)
                    for name in ("gate_proj", "up_proj")
                ]
            ),
            down=self._need(prefix + "mlp.down_proj.weight", hidden, intermediate),
        )

    def _need(self, name: str, *shape: int) -> torch.Tensor:
        tensor = self.read(name, shape)
        if tensor is None:
            raise ModelLoadError(f"{self.where}: tensor {name} is missing")
        return tensor


def assemble(source: ModelSource, dtype: torch.dtype) -> LlamaWeights:
    """The whole model in one dtype."""

    def cast(layer: LayerWeights) -> LayerWeights:
        tensors = {name: getattr(layer, name) for name in LayerWeights.__slots__}
        return replace(layer, **{k: v.to(dtype) for k, v in tensors.items() if v is not None})

    embedding, head = source.embedding().to(dtype), source.head()
    return LlamaWeights(
        source.config,
        embedding,
        tuple(cast(source.layer(number)) for number in range(source.config.n_layers)),
        source.final_norm().to(dtype),
        embedding if head is None else head.to(dtype),
    )


def check_tensor(tensor: torch.Tensor, name: str, shape: tuple[int, ...], where: str) -> None:
    """Raise `ModelLoadError` unless the tensor has this shape and only finite values."""
    if tuple(tensor.shape) != shape:
        raise ModelLoadError(f"{where}: {name} has shape {tuple(tensor.shape)}; it must be {shape}")
    # Half precision could not hold the sum of many values that are each finite.
    if not torch.isfinite(tensor.sum(dtype=torch.float64)):
        raise ModelLoadError(f"{where}: {name} holds values that are not finite")

"""A llama-shaped model in memory: its sizes and its weights, whatever file they came from."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from goose_lsp.errors import ModelLoadError


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    """Sizes of a llama-shaped decoder. Query heads are a multiple of KV heads."""

    n_layers: int
    hidden_size: int
    n_heads: int
    n_kv_heads: int
    head_size: int
    intermediate_size: int
    n_vocab: int
    max_context_tokens: int
    rope_theta: float
    norm_eps: float

    def __post_init__(self) -> None:
        sizes = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, value in sizes.items():
            if not value > 0:
                raise ModelLoadError(f"the model's {name} is {value}; it must be positive")
        if self.n_heads % self.n_kv_heads:
            raise ModelLoadError(
                f"{self.n_heads} query heads cannot share {self.n_kv_heads} KV heads evenly"
            )


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


def assemble(
    config: LlamaConfig, get: Callable[[str, tuple[int, ...]], torch.Tensor | None], where: str
) -> LlamaWeights:
    """Build the weights from named tensors.

    `get(name, shape)` returns the tensor under its transformers name in the wanted dtype, or None if
    the file has none; what is required is checked here.
    """

    def need(name: str, *shape: int) -> torch.Tensor:
        tensor = get(name, shape)
        if tensor is None:
            raise ModelLoadError(f"{where}: tensor {name} is missing")
        return tensor

    q_size, kv_size = (heads * config.head_size for heads in (config.n_heads, config.n_kv_heads))
    hidden, intermediate = config.hidden_size, config.intermediate_size

    def layer(number: int) -> LayerWeights:
        prefix = f"model.layers.{number}."
        attention = prefix + "self_attn."
        projections = (("q_proj", q_size), ("k_proj", kv_size), ("v_proj", kv_size))
        biases = [get(f"{attention}{name}.bias", (size,)) for name, size in projections]
        return LayerWeights(
            attention_norm=need(prefix + "input_layernorm.weight", hidden),
            qkv=torch.cat(
                [need(f"{attention}{name}.weight", size, hidden) for name, size in projections]
            ),
            qkv_bias=torch.cat([b for b in biases if b is not None])
            if all(b is not None for b in biases)
            else None,
            q_norm=get(attention + "q_norm.weight", (config.head_size,)),
            k_norm=get(attention + "k_norm.weight", (config.head_size,)),
            output=need(attention + "o_proj.weight", hidden, q_size),
            mlp_norm=need(prefix + "post_attention_layernorm.weight", hidden),
            gate_up=torch.cat(
                [
                    need(f"{prefix}mlp.{name}.weight", intermediate, hidden)
                    for name in ("gate_proj", "up_proj")
                ]
            ),
            down=need(prefix + "mlp.down_proj.weight", hidden, intermediate),
        )

    embedding = need("model.embed_tokens.weight", config.n_vocab, hidden)
    head = get("lm_head.weight", (config.n_vocab, hidden))
    return LlamaWeights(
        config,
        embedding,
        tuple(layer(number) for number in range(config.n_layers)),
        need("model.norm.weight", hidden),
        embedding if head is None else head,
    )


def check_tensor(tensor: torch.Tensor, name: str, shape: tuple[int, ...], where: str) -> None:
    """Raise `ModelLoadError` unless the tensor has this shape and only finite values."""
    if tuple(tensor.shape) != shape:
        raise ModelLoadError(f"{where}: {name} has shape {tuple(tensor.shape)}; it must be {shape}")
    # Half precision could not hold the sum of many values that are each finite.
    if not torch.isfinite(tensor.sum(dtype=torch.float64)):
        raise ModelLoadError(f"{where}: {name} holds values that are not finite")

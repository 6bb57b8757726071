"""The forward pass of a llama-shaped decoder in torch, lean: fused projections, a preallocated cache.

Letters: T tokens this pass, S slots attended, H query heads, G KV heads, D head size.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.forward import KVStore, NewTokens, Scored
from goose_lsp.engine.model import LayerWeights, LlamaWeights


class TensorStore:
    """Keys, stored rotated to their token's position, and values: [layers, G, slots, D]."""

    def __init__(self, config: LlamaConfig, max_tokens: int, dtype: torch.dtype) -> None:
        shape = (config.n_layers, config.n_kv_heads, max_tokens, config.head_size)
        self.max_tokens = max_tokens
        try:
            self.keys, self.values = (
                torch.zeros(shape, dtype=dtype),
                torch.zeros(shape, dtype=dtype),
            )
        except RuntimeError as error:  # torch's word for having no memory
            raise MemoryError(str(error)) from None
        self.n_bytes = self.keys.nbytes + self.values.nbytes

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        for tensor in (self.keys, self.values):
            for target, source in zip(targets, sources, strict=True):
                tensor[:, :, target] = tensor[:, :, source]

    def copy_prefix(self, other: KVStore, n_tokens: int) -> None:
        assert isinstance(other, TensorStore)
        self.keys[:, :, :n_tokens] = other.keys[:, :, :n_tokens]
        self.values[:, :, :n_tokens] = other.values[:, :, :n_tokens]


class TorchForward:
    """Runs tokens through the model with torch's own kernels, in the weights' dtype."""

    def __init__(self, weights: LlamaWeights, max_tokens: int, n_threads: int = 1) -> None:
        self._weights = weights
        self._max_threads = n_threads
        torch.set_num_threads(n_threads)
        self.n_vocab = weights.config.n_vocab
        self.max_tokens = min(max_tokens, weights.config.max_context_tokens)
        self.max_rows = self.max_tokens
        self._dtype = weights.embedding.dtype
        self.dtype = {torch.float32: "fp32", torch.bfloat16: "bf16"}.get(self._dtype, "fp64")
        self.n_weight_bytes = _bytes_a_pass(weights)
        self._cos, self._sin = _rotation(weights, self.max_tokens)  # [max_tokens, D]

    def use_threads(self, n: int) -> None:
        if min(n, self._max_threads) != torch.get_num_threads():
            torch.set_num_threads(min(n, self._max_threads))

    def close(self) -> None:
        """Nothing but memory is held."""

    def new_store(self, max_tokens: int) -> TensorStore:
        return TensorStore(self._weights.config, max_tokens, self._dtype)

    @torch.inference_mode()
    def score(
        self, store: KVStore, n_cached: int, tokens: NewTokens, rows: Sequence[int], top_k: int
    ) -> Scored:
        hidden = self.hidden(store, n_cached, tokens)
        logits = self._logits(hidden[list(rows)])
        top = torch.topk(logits, min(top_k, self.n_vocab), dim=-1)
        probabilities = torch.exp(top.values - torch.logsumexp(logits, dim=-1, keepdim=True))
        return Scored(
            logits.argmax(dim=-1).tolist(),
            top.indices.numpy(),
            probabilities.numpy(),
            logits.numpy().__getitem__,
        )

    @torch.inference_mode()
    def logits(self, store: KVStore, n_cached: int, tokens: NewTokens) -> npt.NDArray[np.float32]:
        return self._logits(self.hidden(store, n_cached, tokens)).numpy()

    def hidden(self, store: KVStore, n_cached: int, tokens: NewTokens) -> torch.Tensor:
        """[T, hidden] after the last norm."""
        assert isinstance(store, TensorStore)
        weights = self._weights
        end = n_cached + len(tokens)
        mask = torch.ones((len(tokens), end), dtype=torch.bool)
        mask[:, n_cached:] = torch.from_numpy(tokens.visible)
        positions = n_cached + torch.from_numpy(tokens.depths)
        rotation = (self._cos[positions], self._sin[positions])
        x = functional.embedding(torch.tensor(tokens.token_ids), weights.embedding)
        for number, layer in enumerate(weights.layers):
            h = self._norm(x, layer.attention_norm)
            keys, values = store.keys[number, :, :end], store.values[number, :, :end]
            x = x + self._attend(h, layer, rotation, mask, (keys, values))
            h = self._norm(x, layer.mlp_norm)
            gate, up = functional.linear(h, layer.gate_up).chunk(2, dim=-1)
            x = x + functional.linear(functional.silu(gate) * up, layer.down)
        return self._norm(x, weights.final_norm)

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return functional.linear(hidden, self._weights.head).float()

    def _attend(
        self,
        h: torch.Tensor,  # [T, hidden]
        layer: LayerWeights,
        rotation: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor,  # [T, S] bool; True: may be seen
        slots: tuple[
            torch.Tensor, torch.Tensor
        ],  # keys and values [G, S, D]; the last T are written
    ) -> torch.Tensor:
        config, n_tokens = self._weights.config, len(h)
        n_q, n_kv, size = config.n_heads, config.n_kv_heads, config.head_size
        qkv = functional.linear(h, layer.qkv, layer.qkv_bias).view(n_tokens, -1, size)
        q, k, v = qkv.split((n_q, n_kv, n_kv), dim=1)  # [T, heads, D]
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = self._norm(q, layer.q_norm), self._norm(k, layer.k_norm)
        keys, values = slots
        keys[:, -n_tokens:] = _rotate(k, *rotation).transpose(0, 1)
        values[:, -n_tokens:] = v.transpose(0, 1)
        attended = functional.scaled_dot_product_attention(
            _rotate(q, *rotation).transpose(0, 1)[None],  # [1, H, T, D]
            keys[None],
            values[None],
            attn_mask=mask,
            enable_gqa=n_q != n_kv,
        )
        merged = attended[0].transpose(0, 1).reshape(n_tokens, -1)
        return functional.linear(merged, layer.output)

    def _norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (x.shape[-1],), weight, self._weights.config.norm_eps)


def _bytes_a_pass(weights: LlamaWeights) -> int:
    matrices = [weights.head]
    for layer in weights.layers:
        matrices += [layer.qkv, layer.output, layer.gate_up, layer.down]
    return sum(matrix.nbytes for matrix in matrices)


def _rotation(weights: LlamaWeights, max_tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin of every position's angles, each half of the head repeating the same ones."""
    config = weights.config
    exponents = torch.arange(0, config.head_size, 2, dtype=torch.float32) / config.head_size
    frequencies = 1.0 / config.rope_theta**exponents
    angles = torch.outer(torch.arange(max_tokens, dtype=torch.float32), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    dtype = weights.embedding.dtype
    return angles.cos().to(dtype), angles.sin().to(dtype)


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding of [T, heads, D] by [T, D] angles, halves paired."""
    first, second = x.chunk(2, dim=-1)
    return x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]

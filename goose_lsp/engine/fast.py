"""The forward pass of a llama-shaped decoder, lean: fused projections, a preallocated cache.

Letters: T tokens this pass, S slots attended, H query heads, G KV heads, D head size.
"""

import torch
from torch.nn import functional

from goose_lsp.engine.kv import KVCache
from goose_lsp.engine.model import LayerWeights, LlamaWeights


class LlamaForward:
    """Runs tokens through the model, writing their keys and values into the cache behind the rest."""

    def __init__(self, weights: LlamaWeights, max_tokens: int) -> None:
        self._weights = weights
        self._cos, self._sin = _rotation(weights, max_tokens)  # [max_tokens, D]

    def hidden(
        self,
        token_ids: torch.Tensor,  # [T]
        positions: torch.Tensor,  # [T], the place of each token in its own context
        mask: torch.Tensor,  # [T, S] bool, S = n_cached + T; True: may be seen
        cache: KVCache,
    ) -> torch.Tensor:
        """[T, hidden] after the last norm. Writes slots [n_cached, n_cached + T), commits nothing."""
        weights = self._weights
        cos, sin = self._cos[positions], self._sin[positions]
        x = functional.embedding(token_ids, weights.embedding)
        for number, layer in enumerate(weights.layers):
            h = self._norm(x, layer.attention_norm)
            x = x + self._attend(h, layer, number, (cos, sin), mask, cache)
            h = self._norm(x, layer.mlp_norm)
            gate, up = functional.linear(h, layer.gate_up).chunk(2, dim=-1)
            x = x + functional.linear(functional.silu(gate) * up, layer.down)
        return self._norm(x, weights.final_norm)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[T, vocab] in fp32."""
        return functional.linear(hidden, self._weights.head).float()

    def _attend(
        self,
        h: torch.Tensor,
        layer: LayerWeights,
        number: int,
        rotation: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor,
        cache: KVCache,
    ) -> torch.Tensor:
        config = self._weights.config
        n_tokens, start = len(h), cache.n_cached
        n_q, n_kv, size = config.n_heads, config.n_kv_heads, config.head_size
        qkv = functional.linear(h, layer.qkv, layer.qkv_bias).view(n_tokens, -1, size)
        q, k, v = qkv.split((n_q, n_kv, n_kv), dim=1)  # [T, heads, D]
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = self._norm(q, layer.q_norm), self._norm(k, layer.k_norm)
        end = start + n_tokens
        cache.keys[number, :, start:end] = _rotate(k, *rotation).transpose(0, 1)
        cache.values[number, :, start:end] = v.transpose(0, 1)
        attended = functional.scaled_dot_product_attention(
            _rotate(q, *rotation).transpose(0, 1)[None],  # [1, H, T, D]
            cache.keys[number, :, :end][None],  # [1, G, S, D]
            cache.values[number, :, :end][None],
            attn_mask=mask,
            enable_gqa=n_q != n_kv,
        )
        merged = attended[0].transpose(0, 1).reshape(n_tokens, -1)
        return functional.linear(merged, layer.output)

    def _norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (x.shape[-1],), weight, self._weights.config.norm_eps)


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

"""The arrays a pass reads and writes, and the sizes of the blocks they are laid out in.

Letters: T tokens of the pass, L layers, H query heads, G KV heads, D head size, S slots of the cache, J = H/G
query heads to a KV head.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.engine.int8.simd import N_LANES
from goose_lsp.engine.int8.tile import ATTENTION_VECTORS, LINEAR_VECTORS

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
SignedBytes = npt.NDArray[np.int8]

PANEL = LINEAR_VECTORS * N_LANES  # columns of weights multiplied together
BLOCK = ATTENTION_VECTORS * N_LANES  # slots (keys) or dimensions (values) multiplied together
# Query rows whose scores are kept at a time, so that they stay in the second-level cache.
ATTENTION_ROWS = 24


class Shape(NamedTuple):
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_size: int
    hidden_size: int
    intermediate_size: int
    n_vocab: int
    norm_eps: float


class Linear(NamedTuple):
    """Weights of one kind for all layers: [L, panels, K/4, PANEL, 4], with 128 added."""

    weights: Bytes
    scales: Floats  # [L, panels · PANEL]


class Weights(NamedTuple):
    attention_norm: Floats  # [L, hidden]
    qkv: Linear
    qkv_bias: Floats  # [L, columns], zeros where the model has none
    q_norm: Floats  # [L, D], or [L, 0] where the model has none
    k_norm: Floats
    output: Linear
    mlp_norm: Floats
    gate_up: Linear
    down: Linear
    final_norm: Floats  # [1, hidden]
    head: Linear  # [1, …]
    cos: Floats  # [positions, D/2]
    sin: Floats


class Slots(NamedTuple):
    """The KV cache of one context, in the order the multiplications read it."""

    keys: Bytes  # [L, G, S/BLOCK, D/4, BLOCK, 4], with 128 added
    key_scales: Floats  # [L, G, S]
    values: SignedBytes  # [L, G, D/BLOCK, S/4, BLOCK, 4]
    value_scales: Floats  # [L, G, S]


class Work(NamedTuple):
    """Buffers of a pass of at most T tokens. Columns are padded to whole panels."""

    x: Floats  # [T, hidden], the residual stream
    normed: Floats  # [T, hidden]
    rounded: SignedBytes  # [T · widest], rows as wide as the matrix at hand
    scales: Floats  # [T, widest / GROUP]
    starts: npt.NDArray[np.int32]
    qkv: Floats  # [T, (H + 2G)·D]
    gate_up: Floats  # [T, 2 · intermediate]
    gated: Floats  # [T, intermediate]
    queries: SignedBytes  # [G, T·J, D]
    query_scales: Floats  # [G, T·J]
    query_starts: npt.NDArray[np.int32]
    attended: Floats  # [G, T·J, D]
    merged: Floats  # [T, H·D]
    bytes: SignedBytes  # [T, D], a key or value on its way into the cache
    scores: Floats  # [threads, rows at a time, S]
    weights: Bytes  # [threads, rows at a time, S]
    factors: Floats  # [threads, rows at a time]
    ones: Floats  # [BLOCK]
    zeros: npt.NDArray[np.int32]  # [threads · rows at a time]
    logits: Floats  # [scored rows, vocabulary]
    best_ids: npt.NDArray[np.int64]  # [scored rows, k]
    best_values: Floats  # [scored rows, k]


class Step(NamedTuple):
    """What one pass is about."""

    positions: npt.NDArray[np.int64]  # [T]
    visible: npt.NDArray[np.bool_]  # [T, T]: which of the pass's tokens each of them sees
    n_cached: int  # slots [0, n_cached) are seen by all
    scored: npt.NDArray[np.int64]  # rows whose best tokens are wanted, ascending

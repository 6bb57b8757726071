"""From a model's weights to the bytes the kernels read."""

import numpy as np
import torch

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.int8.arrays import BLOCK, PANEL, Linear, Weights
from goose_lsp.engine.int8.forward import Int8Model
from goose_lsp.engine.int8.layout import Arrays, padded, shapes, weights_of
from goose_lsp.engine.int8.rows import GROUP
from goose_lsp.engine.model import LayerWeights, ModelSource


def unsupported(config: LlamaConfig) -> str | None:
    """Why the 8-bit kernels cannot run a model of these sizes, or None."""
    for name, size, step in (
        ("hidden_size", config.hidden_size, GROUP),
        ("intermediate_size", config.intermediate_size, GROUP),
        ("head_size", config.head_size, BLOCK),
    ):
        if size % step:
            return f"{name} is {size}, not a multiple of {step}"
    return None


def pack(source: ModelSource) -> Int8Model:
    """Convert a model, a layer at a time; the rotation's angles are left empty."""
    config = source.config
    first = source.layer(0)
    shape_of = shapes(config, has_head_norms=first.q_norm is not None)
    arrays: Arrays = {
        name: np.zeros(shape, dtype=np.uint8 if name.endswith(".weights") else np.float32)
        for name, shape in shape_of.items()
        if name != "embedding"
    }
    weights = weights_of(arrays, np.zeros((0, config.head_size // 2), dtype=np.float32))
    for number in range(config.n_layers):
        _pack_layer(weights, number, first if number == 0 else source.layer(number))
    weights.final_norm[0] = source.final_norm().float().numpy()
    embedding, head = source.embedding(), source.head()
    _pack_linear(weights.head, 0, embedding if head is None else head)
    return Int8Model(config, weights, embedding.to(torch.float16).numpy())


def _pack_layer(weights: Weights, number: int, layer: LayerWeights) -> None:
    for linear, matrix in (
        (weights.qkv, layer.qkv),
        (weights.output, layer.output),
        (weights.gate_up, layer.gate_up),
        (weights.down, layer.down),
    ):
        _pack_linear(linear, number, matrix)
    for row, vector in (
        (weights.attention_norm, layer.attention_norm),
        (weights.mlp_norm, layer.mlp_norm),
        (weights.qkv_bias, layer.qkv_bias),
        (weights.q_norm, layer.q_norm),
        (weights.k_norm, layer.k_norm),
    ):
        if vector is not None:
            row[number, : len(vector)] = vector.float().numpy()


def _pack_linear(linear: Linear, number: int, matrix: torch.Tensor) -> None:
    """Round a [N, K] matrix to bytes with one scale a row, which is a column of the product."""
    n_rows, n_inputs = matrix.shape
    values = matrix.float()
    scale = values.abs().amax(dim=1) / 127
    rounded = torch.round(values / scale.clamp(min=1e-30)[:, None]).to(torch.int16) + 128
    rows = torch.full((padded(n_rows), n_inputs), 128, dtype=torch.uint8)
    rows[:n_rows] = rounded.to(torch.uint8)
    panels = rows.view(-1, PANEL, n_inputs // 4, 4).transpose(1, 2)
    linear.weights[number] = panels.numpy()
    linear.scales[number, :n_rows] = scale.numpy()

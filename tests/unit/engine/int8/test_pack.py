"""Packed weights: what they stand for, and where each byte lies."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.int8.arrays import PANEL, Linear
from goose_lsp.engine.int8.pack import pack, unsupported
from goose_lsp.engine.model import LayerWeights, ModelSource
from tests.tiny import BYTE_SIZED, tiny_source

MATRICES = ("qkv", "output", "gate_up", "down")
VECTORS = ("attention_norm", "mlp_norm", "q_norm", "k_norm")


def stored_tensors(config: LlamaConfig = BYTE_SIZED, extras: tuple[str, ...] = ()) -> ModelSource:
    """A source that gives the same tensor whenever it is asked for it."""
    base = tiny_source(3, config)
    known: dict[str, torch.Tensor | None] = {}

    def read(name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        if name not in known:
            is_extra = name.endswith(extras)
            known[name] = base.read(f"{name} of its own" if is_extra else name, shape)
        return known[name]

    return ModelSource(config, "tiny", read)


EVERYTHING = ("bias", "q_norm.weight", "k_norm.weight", "lm_head.weight")


def unpacked(linear: Linear, number: int) -> npt.NDArray[np.float64]:
    """[columns, K] as numbers again, padding included, byte by byte."""
    weights, scales = linear.weights[number], linear.scales[number]
    n_panels, n_fours = weights.shape[:2]
    matrix = np.zeros((n_panels * PANEL, n_fours * 4))
    for column in range(n_panels * PANEL):
        for k in range(n_fours * 4):
            byte = int(weights[column // PANEL, k // 4, column % PANEL, k % 4])
            matrix[column, k] = (byte - 128) * float(scales[column])
    return matrix


def check_packed(linear: Linear, number: int, matrix: torch.Tensor) -> None:
    n_rows, _ = matrix.shape
    exact = matrix.double().numpy()
    restored = unpacked(linear, number)
    step = abs(exact).max(1, keepdims=True) / 127
    assert np.allclose(linear.scales[number, :n_rows], step[:, 0], rtol=1e-6)
    assert (abs(restored[:n_rows] - exact) <= step * 0.5001).all()
    assert not restored[n_rows:].any()


def check_layer(source: ModelSource, layer: LayerWeights, number: int) -> None:
    weights = pack(source).weights
    for name in MATRICES:
        check_packed(getattr(weights, name), number, getattr(layer, name))
    for name in VECTORS:
        vector, packed = getattr(layer, name), getattr(weights, name)[number]
        assert packed.tolist() == ([] if vector is None else vector.float().tolist())


@pytest.mark.parametrize("extras", [(), EVERYTHING])
def test_every_weight_is_within_half_a_step_of_the_original(extras: tuple[str, ...]) -> None:
    source = stored_tensors(extras=extras)
    for number in range(BYTE_SIZED.n_layers):
        check_layer(source, source.layer(number), number)


@pytest.mark.parametrize("extras", [(), EVERYTHING])
def test_the_head_is_the_embedding_where_the_model_has_no_own(extras: tuple[str, ...]) -> None:
    source = stored_tensors(extras=extras)
    model = pack(source)
    head = source.head()
    assert (head is None) == (not extras)
    check_packed(model.weights.head, 0, source.embedding() if head is None else head)
    assert np.array_equal(model.embedding, source.embedding().to(torch.float16).numpy())
    assert model.weights.final_norm[0].tolist() == source.final_norm().float().tolist()
    assert model.config == BYTE_SIZED


def test_biases_lie_over_their_columns_and_padding_gets_none() -> None:
    source = stored_tensors(extras=EVERYTHING)
    packed = pack(source).weights.qkv_bias
    for number in range(BYTE_SIZED.n_layers):
        bias = source.layer(number).qkv_bias
        assert bias is not None
        assert packed[number, : len(bias)].tolist() == bias.float().tolist()
        assert not packed[number, len(bias) :].any()
    assert not pack(stored_tensors()).weights.qkv_bias.any()


def test_padding_columns_multiply_to_nothing() -> None:
    weights = pack(stored_tensors()).weights
    for linear, n_rows in ((weights.head, 100), (weights.output, 128)):
        assert linear.scales.shape[1] % PANEL == 0
        assert linear.scales.shape[1] > n_rows
        assert not linear.scales[:, n_rows:].any()
        last = linear.weights[:, -1, :, n_rows % PANEL :]
        assert (last == 128).all()


def test_a_row_of_zeros_stays_zeros() -> None:
    source = stored_tensors()
    embedding = source.embedding()
    embedding[7] = 0.0
    head = pack(source).weights.head
    assert head.scales[0, 7] == 0.0
    assert not unpacked(head, 0)[7].any()


def test_the_largest_weight_of_a_row_uses_the_whole_range() -> None:
    weights = pack(stored_tensors()).weights
    bytes_of_rows = weights.qkv.weights.transpose(0, 1, 3, 2, 4).reshape(2, -1, 128)
    n_rows = 8 * 64
    extremes = abs(bytes_of_rows[:, :n_rows].astype(int) - 128).max(-1)
    assert (extremes == 127).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"n_vocab": 1}, None),
        ({"head_size": 128}, None),
        ({"hidden_size": 100}, "hidden_size is 100, not a multiple of 64"),
        ({"intermediate_size": 65}, "intermediate_size is 65, not a multiple of 64"),
        ({"head_size": 80}, "head_size is 80, not a multiple of 64"),
        ({"head_size": 32}, "head_size is 32, not a multiple of 64"),
    ],
)
def test_sizes_the_kernels_cannot_take_are_named(
    change: dict[str, int], message: str | None
) -> None:
    assert unsupported(replace(BYTE_SIZED, **change)) == message

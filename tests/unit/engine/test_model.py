from collections.abc import Callable

import pytest
import torch

from goose_lsp.engine.model import LlamaWeights, ModelSource, assemble, check_tensor
from goose_lsp.errors import ModelLoadError
from tests.tiny import TINY, tiny_weights

Get = Callable[[str, tuple[int, ...]], torch.Tensor | None]


def assembled(read: Get) -> LlamaWeights:
    return assemble(ModelSource(TINY, "tiny", read), torch.float32)


def zeros_except(**given: float | None) -> Get:
    """Tensors of zeros; those whose name ends as a keyword says (dots as __) of its value."""

    def get(name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        for ending, value in given.items():
            if name.endswith(ending.replace("__", ".")):
                return None if value is None else torch.full(shape, value)
        return torch.zeros(shape)

    return get


def test_projections_are_fused_query_key_value_and_gate_up() -> None:
    get = zeros_except(
        q_proj__weight=1.0,
        k_proj__weight=2.0,
        v_proj__weight=3.0,
        gate_proj__weight=4.0,
        q_proj__bias=5.0,
        v_proj__bias=6.0,
    )
    layer = assembled(get).layers[0]
    q, kv = TINY.n_heads * TINY.head_size, TINY.n_kv_heads * TINY.head_size
    assert layer.qkv[:, 0].tolist() == [1.0] * q + [2.0] * kv + [3.0] * kv
    assert layer.gate_up[:, 0].tolist() == [4.0] * 48 + [0.0] * 48
    assert layer.qkv_bias is not None
    assert layer.qkv_bias.tolist() == [5.0] * q + [0.0] * kv + [6.0] * kv


def test_a_model_without_a_head_uses_its_embedding() -> None:
    weights = tiny_weights()
    assert weights.head is weights.embedding
    untied = assembled(zeros_except())
    assert untied.head is not untied.embedding


def test_what_only_some_models_have_may_be_missing() -> None:
    layer = tiny_weights().layers[-1]
    assert layer.qkv_bias is None
    assert layer.q_norm is None
    assert layer.k_norm is None


@pytest.mark.parametrize(
    "name", ["embed_tokens__weight", "model__norm__weight", "layers__1__mlp__up_proj__weight"]
)
def test_a_missing_tensor_is_named(name: str) -> None:
    with pytest.raises(
        ModelLoadError, match=f"tiny: tensor .*{name.replace('__', '.')} is missing"
    ):
        assembled(zeros_except(**{name: None}))


def test_a_tensor_of_the_wrong_shape_is_refused_with_both_shapes() -> None:
    with pytest.raises(ModelLoadError, match=r"where: w has shape \(2, 3\); it must be \(3, 2\)"):
        check_tensor(torch.zeros(2, 3), "w", (3, 2), "where")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ModelLoadError, match="where: w holds values that are not finite"):
        check_tensor(torch.tensor([0.0, value]), "w", (2,), "where")


def test_finite_half_precision_values_pass_however_large_their_sum() -> None:
    check_tensor(torch.full((1000,), 1000.0, dtype=torch.float16), "w", (1000,), "where")

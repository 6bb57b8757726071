"""The arrays a converted model consists of: their names on disk and their shapes."""

from typing import Any

import numpy.typing as npt

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.int8.arrays import PANEL, Linear, Weights

Arrays = dict[str, npt.NDArray[Any]]


def padded(n_columns: int) -> int:
    """Columns of whole panels."""
    return -(-n_columns // PANEL) * PANEL


def shapes(config: LlamaConfig, *, has_head_norms: bool) -> dict[str, tuple[int, ...]]:
    """Every array's shape; the rotation's angles are none of the model's."""
    n, hidden, intermediate = config.n_layers, config.hidden_size, config.intermediate_size
    q_size, kv_size = (heads * config.head_size for heads in (config.n_heads, config.n_kv_heads))
    head_norm = (n, config.head_size if has_head_norms else 0)
    found: dict[str, tuple[int, ...]] = {
        "embedding": (config.n_vocab, hidden),
        "attention_norm": (n, hidden),
        "qkv_bias": (n, padded(q_size + 2 * kv_size)),
        "q_norm": head_norm,
        "k_norm": head_norm,
        "mlp_norm": (n, hidden),
        "final_norm": (1, hidden),
    }
    for name, layers, n_columns, n_inputs in (
        ("qkv", n, q_size + 2 * kv_size, hidden),
        ("output", n, hidden, q_size),
        ("gate_up", n, 2 * intermediate, hidden),
        ("down", n, hidden, intermediate),
        ("head", 1, config.n_vocab, hidden),
    ):
        columns = padded(n_columns)
        found[f"{name}.weights"] = (layers, columns // PANEL, n_inputs // 4, PANEL, 4)
        found[f"{name}.scales"] = (layers, columns)
    return found


def weights_of(arrays: Arrays, angles: npt.NDArray[Any]) -> Weights:
    """The arrays as the kernels take them; `angles` stands for cos and sin until they are known."""
    parts: dict[str, Any] = {"cos": angles, "sin": angles}
    for name in Weights._fields:
        if f"{name}.weights" in arrays:
            parts[name] = Linear(arrays[f"{name}.weights"], arrays[f"{name}.scales"])
        elif name in arrays:
            parts[name] = arrays[name]
    return Weights(**parts)


def arrays_of(weights: Weights) -> Arrays:
    """The other way round, without the angles."""
    arrays: Arrays = {}
    for name, value in weights._asdict().items():
        if isinstance(value, Linear):
            arrays |= {f"{name}.weights": value.weights, f"{name}.scales": value.scales}
        elif name not in {"cos", "sin"}:
            arrays[name] = value
    return arrays

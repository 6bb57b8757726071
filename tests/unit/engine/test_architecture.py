from dataclasses import replace

import pytest

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.errors import ModelLoadError
from tests.tiny import BYTE_SIZED, TINY


@pytest.mark.parametrize("config", [TINY, BYTE_SIZED, replace(TINY, n_kv_heads=1)])
def test_sizes_that_fit_together_are_taken_as_they_are(config: LlamaConfig) -> None:
    assert replace(config) == config


@pytest.mark.parametrize(
    "change",
    [{"n_layers": 0}, {"hidden_size": -1}, {"norm_eps": 0.0}, {"rope_theta": float("nan")}],
)
def test_a_size_that_is_not_positive_is_refused_by_name(change: dict[str, float]) -> None:
    (name,) = change
    with pytest.raises(ModelLoadError, match=f"{name} is"):
        replace(TINY, **change)  # type: ignore[arg-type]


def test_query_heads_must_share_kv_heads_evenly() -> None:
    with pytest.raises(ModelLoadError, match="4 query heads cannot share 3 KV heads"):
        replace(TINY, n_kv_heads=3)

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goose_lsp.engine.int8 import converted
from goose_lsp.engine.int8.layout import arrays_of, padded, shapes, weights_of
from goose_lsp.engine.int8.pack import pack
from tests.tiny import BYTE_SIZED, byte_tokenizer, tiny_source


@pytest.mark.parametrize(("n", "wanted"), [(1, 48), (48, 48), (49, 96)])
def test_columns_fill_whole_panels(n: int, wanted: int) -> None:
    assert padded(n) == wanted


def test_a_packed_model_has_the_shapes_its_config_says() -> None:
    model = pack(tiny_source(config=BYTE_SIZED))
    arrays = {"embedding": model.embedding, **arrays_of(model.weights)}
    assert {name: a.shape for name, a in arrays.items()} == shapes(BYTE_SIZED, has_head_norms=False)


def test_arrays_and_weights_are_two_forms_of_the_same() -> None:
    weights = pack(tiny_source(config=BYTE_SIZED)).weights
    again = weights_of(arrays_of(weights), weights.cos)
    assert arrays_of(again).keys() == arrays_of(weights).keys()
    assert all(
        a is b for a, b in zip(arrays_of(again).values(), arrays_of(weights).values(), strict=True)
    )


def test_a_kept_model_whose_config_says_otherwise_is_not_used(tmp_path: Path) -> None:
    model = pack(tiny_source(config=BYTE_SIZED))
    converted.save(tmp_path / "kept", model, byte_tokenizer())
    loaded = converted.load(tmp_path / "kept")
    assert loaded is not None
    assert np.array_equal(loaded[0].embedding, model.embedding)
    taller = replace(model, config=replace(BYTE_SIZED, n_layers=3))
    converted.save(tmp_path / "taller", taller, byte_tokenizer())
    assert converted.load(tmp_path / "taller") is None

"""The 8-bit model as the engine sees it: sizes, bounds and what it answers."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from goose_lsp.engine.fast import TensorStore
from goose_lsp.engine.forward import Forward, KVStore, NewTokens
from goose_lsp.engine.int8.arrays import Linear
from goose_lsp.engine.int8.forward import (
    MAX_ROWS,
    MAX_SLOTS,
    MAX_TOP_K,
    ByteStore,
    Int8Forward,
    Int8Model,
    new_work,
    rotation,
    shape_of,
)
from goose_lsp.engine.int8.pack import pack
from tests.tiny import BYTE_SIZED, tiny_source

CAUSAL = NewTokens.causal([3, 1, 4, 1, 5])


@cache
def model(n_vocab: int = BYTE_SIZED.n_vocab) -> Int8Model:
    return pack(tiny_source(config=replace(BYTE_SIZED, n_vocab=n_vocab)))


def test_it_knows_no_more_positions_than_asked_for_or_than_the_model_has() -> None:
    forward: Forward = Int8Forward(model(), 100)
    assert (forward.max_tokens, forward.n_vocab, forward.dtype) == (100, 100, "int8")
    assert Int8Forward(model(), 10**6).max_tokens == BYTE_SIZED.max_context_tokens


def test_the_bytes_of_a_pass_are_those_of_all_matrices() -> None:
    matrices = [m for m in model().weights if isinstance(m, Linear)]
    assert len(matrices) == 5
    assert Int8Forward(model(), 64).n_weight_bytes == sum(m.weights.size for m in matrices)


@pytest.mark.parametrize("max_tokens", [1, 64, 65, 200])
def test_a_store_says_what_it_takes(max_tokens: int) -> None:
    store: KVStore = Int8Forward(model(), 256).new_store(max_tokens)
    n_slots = -(-max_tokens // 64) * 64
    assert store.max_tokens == max_tokens
    # A byte a number and four a scale, for keys and for values.
    assert store.n_bytes == 2 * 2 * 2 * n_slots * (64 + 4)


def test_more_threads_than_there_are_cannot_be_used() -> None:
    forward = Int8Forward(model(), 64, n_threads=2)
    assert forward.n_threads == 2
    for asked, used in ((1, 1), (2, 2), (9, 2)):
        forward.use_threads(asked)
        assert forward._crew.n_active == used
    forward.close()


def test_logits_are_of_every_token_and_the_vocabulary_alone() -> None:
    forward = Int8Forward(model(), 64)
    logits = forward.logits(forward.new_store(64), 0, CAUSAL)
    assert logits.shape == (5, 100)
    assert np.isfinite(logits).all()
    kept = logits.copy()
    forward.logits(forward.new_store(64), 0, NewTokens.causal([9] * 5))
    assert np.array_equal(logits, kept), "results must not change with the next pass"


@pytest.mark.parametrize(("top_k", "n_best"), [(1, 1), (4, 4), (16, 16), (1000, MAX_TOP_K)])
def test_as_many_of_the_best_are_given_as_asked_for_up_to_a_bound(top_k: int, n_best: int) -> None:
    forward = Int8Forward(model(), 64)
    scored = forward.score(forward.new_store(64), 0, CAUSAL, [1, 4], top_k)
    logits = forward.logits(forward.new_store(64), 0, CAUSAL)[[1, 4]]
    assert scored.choices == logits.argmax(1).tolist()
    assert np.array_equal(scored.top_ids, np.argsort(-logits, 1, kind="stable")[:, :n_best])
    assert scored.top_probabilities.shape == (2, n_best)
    assert (np.diff(scored.top_probabilities) <= 0).all()
    assert (scored.top_probabilities.sum(1) <= 1 + 1e-5).all()


def test_a_scored_rows_logits_are_shown_where_they_lie_without_a_copy() -> None:
    forward = Int8Forward(model(), 64)
    logits = forward.logits(forward.new_store(64), 0, CAUSAL)
    scored = forward.score(forward.new_store(64), 0, CAUSAL, [1, 4], 4)
    assert scored.row_logits is not None
    for row, token_idx in enumerate([1, 4]):
        assert np.array_equal(scored.row_logits(row), logits[token_idx])
        assert np.shares_memory(scored.row_logits(row), forward._work.logits)


def test_a_vocabulary_smaller_than_the_bound_is_given_whole() -> None:
    forward = Int8Forward(model(n_vocab=5), 64)
    scored = forward.score(forward.new_store(64), 0, NewTokens.causal([4, 0]), [0, 1], 16)
    assert np.array_equal(np.sort(scored.top_ids), [[0, 1, 2, 3, 4]] * 2)
    assert np.allclose(scored.top_probabilities.sum(1), 1.0, atol=1e-5)


def test_no_scored_rows_are_no_results_but_fill_the_cache() -> None:
    forward = Int8Forward(model(), 64)
    store = forward.new_store(64)
    scored = forward.score(store, 0, CAUSAL, [], 4)
    assert scored.choices == []
    assert scored.top_ids.shape == scored.top_probabilities.shape == (0, 4)
    assert (store.slots.key_scales[:, :, :5] > 0).all()


def test_more_tokens_than_a_pass_has_rows_are_refused() -> None:
    forward = Int8Forward(model(), 256)
    with pytest.raises(ValueError, match=f"{MAX_ROWS + 1} tokens behind 0 do not fit"):
        forward.logits(forward.new_store(256), 0, NewTokens.causal([0] * (MAX_ROWS + 1)))


def test_another_models_store_is_refused() -> None:
    import torch  # noqa: PLC0415

    forward = Int8Forward(model(), 64)
    store = TensorStore(BYTE_SIZED, 64, torch.float32)
    with pytest.raises(AssertionError):
        forward.logits(store, 0, CAUSAL)
    with pytest.raises(AssertionError):
        forward.new_store(64).copy_prefix(store, 1)


def test_two_stores_of_one_model_do_not_disturb_each_other() -> None:
    forward = Int8Forward(model(), 64)
    first, second = forward.new_store(64), forward.new_store(64)
    alone = forward.logits(first, 0, CAUSAL)
    forward.logits(second, 0, NewTokens.causal([7, 8, 9]))
    after = forward.logits(first, 5, NewTokens.causal([2]))
    third = forward.new_store(64)
    assert np.array_equal(forward.logits(third, 0, CAUSAL), alone)
    assert np.array_equal(forward.logits(third, 5, NewTokens.causal([2])), after)


def slot_of(store: ByteStore, slot: int) -> list[npt.NDArray[Any]]:
    """All that is stored of one token."""
    keys, key_scales, values, value_scales = store.slots
    return [
        keys[:, :, slot // 64, :, slot % 64],
        values[:, :, :, slot // 4, :, slot % 4],
        key_scales[:, :, slot],
        value_scales[:, :, slot],
    ]


@pytest.mark.parametrize("n_tokens", [0, 1, 63, 64, 65, 130])
def test_a_prefix_is_copied_and_nothing_committed_elsewhere_changes(n_tokens: int) -> None:
    random = np.random.default_rng(n_tokens)

    def filled() -> ByteStore:
        store = ByteStore(BYTE_SIZED, 150)
        for array in store.slots:
            array[:] = random.integers(1, 100, array.shape)
        return store

    mine, theirs = filled(), filled()
    kept = [array.copy() for array in theirs.slots]
    mine.copy_prefix(theirs, n_tokens)
    for slot in range(n_tokens):
        for ours, other in zip(slot_of(mine, slot), slot_of(theirs, slot), strict=True):
            assert np.array_equal(ours, other)
    for before, after in zip(kept, theirs.slots, strict=True):
        assert np.array_equal(before, np.asarray(after))


def test_slots_move_one_after_the_other() -> None:
    forward = Int8Forward(model(), 64)
    store = forward.new_store(64)
    forward.logits(store, 0, CAUSAL)
    store.move([1, 2], [3, 1])
    for first, second, third in zip(*(slot_of(store, slot) for slot in (1, 2, 3)), strict=True):
        assert np.array_equal(first, third)
        assert np.array_equal(second, third)


def test_rotation_angles_fall_from_one_radian_a_token() -> None:
    cos, sin = rotation(BYTE_SIZED, 50)
    assert cos.shape == sin.shape == (50, 32)
    assert cos.dtype == sin.dtype == np.float32
    for position in (0, 1, 49):
        for pair in (0, 1, 31):
            angle = position / 10_000.0 ** (pair / 32)
            assert np.isclose(cos[position, pair], np.cos(angle), atol=1e-5)
            assert np.isclose(sin[position, pair], np.sin(angle), atol=1e-5)


def test_the_shape_is_the_configs() -> None:
    shape = shape_of(BYTE_SIZED)
    for name, value in shape._asdict().items():
        assert getattr(BYTE_SIZED, name) == value


def test_buffers_have_a_row_for_every_query_head_of_a_group() -> None:
    """A group of more heads than are scored at a time is scored one token at a time."""
    config = replace(BYTE_SIZED, n_heads=32, n_kv_heads=1)
    work = new_work(config, pack(tiny_source(config=config)).weights, 64, 2)
    assert work.scores.shape == (2, 32, 64)
    assert work.queries.shape == (1, MAX_ROWS * 32, 64)


def test_a_group_of_more_heads_than_are_scored_at_a_time_works() -> None:
    config = replace(BYTE_SIZED, n_heads=32, n_kv_heads=1, n_layers=1)
    forward = Int8Forward(pack(tiny_source(config=config)), 128)
    store = forward.new_store(128)
    together = forward.logits(store, 0, NewTokens.causal(list(range(70))))
    parts = [forward.logits(store, at, NewTokens.causal([at])) for at in range(70)]
    assert np.array_equal(together, np.concatenate(parts))


def test_a_context_is_no_longer_than_attention_can_add_up() -> None:
    wide = replace(model(), config=replace(model().config, max_context_tokens=1_000_000))
    assert Int8Forward(wide, 1_000_000).max_tokens == MAX_SLOTS
    assert MAX_SLOTS * 255 * 127 < 2**31

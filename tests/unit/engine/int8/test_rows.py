"""What is done to single rows, against numpy in double precision."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from goose_lsp.compiled import kernel
from goose_lsp.engine.int8 import rows
from goose_lsp.engine.int8.simd import load_floats, store

Floats = npt.NDArray[np.float32]

MARGIN = 16  # of other numbers around the row at hand, in elements


@kernel
def _exp(x: Any, y: Any) -> None:
    for i in range(0, len(x), 16):
        store(y, i, rows.exp(load_floats(x, i)))


def exps(x: Floats) -> Floats:
    y = np.zeros_like(x)
    _exp(x, y)
    return y


def surrounded(row: Floats) -> Floats:
    return np.concatenate([np.full(MARGIN, 1e5), row, np.full(MARGIN, 1e5)]).astype(np.float32)


def randoms(seed: int, size: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(size).astype(np.float32)


def test_exp_is_right_to_a_few_parts_in_ten_million() -> None:
    x = np.concatenate([np.linspace(-87, 88, 100_000), -np.logspace(-30, 1.9, 992)])
    x = x.astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert (abs(exps(x) - exact) < 1e-6 * exact).all()
    assert (exps(np.zeros(16, np.float32)) == 1.0).all()


def test_exp_of_what_is_masked_vanishes_and_is_finite() -> None:
    y = exps(np.full(16, rows.MASKED, np.float32))
    assert (y >= 0).all()
    assert (y < 1e-37).all()


def test_the_gated_activation_is_silu_times_up() -> None:
    gate = np.concatenate([np.linspace(-200, 200, 4000), [0.0, -3e38, 3e38, -87.0] * 24])
    gate = gate.astype(np.float32)
    up = np.linspace(-3, 3, len(gate)).astype(np.float32)
    up[-96:] = 1.0
    y = np.full(len(gate) + MARGIN, 5.0, np.float32)
    rows.gate_row(surrounded(np.concatenate([gate, up])), MARGIN, len(gate), y, 0)
    wide = gate.astype(np.float64)
    exact = wide / (1 + np.exp(np.minimum(-wide, 700))) * up
    # Behind the clamp silu(x) is x·e^-87 at most: nothing beside any other activation.
    inside = gate >= -87
    error = abs(y[: len(gate)] - exact)
    assert (error[inside] <= 1e-6 * abs(exact[inside]) + 1e-37).all()
    assert (error[(gate < -87) & (gate > -1e9)] < 1e-26).all()
    assert np.isfinite(y).all()
    assert (y[len(gate) :] == 5.0).all()


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(np.float32, 64, elements=st.floats(-1000, 1000, width=32)),
    st.floats(-80, 80),
)
def test_every_byte_of_a_group_is_within_half_a_step(x: Floats, exponent: float) -> None:
    x = (x * np.float32(2.0**exponent)).astype(np.float32)
    q = np.full(64 + 2 * MARGIN, 7, np.int8)
    scale, total = rows.round_group(surrounded(x), MARGIN, q, MARGIN, 64)
    result = q[MARGIN:-MARGIN]
    assert total == result.sum(dtype=np.int64)
    assert (q[:MARGIN] == 7).all()
    assert (q[-MARGIN:] == 7).all()
    peak = np.abs(x).max()
    if peak <= 1e-30:
        assert not result.any()
        return
    assert np.isclose(scale, peak / 127, rtol=1e-6)
    assert np.abs(result[np.abs(x) == peak]).min() == 127
    assert (np.sign(result) * np.sign(x) >= 0).all()
    step = float(peak) / 127
    assert (abs(result * step - x) <= step * (0.5 + 1e-4)).all()


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-31, -1e-38, 1e-45])
def test_a_group_too_small_to_scale_becomes_zeros_and_a_finite_scale(value: float) -> None:
    q = np.full(64, 7, np.int8)
    scale, total = rows.round_group(np.full(64, value, np.float32), 0, q, 0, 64)
    assert not q.any()
    assert total == 0
    assert 0 <= scale < 1e-32


def test_a_row_is_rounded_group_by_group_with_its_own_starts() -> None:
    x = randoms(1, 3 * 192).reshape(3, 192)
    x[1, 64:128] *= 1000
    q, scales = np.zeros((3, 192), np.int8), np.zeros((3, 5), np.float32)
    starts = np.zeros((3, 5), np.int32)
    for row in range(3):
        rows.round_row(x, row * 192, 192, q, scales, starts, row)
    groups = x.reshape(3, 3, 64)
    assert np.allclose(scales[:, :3], abs(groups).max(-1) / 127, rtol=1e-6)
    assert np.array_equal(starts[:, :3], -128 * q.reshape(3, 3, 64).sum(-1, dtype=np.int64))
    assert not scales[:, 3:].any()
    restored = q.reshape(3, 3, 64) * scales[:, :3, None]
    assert (abs(restored - groups) <= scales[:, :3, None] * 0.501).all()


@pytest.mark.parametrize("is_in_place", [False, True])
@pytest.mark.parametrize("size", [16, 64, 576])
def test_a_norm_divides_by_the_root_mean_square(size: int, is_in_place: bool) -> None:
    row, weight = randoms(2, size) * 5, randoms(3, 2 * size)
    x = surrounded(row)
    y = x if is_in_place else np.full(len(x), 1e5, np.float32)
    rows.norm_row(x, MARGIN, weight, size, size, 1e-5, y, MARGIN)
    wide = row.astype(np.float64)
    exact = wide / np.sqrt((wide**2).mean() + 1e-5) * weight[size:]
    assert np.allclose(y[MARGIN:-MARGIN], exact, rtol=1e-5, atol=0)
    assert (y[:MARGIN] == 1e5).all()
    assert (y[-MARGIN:] == 1e5).all()


def test_the_norm_of_zeros_is_zeros() -> None:
    y = np.ones(64, np.float32)
    rows.norm_row(np.zeros(64, np.float32), 0, np.ones(64, np.float32), 0, 64, 1e-5, y, 0)
    assert not y.any()


@pytest.mark.parametrize("size", [64, 128])
@pytest.mark.parametrize("position", [0, 1, 77])
def test_a_head_is_rotated_in_pairs_of_its_halves(size: int, position: int) -> None:
    half = size // 2
    angles = np.outer(np.arange(80), 10_000.0 ** -(np.arange(half) / half))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    row = randoms(4, size)
    x = surrounded(row)
    rows.rotate_row(x, MARGIN, size, cos, sin, position * half)
    pairs = row[:half] + 1j * row[half:].astype(np.float64)
    turned = pairs * np.exp(1j * angles[position])
    assert np.allclose(x[MARGIN:-MARGIN], np.concatenate([turned.real, turned.imag]), atol=1e-6)
    assert (x[:MARGIN] == 1e5).all()
    if position == 0:
        assert np.array_equal(x[MARGIN:-MARGIN], row)


def weighed(scores: Floats, value_scales: Floats) -> tuple[npt.NDArray[np.uint8], float]:
    size = len(scores)
    weights = np.full(size + 2 * MARGIN, 7, np.uint8)
    factor = rows.weigh(surrounded(scores), MARGIN, size, value_scales, 0, weights)
    assert (weights[:MARGIN] == 7).all()
    assert (weights[-MARGIN:] == 7).all()
    return weights[MARGIN:-MARGIN].copy(), factor


score_rows = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([64, 128, 256]), st.floats(0, 20))


@settings(max_examples=60, deadline=None)
@given(score_rows)
def test_weights_reproduce_the_softmax_of_scaled_values(case: tuple[int, int, float]) -> None:
    seed, size, spread = case
    random = np.random.default_rng(seed)
    scores = (randoms(seed, size) * spread).astype(np.float32)
    value_scales = random.uniform(0.1, 2.0, size).astype(np.float32)
    weights, factor = weighed(scores, value_scales)
    wide = np.exp(scores.astype(np.float64) - scores.max())
    exact = wide / wide.sum() * value_scales
    # Half a step of rounding to bytes, and of probabilities to 2^-20.
    assert (abs(weights * float(factor) - exact) <= 0.51 * float(factor)).all()
    assert weights.max() == 255


@settings(max_examples=60, deadline=None)
@given(score_rows)
def test_the_order_of_slots_orders_the_weights_and_nothing_else(
    case: tuple[int, int, float],
) -> None:
    seed, size, spread = case
    random = np.random.default_rng(seed)
    scores = (randoms(seed, size) * spread).astype(np.float32)
    value_scales = random.uniform(0.1, 2.0, size).astype(np.float32)
    order = random.permutation(size)
    weights, factor = weighed(scores, value_scales)
    permuted, same = weighed(scores[order], value_scales[order])
    assert np.array_equal(permuted, weights[order])
    assert factor == same


@settings(max_examples=60, deadline=None)
@given(score_rows, st.integers(1, 63))
def test_masked_slots_change_nothing(case: tuple[int, int, float], n_seen: int) -> None:
    seed, size, spread = case
    scores = np.full(size, rows.MASKED, np.float32)
    seen = np.random.default_rng(seed).permutation(size)[:n_seen]
    scores[seen] = randoms(seed, n_seen) * spread
    value_scales = np.random.default_rng(seed + 1).uniform(0.1, 2.0, size).astype(np.float32)
    weights, factor = weighed(scores, value_scales)
    unseen = np.setdiff1d(np.arange(size), seen)
    assert not weights[unseen].any()
    value_scales[unseen] = 1e9
    again, same = weighed(scores, value_scales)
    assert np.array_equal(weights, again)
    assert factor == same
    only = np.full(64, rows.MASKED, np.float32)
    only[:n_seen] = scores[seen]
    scales = np.concatenate([value_scales[seen], np.ones(64 - n_seen)]).astype(np.float32)
    alone, same = weighed(only, scales)
    assert np.array_equal(alone[:n_seen], weights[seen])
    assert factor == same


def test_values_of_no_size_get_no_weight() -> None:
    weights, factor = weighed(np.zeros(64, np.float32), np.zeros(64, np.float32))
    assert not weights.any()
    assert factor == 0.0


@pytest.mark.parametrize(
    "n_slots",
    [
        4096,
        32_752,
        32_768,
        131_072,
    ],
)
def test_attention_spread_evenly_over_many_slots_is_weighed(n_slots: int) -> None:
    weights, factor = weighed(np.zeros(n_slots, np.float32), np.ones(n_slots, np.float32))
    assert (weights == 255).all()
    assert np.isclose(factor * 255 * n_slots, 1.0, rtol=1e-3)


def best(logits: Floats, k: int, n_padded: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """The k best of every row; columns behind the vocabulary are masked."""
    n, n_vocab = logits.shape
    padded = np.full((n, n_padded), rows.MASKED, np.float32)
    padded[:, :n_vocab] = logits
    ids, values = np.full((n, k), -1, np.int64), np.full((n, k), -1.0, np.float32)
    for row in range(n):
        rows.best_of_row(padded, row, ids, values)
    return ids, values


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_best_are_those_of_a_stable_sort(data: st.DataObject) -> None:
    n_vocab = data.draw(st.integers(1, 150), "n_vocab")
    k = data.draw(st.integers(1, min(16, n_vocab)), "k")
    # Few values, so that many are equal.
    drawn = data.draw(hnp.arrays(np.int8, (2, n_vocab), elements=st.integers(-5, 5)), "logits")
    logits = drawn.astype(np.float32) * np.float32(0.7)
    ids, values = best(logits, k, -(-n_vocab // 48) * 48)
    assert np.array_equal(ids, np.argsort(-logits, axis=1, kind="stable")[:, :k])
    wide = np.exp(logits.astype(np.float64))
    exact = np.take_along_axis(wide, ids, axis=1) / wide.sum(1, keepdims=True)
    assert np.allclose(values, exact, rtol=1e-5)


def test_probabilities_of_the_whole_vocabulary_sum_to_one() -> None:
    logits = randoms(5, 3 * 13).reshape(3, 13) * 4
    _, values = best(logits, 13, 48)
    assert np.allclose(values.sum(1), 1.0, atol=1e-6)


def test_more_places_than_tokens_are_left_without_probability() -> None:
    ids, values = best(randoms(6, 5).reshape(1, 5), 8, 48)
    assert sorted(ids[0, :5].tolist()) == [0, 1, 2, 3, 4]
    assert (values[0, :5] > 0).all()
    assert not values[0, 5:].any()


def test_very_unlikely_tokens_and_a_certain_one_get_finite_probabilities() -> None:
    logits = np.full((1, 50), -1e30, np.float32)
    logits[0, 33] = 1e30
    ids, values = best(logits, 3, 96)
    assert ids.tolist() == [[33, 0, 1]]
    assert values.tolist() == [[1.0, 0.0, 0.0]]


def test_filling_and_copying_stay_within_their_bounds() -> None:
    x, source = np.arange(64, dtype=np.float32), np.arange(100, 164, dtype=np.float32)
    rows.fill(x, 16, 32, -1.0)
    assert x.tolist() == [*range(16), *[-1.0] * 32, *range(48, 64)]
    rows.copy(x, 0, source, 24, 16)
    assert x.tolist() == [*range(124, 140), *[-1.0] * 32, *range(48, 64)]

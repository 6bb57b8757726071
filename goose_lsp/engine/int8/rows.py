"""Kernels that work on one row at a time: norms, activations, rounding to bytes, the best tokens.

A row of activations is rounded in groups of `GROUP` values, each with its own scale: the largest
magnitude becomes 127. `starts` is what the multiplication has to begin with, -128 times the group's sum,
because weights are stored with 128 added.
"""

from typing import Any

import numpy as np

from goose_lsp.compiled import kernel
from goose_lsp.engine.int8.simd import (
    N_LANES,
    add,
    add_ints,
    any_greater,
    div,
    fma,
    largest,
    load_floats,
    magnitude,
    max_floats,
    mul,
    nearest,
    power_of_two,
    splat_float,
    splat_int,
    stay_apart,
    store,
    store_as_bytes,
    sub,
    sum_floats,
    sum_ints,
    to_ints,
)

GROUP = 64
# Probabilities are summed as integers, 2^20 standing for 1; a lane holds 2^10 of them.
PROBABILITY_ONE, SLOTS_A_SUM = 2**20, 2**10 * N_LANES
MASKED = -3e38  # a score that no softmax sees

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4  # their sum is ln 2; the first has few bits


@kernel
def exp(x: Any) -> Any:
    """e^x for x in [-87, 88], clamped; relative error about 2e-7 (Cephes' polynomial)."""
    x = largest(x, splat_float(-87.0))
    n = nearest(mul(x, splat_float(LOG2_E)))
    r = fma(n, splat_float(-LN2_HIGH), x)
    r = fma(n, splat_float(-LN2_LOW), r)
    p = fma(splat_float(1.9875691500e-4), r, splat_float(1.3981999507e-3))
    p = fma(p, r, splat_float(8.3334519073e-3))
    p = fma(p, r, splat_float(4.1665795894e-2))
    p = fma(p, r, splat_float(1.6666665459e-1))
    p = fma(p, r, splat_float(5.0000001201e-1))
    y = add(fma(p, mul(r, r), r), splat_float(1.0))
    return mul(y, power_of_two(to_ints(n)))


@kernel
def fill(x: Any, at: int, size: int, value: float) -> None:
    """x[at : at + size] = value; size is a whole number of vectors."""
    values = splat_float(value)
    for i in range(at, at + size, N_LANES):
        store(x, i, values)


@kernel
def copy(x: Any, at: int, source: Any, start: int, size: int) -> None:
    """x[at : at + size] = source[start : start + size], whole vectors."""
    for i in range(0, size, N_LANES):
        store(x, at + i, load_floats(source, start + i))


@kernel
def rms_factor(x: Any, at: int, size: int, eps: float) -> Any:
    """1 / sqrt(mean of squares + eps)."""
    total = splat_float(0.0)
    for i in range(at, at + size, N_LANES):
        value = load_floats(x, i)
        total = fma(value, value, total)
    mean = sum_floats(total) / np.float32(size)
    return np.float32(1.0) / np.sqrt(mean + np.float32(eps))


@kernel
def round_group(x: Any, at: int, q: Any, q_at: int, size: int) -> Any:
    """Round `size` floats to bytes by their own scale; returns (scale, sum of the bytes)."""
    stay_apart()
    most = splat_float(0.0)
    for i in range(0, size, N_LANES):
        most = largest(most, magnitude(load_floats(x, at + i)))
    peak = max_floats(most)
    # Below this the factor would overflow; such a group is nothing but zeros.
    factor = np.float32(127.0) / peak if peak > np.float32(1e-30) else np.float32(0.0)
    total = splat_int(0)
    for i in range(0, size, N_LANES):
        whole = to_ints(nearest(mul(load_floats(x, at + i), splat_float(factor))))
        store_as_bytes(q, q_at + i, whole)
        total = add_ints(total, whole)
    return peak / np.float32(127.0), sum_ints(total)


@kernel
def round_row(x: Any, at: int, size: int, q: Any, scales: Any, starts: Any, row: int) -> None:
    """Round one row of floats into row `row` of q, scales and starts."""
    stay_apart()
    for group in range(size // GROUP):
        scale, total = round_group(x, at + group * GROUP, q, row * size + group * GROUP, GROUP)
        scales[row, group] = scale
        starts[row, group] = -128 * total


@kernel
def norm_row(
    x: Any, at: int, weight: Any, weight_at: int, size: int, eps: float, y: Any, y_at: int
) -> None:
    """y = x / rms(x) · weight; y may be x."""
    stay_apart()
    factor = splat_float(rms_factor(x, at, size, eps))
    for i in range(0, size, N_LANES):
        value = mul(load_floats(x, at + i), factor)
        store(y, y_at + i, mul(value, load_floats(weight, weight_at + i)))


@kernel
def gate_row(gate_up: Any, at: int, size: int, y: Any, y_at: int) -> None:
    """y = silu(gate) · up, where gate is the row's first half."""
    stay_apart()
    one = splat_float(1.0)
    for i in range(0, size, N_LANES):
        gate = load_floats(gate_up, at + i)
        # The clamp keeps exp finite; silu is as good as 0 there.
        bounded = sub(splat_float(0.0), largest(gate, splat_float(-87.0)))
        sigmoid = div(one, add(one, exp(bounded)))
        store(y, y_at + i, mul(mul(gate, sigmoid), load_floats(gate_up, at + size + i)))


@kernel
def rotate_row(x: Any, at: int, size: int, cos: Any, sin: Any, angle_at: int) -> None:
    """Rotary embedding of one head in place; value i pairs with value i + size/2."""
    stay_apart()
    half = size // 2
    for i in range(0, half, N_LANES):
        a, b = load_floats(x, at + i), load_floats(x, at + half + i)
        c, s = load_floats(cos, angle_at + i), load_floats(sin, angle_at + i)
        store(x, at + i, sub(mul(a, c), mul(b, s)))
        store(x, at + half + i, fma(b, c, mul(a, s)))


@kernel
def weigh(scores: Any, at: int, size: int, value_scales: Any, scale_at: int, weights: Any) -> Any:
    """Turn one row of scores into byte weights of the values; returns the factor that undoes it.

    With m the largest score: p = e^(score - m), t = p · (the value's own scale), weight = round(255 · t /
    max t). Sums over weights and over rounded p are integers, so the slots' order cannot matter. `weights`
    is written at the same offset.
    """
    stay_apart()
    most = splat_float(MASKED)
    for i in range(at, at + size, N_LANES):
        most = largest(most, load_floats(scores, i))
    peak = splat_float(max_floats(most))
    total, largest_t = np.int64(0), splat_float(0.0)
    for start in range(0, size, SLOTS_A_SUM):
        part = splat_int(0)
        for i in range(start, min(start + SLOTS_A_SUM, size), N_LANES):
            p = exp(sub(load_floats(scores, at + i), peak))
            part = add_ints(part, to_ints(nearest(mul(p, splat_float(float(PROBABILITY_ONE))))))
            t = mul(p, load_floats(value_scales, scale_at + i))
            largest_t = largest(largest_t, t)
            store(scores, at + i, t)
        total += sum_ints(part)
    top = max_floats(largest_t)
    factor = splat_float(np.float32(255.0) / top if top > np.float32(1e-30) else np.float32(0.0))
    for i in range(at, at + size, N_LANES):
        store_as_bytes(weights, i, to_ints(nearest(mul(load_floats(scores, i), factor))))
    probability = np.float32(total) / np.float32(PROBABILITY_ONE)
    return top / np.float32(255.0) / probability


@kernel
def best_of_row(logits: Any, row: int, ids: Any, values: Any) -> None:
    """The k best of logits[row] into ids[row], values[row]: best first, the lower id among equals.

    Values become probabilities of the whole row. Columns behind the vocabulary are MASKED.
    """
    stay_apart()
    k, size = ids.shape[1], logits.shape[1]
    at = row * size
    for rank in range(k):
        ids[row, rank] = 0
        values[row, rank] = MASKED
    bar = splat_float(MASKED)
    for i in range(0, size, N_LANES):
        if any_greater(load_floats(logits, at + i), bar):
            for lane in range(i, i + N_LANES):
                _insert(logits[row, lane], lane, ids, values, row)
            bar = splat_float(values[row, k - 1])
    peak = values[row, 0]
    total = splat_float(0.0)
    for i in range(0, size, N_LANES):
        total = add(total, exp(sub(load_floats(logits, at + i), splat_float(peak))))
    sum_all = sum_floats(total)
    for rank in range(k):
        values[row, rank] = np.exp(values[row, rank] - peak) / sum_all


@kernel
def _insert(value: float, lane: int, ids: Any, values: Any, row: int) -> None:
    stay_apart()
    rank = ids.shape[1]
    while rank > 0 and value > values[row, rank - 1]:
        rank -= 1
    for later in range(ids.shape[1] - 1, rank, -1):
        values[row, later] = values[row, later - 1]
        ids[row, later] = ids[row, later - 1]
    if rank < ids.shape[1]:
        values[row, rank] = value
        ids[row, rank] = lane

"""The multiplying kernel against exact integers, for every number of rows that tiles are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.compiled import kernel
from goose_lsp.engine.int8.tile import (
    ATTENTION_VECTORS,
    LINEAR_VECTORS,
    rows_times_keys,
    rows_times_values,
    rows_times_weights,
)

MAX_ROWS = 17
# What lies around the numbers at hand, so that every offset matters.
MARGIN = 3


class Arguments(NamedTuple):
    """What the kernel is given beside the number of rows, in its order."""

    x: Any
    x_at: int
    x_stride: int
    scales: Any
    starts: Any
    scale_at: int
    scale_stride: int
    panel: Any
    panel_at: int
    n_groups: int
    n_steps: int
    column_scales: Any
    column_at: int
    out: Any
    out_at: int
    out_stride: int


@kernel
def _weights(n: int, a: Any) -> None:
    rows_times_weights(
        n, a.x, a.x_at, a.x_stride, a.scales, a.starts, a.scale_at, a.scale_stride,
        a.panel, a.panel_at, a.n_groups, a.n_steps, a.column_scales, a.column_at,
        a.out, a.out_at, a.out_stride,
    )  # fmt: skip


@kernel
def _keys(n: int, a: Any) -> None:
    rows_times_keys(
        n, a.x, a.x_at, a.x_stride, a.scales, a.starts, a.scale_at, a.scale_stride,
        a.panel, a.panel_at, a.n_groups, a.n_steps, a.column_scales, a.column_at,
        a.out, a.out_at, a.out_stride,
    )  # fmt: skip


@kernel
def _values(n: int, a: Any) -> None:
    rows_times_values(
        n, a.x, a.x_at, a.x_stride, a.scales, a.starts, a.scale_at, a.scale_stride,
        a.panel, a.panel_at, a.n_groups, a.n_steps, a.column_scales, a.column_at,
        a.out, a.out_at, a.out_stride,
    )  # fmt: skip


@dataclass(frozen=True)
class Kind:
    multiply: Callable[..., None]
    n_columns: int
    is_panel_unsigned: bool


KINDS = {
    "weights": Kind(_weights, LINEAR_VECTORS * 16, is_panel_unsigned=True),
    "keys": Kind(_keys, ATTENTION_VECTORS * 16, is_panel_unsigned=True),
    "values": Kind(_values, ATTENTION_VECTORS * 16, is_panel_unsigned=False),
}
# (groups, steps of four in each) as a model's sizes make them: weights have groups of 64, a key is one
# group of its head's size, values are one group of all slots.
SHAPES = [
    *(("weights", n_groups, 16) for n_groups in (1, 2, 4)),
    *(("keys", 1, n_steps) for n_steps in (16, 32)),
    *(("values", 1, n_steps) for n_steps in (16, 32, 48, 64)),
]
shapes = pytest.mark.parametrize(("kind", "n_groups", "n_steps"), SHAPES)


@dataclass(frozen=True)
class Problem:
    """Random numbers of one shape; `row_bytes` and `panel` as the kernel multiplies them, starts apart."""

    kind: Kind
    n_groups: int
    n_steps: int
    x: npt.NDArray[Any]  # [rows, k]
    panel: npt.NDArray[Any]  # [columns, k]
    scales: npt.NDArray[np.float32]  # [rows, groups]
    starts: npt.NDArray[np.int32]
    column_scales: npt.NDArray[np.float32]  # [columns]
    before: npt.NDArray[np.float32]  # [rows, columns], what the product is added to

    def rows(self, n: int) -> npt.NDArray[np.float32]:
        """The first n rows by the kernel, which may touch nothing else."""
        size, columns = self.x.shape[1], self.kind.n_columns
        packed = self.panel.reshape(columns, size // 4, 4).transpose(1, 0, 2)
        x, x_at = _surrounded(self.x, 4 * MARGIN)
        panel, panel_at = _surrounded(packed.reshape(1, -1), 0)
        scales, scale_at = _surrounded(self.scales, MARGIN)
        starts, _ = _surrounded(self.starts, MARGIN)
        column_scales, column_at = _surrounded(self.column_scales[None], 0)
        out, out_at = _surrounded(self.before, MARGIN)
        untouched = out.copy()
        arguments = Arguments(
            x, x_at, x.shape[1], scales, starts, scale_at, scales.shape[1], panel, panel_at,
            self.n_groups, self.n_steps, column_scales, column_at, out, out_at, out.shape[1],
        )  # fmt: skip
        self.kind.multiply(n, arguments)
        result = out[MARGIN : MARGIN + n, :columns].copy()
        untouched[MARGIN : MARGIN + n, :columns] = result
        assert np.array_equal(out, untouched)
        return result

    def exact(self) -> npt.NDArray[np.float64]:
        product: npt.NDArray[np.float64] = self.column_scales * self.terms().sum(1)
        return self.before + product

    def terms(self) -> npt.NDArray[np.float64]:
        """scale · (start + integer sum), exact: [rows, groups, columns]."""
        split = (-1, self.n_groups, 4 * self.n_steps)
        x = self.x.reshape(split).astype(np.int64)
        panel = self.panel.reshape(split).astype(np.int64)
        sums: npt.NDArray[np.int64] = np.einsum("rgk,cgk->rgc", x, panel)
        return self.scales.astype(np.float64)[:, :, None] * (sums + self.starts[:, :, None])


def _surrounded(array: npt.NDArray[Any], gap: int) -> tuple[npt.NDArray[Any], int]:
    """The rows with a gap behind each and other rows around them, and where the first begins."""
    n_rows, size = array.shape
    fill = 99 if array.dtype.kind in "iu" else 1e6
    wide = np.full((n_rows + 2 * MARGIN, size + gap), fill, array.dtype)
    wide[MARGIN : MARGIN + n_rows, :size] = array
    return wide, MARGIN * (size + gap)


def problem(name: str, n_groups: int, n_steps: int, seed: int, *, is_whole: bool = True) -> Problem:
    """Numbers whose every sum fits into 24 bits if `is_whole`, so that single precision is exact too."""
    random = np.random.default_rng(seed)
    kind = KINDS[name]
    size = 4 * n_steps * n_groups
    signed = random.integers(-127, 128, (max(MAX_ROWS, kind.n_columns), size), dtype=np.int8)
    # Bytes as they come, but small where many are added and the result must fit.
    top = 256 if not is_whole else 64
    unsigned = random.integers(0, top, signed.shape, dtype=np.uint8)
    x, panel = (signed, unsigned) if kind.is_panel_unsigned else (unsigned, signed)
    rows_and_groups, columns = (MAX_ROWS, n_groups), kind.n_columns
    if is_whole:
        scales = random.choice([1.0, 2.0], rows_and_groups)
        column_scales = random.choice([-2.0, 1.0], columns)
        before = random.integers(-1000, 1000, (MAX_ROWS, columns)).astype(np.float64)
    else:
        scales = random.uniform(0.001, 0.1, rows_and_groups)
        column_scales = random.uniform(0.001, 0.1, columns)
        before = random.standard_normal((MAX_ROWS, columns))
    return Problem(
        kind, n_groups, n_steps, x[:MAX_ROWS], panel[:columns],
        scales.astype(np.float32),
        random.integers(-100_000, 100_000, rows_and_groups).astype(np.int32),
        column_scales.astype(np.float32), before.astype(np.float32),
    )  # fmt: skip


@shapes
def test_any_number_of_rows_is_multiplied_exactly(kind: str, n_groups: int, n_steps: int) -> None:
    given_numbers = problem(kind, n_groups, n_steps, seed=n_groups + n_steps)
    exact = given_numbers.exact()
    assert abs(exact).max() < 2**24
    wrong = [n for n in range(MAX_ROWS + 1) if not np.array_equal(given_numbers.rows(n), exact[:n])]
    assert not wrong


@shapes
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_scales_are_applied_to_within_rounding(
    kind: str, n_groups: int, n_steps: int, seed: int
) -> None:
    numbers = problem(kind, n_groups, n_steps, seed, is_whole=False)
    size = abs(numbers.terms()).sum(1) * numbers.column_scales + abs(numbers.before)
    # An integer sum, one product a group, and the last addition are rounded.
    bound = (n_groups + 3) * 2.0**-24 * size
    assert (abs(numbers.rows(MAX_ROWS) - numbers.exact()) <= bound).all()


@shapes
def test_a_row_is_the_same_bits_whatever_rows_share_the_call(
    kind: str, n_groups: int, n_steps: int
) -> None:
    numbers = problem(kind, n_groups, n_steps, seed=7, is_whole=False)
    together = numbers.rows(MAX_ROWS)
    differing = [n for n in range(MAX_ROWS) if not np.array_equal(numbers.rows(n), together[:n])]
    assert not differing


def test_the_largest_bytes_do_not_saturate() -> None:
    for name in KINDS:
        numbers = problem(name, 1, 48, seed=0)
        for array in (numbers.x, numbers.panel):
            array[:] = 255 if array.dtype == np.uint8 else -127
        numbers.scales[:] = 1.0
        assert np.array_equal(numbers.rows(MAX_ROWS), numbers.exact()), name

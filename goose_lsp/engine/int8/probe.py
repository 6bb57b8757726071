"""Whether the 8-bit kernels are right on this machine, and worth it."""

from time import perf_counter
from typing import Any

import numpy as np

from goose_lsp.compiled import kernel
from goose_lsp.engine.int8.arrays import PANEL
from goose_lsp.engine.int8.rows import GROUP
from goose_lsp.engine.int8.tile import rows_times_weights

_N_ROWS, _N_PANELS, _N_INPUTS = 8, 32, 576


@kernel
def _product(x: Any, scales: Any, starts: Any, panels: Any, column_scales: Any, out: Any) -> None:
    n, size = x.shape
    for panel in range(panels.shape[0]):
        rows_times_weights(
            n,
            x, 0, size,
            scales, starts, 0, size // GROUP,
            panels, panel * size * PANEL,
            size // GROUP, GROUP // 4,
            column_scales, panel * PANEL,
            out, panel * PANEL, out.shape[1],
        )  # fmt: skip


@kernel
def _float_product(x: Any, wide: Any, out: Any) -> None:
    """The same in 32 bits on one thread, as plain as a compiler turns into vectors."""
    for row in range(x.shape[0]):
        out[row, :] = 0.0
    for k in range(x.shape[1]):
        for row in range(x.shape[0]):
            factor = x[row, k]
            for column in range(wide.shape[1]):
                out[row, column] += factor * wide[k, column]


def find_fault() -> str | None:
    """What speaks against the kernels here, or None. Takes a few milliseconds once they are compiled."""
    random = np.random.default_rng(0)
    shape = (_N_PANELS, _N_INPUTS // 4, PANEL, 4)
    # The extremes come first: instructions that add pairs in 16 bits would saturate on them.
    extreme = np.where(random.integers(0, 2, shape) == 1, 255, 0).astype(np.uint8)
    for panels in (extreme, random.integers(0, 256, shape, dtype=np.uint8)):
        x = random.integers(-127, 128, (_N_ROWS, _N_INPUTS), dtype=np.int8)
        x[0] = 127
        if not _is_exact(x, panels):
            return "the 8-bit kernels compute wrong sums on this processor"
    ratio = _time_ratio()
    if ratio > 1.0:
        return f"the 8-bit kernels take {ratio:.1f} times as long as 32-bit ones on this processor"
    return None


def _arguments(x: Any, panels: Any) -> tuple[Any, ...]:
    columns = _N_PANELS * PANEL
    groups = x.reshape(len(x), -1, GROUP).astype(np.int32)
    return (
        x,
        np.ones(groups.shape[:2], dtype=np.float32),
        (-128 * groups.sum(-1)).astype(np.int32),
        panels,
        np.ones(columns, dtype=np.float32),
        np.zeros((len(x), columns), dtype=np.float32),
    )


def _is_exact(x: Any, panels: Any) -> bool:
    arguments = _arguments(x, panels)
    _product(*arguments)
    weights = panels.transpose(0, 2, 1, 3).reshape(_N_PANELS * PANEL, _N_INPUTS).astype(np.int64)
    # Sums stay below 2^24, so that single precision holds them exactly.
    return bool(np.array_equal(arguments[-1], x.astype(np.int64) @ (weights - 128).T))


def _time_ratio() -> float:
    """Time of eight rows in 8 bits ÷ in 32 bits; the best of interleaved tries."""
    random = np.random.default_rng(1)
    x = random.integers(-127, 128, (_N_ROWS, _N_INPUTS), dtype=np.int8)
    panels = random.integers(0, 256, (_N_PANELS, _N_INPUTS // 4, PANEL, 4), dtype=np.uint8)
    arguments = _arguments(x, panels)
    wide = random.random((_N_INPUTS, _N_PANELS * PANEL), dtype=np.float32)
    floats, out = x.astype(np.float32), np.zeros((_N_ROWS, _N_PANELS * PANEL), np.float32)
    _float_product(floats, wide, out)  # compiled before it is timed
    bytes_s = floats_s = float("inf")
    for _ in range(5):
        started = perf_counter()
        _product(*arguments)
        between = perf_counter()
        _float_product(floats, wide, out)
        bytes_s = min(bytes_s, between - started)
        floats_s = min(floats_s, perf_counter() - between)
    return bytes_s / floats_s

"""Whether the kernels may be used here: right, and faster than what they replace."""

from typing import Any

import pytest

from goose_lsp.engine.int8 import probe
from goose_lsp.engine.int8.simd import lowering

_product = probe._product


def test_the_kernels_are_right_and_faster_on_this_machine() -> None:
    fault = probe.find_fault()
    if fault is not None and "times as long" in fault and lowering() == "generic":
        pytest.skip(f"this processor has no instruction for it: {fault}")
    assert fault is None


def test_right_and_fast_enough_kernels_have_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_time_ratio", lambda: 1.0)
    assert probe.find_fault() is None


def test_a_single_wrong_sum_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def off_by_one(*arguments: Any) -> None:
        _product(*arguments)
        arguments[-1][5, 77] += 1

    monkeypatch.setattr(probe, "_product", off_by_one)
    assert probe.find_fault() == "the 8-bit kernels compute wrong sums on this processor"


def test_sums_that_saturate_in_16_bits_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the oldest byte instructions do: pairs of products are clamped before they are added up."""

    def saturating(x: Any, _scales: Any, _starts: Any, panels: Any, _ones: Any, out: Any) -> None:
        weights = panels.transpose(0, 2, 1, 3).reshape(-1, x.shape[1]).astype(int)
        for row, values in enumerate(x.astype(int)):
            pairs = (values * weights).reshape(len(weights), -1, 2).sum(-1)
            out[row] = pairs.clip(-(2**15), 2**15 - 1).sum(-1) - 128 * values.sum()

    monkeypatch.setattr(probe, "_product", saturating)
    assert probe.find_fault() == "the 8-bit kernels compute wrong sums on this processor"


def test_slower_than_32_bits_is_a_fault_that_names_the_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "_time_ratio", lambda: 2.46)
    fault = probe.find_fault()
    assert fault is not None
    assert "2.5 times as long as 32-bit ones" in fault

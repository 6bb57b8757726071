"""Every vector operation against numpy, lane by lane."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from llvmlite import binding

from goose_lsp.compiled import kernel
from goose_lsp.engine.int8 import simd

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

finite = hnp.arrays(np.float32, 16, elements=st.floats(-(2.0**40), 2.0**40, width=32))
wholes = hnp.arrays(np.int32, 16, elements=st.integers(-(2**31), 2**31 - 1))
HOST = binding.get_host_cpu_features()
LOWERINGS = [
    "generic",
    pytest.param("avx512vnni", marks=pytest.mark.skipif(not HOST.get("avx512vnni"), reason="no such processor")),
    pytest.param(
        "avxvnni",
        marks=pytest.mark.skipif(
            not (HOST.get("avxvnni") or (HOST.get("avx512vnni") and HOST.get("avx512vl"))),
            reason="no such processor",
        ),
    ),
]  # fmt: skip


@kernel
def _float_results(x: Any, y: Any, z: Any, out: Any) -> None:
    a, b, c = simd.load_floats(x, 0), simd.load_floats(y, 0), simd.load_floats(z, 0)
    simd.store(out, 0, simd.add(a, b))
    simd.store(out, 16, simd.sub(a, b))
    simd.store(out, 32, simd.mul(a, b))
    simd.store(out, 48, simd.div(a, b))
    simd.store(out, 64, simd.largest(a, b))
    simd.store(out, 80, simd.fma(a, b, c))
    simd.store(out, 96, simd.magnitude(a))
    simd.store(out, 112, simd.nearest(a))
    simd.store(out, 128, simd.splat_float(x[3]))


@kernel
def _int_results(x: Any, y: Any, wholes: Any, out: Any, floats: Any) -> None:
    a, b = simd.load_ints(x, 0), simd.load_ints(y, 0)
    simd.store(out, 0, simd.add_ints(a, b))
    simd.store(out, 16, simd.to_ints(simd.load_floats(wholes, 0)))
    simd.store(out, 32, simd.splat_int(x[3]))
    simd.store(floats, 0, simd.to_floats(a))


@kernel
def _reductions(x: Any, y: Any, n: Any) -> Any:
    a, b = simd.load_floats(x, 0), simd.load_floats(y, 0)
    return (
        simd.sum_floats(a),
        simd.max_floats(a),
        simd.sum_ints(simd.load_ints(n, 0)),
        simd.any_greater(a, b),
    )


@kernel
def _powers_of_two(n: Any, out: Any) -> None:
    simd.store(out, 0, simd.power_of_two(simd.load_ints(n, 0)))


@kernel
def _copies(source: Any, start: int, to: Any, at: int) -> None:
    simd.store(to, at, simd.load_ints(source, start))


@kernel
def _low_bytes(source: Any, to: Any, at: int) -> None:
    simd.store_as_bytes(to, at, simd.load_ints(source, 0))


@kernel
def _byte_copies(source: Any, start: int, four: Any, one: Any, at: int) -> None:
    simd.copy_four_unsigned(four, at, source, start)
    simd.copy_byte(one, at, source, start)


@kernel
def _atomics(array: Any, i: int, n: int) -> Any:
    seen = simd.atomic_load(array, i)
    before = simd.atomic_add(array, i, n)
    failed = simd.exchange_if(array, i, seen - 1, 0)
    worked = simd.exchange_if(array, i, seen + n, 7)
    return seen, before, failed, worked


def _dot4(how: str) -> Any:
    three = (simd.ints, simd.ints, simd.ints)
    return simd.operation(simd.ints, three, lambda b, total, u, s: simd.dot4(b, total, u, s, how))


_generic, _avx512vnni, _avxvnni = (_dot4(how) for how in ("generic", "avx512vnni", "avxvnni"))


@kernel
def _products_generic(total: Any, u: Any, s: Any, out: Any) -> None:
    a, b, c = simd.load_ints(total, 0), simd.load_ints(u, 0), simd.load_ints(s, 0)
    simd.store(out, 0, _generic(a, b, c))


@kernel
def _products_avx512vnni(total: Any, u: Any, s: Any, out: Any) -> None:
    a, b, c = simd.load_ints(total, 0), simd.load_ints(u, 0), simd.load_ints(s, 0)
    simd.store(out, 0, _avx512vnni(a, b, c))


@kernel
def _products_avxvnni(total: Any, u: Any, s: Any, out: Any) -> None:
    a, b, c = simd.load_ints(total, 0), simd.load_ints(u, 0), simd.load_ints(s, 0)
    simd.store(out, 0, _avxvnni(a, b, c))


PRODUCTS: dict[str, Callable[..., None]] = {
    "generic": _products_generic,
    "avx512vnni": _products_avx512vnni,
    "avxvnni": _products_avxvnni,
}


def check_dot4(how: str, total: Ints, u: npt.NDArray[np.uint8], s: npt.NDArray[np.int8]) -> None:
    out = np.zeros(16, np.int32)
    PRODUCTS[how](total, u, s, out)
    exact = total.astype(np.int64) + (u.astype(np.int64) * s).reshape(16, 4).sum(1)
    assert np.array_equal(out, exact.astype(np.int32))


@settings(max_examples=100, deadline=None)
@given(finite, finite, finite)
def test_float_operations_round_as_numpy_does(x: Floats, y: Floats, z: Floats) -> None:
    y = np.where(y == 0, np.float32(1), y)
    out = np.zeros((9, 16), np.float32)
    _float_results(x, y, z, out)
    with np.errstate(over="ignore", under="ignore"):
        expected = (x + y, x - y, x * y, x / y, np.where(x > y, x, y))
    for ours, theirs in zip(out, expected, strict=False):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(out[6], np.abs(x))
    assert np.array_equal(out[7], np.rint(x))
    assert np.array_equal(out[8], np.full(16, x[3]))


@settings(max_examples=100, deadline=None)
@given(finite, finite, finite)
def test_fma_rounds_once(x: Floats, y: Floats, z: Floats) -> None:
    out = np.zeros((9, 16), np.float32)
    _float_results(x, y, z, out)
    for a, b, c, result in zip(x, y, z, out[5], strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        half_a_step = Fraction(float(np.spacing(np.abs(result)))) / 2
        assert abs(Fraction(float(result)) - exact) <= half_a_step


def test_the_larger_of_a_number_and_nan_is_the_second_argument() -> None:
    x, y = np.full(16, np.nan, np.float32), np.arange(16, dtype=np.float32)
    out = np.zeros((9, 16), np.float32)
    _float_results(x, y, y, out)
    assert np.array_equal(out[4], y)


@settings(max_examples=100, deadline=None)
@given(
    wholes, wholes, hnp.arrays(np.float32, 16, elements=st.floats(-(2.0**30), 2.0**30, width=32))
)
def test_int_operations_wrap_and_truncate_as_numpy_does(x: Ints, y: Ints, z: Floats) -> None:
    out, floats = np.zeros((3, 16), np.int32), np.zeros(16, np.float32)
    _int_results(x, y, z, out, floats)
    assert np.array_equal(out[0], (x.astype(np.int64) + y).astype(np.int32))
    assert np.array_equal(out[1], z.astype(np.int32))
    assert np.array_equal(out[2], np.full(16, x[3]))
    assert np.array_equal(floats, x.astype(np.float32))


@settings(max_examples=100, deadline=None)
@given(finite, finite, wholes)
def test_reductions_combine_lanes_in_one_fixed_order(x: Floats, y: Floats, n: Ints) -> None:
    total, most, whole, is_any_greater = _reductions(x, y, n)
    halves = x
    while len(halves) > 1:
        halves = halves[: len(halves) // 2] + halves[len(halves) // 2 :]
    assert total == halves[0]
    assert most == x.max()
    assert whole == n.astype(np.int64).sum()
    assert is_any_greater == bool((x > y).any())


def test_no_lane_is_greater_than_itself() -> None:
    x = np.arange(16, dtype=np.float32)
    for lane in range(16):
        y = x.copy()
        assert not _reductions(x, y, y.view(np.int32))[3]
        y[lane] -= 0.5
        assert _reductions(x, y, y.view(np.int32))[3]


def test_powers_of_two_are_exact_over_the_whole_range_of_normal_numbers() -> None:
    for start in range(-126, 127 - 14):
        n, out = np.arange(start, start + 16, dtype=np.int32), np.zeros(16, np.float32)
        _powers_of_two(np.minimum(n, 127), out)
        assert np.array_equal(out, 2.0 ** np.minimum(n, 127).astype(np.float64))


@given(st.integers(0, 24), st.integers(0, 24))
@settings(max_examples=30, deadline=None)
def test_a_store_touches_sixteen_elements_at_any_offset(start: int, at: int) -> None:
    source, to = np.arange(40, dtype=np.int32), np.full(40, -1, np.int32)
    _copies(source, start, to, at)
    expected = np.full(40, -1)
    expected[at : at + 16] = source[start : start + 16]
    assert np.array_equal(to, expected)


@given(wholes, st.integers(0, 24), st.sampled_from([np.int8, np.uint8]))
@settings(max_examples=30, deadline=None)
def test_the_low_byte_of_every_lane_is_stored(x: Ints, at: int, dtype: type[np.int8]) -> None:
    to = np.full(40, 77, dtype)
    _low_bytes(x, to, at)
    expected = np.full(40, 77, dtype)
    expected[at : at + 16] = x.astype(dtype)
    assert np.array_equal(to, expected)


@given(hnp.arrays(np.int8, 12), st.integers(0, 8), st.integers(0, 8))
@settings(max_examples=30, deadline=None)
def test_bytes_are_copied_with_and_without_128_added(
    source: npt.NDArray[np.int8], start: int, at: int
) -> None:
    four, one = np.full(12, 5, np.uint8), np.full(12, 5, np.int8)
    _byte_copies(source, start, four, one, at)
    wide, narrow = np.full(12, 5), np.full(12, 5)
    wide[at : at + 4] = source[start : start + 4].astype(np.int64) + 128
    narrow[at] = source[start]
    assert np.array_equal(four, wide)
    assert np.array_equal(one, narrow)


def test_atomics_act_on_one_counter_and_report_what_was_there() -> None:
    array = np.array([100, 2**40, -3], np.int64)
    assert _atomics(array, 1, 5) == (2**40, 2**40, False, True)
    assert array.tolist() == [100, 7, -3]


@pytest.mark.parametrize("how", LOWERINGS)
def test_the_largest_products_of_bytes_do_not_saturate(how: str) -> None:
    for value in (127, -127, -128):
        for total in (0, 10**9, -(10**9)):
            check_dot4(
                how,
                np.full(16, total, np.int32),
                np.full(64, 255, np.uint8),
                np.full(64, value, np.int8),
            )


@pytest.mark.parametrize("how", LOWERINGS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_every_lowering_multiplies_bytes_exactly(how: str, data: st.DataObject) -> None:
    check_dot4(
        how,
        data.draw(hnp.arrays(np.int32, 16, elements=st.integers(-(2**30), 2**30))),
        data.draw(hnp.arrays(np.uint8, 64)),
        data.draw(hnp.arrays(np.int8, 64)),
    )


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"avx512vnni": True, "avx512f": True, "avxvnni": True}, "avx512vnni"),
        ({"avx512vnni": True, "avx512f": False}, "generic"),
        ({"avx512f": True, "avx512vnni": False, "avxvnni": True}, "avxvnni"),
        ({"avx2": True, "avx512f": True}, "generic"),
        ({}, "generic"),
    ],
)
def test_the_lowering_follows_what_the_processor_has(
    features: dict[str, bool], expected: str
) -> None:
    assert simd.lowering(features) == expected


def test_the_lowering_of_this_machine_is_one_of_its_own_features() -> None:
    assert simd.lowering() == simd.lowering(HOST)

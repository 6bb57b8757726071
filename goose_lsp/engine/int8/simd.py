"""Vectors of sixteen 32-bit lanes for numba code.

Every operation acts on each lane alone, or combines lanes in a fixed order. So a function written with
them computes the same bits for the same row whatever the compiler does with the loops around it: no sum
is reordered and nothing is contracted that is not written as `fma`.

`load_*` and `store_*` take a C-contiguous array and an offset in elements of that array, unchecked.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

N_LANES = 16
BYTE, INT, LONG = (ir.IntType(bits) for bits in (8, 32, 64))
FLOAT = ir.FloatType()
INTS, FLOATS = ir.VectorType(INT, N_LANES), ir.VectorType(FLOAT, N_LANES)
BYTES, LONGS = ir.VectorType(BYTE, N_LANES), ir.VectorType(LONG, N_LANES)

# Loads and stores touch memory that holds other types too, at any address.
UNALIGNED = 1


class _IntsType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="i32x16")


class _FloatsType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="f32x16")


ints, floats = _IntsType(), _FloatsType()
ARRAY = types.undefined  # stands for an array of any element type


@register_model(_IntsType)
class _IntsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, INTS)


@register_model(_FloatsType)
class _FloatsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, FLOATS)


def operation(result: types.Type, arguments: Sequence[types.Type], emit: Callable[..., Any]) -> Any:
    """A numba intrinsic of `emit(builder, *values)`; an `ARRAY` arrives as a pointer to its elements."""

    def typed(given: tuple[types.Type, ...]) -> Any:
        # Numbers are converted to the width named, so that any expression fits.
        kinds = [
            have if want is ARRAY else want for have, want in zip(given, arguments, strict=True)
        ]

        def codegen(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            del signature
            pointers = [
                context.make_array(kind)(context, builder, value).data
                if isinstance(kind, types.Array)
                else value
                for kind, value in zip(kinds, values, strict=True)
            ]
            emitted = emit(builder, *pointers)
            return context.get_dummy_value() if emitted is None else emitted

        return result(*kinds), codegen

    by_count = {
        1: lambda context, a: typed((a,)),
        2: lambda context, a, b: typed((a, b)),
        3: lambda context, a, b, c: typed((a, b, c)),
        4: lambda context, a, b, c, d: typed((a, b, c, d)),
    }
    return intrinsic(by_count[len(arguments)])


def vector_at(builder: Any, pointer: Any, offset: Any, kind: ir.Type) -> Any:
    """Pointer to a vector that starts `offset` elements behind `pointer`."""
    return builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())


def splat(builder: Any, value: Any, kind: ir.VectorType) -> Any:
    """The scalar in every lane."""
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(INT, 0))
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros(INTS))


def zeros(kind: ir.VectorType) -> ir.Constant:
    return ir.Constant(kind, [0] * kind.count)


def call(builder: Any, name: str, result: ir.Type, *values: Any) -> Any:
    """Call an LLVM intrinsic."""
    kind = ir.FunctionType(result, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)


def prefetch(builder: Any, pointer: Any) -> None:
    """Ask for the cache line at a pointer to bytes; any address will do."""
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, INT, INT, INT])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    for_reading, keep, data = (ir.Constant(INT, n) for n in (0, 3, 1))
    builder.call(function, [pointer, for_reading, keep, data])


def _load(kind: ir.VectorType) -> Callable[..., Any]:
    return lambda b, array, i: b.load(vector_at(b, array, i, kind), align=UNALIGNED)


def _store(b: Any, array: Any, i: Any, value: Any) -> None:
    b.store(value, vector_at(b, array, i, value.type), align=UNALIGNED)


def _store_bytes(b: Any, array: Any, i: Any, value: Any) -> None:
    _store(b, array, i, b.trunc(value, BYTES))


def _float_call(name: str) -> Callable[..., Any]:
    return lambda b, *values: call(b, f"llvm.{name}.v16f32", FLOATS, *values)


def _reduce(combine: Callable[..., Any]) -> Callable[..., Any]:
    """Halve the vector until one lane is left: always the same tree."""

    def emit(b: Any, value: Any) -> Any:
        n = N_LANES
        while n > 1:
            n //= 2
            low, high = (
                b.shuffle_vector(value, value, ir.Constant(ir.VectorType(INT, n), lanes))
                for lanes in (list(range(n)), list(range(n, 2 * n)))
            )
            value = combine(b, low, high)
        return b.extract_element(value, ir.Constant(INT, 0))

    return emit


_sum = _reduce(lambda b, x, y: b.add(x, y))


def _fmax(b: Any, x: Any, y: Any) -> Any:
    return b.select(b.fcmp_ordered(">", x, y), x, y)


_i, _f, _l, _v = ints, floats, types.int64, types.void

load_floats = operation(_f, (ARRAY, _l), _load(FLOATS))
load_ints = operation(_i, (ARRAY, _l), _load(INTS))
splat_float = operation(_f, (types.float32,), lambda b, x: splat(b, x, FLOATS))
splat_int = operation(_i, (types.int32,), lambda b, x: splat(b, x, INTS))

add = operation(_f, (_f, _f), lambda b, x, y: b.fadd(x, y))
sub = operation(_f, (_f, _f), lambda b, x, y: b.fsub(x, y))
mul = operation(_f, (_f, _f), lambda b, x, y: b.fmul(x, y))
div = operation(_f, (_f, _f), lambda b, x, y: b.fdiv(x, y))
largest = operation(_f, (_f, _f), _fmax)
fma = operation(_f, (_f, _f, _f), _float_call("fma"))  # x·y + z, rounded once
magnitude = operation(_f, (_f,), _float_call("fabs"))
nearest = operation(_f, (_f,), _float_call("rint"))
to_ints = operation(_i, (_f,), lambda b, x: b.fptosi(x, INTS))
to_floats = operation(_f, (_i,), lambda b, x: b.sitofp(x, FLOATS))
add_ints = operation(_i, (_i, _i), lambda b, x, y: b.add(x, y))
# 2^n for whole n in [-126, 127]
power_of_two = operation(
    _f,
    (_i,),
    lambda b, n: b.bitcast(
        b.shl(
            b.add(n, splat(b, ir.Constant(INT, 127), INTS)), splat(b, ir.Constant(INT, 23), INTS)
        ),
        FLOATS,
    ),
)
sum_floats = operation(types.float32, (_f,), _reduce(lambda b, x, y: b.fadd(x, y)))
max_floats = operation(types.float32, (_f,), _reduce(_fmax))
sum_ints = operation(types.int64, (_i,), lambda b, x: _sum(b, b.sext(x, LONGS)))
any_greater = operation(
    types.boolean,
    (_f, _f),
    lambda b, x, y: b.icmp_unsigned(
        "!=",
        b.bitcast(b.fcmp_ordered(">", x, y), ir.IntType(N_LANES)),
        ir.Constant(ir.IntType(N_LANES), 0),
    ),
)


def _copy_word(b: Any, to: Any, at: Any, source: Any, start: Any) -> None:
    words = INT.as_pointer()
    word = b.load(b.bitcast(b.gep(source, [start]), words), align=UNALIGNED)
    flipped = b.xor(word, ir.Constant(INT, 0x80808080))
    b.store(flipped, b.bitcast(b.gep(to, [at]), words), align=UNALIGNED)


def _copy_byte(b: Any, to: Any, at: Any, source: Any, start: Any) -> None:
    b.store(b.load(b.gep(source, [start])), b.gep(to, [at]))


# Four bytes from one array of bytes to another, 128 added to each.
copy_four_unsigned = operation(_v, (ARRAY, _l, ARRAY, _l), _copy_word)
# One byte from one array of bytes to another.
copy_byte = operation(_v, (ARRAY, _l, ARRAY, _l), _copy_byte)


def _exchange(b: Any, array: Any, i: Any, old: Any, new: Any) -> Any:
    swapped = b.cmpxchg(b.gep(array, [i]), old, new, "acq_rel", "acquire")
    return b.extract_value(swapped, 1)


# Counters shared by threads, in arrays of int64.
atomic_load = operation(
    _l, (ARRAY, _l), lambda b, array, i: b.load_atomic(b.gep(array, [i]), "acquire", 8)
)
atomic_add = operation(
    _l, (ARRAY, _l, _l), lambda b, array, i, n: b.atomic_rmw("add", b.gep(array, [i]), n, "acq_rel")
)
# array[i] = new if it is old; whether it was
exchange_if = operation(types.boolean, (ARRAY, _l, _l, _l), _exchange)


@intrinsic  # type: ignore[untyped-decorator]
def stay_apart(context: Any) -> Any:
    """Keep the kernel that says this out of its callers' code: long ones compile once, not at every call."""

    def codegen(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        del signature, values
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic  # type: ignore[untyped-decorator]
def store(context: Any, array: types.Type, offset: types.Type, value: types.Type) -> Any:
    """Store a vector of floats or ints into an array of 32-bit elements."""
    return _storing(array, value, _store)


@intrinsic  # type: ignore[untyped-decorator]
def store_as_bytes(context: Any, array: types.Type, offset: types.Type, value: types.Type) -> Any:
    """Store the low byte of every lane into an array of bytes."""
    return _storing(array, value, _store_bytes)


def _storing(array: types.Type, value: types.Type, emit: Callable[..., None]) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
        del signature
        data = context.make_array(array)(context, builder, values[0]).data
        emit(builder, data, values[1], values[2])
        return context.get_dummy_value()

    return types.void(array, types.int64, value), codegen


def lowering(features: dict[str, bool] | None = None) -> str:
    """How this processor multiplies bytes: "avx512vnni", "avxvnni" or "generic"."""
    features = binding.get_host_cpu_features() if features is None else features
    if features.get("avx512vnni") and features.get("avx512f"):
        return "avx512vnni"
    if features.get("avxvnni"):
        return "avxvnni"
    return "generic"


def dot4(b: Any, total: Any, unsigned: Any, signed: Any, how: str) -> Any:
    """total + the sum over four bytes of unsigned·signed, in each lane; exact in 32 bits."""
    if how == "avx512vnni":
        return call(b, "llvm.x86.avx512.vpdpbusd.512", INTS, total, unsigned, signed)
    if how == "avxvnni":
        return _in_halves(b, (total, unsigned, signed))
    for byte in range(4):
        up = splat(b, ir.Constant(INT, 24 - 8 * byte), INTS)
        down = splat(b, ir.Constant(INT, 24), INTS)
        u = b.lshr(b.shl(unsigned, up), down)
        s = b.ashr(b.shl(signed, up), down)
        total = b.add(total, b.mul(u, s))
    return total


def _in_halves(b: Any, values: Sequence[Any]) -> Any:
    half = ir.VectorType(INT, N_LANES // 2)
    results = []
    for start in (0, N_LANES // 2):
        lanes = ir.Constant(half, list(range(start, start + N_LANES // 2)))
        parts = [b.shuffle_vector(value, value, lanes) for value in values]
        results.append(call(b, "llvm.x86.avx512.vpdpbusd.256", half, *parts))
    return b.shuffle_vector(*results, ir.Constant(INTS, list(range(N_LANES))))

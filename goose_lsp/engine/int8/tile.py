"""The one kernel that multiplies: rows of bytes times a panel of columns of bytes.

    out[r, c] += column_scales[c] · Σ_g scales[r, g] · (starts[r, g] + Σ_{k in g} x[r, k] · panel[k, c])

The inner sum is over integers and exact; the outer one runs over the groups of k in order. So a row's
results do not depend on the rows beside it, nor on how many there are.

A panel holds `n_vectors`·16 columns as [k / 4][column][k % 4]: what one instruction multiplies lies
together, and a panel is read once from front to back.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from goose_lsp.engine.int8.simd import (
    FLOATS,
    INT,
    INTS,
    LONG,
    N_LANES,
    UNALIGNED,
    call,
    dot4,
    lowering,
    prefetch,
    splat,
    vector_at,
    zeros,
)

# One vector register holds 16 columns, and there are 32 of them for sums, panel and row.
LINEAR_VECTORS, LINEAR_HEIGHTS = 3, (8, 4, 2, 1)
ATTENTION_VECTORS, ATTENTION_HEIGHTS = 4, (6, 3, 1)
# Sums in flight that keep the multipliers busy.
N_SUMS = 12
# Steps of a group come in multiples of this.
STEPS = 16
# How far ahead short tiles ask for the panel: they wait for memory, and the processor's own prefetching
# stops at every page, of which a mapped file has small ones.
PREFETCH_BYTES = 4096


class _Tile:
    """Builds the code of one tile: `n_rows` × `n_vectors` running sums, kept in registers.

    `values` are the parameters of `rows_times_panel` by name; arrays are pointers.
    """

    def __init__(self, builder: Any, values: dict[str, Any], n_rows: int, n_vectors: int) -> None:
        self.builder = builder
        self.values = values
        self.vectors = range(n_vectors)
        self.rows = range(n_rows)
        self.places = [(r, v) for r in self.rows for v in self.vectors]
        # A sum waits for its last addition: short tiles keep several sums a place, of every n-th step.
        # Their number divides STEPS, so that no step is left over.
        self.lanes = range(1 << max(0, (N_SUMS // len(self.places)).bit_length() - 1))
        assert STEPS % len(self.lanes) == 0

    def build(self, first_row: Any, *, is_panel_unsigned: bool) -> None:
        b, values = self.builder, self.values
        x, scale, out = (
            [self._row(name, first_row, r) for r in self.rows] for name in ("x", "scale", "out")
        )
        totals = {place: cgutils.alloca_once(b, FLOATS) for place in self.places}
        sums = {
            (*place, lane): cgutils.alloca_once(b, INTS)
            for place in self.places
            for lane in self.lanes
        }
        for place in self.places:
            b.store(zeros(FLOATS), totals[place])
        with cgutils.for_range(b, values["n_groups"], intp=LONG) as groups:
            for r, v in self.places:
                start = self._scalar("starts", b.add(scale[r], groups.index))
                b.store(splat(b, start, INTS), sums[r, v, 0])
                for lane in self.lanes[1:]:
                    b.store(zeros(INTS), sums[r, v, lane])
            n_rounds = b.udiv(values["n_steps"], _long(len(self.lanes)))
            with cgutils.for_range(b, n_rounds, intp=LONG) as rounds:
                first = b.add(
                    b.mul(groups.index, values["n_steps"]),
                    b.mul(rounds.index, _long(len(self.lanes))),
                )
                for lane in self.lanes:
                    self._multiply(b.add(first, _long(lane)), lane, x, sums, is_panel_unsigned)
            for r, v in self.places:
                factor = splat(b, self._scalar("scales", b.add(scale[r], groups.index)), FLOATS)
                total = b.load(sums[r, v, 0])
                for lane in self.lanes[1:]:
                    total = b.add(total, b.load(sums[r, v, lane]))
                exact = b.sitofp(total, FLOATS)
                self._fma(exact, factor, totals[r, v])
        self._finish(totals, out)

    def _multiply(
        self, step: Any, lane: int, x: list[Any], sums: dict[Any, Any], is_panel_unsigned: bool
    ) -> None:
        b, values = self.builder, self.values
        width = 4 * N_LANES  # bytes of one vector
        start = b.add(values["panel_at"], b.mul(step, _long(width * len(self.vectors))))
        if len(self.rows) * len(self.vectors) < N_SUMS:
            for v in self.vectors:
                ahead = _long(v * width + PREFETCH_BYTES)
                prefetch(b, b.gep(values["panel"], [b.add(start, ahead)]))
        columns = [
            self._vector("panel", b.add(start, _long(v * width)), INTS) for v in self.vectors
        ]
        for r in self.rows:
            at = b.add(x[r], b.mul(step, _long(4)))
            pointer = b.bitcast(b.gep(values["x"], [at]), INT.as_pointer())
            row = splat(b, b.load(pointer, align=UNALIGNED), INTS)
            for v in self.vectors:
                unsigned, signed = (columns[v], row) if is_panel_unsigned else (row, columns[v])
                place = sums[r, v, lane]
                b.store(dot4(b, b.load(place), unsigned, signed, lowering()), place)

    def _finish(self, totals: dict[Any, Any], out: list[Any]) -> None:
        b, values = self.builder, self.values
        for v in self.vectors:
            at = b.add(values["column_at"], _long(v * N_LANES))
            scale = self._vector("column_scales", at, FLOATS)
            for r in self.rows:
                at = b.add(out[r], _long(v * N_LANES))
                self._fma(b.load(totals[r, v]), scale, vector_at(b, values["out"], at, FLOATS))

    def _fma(self, x: Any, y: Any, place: Any) -> None:
        """place += x·y, rounded once."""
        b = self.builder
        old = b.load(place, align=UNALIGNED)
        b.store(call(b, "llvm.fma.v16f32", FLOATS, x, y, old), place, align=UNALIGNED)

    def _row(self, name: str, first_row: Any, row: int) -> Any:
        b, values = self.builder, self.values
        stride = values[f"{name}_stride"]
        return b.add(values[f"{name}_at"], b.mul(stride, b.add(first_row, _long(row))))

    def _scalar(self, name: str, at: Any) -> Any:
        return self.builder.load(self.builder.gep(self.values[name], [at]))

    def _vector(self, name: str, at: Any, kind: ir.Type) -> Any:
        return self.builder.load(
            vector_at(self.builder, self.values[name], at, kind), align=UNALIGNED
        )


def _long(n: int) -> ir.Constant:
    return ir.Constant(LONG, n)


def _build_rows(
    builder: Any,
    values: dict[str, Any],
    n_vectors: int,
    heights: tuple[int, ...],
    *,
    is_panel_unsigned: bool,
) -> None:
    """As many tiles of the greatest height as fit, then of the next."""
    done = _long(0)
    for height in heights:
        n_tiles = builder.udiv(builder.sub(values["n_rows"], done), _long(height))
        with cgutils.for_range(builder, n_tiles, intp=LONG) as loop:
            first = builder.add(done, builder.mul(loop.index, _long(height)))
            tile = _Tile(builder, values, height, n_vectors)
            tile.build(first, is_panel_unsigned=is_panel_unsigned)
        done = builder.add(done, builder.mul(n_tiles, _long(height)))


def _rows_times_panel(n_vectors: int, heights: tuple[int, ...], *, is_panel_unsigned: bool) -> Any:
    """A numba function; offsets and strides count elements of the array they belong to."""

    def rows(
        context: Any,
        n_rows: types.Type,
        x: types.Type,  # bytes, [row, k]
        x_at: types.Type,
        x_stride: types.Type,
        scales: types.Type,  # float32, [row, group]
        starts: types.Type,  # int32, [row, group]
        scale_at: types.Type,
        scale_stride: types.Type,
        panel: types.Type,  # bytes, [k / 4, column, k % 4]
        panel_at: types.Type,
        n_groups: types.Type,
        n_steps: types.Type,  # steps of four k in a group, a multiple of STEPS
        column_scales: types.Type,  # float32, [column]
        column_at: types.Type,
        out: types.Type,  # float32, [row, column]
        out_at: types.Type,
        out_stride: types.Type,
    ) -> Any:
        named = {name: kind for name, kind in locals().items() if isinstance(kind, types.Type)}
        kinds = [k if isinstance(k, types.Array) else types.int64 for k in named.values()]

        def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            del signature
            values = {
                name: context.make_array(kind)(context, builder, value).data
                if isinstance(kind, types.Array)
                else value
                for name, kind, value in zip(named, kinds, given, strict=True)
            }
            _build_rows(builder, values, n_vectors, heights, is_panel_unsigned=is_panel_unsigned)
            return context.get_dummy_value()

        return types.void(*kinds), codegen

    return intrinsic(rows)


# Weights are stored with 128 added; `starts` takes it off again: -128·Σ_k x[r, k].
rows_times_weights = _rows_times_panel(LINEAR_VECTORS, LINEAR_HEIGHTS, is_panel_unsigned=True)
rows_times_keys = _rows_times_panel(ATTENTION_VECTORS, ATTENTION_HEIGHTS, is_panel_unsigned=True)
# Here the rows are unsigned: attention weights times signed values.
rows_times_values = _rows_times_panel(ATTENTION_VECTORS, ATTENTION_HEIGHTS, is_panel_unsigned=False)

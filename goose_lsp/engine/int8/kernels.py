"""One pass through a llama-shaped decoder, in machine code from the embedding to the best tokens.

Letters: T tokens of the pass, L layers, H query heads, G KV heads, D head size, S slots of the cache, J = H/G
query heads to a KV head. Every result depends on its own row, the row's visible slots and nothing else: what
sums over slots sums integers. So it is the same whatever shares the pass, however the slots were filled.
"""

from typing import Any

import numpy as np

from goose_lsp.compiled import kernel, part
from goose_lsp.engine.int8.arrays import (
    BLOCK,
    PANEL,
    Floats,
    Linear,
    Shape,
    Slots,
    Step,
    Weights,
    Work,
)
from goose_lsp.engine.int8.crew import Team, await_all, finish, take
from goose_lsp.engine.int8.rows import (
    GROUP,
    MASKED,
    best_of_row,
    copy,
    fill,
    gate_row,
    norm_row,
    rotate_row,
    round_group,
    round_row,
    weigh,
)
from goose_lsp.engine.int8.simd import copy_byte, copy_four_unsigned, stay_apart
from goose_lsp.engine.int8.tile import (
    rows_times_keys,
    rows_times_values,
    rows_times_weights,
)

PANELS_A_CHUNK = 2
PHASES_A_LAYER, PHASES_OF_HEAD = 10, 3


@kernel
def run_pass(
    shape: Shape, weights: Weights, slots: Slots, work: Work, step: Step, team: Team
) -> None:
    """Run the tokens whose embeddings are in `work.x` through all layers.

    Writes their keys and values into slots [n_cached, n_cached + T). For the scored rows `work.logits`,
    `best_ids` and `best_values` hold the results.
    """
    for layer in range(shape.n_layers):
        phase = layer * PHASES_A_LAYER
        _attention(shape, weights, slots, work, step, team, layer, phase)
        _mlp(shape, weights, work, step, team, layer, phase + 6)
    if len(step.scored):
        _head(shape, weights, work, step, team, shape.n_layers * PHASES_A_LAYER)


@part
def _attention(
    shape: Shape,
    weights: Weights,
    slots: Slots,
    work: Work,
    step: Step,
    team: Team,
    layer: int,
    phase: int,
) -> None:
    n = len(step.positions)
    while True:
        row = take(team, phase, n)
        if row < 0:
            break
        _norm_and_round(shape, weights.attention_norm, layer, work, row, row)
        width = work.qkv.shape[1]
        copy(work.qkv, row * width, weights.qkv_bias, layer * width, width)
        finish(team, phase)
    await_all(team, phase, n)

    _multiply(n, work, shape.hidden_size, weights.qkv, layer, work.qkv, team, phase + 1)

    while True:
        row = take(team, phase + 2, n)
        if row < 0:
            break
        _place_row(shape, weights, slots, work, step, layer, row)
        finish(team, phase + 2)
    await_all(team, phase + 2, n)

    tokens = work.scores.shape[1] // (shape.n_heads // shape.n_kv_heads)
    n_blocks = (n + tokens - 1) // tokens
    n_chunks = n_blocks * shape.n_kv_heads
    while True:
        chunk = take(team, phase + 3, n_chunks)
        if chunk < 0:
            break
        first = (chunk % n_blocks) * tokens
        last = min(first + tokens, n)
        _attend(shape, slots, work, step, layer, chunk // n_blocks, first, last, team.number)
        finish(team, phase + 3)
    await_all(team, phase + 3, n_chunks)

    while True:
        row = take(team, phase + 4, n)
        if row < 0:
            break
        _merge_row(shape, work, row)
        finish(team, phase + 4)
    await_all(team, phase + 4, n)

    width = shape.n_heads * shape.head_size
    _multiply(n, work, width, weights.output, layer, work.x, team, phase + 5)


@part
def _mlp(
    shape: Shape, weights: Weights, work: Work, step: Step, team: Team, layer: int, phase: int
) -> None:
    n, size = len(step.positions), shape.intermediate_size
    while True:
        row = take(team, phase, n)
        if row < 0:
            break
        _norm_and_round(shape, weights.mlp_norm, layer, work, row, row)
        fill(work.gate_up, row * work.gate_up.shape[1], work.gate_up.shape[1], 0.0)
        finish(team, phase)
    await_all(team, phase, n)

    _multiply(n, work, shape.hidden_size, weights.gate_up, layer, work.gate_up, team, phase + 1)

    while True:
        row = take(team, phase + 2, n)
        if row < 0:
            break
        gate_row(work.gate_up, row * work.gate_up.shape[1], size, work.gated, row * size)
        round_row(work.gated, row * size, size, work.rounded, work.scales, work.starts, row)
        finish(team, phase + 2)
    await_all(team, phase + 2, n)

    _multiply(n, work, size, weights.down, layer, work.x, team, phase + 3)


@part
def _head(shape: Shape, weights: Weights, work: Work, step: Step, team: Team, phase: int) -> None:
    n = len(step.scored)
    only = len(weights.final_norm) - 1  # a literal would compile its callees once more
    while True:
        row = take(team, phase, n)
        if row < 0:
            break
        _norm_and_round(shape, weights.final_norm, only, work, step.scored[row], row)
        fill(work.logits, row * work.logits.shape[1], work.logits.shape[1], 0.0)
        finish(team, phase)
    await_all(team, phase, n)

    _multiply(n, work, shape.hidden_size, weights.head, only, work.logits, team, phase + 1)

    while True:
        row = take(team, phase + 2, n)
        if row < 0:
            break
        for column in range(shape.n_vocab, work.logits.shape[1]):
            work.logits[row, column] = MASKED
        best_of_row(work.logits, row, work.best_ids, work.best_values)
        finish(team, phase + 2)
    await_all(team, phase + 2, n)


@kernel
def _norm_and_round(
    shape: Shape, weight: Any, layer: int, work: Work, source: int, row: int
) -> None:
    size, width = shape.hidden_size, work.x.shape[1]
    norm_row(
        work.x, source * width, weight, layer * size, size, shape.norm_eps, work.normed, row * size
    )
    round_row(work.normed, row * size, size, work.rounded, work.scales, work.starts, row)


@kernel
def _multiply(
    n: int, work: Work, size: int, linear: Linear, layer: int, out: Any, team: Team, phase: int
) -> None:
    """out += rounded rows · weights, a few panels a chunk."""
    stay_apart()
    n_panels = linear.weights.shape[1]
    n_chunks = (n_panels + PANELS_A_CHUNK - 1) // PANELS_A_CHUNK
    columns, bytes_a_panel = n_panels * PANEL, size * PANEL
    while True:
        chunk = take(team, phase, n_chunks)
        if chunk < 0:
            break
        first = chunk * PANELS_A_CHUNK
        for panel in range(first, min(first + PANELS_A_CHUNK, n_panels)):
            rows_times_weights(
                n,
                work.rounded, 0, size,
                work.scales, work.starts, 0, work.scales.shape[1],
                linear.weights, (layer * n_panels + panel) * bytes_a_panel,
                size // GROUP, GROUP // 4,
                linear.scales, layer * columns + panel * PANEL,
                out, panel * PANEL, out.shape[1],
            )  # fmt: skip
        finish(team, phase)
    await_all(team, phase, n_chunks)


@kernel
def _place_row(
    shape: Shape, weights: Weights, slots: Slots, work: Work, step: Step, layer: int, row: int
) -> None:
    """Norm, rotate and round one token's heads: queries for this pass, key and value into the cache."""
    stay_apart()
    size, n_heads, n_kv = shape.head_size, shape.n_heads, shape.n_kv_heads
    group = n_heads // n_kv
    start, slot = row * work.qkv.shape[1], step.n_cached + row
    angle = step.positions[row] * (size // 2)
    for head in range(n_heads):
        at = start + head * size
        if weights.q_norm.shape[1]:
            norm_row(work.qkv, at, weights.q_norm, layer * size, size, shape.norm_eps, work.qkv, at)
        rotate_row(work.qkv, at, size, weights.cos, weights.sin, angle)
        kv, place = head // group, row * group + head % group
        to = (kv * work.queries.shape[1] + place) * size
        scale, total = round_group(work.qkv, at, work.queries, to, size)
        work.query_scales[kv, place] = scale / np.sqrt(np.float32(size))
        work.query_starts[kv, place] = -128 * total
    for kv in range(n_kv):
        at = start + (n_heads + kv) * size
        if weights.k_norm.shape[1]:
            norm_row(work.qkv, at, weights.k_norm, layer * size, size, shape.norm_eps, work.qkv, at)
        rotate_row(work.qkv, at, size, weights.cos, weights.sin, angle)
        scale, _ = round_group(work.qkv, at, work.bytes, row * size, size)
        slots.key_scales[layer, kv, slot] = scale
        first = (layer * n_kv + kv) * slots.key_scales.shape[2]
        to = (first + slot // BLOCK * BLOCK) * size + slot % BLOCK * 4
        for i in range(0, size, 4):
            copy_four_unsigned(slots.keys, to + i * BLOCK, work.bytes, row * size + i)
        scale, _ = round_group(work.qkv, at + n_kv * size, work.bytes, row * size, size)
        slots.value_scales[layer, kv, slot] = scale
        for i in range(size):
            block = first * size + i // BLOCK * slots.key_scales.shape[2] * BLOCK
            to = block + slot // 4 * 4 * BLOCK + i % BLOCK * 4 + slot % 4
            copy_byte(slots.values, to, work.bytes, row * size + i)


@kernel
def _attend(
    shape: Shape,
    slots: Slots,
    work: Work,
    step: Step,
    layer: int,
    kv: int,
    first: int,
    last: int,
    thread: int,
) -> None:
    """The tokens [first, last) of the pass look at what they may see, through one KV head."""
    stay_apart()
    size, group = shape.head_size, shape.n_heads // shape.n_kv_heads
    n_rows, row = (last - first) * group, first * group
    n_slots = step.n_cached + len(step.positions)
    n_blocks = (n_slots + BLOCK - 1) // BLOCK
    capacity, width = slots.key_scales.shape[2], work.scores.shape[2]
    head = layer * shape.n_kv_heads + kv
    at = thread * work.scores.shape[1] * width
    query = kv * work.queries.shape[1] + row
    for r in range(n_rows):
        fill(work.scores, at + r * width, n_blocks * BLOCK, 0.0)
    for block in range(n_blocks):
        rows_times_keys(
            n_rows,
            work.queries, query * size, size,
            work.query_scales, work.query_starts, query, 1,
            slots.keys, (head * capacity + block * BLOCK) * size,
            1, size // 4,
            slots.key_scales, head * capacity + block * BLOCK,
            work.scores, at + block * BLOCK, width,
        )  # fmt: skip
    for r in range(n_rows):
        _hide(work.scores, thread, r, n_blocks * BLOCK, step, first + r // group)
        work.factors[thread, r] = weigh(
            work.scores, at + r * width, n_blocks * BLOCK,
            slots.value_scales, head * capacity,
            work.weights,
        )  # fmt: skip
        fill(work.attended, (query + r) * size, size, 0.0)
    for piece in range(size // BLOCK):
        rows_times_values(
            n_rows,
            work.weights, at, width,
            work.factors, work.zeros, thread * work.factors.shape[1], 1,
            slots.values, (head * (size // BLOCK) + piece) * capacity * BLOCK,
            1, (n_slots + BLOCK - 1) // BLOCK * (BLOCK // 4),
            work.ones, 0,
            work.attended, query * size + piece * BLOCK, size,
        )  # fmt: skip


@kernel
def _hide(scores: Floats, thread: int, row: int, end: int, step: Step, token: int) -> None:
    """Mask what the token may not see among the pass's own tokens, and the slots behind them."""
    n = len(step.positions)
    for other in range(n):
        if not step.visible[token, other]:
            scores[thread, row, step.n_cached + other] = MASKED
    for slot in range(step.n_cached + n, end):
        scores[thread, row, slot] = MASKED


@kernel
def _merge_row(shape: Shape, work: Work, row: int) -> None:
    """Bring one token's heads side by side and round them."""
    size, group = shape.head_size, shape.n_heads // shape.n_kv_heads
    width = shape.n_heads * size
    for kv in range(shape.n_kv_heads):
        start = (kv * work.attended.shape[1] + row * group) * size
        copy(work.merged, row * width + kv * group * size, work.attended, start, group * size)
    round_row(work.merged, row * width, width, work.rounded, work.scales, work.starts, row)


@kernel
def move_slots(slots: Slots, targets: Any, sources: Any) -> None:
    """Copy slot sources[i] to targets[i], in order, in every layer and head."""
    n_layers, n_kv, capacity = slots.key_scales.shape
    size = slots.keys.shape[3] * 4
    for i in range(len(targets)):
        new, old = targets[i], sources[i]
        for head in range(n_layers * n_kv):
            layer, kv = head // n_kv, head % n_kv
            slots.key_scales[layer, kv, new] = slots.key_scales[layer, kv, old]
            slots.value_scales[layer, kv, new] = slots.value_scales[layer, kv, old]
            first = head * capacity * size
            for at in range(size):
                key = first + at // 4 * 4 * BLOCK + at % 4
                to = key + new // BLOCK * BLOCK * size + new % BLOCK * 4
                copy_byte(
                    slots.keys, to, slots.keys, key + old // BLOCK * BLOCK * size + old % BLOCK * 4
                )
                value = first + at // BLOCK * capacity * BLOCK + at % BLOCK * 4
                to = value + new // 4 * 4 * BLOCK + new % 4
                copy_byte(slots.values, to, slots.values, value + old // 4 * 4 * BLOCK + old % 4)

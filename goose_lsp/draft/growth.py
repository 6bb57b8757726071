"""Building the spine tree: always add the node most likely to be reached. Compiled.

A node's value is the product of the acceptance estimates on its path, the probability that the walk
reaches it. Values never grow along a path, so the n most valuable nodes form a tree, and no tree of n
nodes has a larger expected accepted length. The deep spine (copied tokens, reliable), the short wide
branches (table tokens), the pure chain and the pure table tree all come out of this one rule.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.compiled import kernel, part
from goose_lsp.draft.candidates import (
    MAX_CANDIDATES,
    Candidates,
    Cells,
    Scratch,
    Sources,
    gather,
    score,
)
from goose_lsp.draft.recall import MAX_MATCH_LEN

# Nodes less likely to be reached than this are never worth a row of the forward pass.
MIN_VALUE = 0.002
ROOT: Any = np.int64(0)  # of numpy's type, so that kernels it is passed to are compiled once


class Grown(NamedTuple):
    """A tree in the order it grew, and the candidates of every node; columns [nodes] or [nodes, …]."""

    tokens: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
    depths: npt.NDArray[np.int32]
    is_copied: npt.NDArray[np.bool_]
    values: npt.NDArray[np.float64]  # the probability that the walk reaches the node
    tails: npt.NDArray[np.int32]  # [nodes, MAX_MATCH_LEN]: the last tokens up to the node
    n_tail: npt.NDArray[np.int32]
    next_tokens: npt.NDArray[np.int32]  # [nodes, MAX_CANDIDATES]
    next_values: npt.NDArray[np.float64]  # 0 behind the last candidate
    next_copied: npt.NDArray[np.bool_]
    heap: npt.NDArray[np.int64]  # node · MAX_CANDIDATES + candidate, the most valuable first


def new_grown(max_nodes: int) -> Grown:
    """Room for a root and `max_nodes` nodes."""
    n = max_nodes + 1
    return Grown(
        tokens=np.zeros(n, np.int32),
        parents=np.zeros(n, np.int32),
        depths=np.zeros(n, np.int32),
        is_copied=np.zeros(n, np.bool_),
        values=np.zeros(n, np.float64),
        tails=np.zeros((n, MAX_MATCH_LEN), np.int32),
        n_tail=np.zeros(n, np.int32),
        next_tokens=np.zeros((n, MAX_CANDIDATES), np.int32),
        next_values=np.zeros((n, MAX_CANDIDATES), np.float64),
        next_copied=np.zeros((n, MAX_CANDIDATES), np.bool_),
        heap=np.zeros(2 * n, np.int64),
    )


@kernel
def grow(
    sources: Sources,
    cells: Cells,
    finals: Any,
    limits: tuple[int, int],
    grown: Grown,
    scratch: Scratch,
) -> int:
    """Grow a tree below the context's last token; returns its size, root included.

    `limits` are the most nodes without the root and the greatest depth; nothing is drafted after one of
    the `finals`.
    """
    max_nodes, max_depth = limits
    _plant(sources, grown)
    n_heap = ROOT
    if max_nodes > 0 and max_depth > 0:
        n_heap = _open(sources, cells, grown, ROOT, n_heap, scratch)
    n = ROOT + 1
    while n_heap > 0 and n <= max_nodes:
        entry = grown.heap[0]
        n_heap = _pop(grown, n_heap)
        node, candidate = entry // MAX_CANDIDATES, entry % MAX_CANDIDATES
        _add(grown, n, node, candidate)
        if candidate + 1 < MAX_CANDIDATES and grown.next_values[node, candidate + 1] >= MIN_VALUE:
            n_heap = _push(grown, n_heap, entry + 1)
        if grown.depths[n] < max_depth and not _is_in(finals, grown.tokens[n]):
            n_heap = _open(sources, cells, grown, n, n_heap, scratch)
        n += 1
    return n


@kernel
def learn(sources: Sources, cells: Cells, truth: Any, grown: Grown, scratch: Scratch) -> None:
    """Score every candidate behind the context and behind each of the true tokens but the last."""
    _plant(sources, grown)
    for token in truth:
        n = gather(sources, cells, grown.tails[0], grown.n_tail[0], scratch)
        score(cells, scratch.found, n, token)
        _lengthen(grown, ROOT, ROOT, token)


@kernel
def _plant(sources: Sources, grown: Grown) -> None:
    """Node 0: the context's last token."""
    text = sources.context
    size = text.size[0]
    n = min(size, MAX_MATCH_LEN)
    for i in range(n):
        grown.tails[0, i] = text.tokens[size - n + i]
    grown.n_tail[0] = n
    grown.tokens[0] = text.tokens[size - 1]
    grown.parents[0], grown.depths[0], grown.values[0] = -1, 0, 1.0


@kernel
def _lengthen(grown: Grown, node: int, parent: int, token: int) -> None:
    """The node's tail: its parent's and one token more; node may be the parent."""
    n = grown.n_tail[parent]
    first = 1 if n == MAX_MATCH_LEN else 0
    for i in range(first, n):
        grown.tails[node, i - first] = grown.tails[parent, i]
    grown.tails[node, n - first] = token
    grown.n_tail[node] = n - first + 1


@part
def _open(
    sources: Sources, cells: Cells, grown: Grown, node: int, n_heap: int, scratch: Scratch
) -> int:
    """Find the node's candidates and offer the best one."""
    n = gather(sources, cells, grown.tails[node], grown.n_tail[node], scratch)
    found: Candidates = scratch.found
    for i in range(n):
        grown.next_tokens[node, i] = found.tokens[i]
        grown.next_values[node, i] = grown.values[node] * found.probabilities[i]
        grown.next_copied[node, i] = found.is_copied[i]
    if n < MAX_CANDIDATES:
        grown.next_values[node, n] = 0.0
    if n > 0 and grown.next_values[node, 0] >= MIN_VALUE:
        return _push(grown, n_heap, np.int64(node) * MAX_CANDIDATES)
    return n_heap


@kernel
def _add(grown: Grown, n: int, parent: int, candidate: int) -> None:
    token = grown.next_tokens[parent, candidate]
    grown.tokens[n], grown.parents[n] = token, parent
    grown.depths[n] = grown.depths[parent] + 1
    grown.is_copied[n] = grown.next_copied[parent, candidate]
    grown.values[n] = grown.next_values[parent, candidate]
    _lengthen(grown, n, parent, token)


@kernel
def _is_in(values: Any, wanted: int) -> bool:
    for value in values:
        if value == wanted:
            return True
    return False


@kernel
def _comes_before(grown: Grown, a: int, b: int) -> bool:
    """More valuable; among equals the older node's, which keeps shallow nodes first."""
    x = grown.next_values[a // MAX_CANDIDATES, a % MAX_CANDIDATES]
    y = grown.next_values[b // MAX_CANDIDATES, b % MAX_CANDIDATES]
    return x > y or (x == y and a < b)


@kernel
def _push(grown: Grown, n: int, entry: int) -> int:
    """Into the heap of n entries; returns n + 1. At most two entries a node are ever in it."""
    place = n
    while place > 0 and _comes_before(grown, entry, grown.heap[(place - 1) // 2]):
        grown.heap[place] = grown.heap[(place - 1) // 2]
        place = (place - 1) // 2
    grown.heap[place] = entry
    return n + 1


@kernel
def _pop(grown: Grown, n: int) -> int:
    """Take the first entry out of the heap of n; returns n - 1."""
    n -= 1
    entry, place = grown.heap[n], 0
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and _comes_before(grown, grown.heap[child + 1], grown.heap[child]):
            child += 1
        if not _comes_before(grown, grown.heap[child], entry):
            break
        grown.heap[place] = grown.heap[child]
        place = child
    grown.heap[place] = entry
    return n

"""Trees of ranks, fixed before the tokens are known, and their filling from a table."""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count

from goose_lsp.draft.baselines.builder import TreeBuilder
from goose_lsp.draft.tree import Origin

# Template node i + 1 as (parent, rank): parent 0 is the root, parents come before children.
Template = Sequence[tuple[int, int]]


def likely_template(
    rates: Sequence[float], level_sizes: Sequence[int], n_nodes: int
) -> list[tuple[int, int]]:
    """The rank paths of largest product of rates, at most `level_sizes[d - 1]` of them at depth d.

    The most likely path comes first, so every prefix of the template is the template of its size.
    """
    template: list[tuple[int, int]] = []
    free = list(level_sizes)
    order = count()
    heap: list[tuple[float, int, int, int, int]] = []

    def push_children(value: float, parent: int, depth: int) -> None:
        if depth <= len(level_sizes):
            for rank, rate in enumerate(rates):
                heappush(heap, (-value * rate, next(order), parent, rank, depth))

    push_children(1.0, 0, 1)
    while heap and len(template) < n_nodes:
        negative_value, _, parent, rank, depth = heappop(heap)
        if free[depth - 1]:
            free[depth - 1] -= 1
            template.append((parent, rank))
            push_children(-negative_value, len(template), depth + 1)
    return template


def fill(builder: TreeBuilder, template: Template, ranked: Callable[[int, int], list[int]]) -> None:
    """Put `ranked(previous, current)[rank]` into every template node; what is not listed stays out."""
    nodes: list[int | None] = [0]
    listed: dict[int, list[int]] = {}  # node → its ranked successors
    for parent, rank in template:
        node = nodes[parent]
        if node is None:
            nodes.append(None)
            continue
        if node not in listed:
            listed[node] = ranked(*builder.key(node))
        tokens = listed[node]
        nodes.append(builder.add(node, tokens[rank], Origin.BRANCH) if rank < len(tokens) else None)

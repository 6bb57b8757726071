"""Building the spine tree: always add the node most likely to be reached.

A node's value is the product of the acceptance estimates on its path, the probability that the walk
reaches it. Values never grow along a path, so the n most valuable nodes form a tree, and no tree of n
nodes has a larger expected accepted length. The deep spine (copied tokens, reliable), the short wide
branches (table tokens), the pure chain and the pure table tree all come out of this one rule.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

from goose_lsp.draft.tree import DraftTree, Origin

# Nodes less likely to be reached than this are never worth a row of the forward pass.
MIN_VALUE = 0.003


@dataclass(frozen=True, slots=True)
class Edge:
    """A proposed continuation of one node."""

    token: int
    probability: float  # that the target takes it, given the walk has reached the node
    origin: Origin
    state: object = None  # what its own proposer needs to go on from there


class Proposer(Protocol):
    def edges(self, path: list[int], state: object) -> Iterator[Edge]:
        """Distinct continuations of the context followed by `path`, most probable first.

        `path` holds the drafted tokens, the root left out; `state` comes from the edge that led here.
        """
        ...


@dataclass(slots=True)
class Growth:
    """A tree under construction; `values[i]` is the probability that the walk reaches node i."""

    token_ids: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    origins: list[Origin] = field(default_factory=lambda: [Origin.MODEL])
    values: list[float] = field(default_factory=lambda: [1.0])
    depths: list[int] = field(default_factory=lambda: [0])

    def add(self, parent: int, edge: Edge, value: float) -> int:
        self.token_ids.append(edge.token)
        self.parents.append(parent)
        self.origins.append(edge.origin)
        self.values.append(value)
        self.depths.append(self.depths[parent] + 1)
        return len(self.token_ids) - 1

    def path_tokens(self, node: int) -> list[int]:
        tokens: list[int] = []
        while node > 0:
            tokens.append(self.token_ids[node])
            node = self.parents[node]
        tokens.reverse()
        return tokens


def grow(
    root: int, proposer: Proposer, max_nodes: int, max_depth: int, is_final: Callable[[int], bool]
) -> Growth:
    """Add at most `max_nodes` nodes below the root, most valuable first.

    Nothing is drafted below `max_depth` or after a token for which `is_final` holds.
    """
    growth = Growth([root])
    heap: list[tuple[float, int, int, Edge, Iterator[Edge]]] = []
    order = count()  # equal values: first come, first served, which keeps shallow nodes first

    def push_next(parent: int, edges: Iterator[Edge]) -> None:
        edge = next(edges, None)
        if edge is not None:
            value = growth.values[parent] * min(edge.probability, 1.0)
            if value >= MIN_VALUE:
                heappush(heap, (-value, next(order), parent, edge, edges))

    if max_nodes > 0 and max_depth > 0:
        push_next(0, proposer.edges([], None))
    while heap and len(growth.token_ids) <= max_nodes:
        negative_value, _, parent, edge, edges = heappop(heap)
        node = growth.add(parent, edge, -negative_value)
        push_next(parent, edges)
        if growth.depths[node] < max_depth and not is_final(edge.token):
            push_next(node, proposer.edges(growth.path_tokens(node), edge.state))
    return growth


def spine_first(growth: Growth, n_nodes: int) -> DraftTree:
    """The first `n_nodes` nodes as a tree whose longest all-spine path comes directly after the root.

    Laid so, accepting only the spine leaves the KV rows where they already are.
    """
    n = min(n_nodes, len(growth.token_ids) - 1) + 1
    spine = _spine(growth, n)
    on_spine = set(spine)
    order = [0, *spine, *(node for node in range(1, n) if node not in on_spine)]
    place = {node: i for i, node in enumerate(order)}
    return DraftTree(
        tuple(growth.token_ids[node] for node in order),
        tuple(-1 if node == 0 else place[growth.parents[node]] for node in order),
        tuple(growth.origins[node] for node in order),
    )


def _spine(growth: Growth, n: int) -> list[int]:
    """Nodes of the deepest path from the root made of copied tokens alone, in order of depth."""
    deepest, on_trunk = 0, {0}
    for node in range(1, n):
        if growth.origins[node] is Origin.SPINE and growth.parents[node] in on_trunk:
            on_trunk.add(node)
            if growth.depths[node] > growth.depths[deepest]:
                deepest = node
    spine: list[int] = []
    while deepest > 0:
        spine.append(deepest)
        deepest = growth.parents[deepest]
    spine.reverse()
    return spine

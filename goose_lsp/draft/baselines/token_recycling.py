"""Token recycling (Luo et al., 2024): a tree of the table's ranked successors, single-token keys.

Static: a template of rank paths with the published level sizes; the list of paths is rebuilt from the
rates of the ranks, not taken over. Dynamic: the same table, the paths chosen by rates learned online.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, Tail, TreeBuilder
from goose_lsp.draft.baselines.ranks import PRIOR_RATES, RankRates, ranked_tokens, visits
from goose_lsp.draft.baselines.template import Template, fill, likely_template
from goose_lsp.draft.bigrams import NO_TOKEN, AdjacencyTable
from goose_lsp.draft.policy import IsFinal
from goose_lsp.draft.tree import DraftTree, Origin

LEVEL_SIZES = (8, 21, 25, 15, 8, 3)  # nodes at depth 1 … 6, 80 in all


@lru_cache
def static_template() -> Template:
    """All 80 rank paths, most likely first."""
    return tuple(likely_template(PRIOR_RATES, LEVEL_SIZES, sum(LEVEL_SIZES)))


@dataclass(slots=True)
class StaticTokenRecycling:
    """The template, cut to the budget and filled; ranks the table does not list stay empty."""

    table: AdjacencyTable
    is_final: IsFinal
    budget: int
    tail: Tail = field(default_factory=Tail)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.tail.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        n_nodes = max(0, min(max_nodes, self.budget))
        builder = TreeBuilder(self.tail.token_ids, Limits(n_nodes, max_depth, self.is_final))
        fill(builder, static_template()[:n_nodes], self._ranked)
        return builder.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Nothing: the shape is fixed and the table is fed by decoding."""

    def _ranked(self, previous: int, current: int) -> list[int]:
        del previous
        return ranked_tokens(self.table, NO_TOKEN, current)


@dataclass(slots=True)
class TokenRecycling:
    """The most likely nodes under a learned acceptance rate per rank; `rates` outlive the request."""

    table: AdjacencyTable
    rates: RankRates
    is_final: IsFinal
    budget: int
    tail: Tail = field(default_factory=Tail)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.tail.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        limits = Limits(min(max_nodes, self.budget), max_depth, self.is_final)
        builder = TreeBuilder(self.tail.token_ids, limits)
        grow_by_rank(builder, self.table, self.rates.rates(self.table.k))
        return builder.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        for _, current, truth in visits(tree, acceptance, NO_TOKEN):
            self.rates.observe(ranked_tokens(self.table, NO_TOKEN, current), truth)


def grow_by_rank(builder: TreeBuilder, table: AdjacencyTable, rates: Sequence[float]) -> None:
    """Add the node of largest product of rank rates until nothing fits or nothing is listed."""
    by_rate = sorted(range(len(rates)), key=lambda rank: -rates[rank])
    heap: list[tuple[float, int, int, int, float, Iterator[tuple[int, float]]]] = []
    order = count()  # equal products: first come, first served, which keeps shallow nodes first

    def push_next(parent: int, value: float, children: Iterator[tuple[int, float]]) -> None:
        child = next(children, None)
        if child is not None:
            token, rate = child
            heappush(heap, (-value * rate, next(order), parent, token, value, children))

    def push_children(node: int, value: float) -> None:
        ranked = ranked_tokens(table, NO_TOKEN, builder.token_ids[node])
        listed = ((ranked[rank], rates[rank]) for rank in by_rate if rank < len(ranked))
        push_next(node, value, listed)

    if builder.is_open(0):
        push_children(0, 1.0)
    while heap and builder.n_left > 0:
        negative_value, _, parent, token, parent_value, siblings = heappop(heap)
        node = builder.add(parent, token, Origin.BRANCH)
        push_next(parent, parent_value, siblings)
        if node is not None and builder.is_open(node):
            push_children(node, -negative_value)

"""The best static tree for one acceptance rate per rank (Chen et al., Sequoia, 2024).

The rate of a rank is the same at every node, so the best tree of a size is a matter of shape alone and
is found by dynamic programming; a table fills it. Its value is 1 + the sum over nodes of the product of
the rates on their path, the expected number of committed tokens.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, Tail, TreeBuilder
from goose_lsp.draft.baselines.ranks import RankRates, ranked_tokens, visits
from goose_lsp.draft.baselines.template import Template, fill
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.policy import IsFinal
from goose_lsp.draft.tree import DraftTree

MAX_DEPTH = 16
# A rate that moved less changes no more than a few of the least likely nodes.
MOVED = 0.02


class ShapePlan:
    """The best shape of every size and depth limit up to the given ones, for one list of rates.

    best[d][m] is the value of at most m nodes, root included, at most d deep. With the first b ranks
    as children, T_b[m] = max(T_{b-1}[m], max_s T_{b-1}[m - s] + rate_b · best[d - 1][s]).
    Cost: O(size² · depth · ranks), vectorised over the first factor; 5 ms for 61 nodes, 8 ms for 101
    (16 deep, 8 ranks).
    """

    def __init__(self, rates: Sequence[float], n_nodes: int, max_depth: int) -> None:
        """`n_nodes` counts the root."""
        self.rates = list(rates)
        self.n_nodes = n_nodes
        flat = np.ones(n_nodes + 1)
        flat[0] = -np.inf  # no nodes, not even the root
        self._best = [flat]  # [max_depth + 1] of [n_nodes + 1]
        # [max_depth + 1][ranks] of [n_nodes + 1]: nodes given to the child of that rank, 0 for no child
        self._sizes: list[list[npt.NDArray[np.int_]]] = [[]]
        for _ in range(max_depth):
            self._add_depth(flat)

    def _add_depth(self, flat: npt.NDArray[np.float64]) -> None:
        sizes = np.arange(self.n_nodes + 1)
        rest = sizes[:, None] - sizes[None, :]  # [m, s]: nodes left after a child of s nodes
        impossible = (rest < 1) | (sizes[None, :] < 1)
        deeper, value, chosen = self._best[-1], flat, []
        for rate in self.rates:
            child = rate * np.where(sizes > 0, deeper, 0.0)
            with_child = np.where(impossible, -np.inf, value[np.maximum(rest, 0)] + child[None, :])
            size = with_child.argmax(axis=1)
            gained = with_child[sizes, size] > value
            chosen.append(np.where(gained, size, 0))
            value = np.where(gained, with_child[sizes, size], value)
        self._best.append(value)
        self._sizes.append(chosen)

    def value(self, n_nodes: int, max_depth: int) -> float:
        """Expected committed tokens of the best tree within both limits."""
        return float(self._best[max_depth][n_nodes])

    def template(self, n_nodes: int, max_depth: int) -> list[tuple[int, int]]:
        """The best tree's shape, breadth first; `n_nodes` counts the root."""
        template: list[tuple[int, int]] = []
        queue = deque([(0, n_nodes, max_depth)])
        while queue:
            parent, size, depth = queue.popleft()
            for rank, child_size in self._children(size, depth):
                template.append((parent, rank))
                queue.append((len(template), child_size, depth - 1))
        return template

    def _children(self, size: int, depth: int) -> list[tuple[int, int]]:
        """(rank, nodes) of every child, by rank."""
        children: list[tuple[int, int]] = []
        for rank in range(len(self._sizes[depth]) - 1, -1, -1):
            child_size = int(self._sizes[depth][rank][size])
            if child_size:
                children.append((rank, child_size))
                size -= child_size
        children.reverse()
        return children


@dataclass(slots=True)
class SequoiaMemory:
    """What outlives a request: the learned rates and the shapes planned for them."""

    rates: RankRates = field(default_factory=RankRates)
    plan: ShapePlan | None = None
    _templates: dict[tuple[int, int], Template] = field(default_factory=dict)

    def template(self, n_nodes: int, max_depth: int, n_ranks: int) -> Template:
        """Plans anew only when a rate moved by more than `MOVED` or the plan is too small."""
        rates = self.rates.rates(n_ranks)
        plan = self.plan
        if plan is None or plan.n_nodes < n_nodes or _has_moved(plan.rates, rates):
            plan = self.plan = ShapePlan(rates, n_nodes, MAX_DEPTH)
            self._templates.clear()
        template = self._templates.get((n_nodes, max_depth))
        if template is None:
            template = self._templates[n_nodes, max_depth] = plan.template(n_nodes, max_depth)
        return template


def _has_moved(planned: Sequence[float], rates: Sequence[float]) -> bool:
    if len(planned) != len(rates):
        return True
    return max(abs(a - b) for a, b in zip(planned, rates, strict=True)) > MOVED


@dataclass(slots=True)
class Sequoia:
    """The planned shape, filled with the table's successors: keys of two tokens, one as fallback."""

    table: AdjacencyTable
    memory: SequoiaMemory
    is_final: IsFinal
    budget: int
    tail: Tail = field(default_factory=Tail)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.tail.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        n_nodes = max(0, min(max_nodes, self.budget))
        depth = max(0, min(max_depth, MAX_DEPTH))
        builder = TreeBuilder(self.tail.token_ids, Limits(n_nodes, depth, self.is_final))
        template = self.memory.template(n_nodes + 1, depth, self.table.k)
        fill(builder, template, lambda *key: ranked_tokens(self.table, *key))
        return builder.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        for previous, current, truth in visits(tree, acceptance, self.tail.previous):
            self.memory.rates.observe(ranked_tokens(self.table, previous, current), truth)

"""Isotropic trees: every node the same number of children, level by level, from the table alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, Tail, TreeBuilder
from goose_lsp.draft.baselines.ranks import ranked_tokens
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.policy import IsFinal
from goose_lsp.draft.tree import DraftTree, Origin

MAX_DEPTH = 6


@dataclass(slots=True)
class Isotropic:
    """Breadth first, `n_children` successors a node, keys of two tokens with one as fallback."""

    table: AdjacencyTable
    is_final: IsFinal
    budget: int
    n_children: int
    tail: Tail = field(default_factory=Tail)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.tail.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        limits = Limits(min(max_nodes, self.budget), min(max_depth, MAX_DEPTH), self.is_final)
        builder = TreeBuilder(self.tail.token_ids, limits)
        node = 0  # nodes are numbered breadth first, so the list of nodes is its own queue
        while node < len(builder) and builder.n_left > 0:
            if builder.is_open(node):
                for token in ranked_tokens(self.table, *builder.key(node))[: self.n_children]:
                    builder.add(node, token, Origin.BRANCH)
            node += 1
        return builder.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Nothing: the shape is fixed and the table is fed by decoding."""
